//! Tests of transport parameters of any size, which TLS passes on unchanged (RFC 9001 §8.2).

use harness::peers::configs::{PROVIDERS, product};
use harness::quic::{Level, VERSIONS, deliver, exchange};

use crate::quic_matrix::ends::{
    CLIENT_PARAMETERS, Case, ENDS, SERVER_PARAMETERS, for_all_ends, pair,
};

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
                assert_eq!(client.peer_parameters(), None);
                assert_eq!(server.peer_parameters(), None);
                exchange(&mut *client, &mut *server).unwrap();
                assert_eq!(server.peer_parameters(), Some(of_client));
                assert_eq!(client.peer_parameters(), Some(of_server));
            }
        }
    });
}

/// A server has the client's parameters after the ClientHello, a client the server's after
/// EncryptedExtensions.
#[test]
fn parameters_are_available_once_read() {
    for (ends, version) in product(ENDS, VERSIONS) {
        let (mut client, mut server) = pair(Case {
            version,
            ..Case::usual(ends, PROVIDERS[0])
        });
        let hello = client.take_crypto();
        server.receive(&hello[0].bytes).unwrap();
        assert_eq!(server.peer_parameters().unwrap(), CLIENT_PARAMETERS);
        let flight = server.take_crypto();
        deliver(&mut *client, Level::Initial, &flight[0].bytes).unwrap();
        assert_eq!(client.peer_parameters(), None);
        client.receive(&flight[1].bytes).unwrap();
        assert_eq!(client.peer_parameters().unwrap(), SERVER_PARAMETERS);
    }
}
