//! Compares with the traces of RFC 8448 §3 and §4. Values that are not in the RFC come from an
//! independent implementation (Python's hmac).

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use rustls_core::crypto::tls13::Hkdf;
use rustls_core::crypto::{ActiveKeyExchange, SharedSecret};
use rustls_core::suites::CipherSuiteCommon;

use super::*;
#[cfg(feature = "aws_lc_rs")]
use crate::crypto::aws_lc_rs::cipher_suite;
#[cfg(not(feature = "aws_lc_rs"))]
use crate::crypto::ring::cipher_suite;
use crate::enums::{CipherSuite, NamedGroup};

/// Transcript hashes of the trace: of ClientHello…ServerHello, ClientHello…server Finished, and
/// ClientHello…client Finished.
const SERVER_HELLO: &str = "860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8";
const SERVER_FINISHED: &str = "9608102a0f1ccc6db6250b7b7e417b1a000eaada3daae4777a7686c9ff83df13";
const CLIENT_FINISHED: &str = "209145a96ee8e2a122ff810047cc952684658d6049e86429426db87c54ad143d";
const SHARED: &str = "8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d";

fn suite(suite: CipherSuite) -> &'static Tls13CipherSuite {
    let found = [
        cipher_suite::TLS13_AES_128_GCM_SHA256,
        cipher_suite::TLS13_AES_256_GCM_SHA384,
    ]
    .into_iter()
    .find(|known| known.suite() == suite);
    found.and_then(|suite| suite.tls13()).unwrap()
}

fn aes128() -> &'static Tls13CipherSuite {
    suite(CipherSuite::TLS13_AES_128_GCM_SHA256)
}

fn hex(digits: &str) -> Vec<u8> {
    let digit = |digit: u8| (digit as char).to_digit(16).unwrap() as u8;
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn output(digits: &str) -> Output {
    Output::new(&hex(digits))
}

#[track_caller]
fn assert_hex(bytes: impl AsRef<[u8]>, digits: &str) {
    assert_eq!(bytes.as_ref(), hex(digits));
}

fn traffic_key(suite: &'static Tls13CipherSuite, secret: &OkmBlock) -> (AeadKey, Iv) {
    TrafficSecret::with(suite, secret, |secret| secret.with_key(|key, iv| (key, iv)))
}

/// Returns the traffic secrets of client and server.
fn traffic_secrets(secret: &HandshakeSecret, hellos: &Output) -> [OkmBlock; 2] {
    let mut secrets = [(); 2].map(|()| OkmBlock::new(&[]));
    let [client, server] = &mut secrets;
    secret.handshake_traffic_secrets(hellos, client, server);
    secrets
}

/// Returns the secret that `derive` derives.
fn derived(derive: impl FnOnce(&mut OkmBlock)) -> OkmBlock {
    let mut secret = OkmBlock::new(&[]);
    derive(&mut secret);
    secret
}

fn finished_key(suite: &'static Tls13CipherSuite, secret: &OkmBlock) -> OkmBlock {
    derived(|key| TrafficSecret::with(suite, secret, |secret| secret.finished_key(key)))
}

/// Creates the handshake secret of the trace.
fn handshake_secret() -> HandshakeSecret {
    EarlySecret::new(aes128(), None).into_handshake_secret_with_shared(&hex(SHARED))
}

#[test]
fn handshake_traffic_keys_match_rfc8448() {
    let secret = handshake_secret();
    let [client, server] = traffic_secrets(&secret, &output(SERVER_HELLO));
    assert_hex(
        &client,
        "b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21",
    );
    let (key, iv) = traffic_key(aes128(), &client);
    assert_hex(key, "dbfaa693d1762c5b666af5d950258d01");
    assert_hex(iv, "5bd3c71b836e0b76bb73265f");

    assert_hex(
        &server,
        "b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38",
    );
    let (key, iv) = traffic_key(aes128(), &server);
    assert_hex(key, "3fce516009c21727d0f2e4e86ee403bc");
    assert_hex(iv, "5d313eb2671276ee13000b30");
}

#[test]
fn application_traffic_keys_match_rfc8448() {
    let secret = handshake_secret().into_main_secret();
    let [mut client, mut server, mut exporter] = [(); 3].map(|()| OkmBlock::new(&[]));
    secret.application_secrets(
        &output(SERVER_FINISHED),
        &mut client,
        &mut server,
        &mut exporter,
    );
    assert_hex(
        &client,
        "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5",
    );
    assert_hex(
        &server,
        "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643",
    );
    let (key, iv) = traffic_key(aes128(), &server);
    assert_hex(key, "9f02283b6c9c07efc26bb9f2ac92e356");
    assert_hex(iv, "cf782b88dd83549aadf1e984");
    assert_hex(
        exporter,
        "fe22f881176eda18eb8f44529e6792c50c9a3f89452f68d8ae311b4309d3cf50",
    );

    let resumption = derived(|okm| secret.resumption_secret(&output(CLIENT_FINISHED), okm));
    assert_hex(
        &resumption,
        "7df235f2031d2a051287d02b0241b0bfdaf86cc856231f2d5aba46c434ec196c",
    );
    assert_hex(
        derived(|psk| ticket_psk(aes128(), &resumption, &[0, 0], psk)),
        "4ecd0eb6ec3b4d87f5d6028f922ca4c5851a277fd41311c9e62d2c9492e1c4f3",
    );
}

#[test]
fn the_client_finished_matches_rfc8448() {
    let [client, _] = traffic_secrets(&handshake_secret(), &output(SERVER_HELLO));
    assert_hex(
        verify_data(
            aes128(),
            &finished_key(aes128(), &client),
            &output(SERVER_FINISHED),
        ),
        "a8ec436d677634ae525ac1fcebe11a039ec17694fac6e98527b642f2edd5ce61",
    );
}

/// Hashes of the trace in RFC 8448 §4, which resumes the one of §3: of the ClientHello without its
/// binders, of the complete ClientHello, and of ClientHello…ServerHello.
const PARTIAL_CLIENT_HELLO: &str =
    "63224b2e4573f2d3454ca84b9d009a04f6be9e05711a8396473aefa01e924a14";
const RESUMING_CLIENT_HELLO: &str =
    "08ad0fa05d7c7233b1775ba2ff9f4c5b8b59276b7f227f13a976245f5d960913";
const RESUMING_SERVER_HELLO: &str =
    "f736cb34fe25e701551bee6fd24c1cc7102a7daf9405cb15d97aafe16f757d03";

/// Creates the early secret of that trace, from the PSK of the ticket in §3.
fn resuming_early_secret() -> EarlySecret {
    let psk = hex("4ecd0eb6ec3b4d87f5d6028f922ca4c5851a277fd41311c9e62d2c9492e1c4f3");
    EarlySecret::new(aes128(), Some(&psk))
}

#[test]
fn the_binder_matches_rfc8448() {
    let secret = resuming_early_secret();
    let transcript = output(PARTIAL_CLIENT_HELLO);
    let binder = hex("3add4fb2d8fdf822a0ca3cf7678ef5e88dae990141c5924d57bb6fa31b9e5f9d");
    assert_eq!(secret.resumption_binder(&transcript).as_ref(), binder);

    assert!(secret.is_resumption_binder(&transcript, &binder));
    for at in 0..binder.len() {
        let mut other = binder.clone();
        other[at] ^= 1;
        assert!(!secret.is_resumption_binder(&transcript, &other), "{at}");
        assert!(
            !secret.is_resumption_binder(&transcript, &binder[..at]),
            "{at}"
        );
    }
    assert!(!secret.is_resumption_binder(&transcript, &[&binder[..], &[0]].concat()));
    assert!(!secret.is_resumption_binder(&output(RESUMING_CLIENT_HELLO), &binder));
}

#[test]
fn early_data_keys_match_rfc8448() {
    let secret = resuming_early_secret();
    let transcript = output(RESUMING_CLIENT_HELLO);
    let traffic = derived(|okm| secret.client_early_traffic_secret(&transcript, okm));
    assert_hex(
        &traffic,
        "3fbbe6a60deb66c30a32795aba0eff7eaa10105586e7be5c09678d63b6caab62",
    );
    let (key, iv) = traffic_key(aes128(), &traffic);
    assert_hex(key, "920205a5b7bf2115e6fc5c2942834f54");
    assert_hex(iv, "6d475f0993c8e564610db2b9");
    assert_hex(
        derived(|okm| secret.early_exporter_secret(&transcript, okm)),
        "b2026866610937d7423e5be90862ccf24c0e6091186d34f812089ff5be2ef7df",
    );
}

#[test]
fn a_resumed_handshake_matches_rfc8448() {
    let shared = hex("f44194756ff9ec9d25180635d66ea6824c6ab3bf179977be37f723570e7ccb2e");
    let secret = resuming_early_secret().into_handshake_secret_with_shared(&shared);
    let hellos = output(RESUMING_SERVER_HELLO);
    let [client, server] = traffic_secrets(&secret, &hellos);
    assert_hex(
        client,
        "2faac08f851d35fea3604fcb4de82dc62c9b164a70974d0462e27f1ab278700f",
    );
    assert_hex(
        server,
        "fe927ae271312e8bf0275b581c54eef020450dc4ecffaa05a1a35d27518e7803",
    );
}

/// A key exchange with a known result.
struct Known;

impl ActiveKeyExchange for Known {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        assert_eq!(peer_pub_key, b"theirs");
        Ok(hex(SHARED).into())
    }

    fn pub_key(&self) -> &[u8] {
        b"ours"
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

#[test]
fn a_key_exchange_gives_the_same_secret_as_its_shared_secret() {
    let secret = EarlySecret::new(aes128(), None)
        .into_handshake_secret(Box::new(Known), b"theirs")
        .unwrap();
    let hellos = output(SERVER_HELLO);
    let [client, _] = traffic_secrets(&secret, &hellos);
    let [expected, _] = traffic_secrets(&handshake_secret(), &hellos);
    assert_eq!(client.as_ref(), expected.as_ref());
}

#[test]
fn the_early_secret_depends_on_the_psk() {
    let secret =
        EarlySecret::new(aes128(), Some(&[0x70; 32])).into_handshake_secret_with_shared(b"shared");
    let transcript: Vec<u8> = (0..32).collect();
    let [client, _] = traffic_secrets(&secret, &Output::new(&transcript));
    assert_hex(
        client,
        "d0b5aa70f6ad58413d63e7bd658f90bb19a8053328a1804d5fb4bff881fdcea9",
    );
}

#[test]
fn the_next_traffic_secret_is_derived_from_the_current_one() {
    let secret: Vec<u8> = (0..48).collect();
    assert_hex(
        derived(|next| {
            let secret = OkmBlock::new(&secret[..32]);
            next_application_traffic_secret(aes128(), &secret, next);
        }),
        "2cecd0a17506ef5fa73edc062d6e7b5397cf074ec1b4d8f99a120772932f0b45",
    );

    let aes256 = suite(CipherSuite::TLS13_AES_256_GCM_SHA384);
    let secret = OkmBlock::new(&secret);
    assert_hex(
        derived(|next| next_application_traffic_secret(aes256, &secret, next)),
        "401331b63e9d59f202e8f041042d9516f4cd7fa2e2ee14631d3b49fc340d7af3\
         7fc2c0c9f252d8036f81ec5b85cbe5db",
    );
    let (key, iv) = traffic_key(aes256, &secret);
    assert_hex(
        key,
        "6877d022f1c61d24ebb7487c16752d9a4798e40431c75b39320e537c90e23225",
    );
    assert_hex(iv, "42822531a0fe88648fc09e9f");
}

#[test]
fn exporters_derive_from_label_and_context() {
    let suite = suite(CipherSuite::TLS13_AES_256_GCM_SHA384);
    let secret: Vec<u8> = (0..48).collect();
    let secret = OkmBlock::new(&secret);
    let export = |label: &[u8], context: Option<&[u8]>, len: usize| {
        let mut output = alloc::vec![0; len];
        exporter(suite, &secret, label, context, &mut output).map(|()| output)
    };

    let expected = "81aee7592765e4e7683fa114ff9620df877c2c56e6d629c99204bab52c1092eb\
                    261fc6fbf59d9168fee463afbd6b197290e3ee0bf6ee8673d6d9848eff10c032\
                    86695e2aa832";
    assert_hex(export(b"EXPORTER-test", None, 70).unwrap(), expected);
    assert_hex(export(b"EXPORTER-test", Some(b""), 70).unwrap(), expected);
    assert_hex(
        export(b"EXPORTER-test", Some(b"context"), 16).unwrap(),
        "de767162cdb728a5be6828442a8bbcd2",
    );

    assert!(export(&[b'l'; 249], None, 255 * 48).is_ok());
    assert!(export(&[b'l'; 250], None, 1).is_err());
    assert!(export(b"l", None, 255 * 48 + 1).is_err());
}

/// A provider whose expanders claim to return blocks of this many bytes.
struct Claims(&'static dyn Hkdf, usize);

impl Claims {
    fn expander(&self, inner: Box<dyn HkdfExpander>) -> Box<dyn HkdfExpander> {
        Box::new(ClaimingExpander(inner, self.1))
    }
}

impl Hkdf for Claims {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.expander(self.0.extract_from_zero_ikm(salt))
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        self.expander(self.0.extract_from_secret(salt, secret))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        self.expander(self.0.expander_for_okm(okm))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        self.0.hmac_sign(key, message)
    }
}

struct ClaimingExpander(Box<dyn HkdfExpander>, usize);

impl HkdfExpander for ClaimingExpander {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        self.0.expand_slice(info, output)
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        self.0.expand_block(info)
    }

    fn hash_len(&self) -> usize {
        self.1
    }
}

#[test]
fn exports_differ_by_secret_whatever_hash_length_the_expander_claims() {
    for claimed in [0, 1, 65, usize::MAX] {
        let hkdf = Claims(aes128().hkdf_provider, claimed);
        let suite = Box::leak(Box::new(Tls13CipherSuite {
            hkdf_provider: Box::leak(Box::new(hkdf)),
            common: CipherSuiteCommon { ..aes128().common },
            ..*aes128()
        }));
        // more secrets than there are values of one byte
        let exports: BTreeSet<_> = (0..300_u16)
            .map(|number| {
                let mut output = [0; 16];
                let secret = OkmBlock::new(&number.to_be_bytes());
                exporter(suite, &secret, b"label", None, &mut output).unwrap();
                output
            })
            .collect();
        assert_eq!(exports.len(), 300, "{claimed}");
    }
}

#[test]
fn constants_match_their_derivation() {
    for name in [
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        CipherSuite::TLS13_AES_256_GCM_SHA384,
    ] {
        let suite = suite(name);
        let hash = suite.common.hash_provider;
        assert_eq!(no_messages(suite).as_ref(), hash.hash(&[]).as_ref());

        let salt = Stage::from_zeros(suite).derived();
        assert_eq!(
            EarlySecret::new(suite, None).derived().as_ref(),
            salt.as_ref()
        );
        let known = constants::salt_without_psk(hash.algorithm());
        assert_eq!(known, Some(salt.as_ref()));
    }
}

/// Compares with values of Python's hmac.
#[test]
fn ech_confirmations_have_the_known_values() {
    let random = core::array::from_fn(|i| i as u8);
    for (typ, accepted, accepted_by_retry) in [
        (
            CipherSuite::TLS13_AES_128_GCM_SHA256,
            "56ae09ad16a2bd93",
            "4185ca880845ba01",
        ),
        (
            CipherSuite::TLS13_AES_256_GCM_SHA384,
            "1b9f09cbdc9dc889",
            "f761d7c159fd43a7",
        ),
    ] {
        let suite = suite(typ);
        let transcript = suite
            .common
            .hash_provider
            .hash(b"ClientHelloInner...ServerHello");
        assert_hex(
            ech_accept_confirmation(suite, &random, &transcript),
            accepted,
        );
        assert_hex(
            ech_hrr_accept_confirmation(suite, &random, &transcript),
            accepted_by_retry,
        );
    }
}
