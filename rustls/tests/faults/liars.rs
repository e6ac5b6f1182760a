//! Tests of other crates' crypto providers that return impossible lengths. Nothing aborts, and
//! nothing panics unless upstream also does; the configuration or the connection fails with an
//! error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};
use harness::providers::{leak, suites};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// The function that lies, and the value it returns.
#[derive(Clone, Copy, Debug)]
enum Lie {
    HashLen(usize),
    /// `HkdfExpander::hash_len`.
    ExpanderLen(usize),
    /// `hmac::Key::tag_len` and `Hmac::hash_output_len`, used by HKDF and PRF.
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

/// The outcome of a connection with a liar.
#[derive(Debug, PartialEq)]
enum End {
    Refused(String),
    Failed(String),
    Connected,
    Panicked,
}

/// Implements a trait for a liar by calls of the part that it wraps. A method returns the value
/// after `but` if that is the lie. With `#[lying]`, the result is a liar, too.
macro_rules! liar {
    ($trait:path, $inner:ty: $(
        $(#[$kind:ident])? fn $name:ident($($arg:ident: $typ:ty),*) -> $out:ty
            $(, but $lie:pat => $told:expr)?;
    )*) => {
        impl $trait for Liar<$inner> {
            $(
                fn $name(&self $(, $arg: $typ)*) -> $out {
                    $(
                        if let $lie = self.1 {
                            return $told;
                        }
                    )?
                    liar!(@value $($kind)?: self.0.$name($($arg),*), self.1)
                }
            )*
        }
    };
    (@value lying: $value:expr, $lie:expr) => { Box::new(Liar($value, $lie)) };
    (@value: $value:expr, $lie:expr) => { $value };
}

macro_rules! liars {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use harness::peers::configs::$module::{client_of, server_of};
            use $tls::crypto::CryptoProvider;
            use $tls::crypto::cipher::{
                AeadKey, Iv, KeyBlockShape, MessageDecrypter, MessageEncrypter, Tls12AeadAlgorithm,
                Tls13AeadAlgorithm, UnsupportedOperationError,
            };
            use $tls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
            use $tls::crypto::hmac::{Hmac, Key, Tag};
            use $tls::crypto::tls12::PrfUsingHmac;
            use $tls::crypto::tls13::{
                Hkdf, HkdfExpander, HkdfUsingHmac, OkmBlock, OutputLengthError,
            };
            use $tls::{CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, quic};

            use super::*;

            /// A part of a provider that tells one lie.
            struct Liar<T>(T, Lie);

            liar! { Hash, &'static dyn Hash:
                fn start() -> Box<dyn Context>;
                fn hash(data: &[u8]) -> Output;
                fn output_len() -> usize, but Lie::HashLen(len) => len;
                fn algorithm() -> HashAlgorithm;
            }

            liar! { Hkdf, &'static dyn Hkdf:
                #[lying] fn extract_from_zero_ikm(salt: Option<&[u8]>) -> Box<dyn HkdfExpander>;
                #[lying] fn extract_from_secret(
                    salt: Option<&[u8]>,
                    secret: &[u8]
                ) -> Box<dyn HkdfExpander>;
                #[lying] fn expander_for_okm(okm: &OkmBlock) -> Box<dyn HkdfExpander>;
                fn hmac_sign(key: &OkmBlock, message: &[u8]) -> Tag;
            }

            liar! { HkdfExpander, Box<dyn HkdfExpander>:
                fn expand_slice(
                    info: &[&[u8]],
                    output: &mut [u8]
                ) -> Result<(), OutputLengthError>;
                fn expand_block(info: &[&[u8]]) -> OkmBlock;
                fn hash_len() -> usize, but Lie::ExpanderLen(len) => len;
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

            liar! { Tls13AeadAlgorithm, &'static dyn Tls13AeadAlgorithm:
                fn encrypter(key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter>;
                fn decrypter(key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter>;
                fn key_len() -> usize, but Lie::KeyLen(len) => len;
                fn extract_keys(
                    key: AeadKey,
                    iv: Iv
                ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError>;
            }

            liar! { Tls12AeadAlgorithm, &'static dyn Tls12AeadAlgorithm:
                fn encrypter(
                    key: AeadKey,
                    iv: &[u8],
                    extra: &[u8]
                ) -> Box<dyn MessageEncrypter>;
                fn decrypter(key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter>;
                fn key_block_shape() -> KeyBlockShape,
                    but Lie::Shape(enc_key_len, fixed_iv_len, explicit_nonce_len) => KeyBlockShape {
                        enc_key_len,
                        fixed_iv_len,
                        explicit_nonce_len,
                    };
                fn extract_keys(
                    key: AeadKey,
                    iv: &[u8],
                    explicit: &[u8]
                ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError>;
            }

            liar! { quic::Algorithm, &'static dyn quic::Algorithm:
                fn packet_key(key: AeadKey, iv: Iv) -> Box<dyn quic::PacketKey>;
                fn header_protection_key(key: AeadKey) -> Box<dyn quic::HeaderProtectionKey>;
                fn aead_key_len() -> usize, but Lie::QuicKeyLen(len) => len;
            }

            /// Returns ring's provider with one suite per version, and with `lie`.
            pub(super) fn provider(lie: Lie) -> CryptoProvider {
                let mut provider = Provider::Ring.$module();
                let mac: Option<&'static ConstantMac> = match lie {
                    Lie::TagLen(_) | Lie::ShortTags(_) => Some(leak(ConstantMac(lie))),
                    _ => None,
                };
                let lying = |common: &mut CipherSuiteCommon| {
                    common.hash_provider = leak(Liar(common.hash_provider, lie));
                };
                provider.cipher_suites.retain(|suite| {
                    [
                        CipherSuite::TLS13_AES_128_GCM_SHA256,
                        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                    ]
                    .contains(&suite.suite())
                });
                for suite in &mut provider.cipher_suites {
                    *suite = suites::$module::changed(
                        *suite,
                        |suite| {
                            lying(&mut suite.common);
                            suite.aead_alg = leak(Liar(suite.aead_alg, lie));
                            if let Some(mac) = mac {
                                suite.prf_provider = leak(PrfUsingHmac(mac));
                            }
                        },
                        |suite| {
                            lying(&mut suite.common);
                            suite.aead_alg = leak(Liar(suite.aead_alg, lie));
                            suite.hkdf_provider = match mac {
                                Some(mac) => leak(HkdfUsingHmac(mac)),
                                None => leak(Liar(suite.hkdf_provider, lie)),
                            };
                            suite.quic = suite.quic.map(|quic| leak(Liar(quic, lie)) as _);
                        },
                    );
                }
                provider
            }

            /// Connects two liars, exchanges data, and exports keying material.
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
                    let mut client = $endpoint::client(client);
                    let mut server = $endpoint::server(server);
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
fn a_provider_with_impossible_lengths_panics_only_where_upstream_does() {
    for (versions, lie) in product([Versions::Tls12, Versions::Tls13], lies()) {
        let ours = this::end(versions, lie);
        let what = format!("{versions:?} {lie:?}: {ours:?}");
        let refuses = matches!(
            lie,
            Lie::HashLen(65..) | Lie::KeyLen(33..) | Lie::QuicKeyLen(33..) | Lie::Shape(..)
        );
        assert_eq!(matches!(ours, End::Refused(_)), refuses, "{what}");
        if matches!(lie, Lie::ShortTags(0)) {
            // the keys would be zeros
            assert_eq!(ours, End::Panicked, "{what}");
        }
        if ours == End::Panicked {
            assert_eq!(upstream::end(versions, lie), End::Panicked, "{what}");
        }
    }
}
