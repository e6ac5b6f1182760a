//! Tests of the conditions under which secrets can be extracted, and of the errors otherwise.

use std::io::{Read, Write};

use harness::comparison::agree;
use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product, product3};
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, Transfer, UpstreamUnbuffered};
use harness::wire::bare_records::Records;
use rustls::Error;
use rustls::unbuffered::ConnectionState;

use crate::extraction::{ROLES, Role, tls13};

macro_rules! conditions {
    ($module:ident, $tls:ident, $unbuffered:ident) => {
        // upstream's method is deprecated for unbuffered connections
        #[allow(deprecated)]
        mod $module {
            use harness::peers::roles::$module::Config;
            use $tls::{Connection, Error};

            use super::*;

            /// Returns configurations that allow or forbid the extraction of secrets.
            fn configs(provider: Provider, enabled: bool) -> [Config; 2] {
                ROLES.map(|role| {
                    let (version, key_type) = (Versions::Tls13, KeyType::EcdsaP256);
                    let config = Config::new(role, version, provider.$module(), key_type).edit(
                        |client| assert!(!client.enable_secret_extraction),
                        |server| assert!(!server.enable_secret_extraction),
                    );
                    if enabled {
                        config.extractable()
                    } else {
                        config
                    }
                })
            }

            pub(super) fn fresh(provider: Provider, enabled: bool) -> [Connection; 2] {
                configs(provider, enabled).map(|config| config.connection())
            }

            pub(super) fn hand_over(from: &mut Connection, to: &mut Connection) {
                let bytes = from.output();
                to.input(&bytes);
            }

            pub(super) fn connected(provider: Provider) -> [Connection; 2] {
                let [mut client, mut server] = fresh(provider, true);
                for _ in 0..3 {
                    hand_over(&mut client, &mut server);
                    hand_over(&mut server, &mut client);
                }
                [client, server]
            }

            pub(super) fn failed(provider: Provider) -> Connection {
                let [_, mut server] = connected(provider);
                let garbage = [&b"\x17\x03\x03\x00\x20"[..], &[7; 32]].concat();
                server.read_tls(&mut &garbage[..]).unwrap();
                server.process_new_packets().unwrap_err();
                server
            }

            /// Returns the error, or a note that secrets were extracted.
            fn outcome<T>(extracted: Result<T, Error>) -> String {
                match extracted {
                    Ok(_) => "secrets".to_owned(),
                    Err(error) => format!("{error:?}"),
                }
            }

            fn extract(conn: Connection) -> String {
                outcome(conn.dangerous_extract_secrets())
            }

            pub(super) fn all(provider: Provider) -> Vec<String> {
                let mut log = Vec::new();
                for enabled in [false, true] {
                    log.extend(fresh(provider, enabled).map(extract));
                    let [client, server] = configs(provider, enabled);
                    let client = || $unbuffered::client(client.clone().client()).conn;
                    let server = || $unbuffered::server(server.clone().server()).conn;
                    log.push(outcome(client().dangerous_extract_secrets()));
                    log.push(outcome(server().dangerous_extract_secrets()));
                    log.push(outcome(client().dangerous_into_kernel_connection()));
                    log.push(outcome(server().dangerous_into_kernel_connection()));
                }
                // the server's flight is pending, then sent; the client's is pending, then sent
                for steps in 1..=4 {
                    let [mut client, mut server] = fresh(provider, true);
                    for step in 1..=steps {
                        if step % 2 == 1 {
                            hand_over(&mut client, &mut server);
                        } else {
                            hand_over(&mut server, &mut client);
                        }
                    }
                    log.push(extract(client));
                    log.push(extract(server));
                }
                let [mut client, mut server] = connected(provider);
                client.writer().write_all(b"data").unwrap();
                hand_over(&mut client, &mut server);
                client.writer().write_all(b"data").unwrap();
                log.push(format!("unsent: {}", extract(client)));
                drop(server);

                let [mut client, server] = connected(provider);
                client.refresh_traffic_keys().unwrap();
                log.push(format!("KeyUpdate unsent: {}", extract(client)));
                drop(server);

                let [mut client, mut server] = connected(provider);
                client.send_close_notify();
                hand_over(&mut client, &mut server);
                log.push(format!("has closed: {}", extract(client)));
                log.push(format!("peer has closed: {}", extract(server)));

                let mut server = failed(provider);
                server.write_tls(&mut Vec::new()).unwrap();
                log.push(format!("failed: {}", extract(server)));
                log
            }
        }
    };
}

conditions!(this, rustls, ThisUnbuffered);
conditions!(upstream, rustls_upstream, UpstreamUnbuffered);

#[test]
fn secrets_are_extracted_under_the_same_conditions_as_upstream() {
    for provider in PROVIDERS {
        let log = this::all(provider);
        let theirs = upstream::all(provider);
        for (ours, theirs) in log.iter().zip(&theirs) {
            assert!(agree(ours, theirs), "ours {ours}, theirs {theirs}");
        }
        assert_eq!(log.len(), theirs.len());
        assert!(log.contains(&"secrets".to_owned()));
    }
}

/// A failed connection has no secrets, even before its alert is sent.
#[test]
fn secrets_of_a_failed_connection_are_not_extracted() {
    let server = this::failed(PROVIDERS[0]);
    assert!(server.wants_write());
    let extracted = server.dangerous_extract_secrets();
    assert_eq!(extracted.err(), Some(Error::DecryptError));
}

fn assert_refused(conn: rustls::Connection, what: &str) {
    let extracted = conn.dangerous_extract_secrets();
    assert!(matches!(extracted, Err(Error::General(_))), "{what}");
}

/// Upstream silently drops received data that was not read. The new owner of the keys would miss
/// data, or see a record or message without its beginning.
#[test]
fn secrets_are_not_extracted_with_unread_input() {
    for provider in PROVIDERS {
        let sent = || {
            let [mut client, server] = this::connected(provider);
            client.writer().write_all(b"data").unwrap();
            (client.output(), server)
        };
        let (record, mut server) = sent();
        server.read_tls(&mut &record[..]).unwrap();
        assert_refused(server, "a record that was not processed");

        // partial records
        for len in [1, 5, record.len() - 1] {
            let (record, mut server) = sent();
            server.input(&record[..len]);
            assert_refused(server, "a part of a record");
        }

        let (record, mut server) = sent();
        server.input(&record);
        let mut data = [0; 4];
        for len in [1, 2] {
            assert_eq!(server.reader().read(&mut data[..len]).unwrap(), len);
        }
        assert_refused(server, "plaintext");

        // with everything read
        let (record, mut server) = sent();
        server.input(&record);
        server.reader().read_exact(&mut data).unwrap();
        assert_eq!(server.dangerous_extract_secrets().unwrap().rx.0, 1);

        // data after a close_notify is ignored
        let [mut client, mut server] = this::connected(provider);
        client.send_close_notify();
        let bytes = [&client.output()[..], b"more"].concat();
        server.read_tls(&mut &bytes[..]).unwrap();
        assert!(server.process_new_packets().unwrap().peer_has_closed());
        server.dangerous_extract_secrets().unwrap();
    }
}

/// Data in the caller's buffer would also be missed, because its record is already counted.
#[test]
fn secrets_are_not_extracted_with_data_that_was_only_peeked() {
    for (provider, peeks, takes) in product3(PROVIDERS, [false, true], [false, true]) {
        let case = tls13(provider, Role::Client);
        let (mut ours, mut peer) = (case.unbuffered_client(), case.peer());
        case.connect(&mut ours, &mut peer);
        peer.send(b"data");
        let mut incoming = peer.take_output();
        let mut conn = ours.conn;
        let status = conn.process_tls_records(&mut incoming);
        let Ok(ConnectionState::ReadTraffic(mut state)) = status.state else {
            panic!("no data");
        };
        if peeks {
            assert_eq!(state.peek_len().unwrap().get(), 4);
        }
        if takes {
            state.next_record().unwrap().unwrap();
        }
        match conn.dangerous_into_kernel_connection() {
            Ok(_) => assert!(takes),
            Err(error) => assert!(!takes && matches!(error, Error::General(_))),
        }
    }
}

/// A partial message would be lost together with the connection.
#[test]
fn secrets_are_not_extracted_in_the_middle_of_a_message() {
    for (provider, role) in product(PROVIDERS, ROLES) {
        let case = tls13(provider, role);
        let mut peer = case.our_peer();
        let mut ours = case.buffered();
        case.connect(&mut ours, &mut peer);
        let secrets = peer.conn.dangerous_extract_secrets().unwrap();
        let mut sending = Records::new(true, secrets.tx);
        ours.receive(&sending.seal(22, &[4, 0, 0])).unwrap();
        assert_refused(ours.conn, "a part of a message");
    }
}

/// RFC 9846 §4.7.3: the peer's request must be answered before the next application data. The new
/// owner of the secrets would not know of the request.
#[test]
fn secrets_are_not_extracted_while_a_key_update_is_owed() {
    for provider in PROVIDERS {
        let owing = || {
            let [mut client, mut server] = this::connected(provider);
            client.refresh_traffic_keys().unwrap();
            this::hand_over(&mut client, &mut server);
            assert!(!server.wants_write());
            [client, server]
        };
        let [_, server] = owing();
        assert_refused(server, "an owed KeyUpdate");

        let [mut client, mut server] = owing();
        server.refresh_traffic_keys().unwrap();
        this::hand_over(&mut server, &mut client);
        assert_eq!(server.dangerous_extract_secrets().unwrap().tx.0, 0);
    }
}
