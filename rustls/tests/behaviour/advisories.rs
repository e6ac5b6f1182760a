//! Tests of the rules learnt from advisories about other implementations.
//!
//! docs/rules.txt lists the rules and the tests of each. Rules that belong to another topic are
//! tested there. The others are tested here, in the order of that list, by short tests without
//! cryptography.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use harness::either;
use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, Transfer, handshake};
use harness::peers::memory::Memory;
use harness::peers::roles::Role;
use harness::peers::roles::this::Config;
use harness::providers::transparent::{Setup, this};
use harness::scripted::Identity;
use harness::scripted::recorded::flights::{self, Framing, HANDSHAKE, encode};
use harness::scripted::tls12::client::ScriptedClient;
use harness::scripted::tls12::server::Script;
use harness::wire::client_hello::ClientHello;
use harness::wire::{self, message, record};
use rustls::ContentType;

use crate::behaviour::transparent::protected;

fn configs(versions: Versions) -> this::Configs {
    this::Configs::new(Setup::usual(ClientAuth::None).with_versions([versions; 2]))
}

/// Creates a client of each API.
fn clients(configs: &this::Configs) -> [Box<dyn Endpoint>; 2] {
    ends(&Config::Client(configs.client.clone()))
}

/// Creates a server of each API.
fn servers(configs: &this::Configs) -> [Box<dyn Endpoint>; 2] {
    ends(&Config::Server(configs.server.clone()))
}

fn ends(config: &Config) -> [Box<dyn Endpoint>; 2] {
    [Box::new(config.buffered()), config.unbuffered()]
}

/// Returns the flight with `rest` appended to the handshake messages of its record number `at`.
fn with_rest(framing: Framing, flight: &[u8], at: usize, rest: &[u8]) -> Vec<u8> {
    let mut records = flights::records(framing, flight);
    assert_eq!(records[at].typ, HANDSHAKE);
    records[at].content.extend_from_slice(rest);
    encode(&records)
}

/// Returns the error and the description of the alert sent for it.
fn refused(end: &mut dyn Endpoint, bytes: &[u8]) -> (String, Option<u8>) {
    let error = end.receive(bytes).expect_err("invalid bytes are refused");
    let output = wire::records(&end.take_output());
    let alert = output.last().map(|record| record.payload[1]);
    (error, alert)
}

/// RUSTSEC-2026-0285: no handshake bytes may remain when keys change (RFC 9846 §5.1), neither a
/// whole message nor a part of one.
#[test]
fn handshake_bytes_across_a_key_change_are_refused() {
    const UNEXPECTED_MESSAGE: Option<u8> = Some(10);
    let error = "PeerMisbehaved(KeyEpochWithPendingFragment)";
    let expected = (error.to_owned(), UNEXPECTED_MESSAGE);
    let key_update = message(24, &[0]);
    for rest in [&key_update[..], &key_update[..1]] {
        let tls13 = configs(Versions::Tls13);
        let server_flight = |client: &mut dyn Endpoint| {
            let mut server = ThisBuffered::new(tls13.server());
            server.receive(&client.take_output()).unwrap();
            server.take_output()
        };
        // the first record holds ServerHello, the last one Finished
        let count = wire::records(&server_flight(&mut *clients(&tls13)[0])).len();
        for at in [0, count - 1] {
            for mut client in clients(&tls13) {
                let flight = server_flight(&mut *client);
                let flight = with_rest(Framing::Tls13, &flight, at, rest);
                assert_eq!(refused(&mut *client, &flight), expected, "record {at}");
            }
        }
        // the client's Finished, and KeyUpdate
        for mut server in servers(&tls13) {
            let mut client = ThisBuffered::new(tls13.client());
            server.receive(&client.take_output()).unwrap();
            client.receive(&server.take_output()).unwrap();
            let flight = client.take_output();
            let last = wire::records(&flight).len() - 1;
            let flight = with_rest(Framing::Tls13, &flight, last, rest);
            assert_eq!(refused(&mut *server, &flight), expected);
        }
        for mut server in servers(&tls13) {
            handshake(&mut ThisBuffered::new(tls13.client()), &mut *server);
            let update = protected(ContentType::Handshake, &[&key_update, rest].concat());
            assert_eq!(refused(&mut *server, &update), expected);
        }
    }
    // TLS 1.2: the start of the next message ahead of a change_cipher_spec
    let tls12 = configs(Versions::Tls12);
    for mut server in servers(&tls12) {
        let mut client = ThisBuffered::new(tls12.client());
        server.receive(&client.take_output()).unwrap();
        client.receive(&server.take_output()).unwrap();
        let flight = with_rest(Framing::Tls12, &client.take_output(), 0, &[20]);
        let (error, alert) = refused(&mut *server, &flight);
        assert_eq!(alert, UNEXPECTED_MESSAGE, "{error}");
    }
}

/// RUSTSEC-2024-0336: a close_notify during the handshake must not keep an I/O loop running.
#[test]
fn a_close_notify_during_the_handshake_ends_every_io_loop() {
    let close_notify = record(ContentType::Alert.into(), &[1, 0]);
    for versions in [Versions::Tls12, Versions::Tls13, Versions::Both] {
        let configs = configs(versions);
        let client_hello = ThisBuffered::new(configs.client()).take_output();
        let mut server = ThisBuffered::new(configs.server());
        server.receive(&client_hello).unwrap();
        let output = server.take_output();
        let first_record = wire::records(&output)[0].to_bytes();
        let before_a_version = [1, 3].map(|count| close_notify.repeat(count));
        let too_many = close_notify.repeat(1000);
        let to_server = [&client_hello[..], &close_notify].concat();
        let to_client = [first_record, close_notify.clone()].concat();

        let connections =
            || -> [rustls::Connection; 2] { [configs.client().into(), configs.server().into()] };
        // a warning, followed by an unannounced end of the stream
        for bytes in &before_a_version {
            for conn in connections() {
                assert_ends(conn, bytes, io::ErrorKind::UnexpectedEof);
            }
        }
        for conn in connections() {
            assert_ends(conn, &too_many, io::ErrorKind::InvalidData);
        }
        // TLS 1.2 treats a close_notify like any other warning
        let kind = match versions {
            Versions::Tls12 => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        let [client, server] = connections();
        assert_ends(client, &to_client, kind);
        assert_ends(server, &to_server, kind);

        for bytes in [&before_a_version[0], &before_a_version[1], &too_many] {
            for conn in connections() {
                stream_ends(conn, bytes);
            }
        }
        let [client, server] = connections();
        stream_ends(client, &to_client);
        stream_ends(server, &to_server);
    }
}

/// Asserts that `complete_io` fails with this kind of error, and does so again.
fn assert_ends(mut conn: rustls::Connection, incoming: &[u8], kind: io::ErrorKind) {
    let mut wire = Memory::ending(incoming);
    for _ in 0..2 {
        let error = conn.complete_io(&mut wire).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(conn.is_handshaking());
    }
}

fn stream_ends(conn: rustls::Connection, incoming: &[u8]) {
    either!(rustls: conn, conn => {
        let mut stream = rustls::StreamOwned::new(conn, Memory::ending(incoming));
        assert!(!matches!(stream.read(&mut [0; 10]), Ok(len) if len > 0));
        let _ = stream.write(b"data");
        let _ = stream.flush();
    });
}

/// The length of a handshake message is checked as soon as its header has arrived.
#[test]
fn overlong_handshake_messages_are_refused_when_their_header_arrives() {
    for versions in [Versions::Tls12, Versions::Tls13, Versions::Both] {
        let configs = configs(versions);
        for (typ, ends) in [(1, servers(&configs)), (2, clients(&configs))] {
            for mut end in ends {
                end.take_output();
                let header = record(HANDSHAKE, &[typ, 0xff, 0xff, 0xff]);
                let (error, _) = refused(&mut *end, &header);
                assert_eq!(error, "InvalidMessage(HandshakePayloadTooLarge)");
            }
        }
    }
}

/// RFC 9846 §4.2.3: a client of both versions recognises a downgrade to TLS 1.2 by the server's
/// random.
#[test]
fn downgrades_are_detected() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        let end = |role| {
            let (versions, key_type) = (Versions::Both, KeyType::EcdsaP256);
            Config::new(role, versions, provider.this(), key_type).buffered()
        };
        let client = || end(Role::Client);
        for marker in [b"DOWNGRD\x01", b"DOWNGRD\x00"] {
            let script = Script::new().edit(|script| {
                script.hello.random[24..].copy_from_slice(marker);
            });
            let error = identity.run_tls12(&mut client(), &script).error.unwrap();
            let expected = "AttemptedDowngradeToTls12WhenTls13IsSupported";
            assert!(error.contains(expected), "{error}");
        }
        // choices that were not offered: a suite without forward secrecy, and a TLS 1.3 suite
        for suite in [0x009c_u16, 0x1301] {
            let script = Script::new().edit(|script| {
                script.corrupt = std::sync::Arc::new(move |index, message| {
                    if index == 0 {
                        // after header, version, random and an empty session ID
                        message[39..41].copy_from_slice(&suite.to_be_bytes());
                    }
                });
            });
            let error = identity.run_tls12(&mut client(), &script).error.unwrap();
            assert!(error.contains("Selected"), "{suite:#x}: {error}");
        }
        // a server of both versions marks its random when it negotiates TLS 1.2
        let (server, hello) = (Box::new(end(Role::Server)), ClientHello::tls12());
        let client = ScriptedClient::new(server, &provider.this(), &hello, None);
        // after header, version and the first 24 bytes of the random
        let marker = &client.unwrap().flight[0][4 + 2 + 24..][..8];
        assert_eq!(marker, b"DOWNGRD\x01");
    }
}

/// Neither an unauthenticated close_notify nor the end of the stream counts as a clean end.
#[test]
fn truncation_is_not_a_clean_end() {
    let close_notify = record(ContentType::Alert.into(), &[1, 0]);
    for versions in [Versions::Tls12, Versions::Tls13, Versions::Both] {
        let configs = configs(versions);
        let client_hello = ThisBuffered::new(configs.client()).take_output();
        let to_server = [&client_hello[..], &close_notify].concat();
        let cases: [(rustls::Connection, &[u8]); 3] = [
            (configs.client().into(), &close_notify),
            (configs.server().into(), &close_notify),
            (configs.server().into(), &to_server),
        ];
        for (mut conn, mut bytes) in cases {
            // before the version is known, anybody can send a close_notify, so it counts as a
            // warning
            let is_warning = bytes == close_notify;
            conn.output();
            conn.read_tls(&mut bytes).unwrap();
            let state = conn.process_new_packets();
            if is_warning {
                assert!(!state.unwrap().peer_has_closed() && conn.wants_read());
            }
            let error = conn.reader().read(&mut [0; 10]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            assert_eq!(conn.read_tls(&mut &[][..]).unwrap(), 0);
            assert!(conn.process_new_packets().is_ok() || !is_warning);
            let error = conn.reader().read(&mut [0; 10]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        let mut client = ThisBuffered::new(configs.client());
        let mut server = ThisBuffered::new(configs.server());
        handshake(&mut client, &mut server);
        for end in [&mut client, &mut server] {
            assert_eq!(end.conn.read_tls(&mut &[][..]).unwrap(), 0);
            end.conn.process_new_packets().unwrap();
            let error = end.conn.reader().read(&mut [0; 10]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}

/// rustls-webpki before 0.103.14 has known defects.
#[test]
fn the_version_of_webpki_has_no_known_defects() {
    let manifest = include_str!("../../../Cargo.toml");
    let mut lines = manifest.lines();
    let line = lines.find(|line| line.starts_with("webpki = "));
    let version = line
        .and_then(|line| line.split("version = \"0.103.").nth(1))
        .unwrap();
    let patch: u32 = version.split('"').next().unwrap().parse().unwrap();
    assert!(patch >= 14, "0.103.{patch}");
}

/// All comparisons with secrets use `subtle`: those of Finished, binders, confirmations of ECH, key
/// names of tickets, and of shared secrets with zeros. Tests cannot observe that from outside. That
/// secrets are zeroized is tested elsewhere: `ci/freed-memory` searches freed memory for them.
#[test]
fn secrets_are_compared_in_constant_time() {
    for file in [
        "rustls/src/handshake/finished.rs",
        "rustls/src/keys/tls13.rs",
        "rustls/src/handshake/client/ech/acceptance.rs",
        "core/src/ticketer.rs",
        "core/src/blocks/ecdh.rs",
        "core/src/blocks/hpke.rs",
    ] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = fs::read_to_string(root.join(file)).unwrap();
        assert!(text.contains(".ct_eq("), "{file}");
    }
}
