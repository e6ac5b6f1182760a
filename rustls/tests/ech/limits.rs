//! Tests of oversized ClientHellos, and of their split into records.

use harness::peers::configs::PROVIDERS;
use harness::scripted::Script;
use harness::scripted::ech::EchKey;
use harness::wire::client_hello::{EARLY_DATA, PRE_SHARED_KEY};
use harness::wire::records;

use crate::ech::clients::{OURS, stacks};
use crate::ech::kit::{ALLOWS_EARLY_DATA, PUBLIC, Peers, SUITE, new_session_ticket};

/// The inner ClientHello contains a ticket, and the outer one as many random bytes and the
/// encrypted inner one. A ticket that does not fit is omitted, and the connection succeeds.
#[test]
fn tickets_of_any_length_do_not_prevent_a_connection() {
    for peers in PROVIDERS.map(Peers::new) {
        for len in [
            1, 1000, 20_000, 31_000, 32_000, 32_100, 32_200, 32_300, 32_400, 33_000, 40_000, 65_000,
        ] {
            let ticket = new_session_ticket(&vec![0x71; len], &ALLOWS_EARLY_DATA);
            for &stack in OURS {
                let mut setup = peers.setup();
                setup.early_data = true;
                let config = stack.config(&setup).unwrap();
                let mut script = peers.accepting();
                script.post_handshake = vec![ticket.clone()];
                let run = peers.run_with(&config, &script);
                assert_eq!(run.client.tickets_received(), 1, "{len}");

                let mut client = config.connect().unwrap();
                client.send_early(b"early");
                let run = peers.run_client(client, &peers.accepting());
                assert_eq!(run.conversation.outcome.error, None, "{len} {stack:?}");
                run.assert_status("Accepted");
                let inner = &run.conversation.opened[0].inner;
                let has_psk = inner.extension(PRE_SHARED_KEY).is_some();
                // both tickets and the rest must fit
                assert_eq!(has_psk, len < 32_500, "{len}");
                assert_eq!(inner.extension(EARLY_DATA).is_some(), has_psk);
            }
        }
    }
}

/// A GREASE client sends a ticket and a fake encrypted ClientHello that is long enough for that
/// ticket. The connection succeeds, without the session if necessary.
#[test]
fn tickets_of_grease_clients_do_not_prevent_a_connection() {
    let peers = Peers::new(PROVIDERS[0]);
    let without_protocols = [
        1, 1000, 20_000, 32_000, 32_200, 32_400, 33_000, 40_000, 64_000, 64_500, 65_000, 65_100,
        65_400,
    ];
    for (protocols, lens) in [
        (0, &without_protocols[..]),
        (200, &[1000, 3000, 4000, 5000, 6000, 8000, 12_000, 65_000]),
        (220, &[1, 1000, 1500, 2000, 2100, 3000]),
    ] {
        for &len in lens {
            let mut setup = peers.greasing();
            setup.alpn = vec![vec![b'p'; 255]; protocols];
            for &stack in OURS {
                let config = stack.config(&setup).unwrap();
                let script = Script {
                    post_handshake: vec![new_session_ticket(&vec![0x71; len], &[])],
                    ..Script::new()
                };
                let run = peers.run_with(&config, &script);
                assert_eq!(run.client.tickets_received(), 1, "{len}");
                let client = config.connect().unwrap_or_else(|error| {
                    panic!("{protocols} protocols, a ticket of {len} bytes: {error}")
                });
                let run = peers.run_client(client, &Script::new());
                assert_eq!(run.conversation.outcome.error, None, "{len} {stack:?}");
                let offers_session = run.outer()[0].extension(PRE_SHARED_KEY).is_some();
                // at least this much is left beside the protocols and the other extensions
                let room = 65_000 - protocols * 256 - 2000;
                assert!(offers_session || len > room, "{protocols} {len}");
            }
        }
    }
}

/// Tries ClientHelloInners that barely fit, although ClientHelloOuter does not.
#[test]
fn inner_hellos_that_barely_fit_are_sent() {
    for max in [0, 255] {
        let key = EchKey::new(7, PUBLIC, SUITE).with(|config| config.maximum_name_length = max);
        let peers = Peers::with_key(PROVIDERS[1], key);
        for len in (64_500..65_480).step_by(14) {
            let ticket = new_session_ticket(&vec![0x71; len], &[]);
            for &stack in OURS {
                let config = stack.config(&peers.setup()).unwrap();
                let mut script = peers.accepting();
                script.post_handshake = vec![ticket.clone()];
                let run = peers.run_with(&config, &script);
                assert_eq!(run.client.tickets_received(), 1, "{len}");
                peers
                    .run_with(&config, &peers.accepting())
                    .assert_accepted();
            }
        }
    }
}

/// Only ClientHelloOuter contains the list of protocols. A list that is too long causes an error
/// before anything is sent.
#[test]
fn protocols_that_do_not_fit_are_an_error() {
    let peers = Peers::new(PROVIDERS[0]);
    for count in [1, 100, 200, 220, 230, 240, 250, 256, 257, 300] {
        let mut setup = peers.setup();
        setup.alpn = vec![vec![b'p'; 255]; count];
        for &stack in OURS {
            match stack.config(&setup).and_then(|config| config.connect()) {
                Ok(client) => {
                    assert!(count < 256, "{count}");
                    peers
                        .run_client(client, &peers.accepting())
                        .assert_accepted();
                }
                Err(error) => {
                    assert!(
                        count > 220 && error.starts_with("General("),
                        "{count} {error}"
                    );
                }
            }
        }
    }
}

/// Tries configuration lists of nearly the maximum length.
#[test]
fn very_long_config_lists_are_read() {
    for (suites, data) in [(16_000, 0), (1, 65_000), (8_000, 33_000)] {
        let key = EchKey::new(255, PUBLIC, SUITE).with(|config| {
            let (_, kdf, aead) = SUITE;
            config.suites = vec![(0x7777, aead); suites - 1];
            config.suites.push((kdf, aead));
            config.extensions = vec![(0x0a0a, vec![0; data])];
            config.maximum_name_length = 255;
        });
        let peers = Peers::with_key(PROVIDERS[0], key);
        peers.accepted(&peers.setup(), &peers.accepting());
    }
}

/// RFC 9846 §5.1: each record respects the length limit.
#[test]
fn a_long_hello_is_split_into_records() {
    let peers = Peers::new(PROVIDERS[0]);
    for mut setup in [peers.setup(), peers.greasing()] {
        setup.alpn = vec![vec![b'p'; 255]; 150];
        for stack in stacks() {
            let mut client = stack.config(&setup).unwrap().connect().unwrap();
            let output = client.take_output();
            let records = records(&output);
            let mut lens = records.iter().map(|record| record.payload.len());
            assert!(
                records.len() > 2 && lens.all(|len| len <= 1 << 14),
                "{stack:?}"
            );
        }
    }
}
