//! Tests of what observers can see: ClientHelloOuter and its length (RFC 9849 §6.1.3, §10.9.4).

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

/// Without a maximum name length, lengths are padded to multiples of 32 bytes.
#[test]
fn other_names_are_padded_to_32_bytes() {
    let peers = Peers::new(PROVIDERS[0]);
    for stack in stacks() {
        let lengths = lengths(&peers, stack, (8..=200).map(name_of));
        let shortest = lengths[0].1;
        for (name, len) in &lengths {
            assert_eq!((len - shortest) % 32, 0, "{stack:?} {name}");
        }
        let different: BTreeSet<_> = lengths.iter().map(|(_, len)| len).collect();
        assert!(different.len() <= 8, "{stack:?}: {different:?}");
    }
}

/// Uses a name longer than the config's maximum.
#[test]
fn names_longer_than_the_announced_maximum_get_little_padding() {
    let key = EchKey::new(7, PUBLIC, SUITE).with(|config| config.maximum_name_length = 10);
    let peers = Peers::with_key(PROVIDERS[0], key);
    for stack in stacks() {
        for len in [9, 10, 11, 100, 253] {
            assert!(opened_for(&peers, stack, &name_of(len)).padding_len < 300);
        }
    }
}

/// The length does not even reveal whether a name is present.
#[test]
fn outer_length_hides_whether_a_name_is_sent() {
    for provider in PROVIDERS {
        let key = EchKey::new(7, PUBLIC, SUITE).with(|config| config.maximum_name_length = 200);
        let peers = Peers::with_key(provider, key);
        for stack in stacks() {
            let named = opened_for(&peers, stack, &name_of(20));
            for address in ["192.0.2.1", "2001:db8::1"] {
                let unnamed = opened_for(&peers, stack, address);
                assert_eq!(unnamed.inner.extension(SERVER_NAME), None);
                assert_eq!(unnamed.outer.message().len(), named.outer.message().len());
            }
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
