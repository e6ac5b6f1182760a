//! Configurations of this crate and of upstream with raw public keys and certificate compression.

use std::sync::Arc;

use harness::peers::configs::{
    ClientAuth, KEY_TYPES, KeyType, PROVIDERS, Provider, Versions, product, product3,
};
use harness::peers::endpoints::{Endpoint, exchange};

/// The kind of credential that a side uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    X509,
    Raw,
}

pub(crate) const KINDS: [Kind; 2] = [Kind::X509, Kind::Raw];
pub(crate) const CLIENT_KINDS: [Option<Kind>; 3] = [None, Some(Kind::X509), Some(Kind::Raw)];

/// The settings of both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) provider: Provider,
    pub(crate) versions: Versions,
    pub(crate) key_type: KeyType,
    pub(crate) server: Kind,
    /// `None`: the server requests no certificate, and the client has none.
    pub(crate) client: Option<Kind>,
}

impl Setup {
    pub(crate) fn new(provider: Provider) -> Self {
        Self {
            provider,
            versions: Versions::Tls13,
            key_type: KeyType::EcdsaP256,
            server: Kind::X509,
            client: None,
        }
    }

    /// Returns the same setup with these kinds of credentials.
    pub(crate) fn with(self, server: Kind, client: Option<Kind>) -> Self {
        Self {
            server,
            client,
            ..self
        }
    }

    /// Returns the same setup with these versions on both sides.
    pub(crate) fn over(self, versions: Versions) -> Self {
        Self { versions, ..self }
    }

    /// Returns every kind of credential on each side, with each provider.
    pub(crate) fn of_all_kinds() -> impl Iterator<Item = Self> {
        product3(PROVIDERS, KINDS, CLIENT_KINDS)
            .map(|(provider, server, client)| Self::new(provider).with(server, client))
    }

    /// Returns the same setups with each key type.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        product(KEY_TYPES, Self::of_all_kinds().collect::<Vec<_>>())
            .map(|(key_type, setup)| Self { key_type, ..setup })
            .filter(|setup| setup.key_type.usable_with(setup.provider))
    }

    /// Returns the request for an X.509 certificate.
    fn auth(self) -> ClientAuth {
        match self.client {
            Some(Kind::X509) => ClientAuth::Required,
            _ => ClientAuth::None,
        }
    }
}

/// Asserts that one end fails with this error, which names it, and that its peer receives `alert`.
#[track_caller]
pub(crate) fn assert_refused(
    client: &mut dyn Endpoint,
    server: &mut dyn Endpoint,
    error: &str,
    alert: &str,
) {
    assert_eq!(exchange(client, server).unwrap_err(), error);
    let received = match error.starts_with("client: ") {
        true => server.receive(&client.take_output()),
        false => client.receive(&server.take_output()),
    };
    assert_eq!(received, Err(format!("AlertReceived({alert})")));
}

// The same code for both crates, whose types are distinct but have the same names.
macro_rules! kit {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        pub(crate) mod $module {
            use harness::peers::configs::$module as configs;
            use harness::peers::endpoints::$endpoint;
            use harness::verifiers::raw_keys::$module::{
                present_client, present_server, trust_server,
            };
            pub(crate) use harness::verifiers::raw_keys::$module::{raw_key, verifier};
            use $tls::client::AlwaysResolvesClientRawPublicKeys;
            use $tls::compress::{
                CompressionCache, default_cert_compressors, default_cert_decompressors,
            };
            use $tls::server::AlwaysResolvesServerRawPublicKeys;
            use $tls::sign::CertifiedKey;
            use $tls::{ClientConfig, ServerConfig};

            use super::*;

            pub(crate) fn client_config(setup: Setup) -> ClientConfig {
                let (provider, key_type) = (setup.provider, setup.key_type);
                let crypto = provider.$module();
                let mut config = configs::client_of(setup.versions, crypto, key_type, setup.auth());
                let identities = key_type.identities();
                if setup.server == Kind::Raw {
                    trust_server(&mut config, &identities.server, provider);
                }
                if setup.client == Some(Kind::Raw) {
                    present_client(&mut config, &identities.client, provider);
                }
                config.cert_compressors = default_cert_compressors().to_vec();
                config.cert_decompressors = default_cert_decompressors().to_vec();
                // a single connection gains nothing from the cache
                config.cert_compression_cache = Arc::new(CompressionCache::Disabled);
                config.resumption = $tls::client::Resumption::disabled();
                config
            }

            pub(crate) fn server_config(setup: Setup) -> ServerConfig {
                let (provider, key_type) = (setup.provider, setup.key_type);
                let identities = key_type.identities();
                let (versions, crypto) = (setup.versions, provider.$module());
                let mut config = if setup.client == Some(Kind::Raw) {
                    let verifier = Arc::new(verifier(&identities.client, provider));
                    configs::server_verifying(versions, crypto, key_type, verifier)
                } else {
                    configs::server_of(versions, crypto, key_type, setup.auth())
                };
                if setup.server == Kind::Raw {
                    present_server(&mut config, &identities.server, provider);
                }
                config.cert_compressors = default_cert_compressors().to_vec();
                config.cert_decompressors = default_cert_decompressors().to_vec();
                config.cert_compression_cache = Arc::new(CompressionCache::Disabled);
                config.alpn_protocols = Vec::new();
                config
            }

            pub(crate) fn client(config: impl Into<Arc<ClientConfig>>) -> $endpoint {
                $endpoint::client(config)
            }

            pub(crate) fn server(config: impl Into<Arc<ServerConfig>>) -> $endpoint {
                $endpoint::server(config)
            }

            pub(crate) fn client_of(setup: Setup) -> $endpoint {
                client(client_config(setup))
            }

            pub(crate) fn server_of(setup: Setup) -> $endpoint {
                server(server_config(setup))
            }

            /// Creates a client with the raw public key `key`.
            pub(crate) fn client_with_key(setup: Setup, key: Arc<CertifiedKey>) -> $endpoint {
                let mut config = client_config(setup);
                config.client_auth_cert_resolver =
                    Arc::new(AlwaysResolvesClientRawPublicKeys::new(key));
                client(config)
            }

            /// Creates a server with the raw public key `key`.
            pub(crate) fn server_with_key(setup: Setup, key: Arc<CertifiedKey>) -> $endpoint {
                let mut config = server_config(setup);
                config.cert_resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(key));
                server(config)
            }
        }
    };
}

kit!(this, rustls, ThisBuffered);
kit!(upstream, rustls_upstream, UpstreamBuffered);
