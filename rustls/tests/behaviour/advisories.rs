//! Tests of the rules learnt from advisories about other implementations.
//!
//! docs/rules.txt lists the rules and the tests of each. Rules that belong to another topic are
//! tested there. The others are tested here, in the order of that list, by short tests without
//! cryptography.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use harness::either;
use harness::peers::configs::{ClientAuth, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, Transfer, handshake};
use harness::peers::memory::Memory;
use harness::peers::roles::this::Config;
use harness::providers::transparent::{Setup, this};
use harness::wire::{self, HANDSHAKE, record};
use rustls::ContentType;

fn configs(versions: Versions) -> this::Configs {
    this::Configs::new(Setup::usual(ClientAuth::None).with_versions([versions; 2]))
}

/// Creates an end of each API.
fn ends(config: &Config) -> [Box<dyn Endpoint>; 2] {
    [Box::new(config.buffered()), config.unbuffered()]
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
        let (client, server) = (configs.client.clone(), configs.server.clone());
        let (client, server) = (Config::Client(client), Config::Server(server));
        for (typ, ends) in [(1, ends(&server)), (2, ends(&client))] {
            for mut end in ends {
                end.take_output();
                let header = record(HANDSHAKE, &[typ, 0xff, 0xff, 0xff]);
                let error = end.receive(&header).unwrap_err();
                assert_eq!(error, "InvalidMessage(HandshakePayloadTooLarge)");
            }
        }
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
