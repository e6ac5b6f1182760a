//! Clients of this crate and of upstream with the same ECH settings.

use std::sync::Arc;

use harness::peers::configs::Provider;
use harness::peers::endpoints::{Endpoint, ThisUnbuffered};
use rustls::PeerIncompatible;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls_core::ech_config::EchConfigPayload;

/// A client's crate and API.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stack {
    This,
    ThisUnbuffered,
    Upstream,
}

pub(crate) const OURS: &[Stack] = &[Stack::This, Stack::ThisUnbuffered];
pub(crate) const THEIRS: &[Stack] = &[Stack::Upstream];

/// Returns all clients.
pub(crate) fn stacks() -> impl Iterator<Item = Stack> {
    OURS.iter().chain(THEIRS).copied()
}

/// The ECH mode of a client.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    /// Offers ECH with this ECHConfigList.
    Real(Vec<u8>),
    /// Retries with the configurations of another connection's error.
    Retry(Vec<EchConfigPayload>),
    /// Sends GREASE with a KEM, KDF and AEAD, and a public key.
    Grease((u16, u16, u16), Vec<u8>),
    Off,
}

/// The settings of a client.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) provider: Provider,
    pub(crate) mode: Mode,
    pub(crate) root: CertificateDer<'static>,
    pub(crate) server: String,
    pub(crate) alpn: Vec<Vec<u8>>,
    /// The client's certificate and its key.
    pub(crate) client_auth: Option<(CertificateDer<'static>, Vec<u8>)>,
    pub(crate) early_data: bool,
    pub(crate) enable_sni: bool,
    /// The provider's groups to offer, in this order; all if empty.
    pub(crate) groups: Vec<u16>,
}

/// Implements [`Client::reporting`] for `$connection`, which has `$accessor`.
///
/// List every accessor whose fact comes from EncryptedExtensions or a later message.
macro_rules! reporting {
    ($connection:expr, $($accessor:ident)*) => {
        [$((stringify!($accessor), $connection.$accessor().is_some())),*]
            .into_iter()
            .filter_map(|(name, reports)| reports.then_some(name))
            .collect()
    };
}

/// A client whose results with ECH can be inspected.
pub(crate) trait Client: Endpoint {
    /// Returns the `Debug` text of `ech_status`.
    fn ech_status(&self) -> String;

    /// Returns the retry configurations in the connection's error, if [`Mode::Retry`] can use
    /// them.
    fn retry_configs(&mut self) -> Option<Vec<EchConfigPayload>>;

    /// Returns the number of tickets received.
    fn tickets_received(&self) -> u32;

    /// Returns the names of the accessors that report an encrypted answer of the server.
    fn reporting(&self) -> Vec<&'static str>;
}

macro_rules! stack {
    ($module:ident, $tls:ident, $buffered:ident, $retry_configs:expr, $for_retry:expr, $($accessor:ident)*) => {
        pub(crate) mod $module {
            use harness::peers::endpoints::$buffered;
            use $tls::client::{EchConfig, EchGreaseConfig, EchMode};
            use $tls::crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES;
            use $tls::crypto::hpke::{Hpke, HpkePublicKey};
            use $tls::{ClientConfig, ClientConnection, Error, RootCertStore};

            use super::*;

            pub(crate) fn config(setup: &Setup) -> Result<ClientConfig, Error> {
                let mut provider = setup.provider.$module();
                if !setup.groups.is_empty() {
                    let all = match setup.provider {
                        Provider::AwsLc => $tls::crypto::aws_lc_rs::ALL_KX_GROUPS,
                        Provider::Ring => $tls::crypto::ring::ALL_KX_GROUPS,
                    };
                    let named = |name: &u16| {
                        let mut all = all.iter();
                        all.find(|group| u16::from(group.name()) == *name).copied()
                    };
                    provider.kx_groups = setup.groups.iter().filter_map(named).collect();
                }
                let builder = ClientConfig::builder_with_provider(Arc::new(provider));
                let builder = match mode(&setup.mode)? {
                    Some(mode) => builder.with_ech(mode)?,
                    None => builder.with_protocol_versions(&[&$tls::version::TLS13])?,
                };
                let mut roots = RootCertStore::empty();
                roots.add(setup.root.clone())?;
                let builder = builder.with_root_certificates(roots);
                let mut config = match &setup.client_auth {
                    Some((certificate, key)) => builder.with_client_auth_cert(
                        vec![certificate.clone()],
                        PrivateKeyDer::Pkcs8(key.clone().into()),
                    )?,
                    None => builder.with_no_client_auth(),
                };
                config.alpn_protocols.clone_from(&setup.alpn);
                config.enable_early_data = setup.early_data;
                config.enable_sni = setup.enable_sni;
                config.cert_compressors.clear();
                config.cert_decompressors.clear();
                Ok(config)
            }

            pub(crate) fn mode(mode: &Mode) -> Result<Option<EchMode>, Error> {
                Ok(Some(match mode {
                    Mode::Real(list) => {
                        EchConfig::new(list.clone().into(), ALL_SUPPORTED_SUITES)?.into()
                    }
                    Mode::Retry(configs) => {
                        let for_retry: fn(&[EchConfigPayload], _) -> Result<EchConfig, Error> =
                            $for_retry;
                        for_retry(configs, ALL_SUPPORTED_SUITES)?.into()
                    }
                    Mode::Grease(suite, key) => {
                        let is_it = |hpke: &&&'static dyn Hpke| {
                            let $tls::crypto::hpke::HpkeSuite { kem, sym } = hpke.suite();
                            *suite == (kem.into(), sym.kdf_id.into(), sym.aead_id.into())
                        };
                        let hpke = *ALL_SUPPORTED_SUITES.iter().find(is_it).unwrap();
                        EchGreaseConfig::new(hpke, HpkePublicKey(key.clone())).into()
                    }
                    Mode::Off => return Ok(None),
                }))
            }

            pub(crate) fn connect(
                config: &Arc<ClientConfig>,
                server: ServerName<'static>,
            ) -> Result<Box<dyn Client>, Error> {
                let conn = ClientConnection::new(config.clone(), server)?;
                Ok(Box::new($buffered::new(conn)))
            }

            impl Client for $buffered {
                fn ech_status(&self) -> String {
                    format!("{:?}", self.client().ech_status())
                }

                fn retry_configs(&mut self) -> Option<Vec<EchConfigPayload>> {
                    let retry_configs: fn(Error) -> _ = $retry_configs;
                    retry_configs(self.conn.process_new_packets().unwrap_err())
                }

                fn tickets_received(&self) -> u32 {
                    self.client().tls13_tickets_received()
                }

                fn reporting(&self) -> Vec<&'static str> {
                    reporting!(self.client(), $($accessor)*)
                }
            }

            trait ClientOf {
                fn client(&self) -> &ClientConnection;
            }

            impl ClientOf for $buffered {
                fn client(&self) -> &ClientConnection {
                    match &self.conn {
                        $tls::Connection::Client(client) => client,
                        $tls::Connection::Server(_) => panic!("a server"),
                    }
                }
            }
        }
    };
}

stack!(
    this,
    rustls,
    ThisBuffered,
    |error| match error {
        Error::PeerIncompatible(PeerIncompatible::ServerRejectedEncryptedClientHello(configs)) => {
            configs
        }
        other => panic!("{other:?}"),
    },
    EchConfig::for_retry,
    alpn_protocol peer_certificates peer_identity
);
// upstream can retry, too, but has its own types
stack!(
    upstream,
    rustls_upstream,
    UpstreamBuffered,
    |_| None,
    |_: &[EchConfigPayload], _| unreachable!("upstream's clients return no list"),
    alpn_protocol peer_certificates
);

impl Client for ThisUnbuffered<UnbufferedClientConnection> {
    fn ech_status(&self) -> String {
        format!("{:?}", self.conn.ech_status())
    }

    fn retry_configs(&mut self) -> Option<Vec<EchConfigPayload>> {
        None
    }

    fn tickets_received(&self) -> u32 {
        self.conn.tls13_tickets_received()
    }

    fn reporting(&self) -> Vec<&'static str> {
        reporting!(self.conn, alpn_protocol peer_certificates peer_identity)
    }
}

/// A client configuration of either crate.
#[derive(Clone)]
pub(crate) struct Config {
    stack: Stack,
    of: Of,
    server: ServerName<'static>,
}

#[derive(Clone)]
enum Of {
    This(Arc<rustls::ClientConfig>),
    Upstream(Arc<rustls_upstream::ClientConfig>),
}

impl Stack {
    pub(crate) fn is_ours(self) -> bool {
        OURS.contains(&self)
    }

    /// Builds a configuration, or returns the error as text.
    pub(crate) fn config(self, setup: &Setup) -> Result<Config, String> {
        let server = ServerName::try_from(setup.server.clone()).unwrap();
        let of = match self {
            Self::This | Self::ThisUnbuffered => {
                let config = this::config(setup).map_err(|error| format!("{error:?}"))?;
                Of::This(Arc::new(config))
            }
            Self::Upstream => {
                let config = upstream::config(setup).map_err(|error| format!("{error:?}"))?;
                Of::Upstream(Arc::new(config))
            }
        };
        Ok(Config {
            stack: self,
            of,
            server,
        })
    }
}

impl Config {
    /// Creates a connection.
    pub(crate) fn connect(&self) -> Result<Box<dyn Client>, String> {
        let server = self.server.clone();
        match &self.of {
            Of::This(config) if self.stack == Stack::ThisUnbuffered => {
                UnbufferedClientConnection::new(config.clone(), server)
                    .map(|conn| Box::new(ThisUnbuffered::new(conn)) as Box<dyn Client>)
                    .map_err(|error| format!("{error:?}"))
            }
            Of::This(config) => this::connect(config, server).map_err(|error| format!("{error:?}")),
            Of::Upstream(config) => {
                upstream::connect(config, server).map_err(|error| format!("{error:?}"))
            }
        }
    }
}
