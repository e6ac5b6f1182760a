//! Tests of the choice among the offered sessions.

use harness::peers::configs::product;
use harness::peers::servers::{Server, Settings, hello, servers};
use harness::scripted::OfferedPsk;
use harness::wire::Reader;
use harness::wire::client_hello::{ALPN, SERVER_NAME, host_name, protocols};

const ENCRYPTED_EXTENSIONS: u8 = 8;

/// RFC 9846 §8.1: a stored session is used once; a session in a ticket can be used again.
#[test]
fn stored_sessions_are_used_once() {
    for settings in Settings::all() {
        for server in settings.servers() {
            let offer = server.tickets(&settings).remove(0).offer(0);
            assert!(server.resumes(&settings, hello(), &offer));
            assert_eq!(server.resumes(&settings, hello(), &offer), settings.sealed);
        }
    }
}

/// The server chooses the first known session, but only looks at the first few.
#[test]
fn the_first_known_session_is_chosen() {
    for settings in Settings::all() {
        let [buffered, unbuffered, upstream] = settings.servers();
        for (server, most) in [(buffered, 4), (unbuffered, 4), (upstream, 1000)] {
            for unknown in [0, 1, 3, 4, 40] {
                let ticket = server.tickets(&settings).remove(0);
                let mut offer = ticket.offer(0);
                let known = offer.identities.remove(0);
                offer.identities = vec![(vec![7; known.0.len()], 0); unknown];
                offer.identities.push(known);
                let resumes = server.resumes(&settings, hello(), &offer);
                assert_eq!(resumes, unknown < most, "behind {unknown}");
            }
        }
    }
}

/// RFC 9846 §4.3.9: resumption requires a key exchange.
#[test]
fn resumption_requires_a_key_exchange() {
    for (settings, server) in servers(Settings::new) {
        for modes in [&[0][..], &[1], &[0, 1], &[9, 1, 0], &[9]] {
            let offer = OfferedPsk {
                modes: modes.to_vec(),
                ..server.tickets(&settings).remove(0).offer(0)
            };
            let resumed = server.resumes(&settings, hello(), &offer);
            assert_eq!(resumed, modes.contains(&1), "{modes:?}");
        }
    }
}

/// RFC 6066 §3: a session resumes under the same name, or without one if it had none.
#[test]
fn a_session_resumes_only_with_its_name() {
    for settings in Settings::all() {
        for server in settings.servers() {
            let names = [
                hello().without(SERVER_NAME),
                hello(),
                hello().with(SERVER_NAME, host_name(b"other.example")),
                hello().with(SERVER_NAME, host_name(b"LOCALHOST")),
            ];
            for (i, j) in product(0..names.len(), 0..names.len()) {
                let ticket = server.tickets_for(&settings, names[i].clone()).remove(0);
                let resumed = server.resumes(&settings, names[j].clone(), &ticket.offer(0));
                let same = i == j || (i.min(j), i.max(j)) == (1, 3);
                assert_eq!(resumed, same, "{i} {j}");
            }
        }
    }
}

/// RFC 6066 §3: resumed handshakes do not acknowledge the name.
#[test]
fn the_name_is_acknowledged_in_full_handshakes_only() {
    for (settings, server) in servers(Settings::new) {
        let ticket = server.tickets(&settings).remove(0).offer(0);
        for offer in [None, Some(&ticket)] {
            let client = server.connect(&settings, hello(), offer).unwrap();
            assert_eq!(client.is_resumed, offer.is_some());
            let mut message = Reader::of_message(&client.flight[0], ENCRYPTED_EXTENSIONS);
            let extensions = message.extensions();
            let is_acknowledged = extensions.iter().any(|(typ, _)| *typ == SERVER_NAME);
            assert_eq!(is_acknowledged, offer.is_none());
        }
    }
}

/// RFC 9846 §4.7.1: the suite may be any with the same hash function. Upstream requires the same
/// suite.
#[test]
fn a_session_resumes_with_any_suite_of_its_hash() {
    const SUITES: [u16; 3] = [0x1301, 0x1302, 0x1303];

    for settings in Settings::all() {
        for server in settings.servers() {
            let is_upstream = matches!(server, Server::Upstream(_));
            for (first, second) in product(SUITES, SUITES) {
                let with = |suite| hello().edit(|hello| hello.cipher_suites = vec![suite]);
                let ticket = server.tickets_for(&settings, with(first)).remove(0);
                let resumed = server.resumes(&settings, with(second), &ticket.offer(0));
                let is_one_hash = (first == 0x1302) == (second == 0x1302);
                let is_due = is_one_hash && (first == second || !is_upstream);
                assert_eq!(resumed, is_due, "{is_upstream}: {first:x} {second:x}");
            }
        }
    }
}

/// RFC 9846 §4.3.10: only early data requires the same protocol.
#[test]
fn a_session_resumes_with_another_application_protocol() {
    for (settings, server) in servers(Settings::new) {
        let ticket = server.tickets(&settings).remove(0);
        let other = hello().with(ALPN, protocols(&[b"http/1.1"]));
        assert!(server.resumes(&settings, other, &ticket.offer(0)));
    }
}
