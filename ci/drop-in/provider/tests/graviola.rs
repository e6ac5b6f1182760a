//! Connects rustls-graviola and aws-lc-rs in both roles, with every suite. Data is sent in both
//! directions, encrypted both in place and from other memory.

use std::io::{Read, Write};
use std::sync::Arc;

use drop_in::{Credentials, moved, page};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::{
    ClientConnection, ConnectionCommon, InPlaceError, ProtocolVersion, ServerConnection,
    SignatureScheme, SupportedCipherSuite,
};

fn limit(mut provider: CryptoProvider, suite: SupportedCipherSuite) -> CryptoProvider {
    let wanted = |other: &SupportedCipherSuite| other.suite() == suite.suite();
    provider.cipher_suites.retain(wanted);
    provider
}

/// Transfers the output of `from` to `to`.
fn transfer<A, B>(from: &mut ConnectionCommon<A>, to: &mut ConnectionCommon<B>) {
    while from.wants_write() {
        let mut records = Vec::new();
        from.write_tls(&mut records).unwrap();
        receive(&records, to);
    }
}

fn receive<D>(mut records: &[u8], to: &mut ConnectionCommon<D>) {
    while !records.is_empty() {
        to.read_tls(&mut records).unwrap();
        to.process_new_packets().unwrap();
    }
}

fn read<D>(from: &mut ConnectionCommon<D>, received: &mut Vec<u8>) {
    let waiting = from
        .process_new_packets()
        .unwrap()
        .plaintext_bytes_to_read();
    let start = received.len();
    received.resize(start + waiting, 0);
    from.reader().read_exact(&mut received[start..]).unwrap();
}

/// Sends the page in pieces, every second one encrypted in place.
fn send_page<A, B>(from: &mut ConnectionCommon<A>, to: &mut ConnectionCommon<B>) {
    let (page, mut received) = (page(), Vec::new());
    for (i, piece) in page.chunks(10_007).enumerate() {
        if i % 2 == 0 {
            from.writer().write_all(piece).unwrap();
            transfer(from, to);
        } else {
            let room = from.in_place_room();
            let plaintext = room.headroom..room.headroom + piece.len();
            let mut buffer = vec![0; plaintext.end + room.tailroom];
            buffer[plaintext.clone()].copy_from_slice(piece);
            let record = match from.encrypt_in_place(&mut buffer, plaintext) {
                Err(InPlaceError::OutputPending) => panic!("all was sent"),
                record => record.unwrap(),
            };
            receive(&buffer[record], to);
        }
        read(to, &mut received);
    }
    assert!(received == page, "wrong page");
}

/// Connects the two providers under `suite`, and sends the page in both directions.
fn connect(
    suite: SupportedCipherSuite,
    client: CryptoProvider,
    server: CryptoProvider,
) -> ProtocolVersion {
    let credentials = Credentials::new();
    let config = credentials.client_config_over(limit(client, suite));
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let config = credentials.server_config_over(limit(server, suite));
    let mut server = ServerConnection::new(Arc::new(config)).unwrap();

    while client.is_handshaking() || server.is_handshaking() {
        transfer(&mut client, &mut server);
        transfer(&mut server, &mut client);
    }
    send_page(&mut client, &mut server);
    send_page(&mut server, &mut client);
    assert_eq!(
        client.negotiated_cipher_suite().unwrap().suite(),
        suite.suite()
    );
    client.protocol_version().unwrap()
}

#[test]
fn graviola_interoperates_with_aws_lc_rs() {
    let usable = |suite: &&SupportedCipherSuite| {
        // the certificate is for ECDSA; suites with RSA use the same encrypters
        let tls12 = suite.tls12();
        tls12.is_none_or(|suite| suite.sign.contains(&SignatureScheme::ECDSA_NISTP256_SHA256))
    };
    let suites = rustls_graviola::suites::ALL_CIPHER_SUITES;
    let suites: Vec<_> = suites.iter().filter(usable).collect();
    assert_eq!(suites.len(), 6);
    for &suite in suites {
        let (ported, other) = (
            rustls_graviola::default_provider,
            aws_lc_rs::default_provider,
        );
        let version = connect(suite, ported(), other());
        assert_eq!(connect(suite, other(), ported()), version);
        let traffic = format!("{:?}", suite.suite()).replace("_WITH_", "_");
        moved(
            "rustls-graviola",
            "client and server",
            &traffic,
            4 * page().len(),
        );
    }
}
