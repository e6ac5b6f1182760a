//! The client and server of a case, which can connect several times.

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};
use harness::quic::{self, QuicEndpoint, Version};

/// The crate of an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Crate {
    This,
    Upstream,
}

/// Client and server. Upstream against itself checks that the tests match upstream's behaviour.
pub(crate) const ENDS: [[Crate; 2]; 4] = [
    [Crate::Upstream, Crate::Upstream],
    [Crate::This, Crate::Upstream],
    [Crate::Upstream, Crate::This],
    [Crate::This, Crate::This],
];

/// The place where a server keeps its sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sessions {
    None,
    Stored,
    Tickets,
}

/// The settings of both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) ends: [Crate; 2],
    pub(crate) provider: Provider,
    pub(crate) version: Version,
    pub(crate) suite: &'static str,
    /// True if the client's first key share is of a group that the server lacks.
    pub(crate) retry: bool,
    pub(crate) auth: ClientAuth,
    pub(crate) sessions: Sessions,
    /// True if the server accepts early data. A client always offers it.
    pub(crate) early_data: bool,
}

pub(crate) const SUITES: [&str; 3] = [
    "TLS13_AES_128_GCM_SHA256",
    "TLS13_AES_256_GCM_SHA384",
    "TLS13_CHACHA20_POLY1305_SHA256",
];

impl Case {
    pub(crate) fn usual(ends: [Crate; 2], provider: Provider) -> Self {
        Self {
            ends,
            provider,
            version: Version::V1,
            suite: SUITES[0],
            retry: false,
            auth: ClientAuth::None,
            sessions: Sessions::None,
            early_data: false,
        }
    }

    /// Returns the usual case with stored sessions and early data.
    pub(crate) fn with_early_data(ends: [Crate; 2], provider: Provider) -> Self {
        Self {
            sessions: Sessions::Stored,
            early_data: true,
            ..Self::usual(ends, provider)
        }
    }

    pub(crate) fn sides(&self) -> (Client, Server) {
        let [client, server] = self.ends;
        let client = Client {
            of: client,
            version: self.version,
            this: Arc::new(this::client(self)),
            upstream: Arc::new(upstream::client(self)),
        };
        let server = Server {
            of: server,
            version: self.version,
            this: Arc::new(this::server(self)),
            upstream: Arc::new(upstream::server(self)),
        };
        (client, server)
    }
}

/// The two ends of a connection.
pub(crate) type Pair = (Box<dyn QuicEndpoint>, Box<dyn QuicEndpoint>);

/// Returns the ends of the first connection of a case.
pub(crate) fn pair(case: Case) -> Pair {
    let (client, server) = case.sides();
    (client.connect(), server.accept())
}

impl Server {
    /// Replaces the session storage with that of `other`.
    pub(crate) fn with_sessions_of(self, other: &Self) -> Self {
        self.with(
            |config| config.session_storage = other.this.session_storage.clone(),
            |config| config.session_storage = other.upstream.session_storage.clone(),
        )
    }
}

/// Runs `test` for each pair of crates and each provider.
pub(crate) fn for_all_ends(test: impl Fn([Crate; 2], Provider)) {
    for (ends, provider) in product(ENDS, configs::PROVIDERS) {
        test(ends, provider);
    }
}

/// The transport parameters of each side, unless a test sets others.
pub(crate) const CLIENT_PARAMETERS: &[u8] = b"parameters of the client";
pub(crate) const SERVER_PARAMETERS: &[u8] = b"of the server";

/// Changes the configurations of both crates in the same way.
macro_rules! changed {
    ($side:expr, |$config:ident| $change:expr) => {
        $side.with(|$config| $change, |$config| $change)
    };
}

pub(crate) use changed;

macro_rules! sides {
    ($($side:ident: $config:ident, $start:ident, $constructor:ident, $parameters:ident;)*) => {
        $(
            /// Equal configurations for both crates, one of which is used.
            #[derive(Clone)]
            pub(crate) struct $side {
                of: Crate,
                version: Version,
                this: Arc<rustls::$config>,
                upstream: Arc<rustls_upstream::$config>,
            }

            impl $side {
                pub(crate) fn $start(&self) -> Box<dyn QuicEndpoint> {
                    self.try_with($parameters).unwrap()
                }

                pub(crate) fn try_with(&self, parameters: &[u8]) -> Result<Box<dyn QuicEndpoint>, String> {
                    Ok(match self.of {
                        Crate::This => {
                            Box::new(quic::this::$constructor(&self.this, self.version, parameters)?)
                        }
                        Crate::Upstream => Box::new(quic::upstream::$constructor(
                            &self.upstream,
                            self.version,
                            parameters,
                        )?),
                    })
                }

                pub(crate) fn over_records(&self) -> Box<dyn Endpoint> {
                    match self.of {
                        Crate::This => Box::new(ThisBuffered::$constructor(self.this.clone())),
                        Crate::Upstream => {
                            Box::new(UpstreamBuffered::$constructor(self.upstream.clone()))
                        }
                    }
                }

                /// Returns the same side with another version of QUIC.
                pub(crate) fn over(self, version: Version) -> Self {
                    Self { version, ..self }
                }

                /// Creates a side with a changed configuration and the same sessions.
                pub(crate) fn with(
                    mut self,
                    this: impl FnOnce(&mut rustls::$config),
                    upstream: impl FnOnce(&mut rustls_upstream::$config),
                ) -> Self {
                    this(Arc::make_mut(&mut self.this));
                    upstream(Arc::make_mut(&mut self.upstream));
                    self
                }
            }
        )*
    };
}

sides! {
    Client: ClientConfig, connect, client, CLIENT_PARAMETERS;
    Server: ServerConfig, accept, server, SERVER_PARAMETERS;
}

macro_rules! configs {
    ($module:ident, $tls:ident, $groups:ident) => {
        mod $module {
            use $tls::NamedGroup;
            use $tls::crypto::CryptoProvider;
            use $tls::server::{NoServerSessionStorage, ServerSessionMemoryCache};

            use super::*;

            pub(super) fn client(case: &Case) -> $tls::ClientConfig {
                let groups: &[NamedGroup] = if case.retry {
                    &[NamedGroup::X25519, NamedGroup::secp256r1]
                } else {
                    &[NamedGroup::X25519]
                };
                let provider = provider(case, groups);
                let mut config = configs::$module::client(provider, KeyType::EcdsaP256, case.auth);
                config.alpn_protocols = vec![b"h3".to_vec(), b"other".to_vec()];
                config.enable_early_data = true;
                config
            }

            pub(super) fn server(case: &Case) -> $tls::ServerConfig {
                let group = if case.retry {
                    NamedGroup::secp256r1
                } else {
                    NamedGroup::X25519
                };
                let provider = provider(case, &[group]);
                let mut config = configs::$module::server(provider, KeyType::EcdsaP256, case.auth);
                config.alpn_protocols = vec![b"h3".to_vec()];
                match case.sessions {
                    Sessions::None => config.session_storage = Arc::new(NoServerSessionStorage {}),
                    Sessions::Stored => {
                        config.session_storage = ServerSessionMemoryCache::new(8);
                    }
                    Sessions::Tickets => {
                        config.ticketer = $tls::crypto::ring::Ticketer::new().unwrap();
                    }
                }
                if case.early_data {
                    // RFC 9001 §4.6.1: the only valid limit
                    config.max_early_data_size = u32::MAX;
                }
                config
            }

            fn provider(case: &Case, groups: &[NamedGroup]) -> CryptoProvider {
                let mut provider = case.provider.$module();
                provider
                    .cipher_suites
                    .retain(|suite| format!("{:?}", suite.suite()) == case.suite);
                let all = case.provider.$groups();
                let named =
                    |name: &NamedGroup| *all.iter().find(|group| group.name() == *name).unwrap();
                provider.kx_groups = groups.iter().map(named).collect();
                provider
            }
        }
    };
}

configs!(this, rustls, this_groups);
configs!(upstream, rustls_upstream, upstream_groups);
