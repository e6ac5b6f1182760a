//! Tests of what observers can see: ClientHelloOuter and its length (RFC 9849 §6.1.3, §10.10.4).

use std::collections::BTreeSet;

use harness::peers::configs::{PROVIDERS, Provider, product};
use harness::scripted::ech::{EchKey, Opened, SUITES, read_extension};
use harness::wire::client_hello::{ClientHello, KEY_SHARE, SERVER_NAME};
use harness::wire::plain_messages;
use rustls::NamedGroup;

use crate::ech::clients::{Setup, Stack, stacks};
use crate::ech::kit::{ECH, PUBLIC, Peers, SUITE, contains, split_messages};

/// Returns the length of the ClientHello for each name.
fn lengths(
    peers: &Peers,
    stack: Stack,
    names: impl Iterator<Item = String>,
) -> Vec<(String, usize)> {
    let length = |name: String| {
        let opened = opened_for(peers, stack, &name);
        let sent = opened.outer.message();
        assert!(!contains(&sent, name.as_bytes()), "{name}");
        (name, sent.len())
    };
    names.map(length).collect()
}

/// Returns the decrypted ClientHello for `name`. The rest of the handshake fails without a
/// certificate for that name.
fn opened_for(peers: &Peers, stack: Stack, name: &str) -> Opened {
    let setup = Setup {
        server: name.to_owned(),
        ..peers.setup()
    };
    let run = peers.run(stack, &setup, &peers.accepting());
    run.conversation.opened[0].clone()
}

/// Creates a name of `len` bytes that appears nowhere else.
fn name_of(len: usize) -> String {
    let is_dot = |at: usize| at % 50 == 49 && at + 1 < len;
    (0..len)
        .map(|at| if is_dot(at) { '.' } else { 'z' })
        .collect()
}

#[test]
fn names_in_the_anonymity_set_have_equal_lengths() {
    for (provider, max) in product(PROVIDERS, [64, 128, 255]) {
        let key = EchKey::new(7, PUBLIC, SUITE).with(|config| config.maximum_name_length = max);
        let peers = Peers::with_key(provider, key);
        let longest = usize::from(max).min(253);
        for stack in stacks() {
            let names = (8..=longest).step_by(7).chain([longest]).map(name_of);
            let lengths = lengths(&peers, stack, names);
            let different: BTreeSet<_> = lengths.iter().map(|(_, len)| len).collect();
            assert_eq!(different.len(), 1, "{stack:?} {max}: {lengths:?}");
        }
    }
}

/// Large extensions are sent only once.
#[test]
fn the_inner_hello_refers_to_the_outer_key_shares() {
    let peers = Peers::new(Provider::AwsLc);
    let mut setup = peers.setup();
    let hybrid = u16::from(NamedGroup::X25519MLKEM768);
    setup.groups = vec![hybrid, u16::from(NamedGroup::X25519)];
    for run in peers.accepted(&setup, &peers.accepting()) {
        let opened = &run.conversation.opened[0];
        assert_eq!(opened.inner.key_shares()[0].0, hybrid);
        assert!(opened.outer_extensions.contains(&KEY_SHARE));
        assert!(opened.outer.message().len() < 2200);
    }
}

/// Without a key, an observer cannot tell a GREASE ClientHello from a real one.
#[test]
fn a_grease_hello_has_the_same_shape_as_a_real_one() {
    for (provider, suite) in product(PROVIDERS, SUITES) {
        let peers = Peers::with_key(provider, EchKey::new(7, PUBLIC, suite));
        let mut greasing = peers.greasing();
        greasing.alpn = vec![b"h2".to_vec()];
        // as long as the public name, so that server_name has the same length
        greasing.server = "secret.example".to_owned();
        assert_eq!(greasing.server.len(), PUBLIC.len());
        let mut offering = greasing.clone();
        offering.mode = peers.setup().mode;
        for stack in stacks() {
            let real = first_hello(stack, &offering);
            let grease = first_hello(stack, &greasing);
            assert_eq!(shape(&real), shape(&grease), "{stack:?} {suite:?}");
            let [real, grease] = [real, grease].map(|hello| read_extension(&hello).unwrap());
            assert_eq!(real.suite, grease.suite);
            assert_eq!(real.enc.len(), grease.enc.len());
            assert_eq!(real.payload.len(), grease.payload.len());
        }
    }
}

fn first_hello(stack: Stack, setup: &Setup) -> ClientHello {
    let mut client = stack.config(setup).unwrap().connect().unwrap();
    let output = client.take_output();
    split_messages(&plain_messages(&output)).remove(0)
}

/// Erases the random parts, and those in which a GREASE hello must differ from a real one.
fn shape(hello: &ClientHello) -> ClientHello {
    hello.clone().edit(|hello| {
        hello.random = [0; 32];
        hello.session_id.fill(0);
        for (typ, body) in &mut hello.extensions {
            if [ECH, SERVER_NAME, KEY_SHARE].contains(typ) {
                body.fill(0);
            }
        }
        // extensions are in random order
        hello.extensions.sort_unstable();
    })
}
