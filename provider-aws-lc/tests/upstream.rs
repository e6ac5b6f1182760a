//! Compares both providers with upstream's: the same lists, and the same bytes in records, packets
//! and tickets, or at least the same shape.
//!
//! Excluded with feature `fips`: upstream is built without it here.

#![cfg(not(feature = "fips"))]

use std::sync::Arc;

use pki_types::PrivatePkcs8KeyDer;
use rustls_core::crypto::WebPkiSupportedAlgorithms;
use rustls_core::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, Iv, MessageDecrypter, MessageEncrypter, OutboundPlainMessage,
};
use rustls_core::enums::{ContentType, ProtocolVersion, Side};
use rustls_core::provider::CryptoProvider;
use rustls_core::quic;
use rustls_core::record::HEADER_LEN;
use rustls_core::suites::SupportedCipherSuite;
use rustls_provider_aws_lc as aws_lc;
use rustls_provider_ring as ring;
use rustls_upstream as upstream;
use upstream::crypto::cipher as upstream_cipher;

/// The providers of this repository and of upstream over the same libraries.
fn providers() -> [(CryptoProvider, upstream::crypto::CryptoProvider); 2] {
    [
        (
            aws_lc::default_provider(),
            upstream::crypto::aws_lc_rs::default_provider(),
        ),
        (
            ring::default_provider(),
            upstream::crypto::ring::default_provider(),
        ),
    ]
}

/// The suites of this crate and of upstream, in pairs.
fn suites() -> impl Iterator<Item = (SupportedCipherSuite, upstream::SupportedCipherSuite)> {
    providers().into_iter().flat_map(|(ours, theirs)| {
        assert_eq!(
            format!("{:?}", ours.cipher_suites),
            format!("{:?}", theirs.cipher_suites)
        );
        ours.cipher_suites.into_iter().zip(theirs.cipher_suites)
    })
}

#[test]
fn suites_have_upstreams_properties() {
    assert_eq!(suites().count(), 18);
    for (ours, theirs) in suites() {
        let common = ours.common();
        let their_common = match theirs {
            upstream::SupportedCipherSuite::Tls13(suite) => &suite.common,
            upstream::SupportedCipherSuite::Tls12(suite) => &suite.common,
        };
        assert_eq!(
            common.confidentiality_limit,
            their_common.confidentiality_limit
        );
        assert_eq!(
            u8::from(common.hash_provider.algorithm()),
            u8::from(their_common.hash_provider.algorithm())
        );
        assert_eq!(ours.fips(), theirs.fips());
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));

        if let (SupportedCipherSuite::Tls12(ours), upstream::SupportedCipherSuite::Tls12(theirs)) =
            (ours, theirs)
        {
            assert_eq!(format!("{:?}", ours.kx), format!("{:?}", theirs.kx));
            assert_eq!(format!("{:?}", ours.sign), format!("{:?}", theirs.sign));
            let (shape, their_shape) = (
                ours.aead_alg.key_block_shape(),
                theirs.aead_alg.key_block_shape(),
            );
            assert_eq!(shape.enc_key_len, their_shape.enc_key_len);
            assert_eq!(shape.fixed_iv_len, their_shape.fixed_iv_len);
            assert_eq!(shape.explicit_nonce_len, their_shape.explicit_nonce_len);
        }
    }
    assert_eq!(
        format!("{:?}", aws_lc::ALL_CIPHER_SUITES),
        format!("{:?}", upstream::crypto::aws_lc_rs::ALL_CIPHER_SUITES)
    );
    assert_eq!(
        format!("{:?}", ring::ALL_CIPHER_SUITES),
        format!("{:?}", upstream::crypto::ring::ALL_CIPHER_SUITES)
    );
}

#[test]
fn verification_algorithms_match_upstream() {
    for (ours, theirs) in providers() {
        let ours = ours.signature_verification_algorithms;
        let theirs = theirs.signature_verification_algorithms;
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));

        let describe_all = |all| format!("{all:?}");
        assert_eq!(describe_all(ours.all), describe_all(theirs.all));
        assert_eq!(ours.mapping.len(), theirs.mapping.len());
        for ((scheme, algorithms), (_, their_algorithms)) in ours.mapping.iter().zip(theirs.mapping)
        {
            let pair = (describe_all(algorithms), describe_all(their_algorithms));
            assert_eq!(pair.0, pair.1, "{scheme:?}");
        }
    }
    let lists: [&WebPkiSupportedAlgorithms; 2] =
        [&aws_lc::SUPPORTED_SIG_ALGS, &ring::SUPPORTED_SIG_ALGS];
    assert_eq!(lists.map(|list| list.mapping.len()), [13, 9]);
    assert!(lists.iter().all(|list| !list.fips()));
}

/// Sealing is a function of key, nonce and plaintext, so both seal the same bytes, and each opens
/// them.
#[test]
fn records_match_upstream() {
    for (ours, theirs) in suites() {
        let ((mut ours_tx, mut ours_rx), (mut theirs_tx, mut theirs_rx)) =
            record_layers(ours, theirs);
        for len in [0, 1, 15, 16, 17, 255, 1400, 16384] {
            let plain = vec![0x5a; len];
            let seq = len as u64;

            let mut record = vec![0; ours_tx.encrypted_payload_len(len)];
            let msg = OutboundPlainMessage {
                typ: ContentType::ApplicationData,
                version: ProtocolVersion::TLSv1_2,
                payload: plain.as_slice().into(),
            };
            ours_tx.encrypt(msg, seq, &mut record).unwrap();
            let msg = upstream_cipher::OutboundPlainMessage {
                typ: upstream::ContentType::ApplicationData,
                version: upstream::ProtocolVersion::TLSv1_2,
                payload: plain.as_slice().into(),
            };
            let their_record = theirs_tx.encrypt(msg, seq).unwrap().encode();
            let mut their_record = their_record[HEADER_LEN..].to_vec();
            assert!(record == their_record, "{ours:?} {len}");

            let msg = upstream_cipher::InboundOpaqueMessage::new(
                upstream::ContentType::ApplicationData,
                upstream::ProtocolVersion::TLSv1_2,
                &mut record,
            );
            assert!(theirs_rx.decrypt(msg, seq).unwrap().payload == plain);
            let msg = InboundOpaqueMessage::new(
                ContentType::ApplicationData,
                ProtocolVersion::TLSv1_2,
                &mut their_record,
            );
            assert!(ours_rx.decrypt(msg, seq).unwrap().payload == plain);
        }
    }
}

type OurDirections = (Box<dyn MessageEncrypter>, Box<dyn MessageDecrypter>);
type TheirDirections = (
    Box<dyn upstream_cipher::MessageEncrypter>,
    Box<dyn upstream_cipher::MessageDecrypter>,
);

/// Returns the record protection of one suite, ours and upstream's, all under the same key.
fn record_layers(
    ours: SupportedCipherSuite,
    theirs: upstream::SupportedCipherSuite,
) -> (OurDirections, TheirDirections) {
    const IV: [u8; 12] = *b"twelve bytes";

    match (ours, theirs) {
        (SupportedCipherSuite::Tls13(ours), upstream::SupportedCipherSuite::Tls13(theirs)) => {
            let ([key, key2], [their_key, their_key2]) = keys(ours.aead_alg.key_len());
            let (ours, theirs) = (ours.aead_alg, theirs.aead_alg);
            let (iv, their_iv) = (|| Iv::new(IV), || upstream_cipher::Iv::new(IV));
            (
                (ours.encrypter(key, iv()), ours.decrypter(key2, iv())),
                (
                    theirs.encrypter(their_key, their_iv()),
                    theirs.decrypter(their_key2, their_iv()),
                ),
            )
        }
        (SupportedCipherSuite::Tls12(ours), upstream::SupportedCipherSuite::Tls12(theirs)) => {
            let (ours, theirs) = (ours.aead_alg, theirs.aead_alg);
            let shape = ours.key_block_shape();
            let ([key, key2], [their_key, their_key2]) = keys(shape.enc_key_len);
            let (fixed, explicit) = IV.split_at(shape.fixed_iv_len);
            (
                (
                    ours.encrypter(key, fixed, explicit),
                    ours.decrypter(key2, fixed),
                ),
                (
                    theirs.encrypter(their_key, fixed, explicit),
                    theirs.decrypter(their_key2, fixed),
                ),
            )
        }
        _ => panic!("suites of different versions"),
    }
}

/// Returns the same key four times, twice for us and twice for upstream.
fn keys(len: usize) -> ([AeadKey; 2], [upstream_cipher::AeadKey; 2]) {
    let theirs = match len {
        32 => [[0x4b; 32]; 2].map(upstream_cipher::AeadKey::from),
        16 => upstream_aes128_keys(),
        _ => panic!("no AEAD has keys of {len} bytes"),
    };
    let ours = || AeadKey::new(theirs[0].as_ref());
    ([ours(), ours()], theirs)
}

/// Extracts keys of 16 bytes from a connection, because upstream's API cannot create them. The
/// client's key for sending is the server's for receiving.
fn upstream_aes128_keys() -> [upstream_cipher::AeadKey; 2] {
    let (client, server) = upstream_connection();
    let client = client.dangerous_extract_secrets().unwrap();
    let server = server.dangerous_extract_secrets().unwrap();
    [client.tx.1, server.rx.1].map(|secrets| match secrets {
        upstream::ConnectionTrafficSecrets::Aes128Gcm { key, .. } => key,
        _ => panic!("the connection has one suite only"),
    })
}

/// Returns both ends of a connection with AES-128-GCM after its handshake.
fn upstream_connection() -> (upstream::ClientConnection, upstream::ServerConnection) {
    let provider = Arc::new(upstream::crypto::CryptoProvider {
        cipher_suites: vec![upstream::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256],
        ..upstream::crypto::aws_lc_rs::default_provider()
    });
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".into()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let mut roots = upstream::RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();

    let mut client = upstream::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&upstream::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.enable_secret_extraction = true;
    let name = "localhost".try_into().unwrap();
    let mut client = upstream::ClientConnection::new(client.into(), name).unwrap();

    let mut server = upstream::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&upstream::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())
        .unwrap();
    server.enable_secret_extraction = true;
    let mut server = upstream::ServerConnection::new(server.into()).unwrap();

    while client.is_handshaking() || server.is_handshaking() {
        carry(&mut client, &mut server);
        carry(&mut server, &mut client);
    }
    carry(&mut server, &mut client);
    (client, server)
}

fn carry<A, B>(from: &mut upstream::ConnectionCommon<A>, to: &mut upstream::ConnectionCommon<B>) {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).unwrap();
    }
    let mut bytes = bytes.as_slice();
    while !bytes.is_empty() {
        to.read_tls(&mut bytes).unwrap();
        to.process_new_packets().unwrap();
    }
}

/// Compares Initial packets: keys from the connection ID, payload and header.
#[test]
fn quic_packets_match_upstream() {
    let id = b"connection id";
    let pairs = [
        (quic::Version::V1, upstream::quic::Version::V1),
        (quic::Version::V2, upstream::quic::Version::V2),
        (quic::Version::V1Draft, upstream::quic::Version::V1Draft),
    ];
    for (ours, theirs) in suites() {
        let (Some(ours), Some(theirs)) = (ours.tls13(), theirs.tls13()) else {
            continue;
        };
        let (ours, theirs) = (ours.quic_suite().unwrap(), theirs.quic_suite().unwrap());
        for (version, their_version) in pairs {
            let ours = ours.keys(id, Side::Client, version).local;
            let theirs = theirs.keys(id, upstream::Side::Client, their_version).local;
            assert_eq!(ours.packet.tag_len(), theirs.packet.tag_len());
            assert_eq!(
                (
                    ours.packet.confidentiality_limit(),
                    ours.packet.integrity_limit()
                ),
                (
                    theirs.packet.confidentiality_limit(),
                    theirs.packet.integrity_limit()
                )
            );

            let (mut payload, mut their_payload) = ([7; 99], [7; 99]);
            let tag = ours.packet.encrypt_in_place(5, b"header", &mut payload);
            let their_tag = theirs
                .packet
                .encrypt_in_place(5, b"header", &mut their_payload);
            assert_eq!(payload, their_payload);
            assert_eq!(tag.unwrap().as_ref(), their_tag.unwrap().as_ref());
            let opened = theirs.packet.decrypt_in_place(6, b"header", &mut payload);
            assert!(opened.is_err());

            let sample = &their_payload[..ours.header.sample_len()];
            let (mut first, mut number) = (0xc3, [1, 2, 3, 4]);
            let (mut their_first, mut their_number) = (first, number);
            ours.header
                .encrypt_in_place(sample, &mut first, &mut number)
                .unwrap();
            theirs
                .header
                .encrypt_in_place(sample, &mut their_first, &mut their_number)
                .unwrap();
            assert_eq!((first, number), (their_first, their_number));
        }
    }
}

/// Tickets themselves cannot be compared: only their creator can open them.
#[test]
fn tickets_have_the_lifetime_of_upstream() {
    let ours = [aws_lc::Ticketer::new(), ring::Ticketer::new()].map(Result::unwrap);
    let theirs = [
        upstream::crypto::aws_lc_rs::Ticketer::new(),
        upstream::crypto::ring::Ticketer::new(),
    ]
    .map(Result::unwrap);

    for (i, ours) in ours.iter().enumerate() {
        assert!(ours.enabled());
        assert_eq!(ours.lifetime(), theirs[i].lifetime());

        let ticket = ours.encrypt(b"state").unwrap();
        assert!(!ticket.windows(5).any(|bytes| bytes == b"state"));
        assert_eq!(ours.decrypt(&ticket).unwrap(), b"state");
        assert_ne!(ours.encrypt(b"state").unwrap(), ticket);
        for at in 0..ticket.len() {
            let mut tampered = ticket.clone();
            tampered[at] ^= 1;
            assert!(ours.decrypt(&tampered).is_none());
            assert!(ours.decrypt(&ticket[..at]).is_none());
        }
    }
    let ticket = ours[0].encrypt(b"state").unwrap();
    assert!(ours[1].decrypt(&ticket).is_none());
    assert!(aws_lc::Ticketer::new().unwrap().decrypt(&ticket).is_none());
}
