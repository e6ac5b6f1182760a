//! The log lines of each event, and their levels.

use std::collections::BTreeSet;
use std::sync::Arc;

use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product3, server_name,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, Transfer, exchange};
use harness::peers::log_lines::{Line, listen};
use harness::verifiers::this::Verifier;
use log::Level;

use crate::diagnostics::recording::{self, assert_no_secret};

harness::listed! {
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
}

macro_rules! events {
    ($module:ident, $tls:ident) => {
        mod $module {
            use std::io::{Read, Write};

            use $tls::{CipherSuite, ClientConfig, Connection, NamedGroup, ServerConfig};

            use super::*;

            /// Returns the lines of a client and of a server, both of this crate.
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
                    [client.unwrap().into(), server.unwrap().into()].map(End::new)
                };
                if let Event::Resumption | Event::EarlyData | Event::EarlyDataRejected = event {
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
                let bad_record = [&[23, 3, 3, 0, 40][..], &[7; 40]].concat();
                let instead: Option<&[u8]> = match event {
                    Event::WarningReceived => Some(&[21, 3, 3, 0, 2, 1, 112]),
                    Event::FatalReceived => Some(&[21, 3, 3, 0, 2, 2, 40]),
                    Event::UnexpectedMessage => Some(&[22, 3, 3, 0, 4, 14, 0, 0, 0]),
                    Event::UnexpectedRecord => Some(&[23, 3, 3, 0, 1, 7]),
                    _ => None,
                };
                match event {
                    Event::NoRecord => {
                        ends[0].receive(b"HTTP/1.1 400 Bad Request\r\n\r\n");
                        ends[1].receive(b"GET / HTTP/1.1\r\n\r\n");
                    }
                    Event::ChangeCipherSpec => {
                        let hello = ends[0].send();
                        ends[1].receive(&hello);
                        ends.iter_mut()
                            .for_each(|end| end.receive(&[20, 3, 3, 0, 1, 1]));
                    }
                    _ => match instead {
                        Some(record) => ends.iter_mut().for_each(|end| {
                            end.send();
                            end.receive(record);
                        }),
                        None => exchange_all(&mut ends),
                    },
                }
                // events after the handshake
                let each: fn(&mut End, &[u8]) = match event {
                    Event::CloseSent => |end, _| end.call(|conn| conn.send_close_notify()),
                    Event::CloseReceived => |end, _| end.conn.send_close_notify(),
                    Event::BadRecord => |end, bad_record| end.receive(bad_record),
                    Event::KeyUpdate => |end, _| end.call(|conn| drop(conn.refresh_traffic_keys())),
                    _ => return ends.map(|end| end.lines),
                };
                for end in &mut ends {
                    end.lines.clear();
                }
                ends.iter_mut().for_each(|end| each(end, &bad_record));
                if matches!(event, Event::CloseReceived | Event::KeyUpdate) {
                    exchange_all(&mut ends);
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
                    self.call(|conn| conn.output())
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
type Fact = (&'static [&'static str], &'static [&'static str]);

#[rustfmt::skip] // a table
const FACTS: [Fact; 14] = [
    (&["received ClientHello"], &["we got a clienthello"]),
    (&["received ServerHello,"], &["We got ServerHello", "Got HRR"]),
    (&["choosing a certificate"], &["Resolving server certificate"]),
    (&["sending NewSessionTicket"], &["sending new ticket"]),
    (&["dropped a change_cipher_spec"], &["Dropping CCS"]),
    (&["dropped early data"], &["Dropping undecryptable"]),
    (&["cipher suite "], &["Using ciphersuite", "decided upon suite"]),
    (&["application protocol "], &["ALPN protocol is", "Chosen ALPN protocol"]),
    (&["resuming a session"], &["Resuming", "Server agreed to resume"]),
    (
        &["client authentication"],
        &["Attempting client auth", "Client auth requested", "client auth requested"],
    ),
    (
        &["the client's early data is not accepted"],
        &["Client requested early_data, but not accepted"],
    ),
    (&["sending Warning alert"], &["Sending warning alert"]),
    (&["received warning alert"], &["TLS alert warning received"]),
    (
        &["received unexpected message", "received unexpected handshake message"],
        &["Received a "],
    ),
];

/// The length of the longest line in bytes. It is limited so that peers cannot fill a disk.
const LONGEST: usize = 1100;

/// Returns the levels of the `lines` that begin with any of `beginnings`.
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
        // TLS 1.2 has no early data
        Event::EarlyData | Event::EarlyDataRejected | Event::KeyUpdate => {
            versions == Versions::Tls12
        }
        _ => false,
    }
}

#[test]
fn facts_are_logged_at_the_same_level_as_in_upstream() {
    for (provider, versions, &event) in product3(PROVIDERS, Versions::EACH, Event::ALL) {
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
        for (side, (ours, theirs)) in ["client", "server"].iter().zip(ours.iter().zip(&theirs)) {
            if behaves_differently(versions, event, *side == "client") {
                continue;
            }
            for (prefixes, upstreams) in FACTS {
                let expected = levels(theirs, upstreams);
                // this crate may log more, except as checked below
                if !expected.is_empty() {
                    let what = format!("{provider:?} {versions:?} {event:?} {side} {prefixes:?}");
                    assert_eq!(levels(ours, prefixes), expected, "{what}\n{ours:#?}");
                }
            }
            // lines that may trigger an alarm
            let is_warning = |line: &&Line| line.level <= Level::Warn;
            let warned = |lines: &[Line]| lines.iter().filter(is_warning).count();
            let what = format!("{versions:?} {event:?} {side} {ours:#?} {theirs:#?}");
            assert_eq!(warned(ours), warned(theirs), "{what}");
        }
    }
}

/// Returns the level of each line about a failure of the connection. An error about the order of
/// messages is a warning, as in upstream.
fn failures(lines: &[Line]) -> Vec<Level> {
    let beginnings = ["connection failed: ", "received unexpected "];
    let is_failure = |line: &&Line| beginnings.iter().any(|it| line.text.starts_with(it));
    lines.iter().filter(is_failure).map(|it| it.level).collect()
}

#[test]
fn each_failed_connection_logs_one_line() {
    let unexpected = [Event::UnexpectedMessage, Event::UnexpectedRecord];
    let failing = [
        Event::FatalReceived,
        Event::BadRecord,
        Event::NoRecord,
        Event::UnknownIssuer,
        Event::NoSuiteInCommon,
        Event::NoAlpnInCommon,
        Event::NoCertificate,
    ];
    for (provider, versions, &event) in product3(PROVIDERS, Versions::EACH, Event::ALL) {
        if event == Event::ChangeCipherSpec {
            continue; // its outcome depends on the side and the version
        }
        let lines = this::lines(provider, versions, event);
        recording::forget();
        for lines in &lines {
            let expected = match event {
                _ if unexpected.contains(&event) => vec![Level::Warn],
                _ if failing.contains(&event) => vec![Level::Debug],
                _ => vec![],
            };
            assert_eq!(failures(lines), expected, "{event:?} {lines:#?}");
        }
        let has = |side: usize, text: &str| {
            let failed = lines[side].iter().map(|line| &line.text);
            let mut failed = failed.filter(|text| text.starts_with("connection failed: "));
            failed.any(|line| line.contains(text))
        };
        if event == Event::UnknownIssuer {
            assert!(has(0, "UnknownIssuer; alert UnknownCA"), "{lines:#?}");
            let named = "UnknownCA; server name server.example";
            assert!(has(1, named), "{lines:#?}");
        }
    }
}

/// A server's error may quote the names in a client's certificate, or the text of a verifier's
/// error.
#[test]
fn a_failure_is_logged_on_one_short_line() {
    let (key_type, versions) = (KeyType::Ed25519, Versions::Tls13);
    let crypto = || Provider::Ring.this();
    let client = configs::this::client(crypto(), key_type, ClientAuth::Required);
    // includes characters that end a line for some readers, or change the direction of the rest
    let text = "first line\nsecond\u{1b}[0m \u{2028}\u{202e}".repeat(100);
    let verifier = Verifier::accepting(versions, &[rustls::SignatureScheme::ED25519])
        .with_certificates(move |_| Err(rustls::Error::General(text.clone())));
    let server = configs::this::server_verifying(versions, crypto(), key_type, Arc::new(verifier));
    let (_, lines) = listen(|| {
        let mut client = ThisBuffered::client(client);
        exchange(&mut client, &mut ThisBuffered::server(server))
    });
    let line = lines
        .iter()
        .find(|line| line.text.starts_with("connection failed: "));
    let line = &line.unwrap().text;
    assert!(line.contains("first line second"), "{line}");
    let is_plain = !line.contains(char::is_control) && !line.contains(['\u{2028}', '\u{202e}']);
    assert!(line.len() < 700 && is_plain, "{line}");
}

/// Each message is logged at trace level, negotiated values at debug level, and data never.
#[test]
fn handshakes_are_logged() {
    for provider in PROVIDERS {
        let mut client = configs::this::client(provider.this(), KeyType::Ed25519, ClientAuth::None);
        let mut server = configs::this::server(provider.this(), KeyType::Ed25519, ClientAuth::None);
        client.alpn_protocols = vec![b"h2".to_vec()];
        server.alpn_protocols = vec![b"h2".to_vec()];
        let ((), lines) = listen(|| {
            let mut client = ThisBuffered::client(client);
            let mut server = ThisBuffered::server(server);
            exchange(&mut client, &mut server).unwrap();
            client.send(b"a secret of the application");
            client.close();
            exchange(&mut client, &mut server).unwrap();
        });
        let has = |level, text: &str| {
            let found = lines.iter().filter(|line| line.level == level);
            found.filter(|line| line.text.contains(text)).count()
        };
        for message in ["ClientHello", "ServerHello", "Certificate", "Finished"] {
            assert!(has(Level::Trace, &format!("sending {message}")) >= 1);
            assert!(has(Level::Trace, &format!("received {message}")) >= 1);
        }
        // logged by both sides
        for text in ["cipher suite TLS13_AES_", "application protocol h2"] {
            assert_eq!(has(Level::Debug, text), 2, "{text}: {lines:#?}");
        }
        assert_eq!(has(Level::Debug, "sending Warning alert CloseNotify"), 1);
        assert_eq!(has(Level::Warn, ""), 0, "{lines:#?}");
        for level in [Level::Trace, Level::Debug] {
            assert_eq!(has(level, "a secret"), 0);
        }
    }
}
