//! Kinds of connections, and the two ends of each.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, OnceLock};

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, Versions};
use harness::peers::endpoints::{self, Endpoint};
use harness::peers::roles::{self, Implementation, ROLES, Role};
use harness::quic::{self, Framed};

use crate::tampering::conversation::Conversation;
use crate::tampering::middle::Middle;

/// The features of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// The name, including the version, as in the cases of [`harness::comparison`].
    name: &'static str,
    versions: Versions,
    suite: &'static str,
    /// True if the client's first key share is of a group that the server lacks.
    pub(crate) retry: bool,
    pub(crate) auth: ClientAuth,
    pub(crate) resumes: Resumes,
    pub(crate) early_data: EarlyData,
    /// True for finite-field groups with RSA.
    dhe: bool,
    /// True for QUIC. It protects its own packets, so the man in the middle changes the CRYPTO
    /// bytes inside them.
    pub(crate) quic: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Resumes {
    None,
    Stored,
    Tickets,
    /// Stored in the crate's own storage, which uses each session once.
    Once,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EarlyData {
    None,
    Accepted,
    /// In the second connection, the server lacks the client's protocol.
    Rejected,
    /// Rejected by a HelloRetryRequest.
    Retried,
}

const TLS13: Kind = Kind {
    name: "",
    versions: Versions::Tls13,
    suite: "TLS13_AES_128_GCM_SHA256",
    retry: false,
    auth: ClientAuth::None,
    resumes: Resumes::None,
    early_data: EarlyData::None,
    dhe: false,
    quic: false,
};

const TLS12: Kind = Kind {
    name: "of 1.2",
    versions: Versions::Tls12,
    suite: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    ..TLS13
};

#[rustfmt::skip] // a table
pub(crate) const KINDS: [Kind; 17] = [
    TLS13,
    Kind { name: "with AES-256", suite: "TLS13_AES_256_GCM_SHA384", ..TLS13 },
    Kind { name: "with ChaCha20", suite: "TLS13_CHACHA20_POLY1305_SHA256", ..TLS13 },
    Kind { name: "with a HelloRetryRequest", retry: true, ..TLS13 },
    Kind { name: "with client authentication", auth: ClientAuth::Required, ..TLS13 },
    Kind { name: "with a PSK, by ticket", resumes: Resumes::Tickets, ..TLS13 },
    Kind { name: "with a PSK, stored", resumes: Resumes::Stored, ..TLS13 },
    Kind { name: "with early data", resumes: Resumes::Stored, early_data: EarlyData::Accepted, ..TLS13 },
    Kind { name: "with early data, rejected", resumes: Resumes::Stored, early_data: EarlyData::Rejected, ..TLS13 },
    Kind {
        name: "with early data before retry",
        resumes: Resumes::Stored,
        early_data: EarlyData::Retried,
        retry: true,
        ..TLS13
    },
    TLS12,
    Kind { name: "of 1.2 with AES-256", suite: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", ..TLS12 },
    Kind { name: "of 1.2 with ChaCha20", suite: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", ..TLS12 },
    Kind { name: "of 1.2 with client authentication", auth: ClientAuth::Required, ..TLS12 },
    Kind { name: "of 1.2, by session ID", resumes: Resumes::Stored, ..TLS12 },
    Kind { name: "of 1.2, by ticket", resumes: Resumes::Tickets, ..TLS12 },
    Kind { name: "of 1.2 with DHE", suite: "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", dhe: true, ..TLS12 },
];

/// Both versions at both ends.
pub(crate) const BOTH: Kind = Kind {
    name: "of both versions",
    versions: Versions::Both,
    ..TLS13
};

/// Sessions in a storage that returns each only once.
pub(crate) const ONCE: Kind = Kind {
    name: "with early data, once",
    resumes: Resumes::Once,
    early_data: EarlyData::Accepted,
    ..TLS13
};

impl Kind {
    /// Returns the same kind over QUIC, or `None` if QUIC does not have it.
    pub(crate) fn over_quic(self) -> Option<Self> {
        let is_possible = self.is_tls13() && self.early_data == EarlyData::None;
        is_possible.then_some(Self { quic: true, ..self })
    }

    pub(crate) fn name(&self) -> String {
        match self.quic {
            true => format!("{} over QUIC", self.name),
            false => self.name.to_owned(),
        }
    }

    pub(crate) fn is_tls13(&self) -> bool {
        self.versions != Versions::Tls12
    }

    pub(crate) fn key_type(&self) -> KeyType {
        // signatures of constant length
        if self.dhe {
            KeyType::Rsa2048
        } else {
            KeyType::Ed25519
        }
    }

    pub(crate) fn resumes(&self) -> bool {
        self.resumes != Resumes::None
    }

    pub(crate) fn sends_early(&self) -> bool {
        self.early_data != EarlyData::None
    }

    /// True if the server skips records that it cannot decrypt.
    pub(crate) fn skips_early(&self) -> bool {
        matches!(self.early_data, EarlyData::Rejected | EarlyData::Retried)
    }
}

/// The transport parameters of client and server.
pub(crate) const PARAMETERS: [&[u8]; 2] =
    [b"parameters of the client", b"parameters of the server"];

/// A client and a server of one kind, which can connect any number of times.
pub(crate) struct Pair {
    pub(crate) kind: Kind,
    pub(crate) apis: [Implementation; 2],
    this: this::Configs,
    upstream: upstream::Configs,
    /// True while clients keep the sessions that they receive.
    keeps_sessions: Arc<AtomicBool>,
    /// The number of clients that find a session.
    sessions: AtomicUsize,
    untouched: OnceLock<Untouched>,
}

/// The number of tickets that a client keeps for a server. It uses each once.
const TICKETS: usize = 8;

/// A connection without tampering.
pub(crate) struct Untouched {
    /// The records to the server, then to the client.
    pub(crate) sent: [Vec<Vec<u8>>; 2],
    pub(crate) negotiated: String,
}

impl Pair {
    pub(crate) fn new(kind: Kind, provider: Provider, apis: [Implementation; 2]) -> Self {
        let keeps_sessions = Arc::<AtomicBool>::default();
        Self {
            kind,
            apis,
            this: this::Configs::new(&kind, provider, &keeps_sessions),
            upstream: upstream::Configs::new(&kind, provider, &keeps_sessions),
            keeps_sessions,
            sessions: AtomicUsize::new(0),
            untouched: OnceLock::new(),
        }
    }

    /// Creates a client, with a session if the kind requires one.
    pub(crate) fn client(&self) -> Box<dyn Endpoint> {
        if self.kind.resumes() && self.sessions.load(Relaxed) == 0 {
            self.keeps_sessions.store(true, Relaxed);
            let [mut client, mut server] = ROLES.map(|role| self.end(role, true));
            endpoints::handshake(&mut *client, &mut *server);
            if !self.kind.quic {
                endpoints::send_and_check(&mut *server, &mut *client, b"behind the tickets");
            }
            self.keeps_sessions.store(false, Relaxed);
            self.sessions.store(TICKETS, Relaxed);
        }
        if self.kind.is_tls13() {
            self.sessions.fetch_sub(1, Relaxed);
        }
        self.end(Role::Client, false)
    }

    pub(crate) fn server(&self) -> Box<dyn Endpoint> {
        self.end(Role::Server, false)
    }

    /// Creates an end; `first` is true for the connection in which the session is created.
    fn end(&self, role: Role, first: bool) -> Box<dyn Endpoint> {
        let (this, upstream) = (&self.this, &self.upstream);
        match self.apis[role as usize] {
            Implementation::Upstream if self.kind.quic => upstream.over_quic(role, first),
            _ if self.kind.quic => this.over_quic(role, first),
            api => api.end(|| this.of(role, first), || upstream.of(role, first)),
        }
    }

    pub(crate) fn untouched(&self) -> &Untouched {
        self.untouched.get_or_init(|| {
            let report = Conversation::new(self, Middle::new(&[], None)).run();
            let untouched = report.untouched.expect("nothing was changed");
            let is_resumed = untouched.negotiated.contains("Resumed");
            assert_eq!(is_resumed, self.kind.resumes(), "{}", self.kind.name());
            untouched
        })
    }
}

macro_rules! configs {
    ($module:ident, $tls:ident, $groups:ident) => {
        mod $module {
            use harness::peers::callbacks::$module::{FirstSessions, Sessions};
            use harness::providers::ffdhe::{self, Key};
            use harness::quic::$module::{client, server};
            use roles::$module::Config;
            use $tls::client::Resumption;
            use $tls::crypto::CryptoProvider;
            use $tls::ffdhe_groups::FFDHE2048;
            use $tls::server::ServerSessionMemoryCache;
            use $tls::{ClientConfig, NamedGroup, ServerConfig};

            use super::*;

            pub(super) struct Configs {
                client: Arc<ClientConfig>,
                /// The server's configurations for the first connection and for later ones.
                servers: [Arc<ServerConfig>; 2],
            }

            impl Configs {
                pub(super) fn new(
                    kind: &Kind,
                    provider: Provider,
                    keeps_sessions: &Arc<AtomicBool>,
                ) -> Self {
                    let keeps = keeps_sessions.clone();
                    let sessions = Sessions::when(move |call| match call {
                        "tls12_session" | "take_tls13_ticket" => true,
                        "set_tls12_session" | "insert_tls13_ticket" => keeps.load(Relaxed),
                        _ => false,
                    });
                    let (key_type, auth) = (kind.key_type(), kind.auth);
                    let groups: [&[NamedGroup]; 2] = if kind.retry {
                        [
                            &[NamedGroup::secp256r1, NamedGroup::X25519],
                            &[NamedGroup::X25519],
                        ]
                    } else {
                        [&[NamedGroup::X25519, NamedGroup::secp256r1]; 2]
                    };
                    let [of_client, of_server] =
                        groups.map(|groups| crypto(kind, provider, groups));
                    let mut client =
                        configs::$module::client_of(kind.versions, of_client, key_type, auth);
                    client.resumption = if kind.resumes() {
                        Resumption::store(sessions)
                    } else {
                        Resumption::disabled()
                    };
                    client.enable_early_data = kind.sends_early();
                    let mut server =
                        configs::$module::server_of(kind.versions, of_server, key_type, auth);
                    server.session_storage = match kind.resumes {
                        Resumes::Once => ServerSessionMemoryCache::new(256),
                        _ => Arc::new(FirstSessions::default()),
                    };
                    if kind.resumes == Resumes::Tickets {
                        server.ticketer = $tls::crypto::ring::Ticketer::new().unwrap();
                    }
                    if kind.sends_early() {
                        server.max_early_data_size = 1000;
                    }
                    let mut later = server.clone();
                    server.send_tls13_tickets = TICKETS;
                    if kind.early_data == EarlyData::Rejected {
                        later.alpn_protocols.clear();
                    }
                    Self {
                        client: Arc::new(client),
                        servers: [Arc::new(server), Arc::new(later)],
                    }
                }

                /// Returns the configuration of an end.
                pub(super) fn of(&self, role: Role, first: bool) -> Config {
                    match role {
                        Role::Client => Config::Client(self.client.clone()),
                        Role::Server => Config::Server(self.servers[usize::from(!first)].clone()),
                    }
                }

                pub(super) fn over_quic(&self, role: Role, first: bool) -> Box<dyn Endpoint> {
                    let parameters = PARAMETERS[role as usize];
                    let end = match self.of(role, first) {
                        Config::Client(config) => client(&config, quic::Version::V1, parameters),
                        Config::Server(config) => server(&config, quic::Version::V1, parameters),
                    };
                    Framed::in_the_clear(end.unwrap())
                }
            }

            /// Creates a provider that prefers the suite of the kind.
            fn crypto(kind: &Kind, provider: Provider, groups: &[NamedGroup]) -> CryptoProvider {
                if kind.dhe {
                    let group =
                        ffdhe::$module::Group::leak(NamedGroup::FFDHE2048, FFDHE2048, Key::Random);
                    let crypto = ffdhe::$module::provider(provider.$module(), vec![group]);
                    return (*crypto).clone();
                }
                let mut crypto = provider.$module();
                let is_other = |suite: &$tls::SupportedCipherSuite| {
                    format!("{:?}", suite.suite()) != kind.suite
                };
                crypto.cipher_suites.sort_by_key(is_other);
                let all = provider.$groups();
                let named = |name| all.iter().find(|group| group.name() == name);
                crypto.kx_groups = groups.iter().map(|name| *named(*name).unwrap()).collect();
                crypto
            }
        }
    };
}

configs!(this, rustls, this_groups);
configs!(upstream, rustls_upstream, upstream_groups);
