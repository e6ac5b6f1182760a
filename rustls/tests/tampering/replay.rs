//! Replays all recorded output of one end to another connection with the same configurations.

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::endpoints::Endpoint;
use harness::peers::roles::Implementation;

use crate::tampering::conversation::EARLY;
use crate::tampering::kinds::{EarlyData, KINDS, ONCE, Pair};

/// Delivers the records one by one until the end fails. Returns the early data and the other data
/// that it received.
fn replay(end: &mut dyn Endpoint, records: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
    let (mut early, mut received) = (Vec::new(), Vec::new());
    end.take_output();
    for record in records {
        let result = end.receive(record);
        end.take_output();
        end.read_early_into(&mut early);
        if result.is_err() {
            assert_eq!(end.process(), result);
            break;
        }
        end.read_into(&mut received);
    }
    (early, received)
}

/// No handshake completes and no data arrives. The exception is early data, if the storage returns
/// its session again.
#[test]
fn a_replayed_connection_is_refused() {
    for (provider, kind) in product(PROVIDERS, KINDS) {
        for apis in [
            [Implementation::Buffered, Implementation::Unbuffered],
            [Implementation::Unbuffered, Implementation::Buffered],
        ] {
            let pair = Pair::new(kind, provider, apis);
            let [to_server, to_client] = pair.untouched().sent.clone();
            let (mut client, mut server) = (pair.client(), pair.server());
            let (early, received) = replay(&mut *server, &to_server);
            assert!(server.is_handshaking() && received.is_empty(), "{kind:?}");
            assert!(early.is_empty() || kind.early_data == EarlyData::Accepted);
            let (_, received) = replay(&mut *client, &to_client);
            assert!(client.is_handshaking() && received.is_empty(), "{kind:?}");
        }
    }
}

/// RFC 9846 §8.1: if sessions can be used only once, so can their early data. The copy or the
/// original, whichever arrives first, uses it up.
#[test]
fn replayed_early_data_is_accepted_at_most_once() {
    for (provider, api) in product(
        PROVIDERS,
        [Implementation::Buffered, Implementation::Unbuffered],
    ) {
        let pair = Pair::new(ONCE, provider, [Implementation::Upstream, api]);
        for copies_first in [false, true] {
            let mut client = pair.client();
            client.send_early(EARLY);
            let flight = client.take_output();
            let mut original = pair.server();
            let mut copies = [pair.server(), pair.server(), pair.server()];
            let mut accepted = Vec::new();
            let mut servers: Vec<_> = copies.iter_mut().chain([&mut original]).collect();
            if !copies_first {
                servers.reverse();
            }
            for (at, server) in servers.into_iter().enumerate() {
                server.receive(&flight).unwrap();
                let mut early = Vec::new();
                server.read_early_into(&mut early);
                assert_eq!(early.is_empty(), at > 0);
                accepted.extend(early);
            }
            assert_eq!(accepted, EARLY);
            // the original continues with or without early data
            harness::peers::endpoints::handshake(&mut *client, &mut *original);
            harness::peers::endpoints::talk_and_close(&mut *client, &mut *original);
            for copy in &copies {
                assert!(copy.is_handshaking());
            }
        }
    }
}
