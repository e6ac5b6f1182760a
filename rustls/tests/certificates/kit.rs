//! Configurations of this crate and of upstream with raw public keys and certificate compression.

use std::sync::Arc;

use harness::peers::configs::{KeyType, Provider, SERVER_NAME, Versions};

/// The kind of credential that a side uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    X509,
    Raw,
}

pub(crate) const KINDS: [Kind; 2] = [Kind::X509, Kind::Raw];

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
}

// One text for both crates, whose types have equal names but differ.
macro_rules! kit {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        pub(crate) mod $module {
            use harness::peers::configs::$module as configs;
            use harness::peers::endpoints::$endpoint;
            pub(crate) use harness::verifiers::raw_keys::$module::{raw_key, verifier};
            use pki_types::ServerName;
            use $tls::client::AlwaysResolvesClientRawPublicKeys;
            use $tls::compress::{
                CompressionCache, default_cert_compressors, default_cert_decompressors,
            };
            use $tls::server::AlwaysResolvesServerRawPublicKeys;
            use $tls::{ClientConfig, ServerConfig};

            use super::*;

            pub(crate) fn client_config(setup: Setup) -> ClientConfig {
                let Setup {
                    provider,
                    versions,
                    key_type,
                    ..
                } = setup;
                let auth = match setup.client {
                    Some(Kind::X509) => harness::peers::configs::ClientAuth::Required,
                    _ => harness::peers::configs::ClientAuth::None,
                };
                let mut config = configs::client_of(versions, provider.$module(), key_type, auth);
                let identities = key_type.identities();
                if setup.server == Kind::Raw {
                    config
                        .dangerous()
                        .set_certificate_verifier(Arc::new(verifier(&identities.server, provider)));
                }
                if setup.client == Some(Kind::Raw) {
                    let key = raw_key(&identities.client, provider);
                    config.client_auth_cert_resolver =
                        Arc::new(AlwaysResolvesClientRawPublicKeys::new(key));
                }
                config.cert_compressors = default_cert_compressors().to_vec();
                config.cert_decompressors = default_cert_decompressors().to_vec();
                // a single connection gains nothing from the cache
                config.cert_compression_cache = Arc::new(CompressionCache::Disabled);
                config.resumption = $tls::client::Resumption::disabled();
                config
            }

            pub(crate) fn server_config(setup: Setup) -> ServerConfig {
                let Setup {
                    provider,
                    versions,
                    key_type,
                    ..
                } = setup;
                let identities = key_type.identities();
                let auth = match setup.client {
                    Some(Kind::X509) => harness::peers::configs::ClientAuth::Required,
                    _ => harness::peers::configs::ClientAuth::None,
                };
                let x509 = || configs::server_of(versions, provider.$module(), key_type, auth);
                let mut config = if setup.client == Some(Kind::Raw) {
                    let crypto = Arc::new(provider.$module());
                    ServerConfig::builder_with_provider(crypto)
                        .with_protocol_versions(
                            &versions.choose(&$tls::version::TLS12, &$tls::version::TLS13),
                        )
                        .unwrap()
                        .with_client_cert_verifier(Arc::new(verifier(&identities.client, provider)))
                        .with_cert_resolver(x509().cert_resolver)
                } else {
                    x509()
                };
                if setup.server == Kind::Raw {
                    let key = raw_key(&identities.server, provider);
                    config.cert_resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(key));
                }
                config.cert_compressors = default_cert_compressors().to_vec();
                config.cert_decompressors = default_cert_decompressors().to_vec();
                config.cert_compression_cache = Arc::new(CompressionCache::Disabled);
                config.alpn_protocols = Vec::new();
                config
            }

            pub(crate) fn client(config: impl Into<Arc<ClientConfig>>) -> $endpoint {
                let name = ServerName::try_from(SERVER_NAME).unwrap();
                $endpoint::new($tls::ClientConnection::new(config.into(), name).unwrap())
            }

            pub(crate) fn server(config: impl Into<Arc<ServerConfig>>) -> $endpoint {
                $endpoint::new($tls::ServerConnection::new(config.into()).unwrap())
            }
        }
    };
}

kit!(this, rustls, ThisBuffered);
kit!(upstream, rustls_upstream, UpstreamBuffered);
