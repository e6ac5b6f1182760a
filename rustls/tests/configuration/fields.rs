//! Default values of configurations, and their FIPS status, match upstream's.

use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Provider, product};
use harness::providers::{leak, suites};
use rustls_upstream::pki_types::PrivateKeyDer;

/// Implements a trait for `Part`: it uses the methods of the inner object, except `fips`.
macro_rules! part {
    ($trait:path: $(fn $name:ident($($arg:ident: $typ:ty),*) -> $out:ty;)*) => {
        impl $trait for Part<dyn $trait> {
            $(
                fn $name(&self $(, $arg: $typ)*) -> $out {
                    self.0.$name($($arg),*)
                }
            )*

            fn fips(&self) -> bool {
                self.1
            }
        }
    };
}

/// Prints fields of a configuration.
macro_rules! printed {
    ($config:ident: $($field:ident),*) => {
        [$(format!("{} {:?}", stringify!($field), $config.$field)),*]
    };
}

macro_rules! configurations {
    ($module:ident, $lib:ident) => {
        mod $module {
            use $lib::crypto::cipher::{
                AeadKey, Iv, MessageDecrypter, MessageEncrypter, Tls13AeadAlgorithm,
                UnsupportedOperationError,
            };
            use $lib::crypto::{
                ActiveKeyExchange, CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom,
                SupportedKxGroup, WebPkiSupportedAlgorithms, hash, hmac, tls13,
            };
            use $lib::version::{TLS12, TLS13};
            use $lib::{
                ClientConfig, ClientConnection, ConnectionTrafficSecrets, Error, NamedGroup,
                RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion, sign,
            };

            use super::*;

            fn client(
                provider: CryptoProvider,
                versions: &[&'static SupportedProtocolVersion],
            ) -> ClientConfig {
                ClientConfig::builder_with_provider(Arc::new(provider))
                    .with_protocol_versions(versions)
                    .unwrap()
                    .with_root_certificates(RootCertStore::empty())
                    .with_no_client_auth()
            }

            fn server(
                provider: CryptoProvider,
                versions: &[&'static SupportedProtocolVersion],
            ) -> ServerConfig {
                ServerConfig::builder_with_provider(Arc::new(provider))
                    .with_protocol_versions(versions)
                    .unwrap()
                    .with_no_client_auth()
                    .with_cert_resolver(Arc::new($lib::server::ResolvesServerCertUsingSni::new()))
            }

            /// Returns all fields whose values can be printed.
            pub(super) fn defaults(provider: Provider) -> Vec<String> {
                let client = client(provider.$module(), &[&TLS13, &TLS12]);
                let server = server(provider.$module(), &[&TLS13, &TLS12]);
                let compressors = |of: &[&dyn $lib::compress::CertCompressor]| {
                    let algorithms = of.iter().map(|it| it.algorithm());
                    format!("compressors {:?}", algorithms.collect::<Vec<_>>())
                };
                let decompressors = |of: &[&dyn $lib::compress::CertDecompressor]| {
                    let algorithms = of.iter().map(|it| it.algorithm());
                    format!("decompressors {:?}", algorithms.collect::<Vec<_>>())
                };
                let resumption = format!("{:?}", client.resumption).replace(" { .. }", "");
                let resolver = &client.client_auth_cert_resolver;
                let mut log = vec![
                    format!("resumption {resumption}"),
                    format!("has_certs {}", resolver.has_certs()),
                    format!("only_raw_public_keys {}", resolver.only_raw_public_keys()),
                    format!("will_log {}", client.key_log.will_log("CLIENT_RANDOM")),
                    compressors(&client.cert_compressors),
                    decompressors(&client.cert_decompressors),
                    format!("fips {}", client.fips()),
                    // the fields of the server
                    format!("session_storage {}", server.session_storage.can_cache()),
                    format!("ticketer {}", server.ticketer.enabled()),
                    compressors(&server.cert_compressors),
                    decompressors(&server.cert_decompressors),
                    format!("fips {}", server.fips()),
                ];
                log.extend(printed! { client:
                    alpn_protocols, check_selected_alpn, max_fragment_size, enable_sni, key_log,
                    enable_secret_extraction, enable_early_data, require_ems, time_provider,
                    cert_compression_cache, send_ticket_request
                });
                log.extend(printed! { server:
                    ignore_client_order, max_fragment_size, alpn_protocols, key_log,
                    enable_secret_extraction, max_early_data_size, send_half_rtt_data,
                    send_tls13_tickets, max_tls13_tickets, require_ems, time_provider,
                    cert_compression_cache
                });
                log
            }

            /// Returns the FIPS status if every part of the provider except `missing` is approved.
            pub(super) fn fips(missing: &str, require_ems: bool, versions: &str) -> Vec<bool> {
                let versions: &[&'static SupportedProtocolVersion] = match versions {
                    "1.3" => &[&TLS13],
                    _ => &[&TLS13, &TLS12],
                };
                let provider = approved_but(missing);
                let mut log = vec![provider.fips()];
                let mut client = client(provider.clone(), versions);
                client.require_ems = require_ems;
                let mut server = server(provider, versions);
                server.require_ems = require_ems;
                log.extend([client.fips(), server.fips()]);
                let name = harness::peers::configs::server_name();
                let client = ClientConnection::new(Arc::new(client), name).unwrap();
                let server = ServerConnection::new(Arc::new(server)).unwrap();
                log.extend([client.fips(), server.fips()]);
                log
            }

            /// A part of a provider that reports whether it is approved.
            struct Part<T: ?Sized + 'static>(&'static T, bool);

            fn approved_but(missing: &str) -> CryptoProvider {
                let base = Provider::Ring.$module();
                let suite = suites::$module::changed(
                    base.cipher_suites[0],
                    |_| (),
                    |suite| {
                        let hash = suite.common.hash_provider;
                        suite.common.hash_provider = leak(Part(hash, missing != "hash"));
                        suite.hkdf_provider = leak(Part(suite.hkdf_provider, missing != "hkdf"));
                        suite.aead_alg = leak(Part(suite.aead_alg, missing != "aead"));
                        suite.quic = None;
                    },
                );
                let mut suites = vec![suite];
                if missing == "a suite" {
                    suites.extend(base.cipher_suites.iter().copied());
                }
                let mut groups: Vec<&'static dyn SupportedKxGroup> =
                    vec![leak(Part(base.kx_groups[0], true))];
                if missing == "a group" {
                    groups.push(base.kx_groups[1]);
                }
                let algorithms = if missing == "signature verification" {
                    base.signature_verification_algorithms
                } else {
                    WebPkiSupportedAlgorithms {
                        all: &[],
                        mapping: &[],
                    }
                };
                CryptoProvider {
                    cipher_suites: suites,
                    kx_groups: groups,
                    signature_verification_algorithms: algorithms,
                    secure_random: leak(Part(base.secure_random, missing != "random")),
                    key_provider: leak(Part(base.key_provider, missing != "keys")),
                }
            }

            impl<T: ?Sized> std::fmt::Debug for Part<T> {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("Part")
                }
            }

            part! { hash::Hash:
                fn start() -> Box<dyn hash::Context>;
                fn hash(data: &[u8]) -> hash::Output;
                fn output_len() -> usize;
                fn algorithm() -> hash::HashAlgorithm;
            }

            type Expander = Box<dyn tls13::HkdfExpander>;

            part! { tls13::Hkdf:
                fn extract_from_zero_ikm(salt: Option<&[u8]>) -> Expander;
                fn extract_from_secret(salt: Option<&[u8]>, secret: &[u8]) -> Expander;
                fn expander_for_okm(okm: &tls13::OkmBlock) -> Expander;
                fn hmac_sign(key: &tls13::OkmBlock, message: &[u8]) -> hmac::Tag;
            }

            part! { Tls13AeadAlgorithm:
                fn encrypter(key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter>;
                fn decrypter(key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter>;
                fn key_len() -> usize;
                fn extract_keys(
                    key: AeadKey,
                    iv: Iv
                ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError>;
            }

            part! { SupportedKxGroup:
                fn start() -> Result<Box<dyn ActiveKeyExchange>, Error>;
                fn name() -> NamedGroup;
            }

            part! { SecureRandom:
                fn fill(buf: &mut [u8]) -> Result<(), GetRandomFailed>;
            }

            part! { KeyProvider:
                fn load_private_key(
                    key: PrivateKeyDer<'static>
                ) -> Result<Arc<dyn sign::SigningKey>, Error>;
            }
        }
    };
}

configurations!(this, rustls);
configurations!(upstream, rustls_upstream);

#[test]
fn defaults_match_upstream() {
    for provider in PROVIDERS {
        assert_eq!(this::defaults(provider), upstream::defaults(provider));
    }
}

/// A configuration is FIPS-approved if every part of its provider is and the extended master secret
/// is required.
#[test]
fn fips_status_matches_upstream() {
    const PARTS: [&str; 8] = [
        "nothing", "hash", "hkdf", "aead", "a suite", "a group", "random", "keys",
    ];
    for missing in PARTS.into_iter().chain(["signature verification"]) {
        for (require_ems, versions) in product([false, true], ["1.3", "1.2 and 1.3"]) {
            let what = format!("{missing} missing, {require_ems}, TLS {versions}");
            let ours = this::fips(missing, require_ems, versions);
            let theirs = upstream::fips(missing, require_ems, versions);
            assert_eq!(ours, theirs, "{what}");
            assert_eq!(ours[0], missing == "nothing", "{what}");
            assert_eq!(ours[1], missing == "nothing" && require_ems, "{what}");
        }
    }
}
