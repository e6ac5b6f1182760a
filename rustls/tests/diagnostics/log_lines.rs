//! The log lines of each event, and their levels.

use std::collections::BTreeSet;
use std::sync::Arc;

use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, server_name,
};
use harness::peers::log_lines::{Line, listen};
use log::Level;

use crate::recording::{self, assert_no_secret};

/// An event in the life of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Handshake,
    Retry,
    Resumption,
    CloseSent,
    CloseReceived,
    WarningReceived,
    FatalReceived,
    BadRecord,
    NoRecord,
    UnknownIssuer,
    NoSuiteInCommon,
    NoAlpnInCommon,
    NoCertificate,
    ClientCertificate,
    NoClientCertificate,
    UnexpectedMessage,
    UnexpectedRecord,
    ChangeCipherSpec,
    KeyUpdate,
    EarlyData,
    EarlyDataRejected,
    LongValues,
}

const EVENTS: [Event; 22] = [
    Event::Handshake,
    Event::Retry,
    Event::Resumption,
    Event::CloseSent,
    Event::CloseReceived,
    Event::WarningReceived,
    Event::FatalReceived,
    Event::BadRecord,
    Event::NoRecord,
    Event::UnknownIssuer,
    Event::NoSuiteInCommon,
    Event::NoAlpnInCommon,
    Event::NoCertificate,
    Event::ClientCertificate,
    Event::NoClientCertificate,
    Event::UnexpectedMessage,
    Event::UnexpectedRecord,
    Event::ChangeCipherSpec,
    Event::KeyUpdate,
    Event::EarlyData,
    Event::EarlyDataRejected,
    Event::LongValues,
];

macro_rules! events {
    ($module:ident, $tls:ident) => {
        mod $module {
            use std::io::{Read, Write};

            use $tls::{CipherSuite, ClientConfig, Connection, NamedGroup, ServerConfig};

            use super::*;

            /// The lines of a client and of a server, both of this crate.
            pub(super) fn lines(
                provider: Provider,
                versions: Versions,
                event: Event,
            ) -> [Vec<Line>; 2] {
                let (client, server) = configs(provider, versions, event);
                let (client, server) = (Arc::new(client), Arc::new(server));
                let connect = || {
                    let client = $tls::ClientConnection::new(client.clone(), server_name());
                    let server = $tls::ServerConnection::new(server.clone());
                    [
                        End::new(client.unwrap().into()),
                        End::new(server.unwrap().into()),
                    ]
                };
                let resumes = [
                    Event::Resumption,
                    Event::EarlyData,
                    Event::EarlyDataRejected,
                ];
                if resumes.contains(&event) {
                    exchange_all(&mut connect());
                }
                let mut ends = connect();
                if let (Event::EarlyData | Event::EarlyDataRejected, Connection::Client(conn)) =
                    (event, &mut ends[0].conn)
                    && let Some(mut early) = conn.early_data()
                {
                    early.write_all(b"early").unwrap();
                }
                if event == Event::EarlyDataRejected
                    && let Connection::Server(conn) = &mut ends[1].conn
                {
                    conn.reject_early_data();
                }
                match event {
                    Event::NoRecord => {
                        ends[0].receive(b"HTTP/1.1 400 Bad Request\r\n\r\n");
                        ends[1].receive(b"GET / HTTP/1.1\r\n\r\n");
                    }
                    Event::WarningReceived => {
                        ends.iter_mut().for_each(|end| {
                            end.send();
                            end.receive(&[21, 3, 3, 0, 2, 1, 112]);
                        });
                    }
                    Event::FatalReceived => {
                        ends.iter_mut().for_each(|end| {
                            end.send();
                            end.receive(&[21, 3, 3, 0, 2, 2, 40]);
                        });
                    }
                    Event::ChangeCipherSpec => {
                        let hello = ends[0].send();
                        ends[1].receive(&hello);
                        ends.iter_mut()
                            .for_each(|end| end.receive(&[20, 3, 3, 0, 1, 1]));
                    }
                    Event::UnexpectedMessage => {
                        ends.iter_mut().for_each(|end| {
                            end.send();
                            end.receive(&[22, 3, 3, 0, 4, 14, 0, 0, 0]);
                        });
                    }
                    Event::UnexpectedRecord => {
                        ends.iter_mut().for_each(|end| {
                            end.send();
                            end.receive(&[23, 3, 3, 0, 1, 7]);
                        });
                    }
                    _ => exchange_all(&mut ends),
                }
                // events after the handshake
                match event {
                    Event::CloseSent
                    | Event::CloseReceived
                    | Event::BadRecord
                    | Event::KeyUpdate => {
                        ends.iter_mut().for_each(|end| end.lines.clear());
                    }
                    _ => {}
                }
                match event {
                    Event::CloseSent => {
                        ends.iter_mut().for_each(|end| {
                            end.call(|conn| conn.send_close_notify());
                        });
                    }
                    Event::CloseReceived => {
                        ends.iter_mut().for_each(|end| end.conn.send_close_notify());
                        exchange_all(&mut ends);
                    }
                    Event::BadRecord => {
                        ends.iter_mut().for_each(|end| {
                            end.receive(&[&[23, 3, 3, 0, 40][..], &[7; 40]].concat());
                        });
                    }
                    Event::KeyUpdate => {
                        ends.iter_mut().for_each(|end| {
                            end.call(|conn| drop(conn.refresh_traffic_keys()));
                        });
                        exchange_all(&mut ends);
                    }
                    _ => {}
                }
                ends.map(|end| end.lines)
            }

            fn configs(
                provider: Provider,
                versions: Versions,
                event: Event,
            ) -> (ClientConfig, ServerConfig) {
                let auth = match event {
                    Event::ClientCertificate => ClientAuth::Required,
                    Event::NoClientCertificate => ClientAuth::OptionalAbsent,
                    _ => ClientAuth::None,
                };
                let key_type = KeyType::Ed25519;
                let trusted = match event {
                    Event::UnknownIssuer => KeyType::EcdsaP256,
                    _ => key_type,
                };
                let mut of_client = recording::$module::provider(provider);
                let mut of_server = recording::$module::provider(provider);
                match event {
                    Event::NoSuiteInCommon => {
                        let aes = |suite: CipherSuite| format!("{suite:?}").contains("AES_128");
                        of_client.cipher_suites.retain(|suite| aes(suite.suite()));
                        of_server.cipher_suites.retain(|suite| !aes(suite.suite()));
                    }
                    Event::Retry => {
                        of_server
                            .kx_groups
                            .retain(|group| group.name() == NamedGroup::secp384r1);
                    }
                    _ => {}
                }
                let mut client = configs::$module::client_of(versions, of_client, trusted, auth);
                let mut server = configs::$module::server_of(versions, of_server, key_type, auth);
                match event {
                    Event::NoAlpnInCommon => client.alpn_protocols = vec![b"other".to_vec()],
                    Event::LongValues => {
                        client.alpn_protocols = vec![vec![0x81; 255], vec![0x82; 255]];
                        server.alpn_protocols = vec![vec![0x82; 255]];
                    }
                    Event::NoCertificate => {
                        server.cert_resolver =
                            Arc::new($tls::server::ResolvesServerCertUsingSni::new());
                    }
                    Event::EarlyData | Event::EarlyDataRejected => {
                        client.enable_early_data = true;
                        server.max_early_data_size = 1000;
                    }
                    _ => {}
                }
                (client, server)
            }

            /// A connection and its log lines.
            struct End {
                conn: Connection,
                lines: Vec<Line>,
            }

            impl End {
                fn new(conn: Connection) -> Self {
                    Self {
                        conn,
                        lines: Vec::new(),
                    }
                }

                fn call<T>(&mut self, call: impl FnOnce(&mut Connection) -> T) -> T {
                    let (value, lines) = listen(|| call(&mut self.conn));
                    self.lines.extend(lines);
                    value
                }

                fn send(&mut self) -> Vec<u8> {
                    self.call(|conn| {
                        let mut out = Vec::new();
                        while conn.wants_write() {
                            conn.write_tls(&mut out).unwrap();
                        }
                        out
                    })
                }

                fn receive(&mut self, mut bytes: &[u8]) {
                    self.call(|conn| {
                        while !bytes.is_empty()
                            && conn.read_tls(&mut bytes).is_ok_and(|read| read != 0)
                            && conn.process_new_packets().is_ok()
                        {}
                        let _ = conn.reader().read_to_end(&mut Vec::new());
                    });
                }
            }

            fn exchange_all(ends: &mut [End; 2]) {
                loop {
                    let [client, server] = ends;
                    let to_server = client.send();
                    server.receive(&to_server);
                    let to_client = server.send();
                    client.receive(&to_client);
                    if to_server.is_empty() && to_client.is_empty() {
                        break;
                    }
                }
            }
        }
    };
}

events!(this, rustls);
events!(upstream, rustls_upstream);

/// A logged fact, as prefixes of its lines in this crate and in upstream.
struct Fact {
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
}

const FACTS: [Fact; 14] = [
    Fact {
        ours: &["received ClientHello"],
        theirs: &["we got a clienthello"],
    },
    Fact {
        ours: &["received ServerHello,"],
        theirs: &["We got ServerHello", "Got HRR"],
    },
    Fact {
        ours: &["choosing a certificate"],
        theirs: &["Resolving server certificate"],
    },
    Fact {
        ours: &["sending NewSessionTicket"],
        theirs: &["sending new ticket"],
    },
    Fact {
        ours: &["dropped a change_cipher_spec"],
        theirs: &["Dropping CCS"],
    },
    Fact {
        ours: &["dropped early data"],
        theirs: &["Dropping undecryptable"],
    },
    Fact {
        ours: &["cipher suite "],
        theirs: &["Using ciphersuite", "decided upon suite"],
    },
    Fact {
        ours: &["application protocol "],
        theirs: &["ALPN protocol is", "Chosen ALPN protocol"],
    },
    Fact {
        ours: &["resuming a session"],
        theirs: &["Resuming", "Server agreed to resume"],
    },
    Fact {
        ours: &["client authentication"],
        theirs: &[
            "Attempting client auth",
            "Client auth requested",
            "client auth requested",
        ],
    },
    Fact {
        ours: &["the client's early data is not accepted"],
        theirs: &["Client requested early_data, but not accepted"],
    },
    Fact {
        ours: &["sending Warning alert"],
        theirs: &["Sending warning alert"],
    },
    Fact {
        ours: &["received warning alert"],
        theirs: &["TLS alert warning received"],
    },
    Fact {
        ours: &[
            "received unexpected message",
            "received unexpected handshake message",
        ],
        theirs: &["Received a "],
    },
];

/// The longest line in bytes. Peers must not be able to fill a disk.
const LONGEST: usize = 1100;

/// The levels of the `lines` that begin with any of `beginnings`.
fn levels(lines: &[Line], beginnings: &[&str]) -> BTreeSet<Level> {
    let matches = |line: &&Line| beginnings.iter().any(|it| line.text.starts_with(it));
    lines
        .iter()
        .filter(matches)
        .map(|line| line.level)
        .collect()
}

/// True if the two crates behave differently, not only log differently.
fn behaves_differently(versions: Versions, event: Event, of_client: bool) -> bool {
    match event {
        // this crate chooses everything before it sends anything
        Event::NoAlpnInCommon => true,
        // this crate's client sends its change_cipher_spec with its second flight, which is missing
        // here
        Event::UnknownIssuer => !of_client,
        // the client receives it before the ServerHello, where this crate drops it
        Event::ChangeCipherSpec => of_client,
        // TLS 1.2 has none
        Event::EarlyData | Event::EarlyDataRejected | Event::KeyUpdate => {
            versions == Versions::Tls12
        }
        _ => false,
    }
}

#[test]
fn facts_are_logged_at_the_same_level() {
    for provider in PROVIDERS {
        for versions in [Versions::Tls12, Versions::Tls13] {
            for event in EVENTS {
                let ours = this::lines(provider, versions, event);
                let texts: Vec<&str> = ours.iter().flatten().map(|line| &line.text[..]).collect();
                assert_no_secret(&texts.join("\n"));
                for text in texts {
                    assert!(text.len() <= LONGEST, "{text}");
                }
                let secrets = recording::forget();
                let derived = [
                    Event::Handshake,
                    Event::Resumption,
                    Event::ClientCertificate,
                ];
                assert!(secrets != 0 || !derived.contains(&event), "{event:?}");
                let theirs = upstream::lines(provider, versions, event);
                recording::forget();
                for (side, (ours, theirs)) in
                    ["client", "server"].iter().zip(ours.iter().zip(&theirs))
                {
                    if behaves_differently(versions, event, *side == "client") {
                        continue;
                    }
                    for fact in &FACTS {
                        let expected = levels(theirs, fact.theirs);
                        // this crate may log more, except as checked below
                        if !expected.is_empty() {
                            assert_eq!(
                                levels(ours, fact.ours),
                                expected,
                                "{provider:?} {versions:?} {event:?} {side} {:?}\n{ours:#?}",
                                fact.ours
                            );
                        }
                    }
                    // lines that may alert an operator
                    let warned = |lines: &[Line]| {
                        lines
                            .iter()
                            .filter(|line| line.level <= Level::Warn)
                            .count()
                    };
                    assert_eq!(
                        warned(ours),
                        warned(theirs),
                        "{versions:?} {event:?} {side} {ours:#?} {theirs:#?}"
                    );
                }
            }
        }
    }
}
