//! Tests of the client with scripted servers and with upstream's server. It behaves like upstream's
//! client, except where a test states otherwise.

mod after;
mod flights;
mod hello;
mod key_exchange;
mod resumption;
mod server_hello;
mod versions;

use std::rc::Rc;
use std::sync::Arc;

use harness::peers::configs::{self, Provider, Versions};
use harness::peers::endpoints::Endpoint;
use harness::peers::{callbacks, clients};
use harness::scripted::Identity;
use harness::scripted::tls12::server::{Outcome, Script};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;

/// Clients of one implementation that share their sessions, and trust the same scripted server.
pub(crate) struct Client {
    pub(crate) name: &'static str,
    identity: Rc<Identity>,
    end: clients::Client,
}

impl Client {
    pub(crate) fn connection(&self) -> Box<dyn Endpoint> {
        self.end.connect_to(localhost())
    }

    pub(crate) fn run(&self, script: &Script) -> Outcome {
        self.identity.run_tls12(&mut *self.connection(), script)
    }

    pub(crate) fn end(&self, script: &Script) -> End {
        End::of(&self.run(script))
    }
}

/// Returns this crate's clients in both APIs and upstream's, all with the same settings.
pub(crate) fn clients(provider: Provider, versions: Versions) -> [Client; 3] {
    clients_with(provider, versions, |_| (), |_| ())
}

/// Returns the same clients with changed configurations.
pub(crate) fn clients_with(
    provider: Provider,
    versions: Versions,
    this: impl Fn(&mut rustls::ClientConfig),
    upstream: impl Fn(&mut rustls_upstream::ClientConfig),
) -> [Client; 3] {
    let identity = Rc::new(Identity::new(provider.this()));
    let our_config = || {
        let mut config = this_config(&identity, provider, versions);
        this(&mut config);
        Arc::new(config)
    };
    let mut theirs = upstream_config(&identity, provider, versions);
    upstream(&mut theirs);
    let ends = [
        ("buffered", clients::Client::Buffered(our_config())),
        ("unbuffered", clients::Client::Unbuffered(our_config())),
        ("upstream", clients::Client::Upstream(theirs.into())),
    ];
    ends.map(|(name, end)| Client {
        name,
        identity: identity.clone(),
        end,
    })
}

/// TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, which no client here offers.
pub(crate) const UNOFFERED_SUITE: u16 = 0xcca9;

macro_rules! config {
    ($name:ident, $tls:ident, $provider:ident) => {
        /// Creates a configuration that trusts `identity` and offers two protocols.
        pub(crate) fn $name(
            identity: &Identity,
            provider: Provider,
            versions: Versions,
        ) -> $tls::ClientConfig {
            let mut provider = configs::$provider::with_few_groups(provider.$provider());
            let suites = &mut provider.cipher_suites;
            suites.retain(|suite| u16::from(suite.suite()) != UNOFFERED_SUITE);
            let certificate = &identity.certificate;
            let mut config = configs::$provider::client_trusting(certificate, versions, provider);
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

/// Returns this crate's clients with a changed configuration.
pub(crate) fn ours_with(
    provider: Provider,
    versions: Versions,
    change: impl Fn(&mut rustls::ClientConfig),
) -> [Client; 2] {
    let [buffered, unbuffered, _] = clients_with(provider, versions, change, |_| ());
    [buffered, unbuffered]
}

/// Returns clients that request tickets but store no sessions.
pub(crate) fn forgetful(provider: Provider, versions: Versions) -> [Client; 3] {
    clients_with(
        provider,
        versions,
        |config| config.resumption = Resumption::store(callbacks::this::Sessions::forgotten()),
        |config| {
            let store = callbacks::upstream::Sessions::forgotten();
            config.resumption = rustls_upstream::client::Resumption::store(store);
        },
    )
}

pub(crate) fn script(edit: impl FnOnce(&mut Script)) -> Script {
    Script::new().edit(edit)
}

/// Returns the script with a change to the message of this index.
pub(crate) fn changing(
    script: Script,
    index: usize,
    change: impl Fn(&mut Vec<u8>) + 'static,
) -> Script {
    let change = move |at, bytes: &mut Vec<u8>| {
        if at == index {
            change(bytes);
        }
    };
    script.edit(|script| script.corrupt = Arc::new(change))
}

/// Asserts that all clients end in the same way, and returns the outcome.
#[track_caller]
pub(crate) fn end(clients: &[Client; 3], script: &Script) -> End {
    let ends = clients.each_ref().map(|client| client.end(script));
    assert!(ends[0].is_like(&ends[1]), "{ends:?}");
    assert!(ends[0].is_like(&ends[2]), "{ends:?}");
    ends[0].clone()
}

/// Asserts that this crate's clients end in the same way, if upstream's differs.
#[track_caller]
pub(crate) fn our_end(clients: &[Client; 3], script: &Script) -> End {
    let [buffered, unbuffered, _] = clients.each_ref().map(|client| client.end(script));
    assert_eq!(buffered, unbuffered);
    buffered
}

/// The end of a handshake for the client.
#[derive(Clone, Debug, PartialEq)]
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

    /// Asserts that the handshake failed with this error and alert.
    #[track_caller]
    pub(crate) fn assert_refused(&self, what: &str, error: &str, alert: u8) {
        let text = self.error.as_deref().unwrap_or_default();
        assert!(text.contains(error), "{what}: {self:?}, not {error}");
        assert_eq!(self.alert, Some(alert), "{what}: {self:?}");
    }

    /// True if an unexpected message was reported. The alert cannot be decrypted if the server has
    /// another transcript.
    pub(crate) fn is_unexpected(&self) -> bool {
        let error = self.error.as_deref().unwrap_or_default();
        match self.alert {
            Some(alert) => alert == 10,
            None => error.starts_with("Inappropriate"),
        }
    }

    /// True if upstream ends in the same way, or differs for a known reason.
    fn is_like(&self, theirs: &Self) -> bool {
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
