//! Transport parameters of any size, which TLS passes on unchanged (RFC 9001 §8.2).

use harness::peers::configs::PROVIDERS;
use harness::quic::{Level, VERSIONS, deliver, exchange};

use crate::ends::{Case, ENDS, for_all_ends, pair};

#[test]
fn parameters_arrive_unchanged() {
    for_all_ends(|ends, provider| {
        for version in VERSIONS {
            let case = Case {
                version,
                ..Case::usual(ends, provider)
            };
            let (client, server) = case.sides();
            for len in [0, 1, 255, 256, 1000, 16_384, 20_000, 60_000] {
                let of_client: Vec<u8> = (0..len).map(|i| i as u8).collect();
                let of_server: Vec<u8> = (0..len).map(|i| !(i as u8)).collect();
                let mut client = client.try_with(&of_client).unwrap();
                let mut server = server.try_with(&of_server).unwrap();
                assert_eq!(
                    (client.peer_parameters(), server.peer_parameters()),
                    (None, None)
                );
                exchange(&mut *client, &mut *server).unwrap();
                assert_eq!(server.peer_parameters(), Some(of_client));
                assert_eq!(client.peer_parameters(), Some(of_server));
            }
        }
    });
}

/// A server has the client's parameters with the ClientHello, a client the server's with
/// EncryptedExtensions.
#[test]
fn parameters_are_available_once_read() {
    for ends in ENDS {
        let (mut client, mut server) = pair(Case::usual(ends, PROVIDERS[0]));
        let hello = client.take_crypto();
        let flight = deliver(&mut *server, Level::Initial, &hello[0].bytes).unwrap();
        assert!(server.peer_parameters().is_some());
        deliver(&mut *client, Level::Initial, &flight[0].bytes).unwrap();
        assert_eq!(client.peer_parameters(), None);
        deliver(&mut *client, Level::Handshake, &flight[1].bytes).unwrap();
        assert!(client.peer_parameters().is_some());
    }
}
