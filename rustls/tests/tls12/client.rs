//! The client with scripted servers and with upstream's. It behaves like upstream's client except
//! where a test says otherwise.

mod after;
mod flights;
mod hello;
mod key_exchange;
mod resumption;
mod server_hello;
mod versions;

use std::sync::Arc;

use harness::peers::callbacks;
use harness::peers::configs::{Provider, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered};
use harness::scripted::Identity;
use harness::scripted::tls12::server::{Outcome, Script};
use rustls::pki_types::ServerName;

/// Clients of one implementation that share their sessions.
pub(crate) struct Client {
    pub(crate) name: &'static str,
    make: Box<dyn Fn() -> Box<dyn Endpoint>>,
}

impl Client {
    pub(crate) fn connection(&self) -> Box<dyn Endpoint> {
        (self.make)()
    }

    pub(crate) fn run(&self, identity: &Identity, script: &Script) -> Outcome {
        identity.run_tls12(&mut *self.connection(), script)
    }
}

/// This crate's clients in both APIs, then upstream's, all with the same settings.
pub(crate) fn clients(identity: &Identity, provider: Provider, versions: Versions) -> Vec<Client> {
    clients_with(identity, provider, versions, |_| (), |_| ())
}

/// The same clients with changed configurations.
pub(crate) fn clients_with(
    identity: &Identity,
    provider: Provider,
    versions: Versions,
    this: impl Fn(&mut rustls::ClientConfig),
    upstream: impl Fn(&mut rustls_upstream::ClientConfig),
) -> Vec<Client> {
    let our_config = || {
        let mut config = this_config(identity, provider, versions);
        this(&mut config);
        Arc::new(config)
    };
    let their_config = || {
        let mut config = upstream_config(identity, provider, versions);
        upstream(&mut config);
        Arc::new(config)
    };
    let (buffered, unbuffered, theirs) = (our_config(), our_config(), their_config());
    vec![
        Client {
            name: "buffered",
            make: Box::new(move || {
                Box::new(ThisBuffered::client_of(localhost(), buffered.clone()))
            }),
        },
        Client {
            name: "unbuffered",
            make: Box::new(move || {
                Box::new(ThisUnbuffered::client_of(localhost(), unbuffered.clone()))
            }),
        },
        Client {
            name: "upstream",
            make: Box::new(move || {
                Box::new(UpstreamBuffered::client_of(localhost(), theirs.clone()))
            }),
        },
    ]
}

/// TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, which no client here offers.
pub(crate) const UNOFFERED_SUITE: u16 = 0xcca9;

macro_rules! config {
    ($name:ident, $tls:ident, $provider:ident) => {
        /// A configuration that trusts `identity` and offers two protocols.
        pub(crate) fn $name(
            identity: &Identity,
            provider: Provider,
            versions: Versions,
        ) -> $tls::ClientConfig {
            use $tls::version::{TLS12, TLS13};
            let mut roots = $tls::RootCertStore::empty();
            roots.add(identity.certificate.clone()).unwrap();
            let versions = match versions {
                Versions::Tls12 => vec![&TLS12],
                Versions::Tls13 => vec![&TLS13],
                Versions::Both => vec![&TLS12, &TLS13],
            };
            let mut provider = provider.$provider();
            // few, so that a script can name one that is not offered
            provider
                .kx_groups
                .retain(|group| [0x1d, 0x17].contains(&u16::from(group.name())));
            provider
                .cipher_suites
                .retain(|suite| u16::from(suite.suite()) != UNOFFERED_SUITE);
            let mut config = $tls::ClientConfig::builder_with_provider(Arc::new(provider))
                .with_protocol_versions(&versions)
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth();
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            config
        }
    };
}

config!(this_config, rustls, this);
config!(upstream_config, rustls_upstream, upstream);

pub(crate) fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// Clients that request tickets but store no sessions.
pub(crate) fn forgetful(
    identity: &Identity,
    provider: Provider,
    versions: Versions,
) -> Vec<Client> {
    clients_with(
        identity,
        provider,
        versions,
        |config| {
            let store = callbacks::this::Sessions::forgotten();
            config.resumption = rustls::client::Resumption::store(store);
        },
        |config| {
            let store = callbacks::upstream::Sessions::forgotten();
            config.resumption = rustls_upstream::client::Resumption::store(store);
        },
    )
}

pub(crate) fn script(edit: impl FnOnce(&mut Script)) -> Script {
    Script::new().edit(edit)
}

pub(crate) fn ends(clients: &[Client], identity: &Identity, script: &Script) -> Vec<End> {
    let end = |client: &Client| End::of(&client.run(identity, script));
    clients.iter().map(end).collect()
}

/// Asserts that all clients end in the same way, and returns the outcome.
#[track_caller]
pub(crate) fn end(clients: &[Client], identity: &Identity, script: &Script) -> End {
    let ends = ends(clients, identity, script);
    assert!(ends[0].is_like(&ends[1]), "{ends:?}");
    assert!(ends[0].is_like(&ends[2]), "{ends:?}");
    ends[0].clone()
}

/// The end of a handshake for the client.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) error: Option<String>,
    pub(crate) alert: Option<u8>,
}

impl End {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        Self {
            error: outcome.error.clone(),
            alert: outcome.alert.map(u8::from),
        }
    }

    /// True if an unexpected message was reported. The alert is unreadable if the server has
    /// another transcript.
    pub(crate) fn is_unexpected(&self) -> bool {
        let error = self.error.as_deref().unwrap_or_default();
        match self.alert {
            Some(alert) => alert == 10,
            None => error.starts_with("Inappropriate"),
        }
    }

    /// True if upstream ends in the same way, or differs for a known reason.
    pub(crate) fn is_like(&self, theirs: &Self) -> bool {
        let (Some(ours), Some(other)) = (&self.error, &theirs.error) else {
            return self.error == theirs.error;
        };
        let is_decode_error = |end: &Self| end.alert == Some(50);
        ours == other && self.alert == theirs.alert
            // several fields may be missing from a truncated message, and several messages may be
            // due
            || is_decode_error(self) && is_decode_error(theirs)
            || self.is_unexpected() && theirs.is_unexpected()
            // upstream parses a message before it checks the type
            || self.is_unexpected() && other.starts_with("InvalidMessage(")
            // RFC 5246 §7.2.2: there is an alert for every failure
            || ours == other && theirs.alert.is_none()
            // RFC 5246 §7.2.2: illegal_parameter is for values out of range or inconsistent with
            // others
            || ours.contains("SelectedUnofferedCipherSuite") && ours == other
            // RFC 9846 §6.2: a bad signature in the chain is a bad_certificate, one in the
            // handshake a decrypt_error
            || ours == other && ours.contains("BadSignature") && self.alert == Some(42)
            // RFC 8422 §5.1.2: illegal_parameter
            || ours.contains("ServerHelloMustOfferUncompressedEcPoints") && ours == other
    }
}
