use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use pki_types::{EchConfigListBytes, ServerName};
use rustls_core::codec::Codec;
use rustls_core::crypto::hpke::{EncapsulatedSecret, Hpke, HpkePrivateKey};
use rustls_core::ech_config::{EchConfigContents, EchConfigPayload, HpkeKeyConfig};

use super::*;
use crate::config::client::ClientConfig;
use crate::config::ech::EchMode;
use crate::config::settings::ClientSettings;
use crate::config::webpki::RootCertStore;
use crate::conn::common_state::CommonState;
use crate::crypto::aws_lc_rs::default_provider;
use crate::crypto::aws_lc_rs::hpke::{ALL_SUPPORTED_SUITES, DH_KEM_X25519_HKDF_SHA256_AES_128};
use crate::enums::Side;
use crate::handshake::client::ech::Ech;
use crate::handshake::client::key_shares::KeyShares;
use crate::handshake::client::offer::Offer;
use crate::handshake::transport::Transport;
use crate::msgs::ech::INNER;

const PUBLIC_NAME: &str = "public.example";

/// Creates a server's configuration and its key.
fn server(suite: &dyn Hpke, maximum_name_length: u8) -> (EchConfigPayload, HpkePrivateKey) {
    let (public_key, private_key) = suite.generate_key_pair().unwrap();
    let contents = EchConfigContents {
        key_config: HpkeKeyConfig {
            config_id: 42,
            kem_id: suite.suite().kem,
            public_key: public_key.0,
            symmetric_cipher_suites: vec![suite.suite().sym],
        },
        maximum_name_length,
        public_name: DnsName::try_from(PUBLIC_NAME).unwrap(),
        extensions: Vec::new(),
    };
    (EchConfigPayload::V18(contents), private_key)
}

/// Creates the offer of a client with `config` to `server_name`.
fn offer(config: &EchConfigPayload, server_name: &str) -> (Offer, OuterHello) {
    let mut list = Vec::new();
    EchConfigPayload::encode_list(core::slice::from_ref(config), &mut list);
    let ech = EchConfig::new(EchConfigListBytes::from(list), ALL_SUPPORTED_SUITES).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_ech(EchMode::Enable(ech.clone()))
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let outer = OuterHello::new(&ech, &config.provider).unwrap();
    let server_name = ServerName::try_from(String::from(server_name)).unwrap();
    let common = CommonState::new(Side::Client);
    let settings = ClientSettings::now(Arc::new(config), common.records.carrier());
    let protocols = vec![b"h2".to_vec()];
    let mut offer = Offer::new(settings, server_name, protocols, &common.records).unwrap();
    offer.ech = Ech::Inner;
    (offer, outer)
}

fn shares(offer: &Offer) -> KeyShares {
    KeyShares::start_single(offer.config.provider.kx_groups[0]).unwrap()
}

/// Returns enc and payload of the `outer` variant of `ECHClientHello`.
fn read_extension(extension: &[u8]) -> (&[u8], &[u8]) {
    let mut r = rustls_core::codec::Reader::new(extension);
    assert_eq!(r.take(6), Some(&[0, 0, 1, 0, 1, 42][..]));
    let enc = r.prefixed_bytes(rustls_core::codec::LengthSize::U16);
    let payload = r.prefixed_bytes(rustls_core::codec::LengthSize::U16);
    assert!(!r.any_left());
    (enc.unwrap(), payload.unwrap())
}

/// Both hellos of a connection belong to one HPKE context, and the server opens them in order.
#[test]
fn a_server_opens_both_hellos() {
    let suite = DH_KEM_X25519_HKDF_SHA256_AES_128;
    let (config, key) = server(suite, 0);
    let (offer, mut outer) = offer(&config, "secret.example");
    let provider = &offer.config.provider;
    let shares = shares(&offer);
    let info = [b"tls ech\0", &config.get_encoding()[..]].concat();

    let mut opener = None;
    for cookie in [None, Some(&b"a cookie"[..])] {
        let message = offer.client_hello(Some(&shares), cookie, None).unwrap();
        let inner = offer.hello(Some(&shares), cookie, None);
        let (_, expected) = encode_inner(inner.clone(), Some(&message), 0);
        outer.seal(inner, &message, provider).unwrap();

        let hello = ClientHello::read_bytes(&outer.message()[HANDSHAKE_HEADER_LEN..]).unwrap();
        assert_eq!(hello.random, outer.random);
        assert_ne!(hello.random, offer.random);
        assert_eq!(hello.legacy_session_id, offer.session_id);
        assert_eq!(hello.extensions.cookie, cookie);
        let public_name = DnsName::try_from(PUBLIC_NAME).unwrap();
        assert_eq!(
            hello.extensions.server_name,
            Some(ServerNamePayload::DnsName(public_name))
        );
        let extension = hello.extensions.encrypted_client_hello.unwrap();
        assert_eq!(extension, outer.extension);

        let (enc, payload) = read_extension(extension);
        let opener = opener.get_or_insert_with(|| {
            let enc = EncapsulatedSecret(enc.to_vec());
            suite.setup_opener(&enc, &info, &key).unwrap()
        });
        assert_eq!(enc.is_empty(), cookie.is_some());
        // the AAD has zeros for the payload
        let mut aad = outer.message()[HANDSHAKE_HEADER_LEN..].to_vec();
        let at = aad
            .windows(payload.len())
            .position(|window| window == payload)
            .unwrap();
        aad[at..at + payload.len()].fill(0);
        assert_eq!(opener.open(&aad, payload).unwrap(), expected);
    }
}

/// Checks the padding of RFC 9849 §6.1.3.
#[test]
fn names_are_padded_to_the_longest_and_hellos_to_32_bytes() {
    let suite = DH_KEM_X25519_HKDF_SHA256_AES_128;
    let encoded_len = |server_name: &str, maximum_name_length| {
        let (config, _) = server(suite, maximum_name_length);
        let (offer, _) = offer(&config, server_name);
        let shares = shares(&offer);
        let message = offer.client_hello(Some(&shares), None, None).unwrap();
        let inner = offer.hello(Some(&shares), None, None);
        let (_, encoded) = encode_inner(inner, Some(&message), maximum_name_length);
        assert_eq!(encoded.len() % 32, 0);
        encoded.len()
    };
    let name = |len: usize| format!("{}.example", "a".repeat(len - 8));
    for maximum in [9, 20, 39] {
        let longest = encoded_len(&name(usize::from(maximum)), maximum);
        for shorter in 9..usize::from(maximum) {
            assert_eq!(encoded_len(&name(shorter), maximum), longest);
        }
        assert_eq!(encoded_len("192.0.2.1", maximum), longest);
        // a longer name is not hidden, only rounded up
        assert_eq!(
            encoded_len(&name(usize::from(maximum) + 32), maximum),
            longest + 32
        );
    }
    // the trailing dot of a name is not sent
    assert_eq!(encoded_len("a.example.", 32), encoded_len("a.example", 32));
}

#[test]
fn an_inner_hello_is_marked_as_inner() {
    let suite = DH_KEM_X25519_HKDF_SHA256_AES_128;
    let (config, _) = server(suite, 0);
    let (offer, _) = offer(&config, "secret.example");
    let shares = shares(&offer);
    let message = offer.client_hello(Some(&shares), None, None).unwrap();
    let inner = ClientHello::read_bytes(&message[HANDSHAKE_HEADER_LEN..]).unwrap();
    assert_eq!(inner.extensions.encrypted_client_hello, Some(INNER));

    let hello = offer.hello(Some(&shares), None, None);
    let (_, encoded) = encode_inner(hello, Some(&message), 0);
    // legacy_version and random, then an empty legacy_session_id
    assert_eq!(encoded[..34], message[HANDSHAKE_HEADER_LEN..][..34]);
    assert_eq!(encoded[34], 0);
}
