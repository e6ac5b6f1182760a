//! Crypto providers from outside that return impossible lengths. Nothing aborts or panics, unless
//! upstream panics as well; the configuration or the connection fails with an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// The function that lies, and its answer.
#[derive(Clone, Copy, Debug)]
enum Lie {
    HashLen(usize),
    /// `HkdfExpander::hash_len`.
    ExpanderLen(usize),
    /// `hmac::Key::tag_len` and `Hmac::hash_output_len`, below HKDF and PRF.
    TagLen(usize),
    /// The length of all tags of an HMAC.
    ShortTags(usize),
    KeyLen(usize),
    /// The lengths of `KeyBlockShape`.
    Shape(usize, usize, usize),
    QuicKeyLen(usize),
}

const HUGE: [usize; 3] = [20_000, usize::MAX / 2, usize::MAX];

fn lies() -> Vec<Lie> {
    let lens = [0, 1, 31, 33, 65].into_iter().chain(HUGE);
    let mut lies = vec![
        Lie::Shape(33, 4, 8),
        Lie::Shape(16, 33, 8),
        Lie::Shape(16, 4, 33),
        Lie::Shape(usize::MAX, usize::MAX, usize::MAX),
        Lie::Shape(usize::MAX / 4, 4, 8),
        Lie::Shape(16, 4, usize::MAX),
        Lie::ShortTags(0),
        Lie::ShortTags(1),
        Lie::ShortTags(31),
    ];
    for len in lens {
        lies.extend([
            Lie::HashLen(len),
            Lie::ExpanderLen(len),
            Lie::TagLen(len),
            Lie::KeyLen(len),
            Lie::QuicKeyLen(len),
        ]);
    }
    lies
}

/// The end of a conversation with a liar.
#[derive(Debug, PartialEq)]
enum End {
    Refused(String),
    Failed(String),
    Connected,
    Panicked,
}

macro_rules! liars {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use harness::peers::configs::server_name;
            use harness::peers::configs::$module::{client_of, server_of};
            use $tls::crypto::cipher::{
                AeadKey, Iv, KeyBlockShape, MessageDecrypter, MessageEncrypter, Tls12AeadAlgorithm,
                Tls13AeadAlgorithm, UnsupportedOperationError,
            };
            use $tls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
            use $tls::crypto::hmac::{Hmac, Key, Tag};
            use $tls::crypto::tls12::{Prf, PrfUsingHmac};
            use $tls::crypto::tls13::{
                Hkdf, HkdfExpander, HkdfUsingHmac, OkmBlock, OutputLengthError,
            };
            use $tls::crypto::{ActiveKeyExchange, CryptoProvider};
            use $tls::{
                CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, Error,
                SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite, quic,
            };

            use super::*;

            /// A part of a provider that tells one lie.
            struct Liar<T>(T, Lie);

            impl Hash for Liar<&'static dyn Hash> {
                fn start(&self) -> Box<dyn Context> {
                    self.0.start()
                }

                fn hash(&self, data: &[u8]) -> Output {
                    self.0.hash(data)
                }

                fn output_len(&self) -> usize {
                    match self.1 {
                        Lie::HashLen(len) => len,
                        _ => self.0.output_len(),
                    }
                }

                fn algorithm(&self) -> HashAlgorithm {
                    self.0.algorithm()
                }
            }

            impl Hkdf for Liar<&'static dyn Hkdf> {
                fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
                    Box::new(Liar(self.0.extract_from_zero_ikm(salt), self.1))
                }

                fn extract_from_secret(
                    &self,
                    salt: Option<&[u8]>,
                    secret: &[u8],
                ) -> Box<dyn HkdfExpander> {
                    Box::new(Liar(self.0.extract_from_secret(salt, secret), self.1))
                }

                fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
                    Box::new(Liar(self.0.expander_for_okm(okm), self.1))
                }

                fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
                    self.0.hmac_sign(key, message)
                }
            }

            impl HkdfExpander for Liar<Box<dyn HkdfExpander>> {
                fn expand_slice(
                    &self,
                    info: &[&[u8]],
                    output: &mut [u8],
                ) -> Result<(), OutputLengthError> {
                    self.0.expand_slice(info, output)
                }

                fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
                    self.0.expand_block(info)
                }

                fn hash_len(&self) -> usize {
                    match self.1 {
                        Lie::ExpanderLen(len) => len,
                        _ => self.0.hash_len(),
                    }
                }
            }

            /// An HMAC whose tags are constant.
            struct ConstantMac(Lie);

            impl Hmac for ConstantMac {
                fn with_key(&self, _: &[u8]) -> Box<dyn Key> {
                    Box::new(ConstantMac(self.0))
                }

                fn hash_output_len(&self) -> usize {
                    self.tag_len()
                }
            }

            impl Key for ConstantMac {
                fn sign_concat(&self, _: &[u8], _: &[&[u8]], _: &[u8]) -> Tag {
                    match self.0 {
                        Lie::ShortTags(len) => Tag::new(&[5; 32][..len]),
                        _ => Tag::new(&[5; 32]),
                    }
                }

                fn tag_len(&self) -> usize {
                    match self.0 {
                        Lie::TagLen(len) => len,
                        _ => 32,
                    }
                }
            }

            impl Prf for Liar<PrfUsingHmac<'static>> {
                fn for_key_exchange(
                    &self,
                    output: &mut [u8; 48],
                    kx: Box<dyn ActiveKeyExchange>,
                    peer: &[u8],
                    label: &[u8],
                    seed: &[u8],
                ) -> Result<(), Error> {
                    self.0.for_key_exchange(output, kx, peer, label, seed)
                }

                fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
                    self.0.for_secret(output, secret, label, seed);
                }
            }

            impl Tls13AeadAlgorithm for Liar<&'static dyn Tls13AeadAlgorithm> {
                fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
                    self.0.encrypter(key, iv)
                }

                fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
                    self.0.decrypter(key, iv)
                }

                fn key_len(&self) -> usize {
                    match self.1 {
                        Lie::KeyLen(len) => len,
                        _ => self.0.key_len(),
                    }
                }

                fn extract_keys(
                    &self,
                    key: AeadKey,
                    iv: Iv,
                ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
                    self.0.extract_keys(key, iv)
                }
            }

            impl Tls12AeadAlgorithm for Liar<&'static dyn Tls12AeadAlgorithm> {
                fn encrypter(
                    &self,
                    key: AeadKey,
                    iv: &[u8],
                    extra: &[u8],
                ) -> Box<dyn MessageEncrypter> {
                    self.0.encrypter(key, iv, extra)
                }

                fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
                    self.0.decrypter(key, iv)
                }

                fn key_block_shape(&self) -> KeyBlockShape {
                    match self.1 {
                        Lie::Shape(enc_key_len, fixed_iv_len, explicit_nonce_len) => {
                            KeyBlockShape {
                                enc_key_len,
                                fixed_iv_len,
                                explicit_nonce_len,
                            }
                        }
                        _ => self.0.key_block_shape(),
                    }
                }

                fn extract_keys(
                    &self,
                    key: AeadKey,
                    iv: &[u8],
                    explicit: &[u8],
                ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
                    self.0.extract_keys(key, iv, explicit)
                }
            }

            impl quic::Algorithm for Liar<&'static dyn quic::Algorithm> {
                fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn quic::PacketKey> {
                    self.0.packet_key(key, iv)
                }

                fn header_protection_key(
                    &self,
                    key: AeadKey,
                ) -> Box<dyn quic::HeaderProtectionKey> {
                    self.0.header_protection_key(key)
                }

                fn aead_key_len(&self) -> usize {
                    match self.1 {
                        Lie::QuicKeyLen(len) => len,
                        _ => self.0.aead_key_len(),
                    }
                }
            }

            fn leak<T>(value: T) -> &'static T {
                Box::leak(Box::new(value))
            }

            /// ring's provider with one suite per version, which tells `lie`.
            fn provider(lie: Lie) -> CryptoProvider {
                let mut provider = Provider::Ring.$module();
                let mac: Option<&'static ConstantMac> = match lie {
                    Lie::TagLen(_) | Lie::ShortTags(_) => Some(leak(ConstantMac(lie))),
                    _ => None,
                };
                let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
                    suite: common.suite,
                    hash_provider: leak(Liar(common.hash_provider, lie)),
                    confidentiality_limit: common.confidentiality_limit,
                };
                provider.cipher_suites.retain(|suite| {
                    [
                        CipherSuite::TLS13_AES_128_GCM_SHA256,
                        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                    ]
                    .contains(&suite.suite())
                });
                for suite in &mut provider.cipher_suites {
                    *suite = match *suite {
                        SupportedCipherSuite::Tls13(suite) => leak(Tls13CipherSuite {
                            common: common(&suite.common),
                            hkdf_provider: match mac {
                                Some(mac) => leak(HkdfUsingHmac(mac)),
                                None => leak(Liar(suite.hkdf_provider, lie)),
                            },
                            aead_alg: leak(Liar(suite.aead_alg, lie)),
                            quic: suite
                                .quic
                                .map(|quic| leak(Liar(quic, lie)) as &dyn quic::Algorithm),
                        })
                        .into(),
                        SupportedCipherSuite::Tls12(suite) => leak(Tls12CipherSuite {
                            common: common(&suite.common),
                            kx: suite.kx,
                            sign: suite.sign,
                            aead_alg: leak(Liar(suite.aead_alg, lie)),
                            prf_provider: match mac {
                                Some(mac) => leak(Liar(PrfUsingHmac(mac), lie)),
                                None => suite.prf_provider,
                            },
                        })
                        .into(),
                    };
                }
                provider
            }

            /// Makes a connection between two liars, uses it, and exports keying material.
            pub(super) fn end(versions: Versions, lie: Lie) -> End {
                let talk = || {
                    let builder = $tls::ClientConfig::builder_with_provider(provider(lie).into());
                    if let Err(error) = builder.with_protocol_versions(
                        &versions.choose(&$tls::version::TLS12, &$tls::version::TLS13),
                    ) {
                        return End::Refused(error.to_string());
                    }
                    let auth = ClientAuth::None;
                    let client = client_of(versions, provider(lie), KEY_TYPE, auth);
                    let server = server_of(versions, provider(lie), KEY_TYPE, auth);
                    let client = $tls::ClientConnection::new(client.into(), server_name());
                    let mut client = $endpoint::new(client.unwrap());
                    let mut server =
                        $endpoint::new($tls::ServerConnection::new(server.into()).unwrap());
                    if let Err(error) = exchange(&mut client, &mut server) {
                        return End::Failed(error);
                    }
                    client.send(&[7; 20_000]);
                    let received = server.read_from(&client.take_output());
                    assert_eq!(received, [7; 20_000]);
                    let _ = client.conn.export_keying_material([0; 100], b"label", None);
                    End::Connected
                };
                catch_unwind(AssertUnwindSafe(talk)).unwrap_or(End::Panicked)
            }
        }
    };
}

liars!(this, rustls, ThisBuffered);
liars!(upstream, rustls_upstream, UpstreamBuffered);

#[test]
fn impossible_lengths_of_providers_are_rejected() {
    for (versions, lie) in product([Versions::Tls12, Versions::Tls13], lies()) {
        let ours = this::end(versions, lie);
        let is_refused = matches!(
            lie,
            Lie::HashLen(65..) | Lie::KeyLen(33..) | Lie::QuicKeyLen(33..) | Lie::Shape(..)
        );
        assert_eq!(
            matches!(ours, End::Refused(_)),
            is_refused,
            "{versions:?} {lie:?}: {ours:?}"
        );
        if matches!(lie, Lie::ShortTags(0)) {
            // the keys would be zeros
            assert_eq!(ours, End::Panicked, "{versions:?} {lie:?}");
        }
        if ours == End::Panicked {
            let theirs = upstream::end(versions, lie);
            assert_eq!(theirs, End::Panicked, "{versions:?} {lie:?}");
        }
    }
}

/// Encrypters, whose trait differs from upstream's.
mod encrypters {
    use std::sync::Arc;

    use harness::peers::configs::{server_name, this as this_configs};
    use rustls::crypto::CryptoProvider;
    use rustls::crypto::cipher::{
        AeadKey, EncryptError, Iv, KeyBlockShape, MessageDecrypter, MessageEncrypter,
        OutboundPlainMessage, Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError,
    };
    use rustls::{
        CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, ContentType, ProtocolVersion,
        SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
    };

    use super::*;

    /// The lie of an encrypter. Each is told by the client alone.
    #[derive(Clone, Copy, Debug)]
    enum Lie {
        Offset(usize),
        Expansion(usize),
        /// Offset and expansion.
        Both(usize),
        /// The number of bytes that were written.
        Written(usize),
    }

    fn lies() -> Vec<Lie> {
        let mut lies = vec![Lie::Offset(25), Lie::Written(0), Lie::Written(1)];
        for len in [257, 2049].into_iter().chain(HUGE) {
            lies.extend([Lie::Offset(len), Lie::Both(len), Lie::Written(len)]);
            if len > 2048 {
                lies.push(Lie::Expansion(len));
            }
        }
        lies
    }

    struct Liar<T>(T, Lie);

    impl Tls13AeadAlgorithm for Liar<&'static dyn Tls13AeadAlgorithm> {
        fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
            Box::new(Liar(self.0.encrypter(key, iv), self.1))
        }

        fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
            self.0.decrypter(key, iv)
        }

        fn key_len(&self) -> usize {
            self.0.key_len()
        }

        fn extract_keys(
            &self,
            key: AeadKey,
            iv: Iv,
        ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
            self.0.extract_keys(key, iv)
        }
    }

    impl Tls12AeadAlgorithm for Liar<&'static dyn Tls12AeadAlgorithm> {
        fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
            Box::new(Liar(self.0.encrypter(key, iv, extra), self.1))
        }

        fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
            self.0.decrypter(key, iv)
        }

        fn key_block_shape(&self) -> KeyBlockShape {
            self.0.key_block_shape()
        }

        fn extract_keys(
            &self,
            key: AeadKey,
            iv: &[u8],
            explicit: &[u8],
        ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
            self.0.extract_keys(key, iv, explicit)
        }
    }

    impl Liar<Box<dyn MessageEncrypter>> {
        fn written(&self, sealed: Result<usize, EncryptError>) -> Result<usize, EncryptError> {
            match self.1 {
                Lie::Written(len) => Ok(len),
                _ => sealed,
            }
        }
    }

    impl MessageEncrypter for Liar<Box<dyn MessageEncrypter>> {
        fn encrypt(
            &mut self,
            msg: OutboundPlainMessage<'_>,
            seq: u64,
            out: &mut [u8],
        ) -> Result<usize, EncryptError> {
            let sealed = self.0.encrypt(msg, seq, out);
            self.written(sealed)
        }

        fn encrypt_in_place(
            &mut self,
            typ: ContentType,
            version: ProtocolVersion,
            payload_len: usize,
            seq: u64,
            out: &mut [u8],
        ) -> Result<usize, EncryptError> {
            let sealed = self.0.encrypt_in_place(typ, version, payload_len, seq, out);
            self.written(sealed)
        }

        fn encrypted_payload_len(&self, payload_len: usize) -> usize {
            match self.1 {
                Lie::Expansion(len) | Lie::Both(len) => len.saturating_add(payload_len),
                _ => self.0.encrypted_payload_len(payload_len),
            }
        }

        fn payload_offset(&self) -> usize {
            match self.1 {
                Lie::Offset(len) | Lie::Both(len) => len,
                _ => self.0.payload_offset(),
            }
        }
    }

    fn leak<T>(value: T) -> &'static T {
        Box::leak(Box::new(value))
    }

    fn provider(lie: Lie) -> CryptoProvider {
        let mut provider = Provider::Ring.this();
        let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
            suite: common.suite,
            hash_provider: common.hash_provider,
            confidentiality_limit: common.confidentiality_limit,
        };
        provider.cipher_suites.retain(|suite| {
            [
                CipherSuite::TLS13_AES_128_GCM_SHA256,
                CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            ]
            .contains(&suite.suite())
        });
        for suite in &mut provider.cipher_suites {
            *suite = match *suite {
                SupportedCipherSuite::Tls13(suite) => leak(Tls13CipherSuite {
                    common: common(&suite.common),
                    aead_alg: leak(Liar(suite.aead_alg, lie)),
                    ..*suite
                })
                .into(),
                SupportedCipherSuite::Tls12(suite) => leak(Tls12CipherSuite {
                    common: common(&suite.common),
                    aead_alg: leak(Liar(suite.aead_alg, lie)),
                    ..*suite
                })
                .into(),
            };
        }
        provider
    }

    #[test]
    fn impossible_lengths_of_encrypters_are_rejected() {
        for (versions, lie) in product([Versions::Tls12, Versions::Tls13], lies()) {
            for lying in ["client", "server"] {
                let what = format!("{versions:?} {lie:?} {lying}");
                let of = |name| match name == lying {
                    true => provider(lie),
                    false => Provider::Ring.this(),
                };
                let auth = ClientAuth::None;
                let client = this_configs::client_of(versions, of("client"), KEY_TYPE, auth);
                let server = this_configs::server_of(versions, of("server"), KEY_TYPE, auth);
                let client = rustls::ClientConnection::new(Arc::new(client), server_name());
                let mut client = ThisBuffered::new(client.unwrap());
                let server = rustls::ServerConnection::new(Arc::new(server));
                let mut server = ThisBuffered::new(server.unwrap());
                // the liar cannot send its Finished
                let error = exchange(&mut client, &mut server).unwrap_err();
                assert!(error.contains("EncryptError"), "{what}: {error}");
                let liar = match lying {
                    "client" => &mut client,
                    _ => &mut server,
                };
                assert!(liar.is_handshaking(), "{what}");
                // nothing is sent under the keys
                let again = liar.process().unwrap_err();
                assert!(again.contains("EncryptError"), "{what}: {again}");
            }
        }
    }
}
