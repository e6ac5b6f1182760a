//! Tests of transport parameters of any size, which TLS passes on unchanged (RFC 9001 §8.2).

use harness::peers::configs::{PROVIDERS, product, product3};
use harness::peers::endpoints;
use harness::quic::{Level, VERSIONS, Version, deliver, exchange};

use crate::quic_matrix::ends::{
    Case, Client, Crate, ENDS, SERVER_PARAMETERS, Server, Sessions, changed, for_all_ends,
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

const OTHER_PARAMETERS: &[u8] = b"others";

/// Connects to a server with [`OTHER_PARAMETERS`]. Returns the parameters that the client reports:
/// at first, after its ClientHello, after each of the server's Initial messages, and after
/// EncryptedExtensions.
fn reported(client: &Client, server: &Server) -> Vec<Option<Vec<u8>>> {
    let mut client = client.connect();
    let mut server = server.try_with(OTHER_PARAMETERS).unwrap();
    let mut reported = vec![client.peer_parameters()];
    let mut hello = client.take_crypto();
    reported.push(client.peer_parameters());
    loop {
        let flight = deliver(&mut *server, Level::Initial, &hello[0].bytes).unwrap();
        hello = deliver(&mut *client, Level::Initial, &flight[0].bytes).unwrap();
        reported.push(client.peer_parameters());
        if let Some(handshake) = flight.get(1) {
            client.receive(&handshake.bytes).unwrap();
            reported.push(client.peer_parameters());
            return reported;
        }
    }
}

/// The connection that a session comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Quic,
    OtherVersion,
    Records,
}

impl Origin {
    fn connect(self, client: Client, server: Server) {
        match self {
            Self::Quic => exchange(&mut *client.connect(), &mut *server.accept()).unwrap(),
            Self::OtherVersion => {
                Self::Quic.connect(client.over(Version::V2), server.over(Version::V2));
            }
            Self::Records => {
                endpoints::handshake(&mut *client.over_records(), &mut *server.over_records());
            }
        }
    }
}

/// A client that offers a session reports the session's parameters, with early data or without,
/// until it reads those of the server: also if the server retries, or does not resume the session.
/// This crate offers no session of another version of QUIC.
#[test]
fn resuming_clients_report_the_parameters_of_the_session_until_others_arrive() {
    let origins = [Origin::Quic, Origin::OtherVersion, Origin::Records];
    let sessions = [Sessions::Stored, Sessions::Tickets];
    for (ends, origin, sessions) in product3(ENDS, origins, sessions) {
        let remembered = match (origin, ends[0]) {
            (Origin::OtherVersion, Crate::This) => None,
            (Origin::Quic | Origin::OtherVersion, _) => Some(SERVER_PARAMETERS.to_vec()),
            (Origin::Records, _) => Some(Vec::new()),
        };
        for (enables, accepts) in product([true, false], [true, false]) {
            let case = Case {
                sessions,
                early_data: accepts,
                ..Case::usual(ends, PROVIDERS[0])
            };
            let with_other_group = Case {
                retry: true,
                ..case
            };
            let retries = |server: Server| with_other_group.sides().1.with_sessions_of(&server);
            let servers: [(&dyn Fn(Server) -> Server, usize); 3] = [
                (&|server| server, 3),
                (&retries, 4),
                (&|_| case.sides().1, 3),
            ];
            for (change, remembered_for) in servers {
                let (client, server) = (with_other_group.sides().0, case.sides().1);
                let client = changed!(client, |config| config.enable_early_data = enables);
                origin.connect(client.clone(), server.clone());
                let mut expected = vec![remembered.clone(); remembered_for];
                expected.push(Some(OTHER_PARAMETERS.to_vec()));
                assert_eq!(
                    reported(&client, &change(server)),
                    expected,
                    "{case:?} {origin:?} {enables}"
                );
            }
        }
    }
}
