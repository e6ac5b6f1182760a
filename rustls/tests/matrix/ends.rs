//! The client and server of a case, which can connect several times.

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, Versions};
use harness::peers::endpoints::Endpoint;
use harness::peers::roles::{this as this_roles, upstream as upstream_roles};

use crate::matrix::table::Case;

/// The configurations of a side in both crates; its implementation uses one of them.
#[derive(Clone)]
pub(crate) struct Side {
    implementation: &'static str,
    this: this_roles::Config,
    upstream: upstream_roles::Config,
}

impl Side {
    pub(crate) fn client(case: &Case) -> Self {
        Self {
            implementation: ends(case).0,
            this: this_roles::Config::Client(this::client(case).into()),
            upstream: upstream_roles::Config::Client(upstream::client(case).into()),
        }
    }

    pub(crate) fn server(case: &Case) -> Self {
        Self {
            implementation: ends(case).1,
            this: this_roles::Config::Server(this::server(case).into()),
            upstream: upstream_roles::Config::Server(upstream::server(case).into()),
        }
    }

    /// Creates a server with the same sessions but without the client's protocol. It resumes
    /// sessions but rejects early data (RFC 9846 §4.3.10).
    pub(crate) fn without_alpn(self) -> Self {
        Self {
            this: (self.this).edit(|_| {}, |server| server.alpn_protocols.clear()),
            upstream: (self.upstream).edit(|_| {}, |server| server.alpn_protocols.clear()),
            ..self
        }
    }

    pub(crate) fn connection(&self) -> Box<dyn Endpoint> {
        match self.implementation {
            "buffered" => Box::new(self.this.buffered()),
            "unbuffered" => self.this.unbuffered(),
            "in place" => self.this.in_place(),
            "upstream" => Box::new(self.upstream.buffered()),
            "upstream unbuffered" => self.upstream.unbuffered(),
            other => panic!("no endpoint is called {other}"),
        }
    }
}

fn ends(case: &Case) -> (&'static str, &'static str) {
    case.value("ends").split_once(" to ").unwrap()
}

fn versions(case: &Case) -> (Versions, Versions) {
    let named = |name| match name {
        "1.2" => Versions::Tls12,
        "1.3" => Versions::Tls13,
        _ => Versions::Both,
    };
    let (client, server) = case.value("versions").split_once(" and ").unwrap();
    (named(client), named(server))
}

macro_rules! configs {
    ($module:ident, $tls:ident, $groups:ident) => {
        mod $module {
            use harness::verifiers::raw_keys::$module::{
                present_client, present_server, trust_server, verifier,
            };
            use $tls::client::Resumption;
            use $tls::compress::{
                BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR, CertCompressor, CertDecompressor,
                ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR,
            };
            use $tls::crypto::CryptoProvider;
            use $tls::server::{NoServerSessionStorage, ServerSessionMemoryCache};

            use super::*;

            pub(super) fn client(case: &Case) -> $tls::ClientConfig {
                let (versions, _) = versions(case);
                let provider = provider(case, case.is("retry", "yes"), false);
                let mut config =
                    configs::$module::client_of(versions, provider, case.key_type(), case.auth());
                if case.is("resumption", "none") {
                    config.resumption = Resumption::disabled();
                }
                config.enable_early_data = !case.is("early data", "none");
                (config.cert_compressors, config.cert_decompressors) = compression(case);
                let identities = case.key_type().identities();
                if case.raw_keys().0 {
                    trust_server(&mut config, &identities.server, case.provider());
                }
                if case.raw_keys().1 {
                    present_client(&mut config, &identities.client, case.provider());
                }
                config
            }

            pub(super) fn server(case: &Case) -> $tls::ServerConfig {
                let (_, versions) = versions(case);
                let provider = provider(case, false, true);
                let (key_type, auth) = (case.key_type(), case.auth());
                let identities = key_type.identities();
                let mut config = if case.raw_keys().1 {
                    let mut verifier = verifier(&identities.client, case.provider());
                    if auth != ClientAuth::Required {
                        verifier = verifier.optional();
                    }
                    let verifier = Arc::new(verifier);
                    configs::$module::server_verifying(versions, provider, key_type, verifier)
                } else {
                    configs::$module::server_of(versions, provider, key_type, auth)
                };
                config.session_storage = match case.value("resumption") {
                    "stored" => ServerSessionMemoryCache::new(8),
                    _ => Arc::new(NoServerSessionStorage {}),
                };
                if !case.is("early data", "none") {
                    config.max_early_data_size = 1000;
                }
                if case.is("resumption", "tickets") {
                    config.ticketer = $tls::crypto::ring::Ticketer::new().unwrap();
                }
                (config.cert_compressors, config.cert_decompressors) = compression(case);
                if case.raw_keys().0 {
                    present_server(&mut config, &identities.server, case.provider());
                }
                config
            }

            type Compression = (
                Vec<&'static dyn CertCompressor>,
                Vec<&'static dyn CertDecompressor>,
            );

            /// Restricts a side to the algorithm of the case.
            fn compression(case: &Case) -> Compression {
                match case.value("compression") {
                    "zlib" => (vec![ZLIB_COMPRESSOR], vec![ZLIB_DECOMPRESSOR]),
                    "brotli" => (vec![BROTLI_COMPRESSOR], vec![BROTLI_DECOMPRESSOR]),
                    _ => (vec![], vec![]),
                }
            }

            /// Creates a provider with the group of the case. Another group precedes it if the
            /// server must request a retry. If `restricts`, the suite of the case is the only one
            /// of its version; those of the other version allow both versions to be negotiated.
            fn provider(case: &Case, with_other_group: bool, restricts: bool) -> CryptoProvider {
                let mut provider = case.provider().$module();
                let is_named = |suite: &$tls::SupportedCipherSuite| {
                    format!("{:?}", suite.suite()) == case.value("suite")
                };
                let mut suites = provider.cipher_suites.iter().copied();
                let suite = suites.find(is_named).unwrap();
                provider.cipher_suites.retain(|other| {
                    let of_other_version = other.version().version != suite.version().version;
                    !restricts || is_named(other) || of_other_version
                });

                let groups = case.provider().$groups();
                let named = |name: &str| {
                    let mut groups = groups.iter();
                    *groups
                        .find(|group| format!("{:?}", group.name()) == name)
                        .unwrap()
                };
                let name = case.value("group");
                provider.kx_groups = match (with_other_group, name) {
                    (false, _) => vec![named(name)],
                    (true, "X25519") => vec![named("secp256r1"), named(name)],
                    (true, _) => vec![named("X25519"), named(name)],
                };
                provider
            }
        }
    };
}

configs!(this, rustls, this_groups);
configs!(upstream, rustls_upstream, upstream_groups);
