//! The handshakes in which the operations occur.

use std::fmt;
use std::sync::Arc;

use rustls::certificates::VerifiedChains;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, NamedGroup, ServerConfig};

use super::ends::Api;
use super::{Plan, Slow, slow_client, slow_server};
use crate::peers::configs::this::roots;
use crate::peers::configs::{KeyType, Provider};
use crate::peers::events::events_of_process;
use crate::this::stores::ThreadSessions;

/// All operations, by the names of their synchronous methods.
pub const OPERATIONS: [&str; 11] = [
    "decrypt",
    "encrypt",
    "get",
    "put",
    "resolve",
    "sign",
    "take",
    "verify_client_cert",
    "verify_server_cert",
    "verify_tls12_signature",
    "verify_tls13_signature",
];

/// The operations that decide if a peer is accepted.
pub const CHECKS: [&str; 4] = [
    "verify_client_cert",
    "verify_server_cert",
    "verify_tls12_signature",
    "verify_tls13_signature",
];

#[derive(Clone, Copy, PartialEq)]
pub enum Session {
    None,
    Ticket,
    Stored,
    /// A stored session, with early data.
    EarlyData,
}

pub struct Kind {
    is_tls13: bool,
    session: Session,
    retries: bool,
    authenticates: bool,
    /// True if the server verifies the client's chain before its signature.
    verifies_first: bool,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = if self.is_tls13 { "TLS 1.3" } else { "TLS 1.2" };
        let session = match self.session {
            Session::None => "full",
            Session::Ticket => "resumed by a ticket",
            Session::Stored => "resumed from the storage",
            Session::EarlyData => "with early data",
        };
        write!(f, "{version}, {session}")?;
        if self.retries {
            f.write_str(", retried")?;
        }
        if self.authenticates {
            f.write_str(", client authenticated")?;
        }
        if self.verifies_first {
            f.write_str(", chain first")?;
        }
        Ok(())
    }
}

const fn kind(is_tls13: bool, session: Session, retries: bool, authenticates: bool) -> Kind {
    Kind {
        is_tls13,
        session,
        retries,
        authenticates,
        verifies_first: false,
    }
}

const fn verifying_first(is_tls13: bool) -> Kind {
    Kind {
        verifies_first: true,
        ..kind(is_tls13, Session::None, false, true)
    }
}

pub const KINDS: &[Kind] = &[
    kind(true, Session::None, false, false),
    kind(true, Session::None, false, true),
    kind(true, Session::None, true, true),
    kind(true, Session::Ticket, false, false),
    kind(true, Session::Ticket, false, true),
    kind(true, Session::Ticket, true, true),
    kind(true, Session::Stored, false, true),
    kind(true, Session::Stored, true, false),
    kind(true, Session::EarlyData, false, true),
    kind(true, Session::EarlyData, true, false),
    kind(false, Session::None, false, false),
    kind(false, Session::None, false, true),
    kind(false, Session::Ticket, false, true),
    kind(false, Session::Ticket, false, false),
    kind(false, Session::Stored, false, true),
];

/// More kinds of handshakes. They are not in [`KINDS`], because inputs of the fuzz target contain
/// indices into it.
pub const MORE_KINDS: &[Kind] = &[verifying_first(true), verifying_first(false)];

/// The configurations of one client and one server.
pub struct World {
    pub client: Arc<ClientConfig>,
    pub server: Arc<ServerConfig>,
}

impl Kind {
    /// True if the handshake resumes a session that an earlier connection creates.
    pub fn is_resumed(&self) -> bool {
        self.session != Session::None
    }

    pub fn has_early_data(&self) -> bool {
        self.session == Session::EarlyData
    }

    pub fn runs_over(&self, api: Api) -> bool {
        self.is_tls13 || api != Api::Quic
    }

    pub fn world(&self, api: Api, plan: &Arc<Plan>) -> World {
        let versions = match self.is_tls13 {
            true => &[&TLS13],
            false => &[&TLS12],
        };
        let key_type = KeyType::EcdsaP256;
        let identities = key_type.identities();
        let roots = roots(key_type);
        let provider = Arc::new(Provider::Ring.this());

        let verifier: Arc<dyn ClientCertVerifier> = match self.authenticates {
            true => WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
                .build()
                .unwrap(),
            false => WebPkiClientVerifier::no_client_auth(),
        };
        let server_provider = match self.retries {
            true => of_group(&provider, NamedGroup::secp384r1).into(),
            false => provider.clone(),
        };
        let mut server = ServerConfig::builder_with_provider(server_provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_client_cert_verifier(Slow::new(verifier, plan))
            .with_single_cert(identities.server.chain.clone(), identities.server.key())
            .unwrap();
        server.session_storage = ServerSessionMemoryCache::new(16);
        match self.session {
            Session::Ticket => {
                server.ticketer = Provider::Ring.this_ticketer();
                // a resumption verifies the client's certificate again
                server.verified_chains = Arc::new(VerifiedChains::disabled());
            }
            Session::EarlyData if api == Api::Quic => server.max_early_data_size = u32::MAX,
            Session::EarlyData => server.max_early_data_size = 1000,
            Session::None | Session::Stored => {}
        }
        if self.verifies_first {
            server.verified_chains = Arc::new(VerifiedChains::disabled());
        }
        slow_server(&mut server, plan);
        server.observer = events_of_process();

        let verifier = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots);
        let client = &identities.client;
        let mut client = match self.authenticates {
            true => builder
                .with_client_auth_cert(client.chain.clone(), client.key())
                .unwrap(),
            false => builder.with_no_client_auth(),
        };
        client.enable_early_data = self.has_early_data();
        if self.retries {
            // if the client remembered the group, the second connection would need no retry
            client.resumption = Resumption::store(Arc::new(ThreadSessions::default()));
        }
        slow_client(&mut client, verifier.build().unwrap(), plan);
        client.observer = events_of_process();
        World {
            client: client.into(),
            server: server.into(),
        }
    }
}

/// Returns the provider with only one group.
fn of_group(provider: &CryptoProvider, group: NamedGroup) -> CryptoProvider {
    let mut provider = provider.clone();
    provider.kx_groups.retain(|known| known.name() == group);
    assert_eq!(provider.kx_groups.len(), 1);
    provider
}
