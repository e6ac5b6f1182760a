//! This library, as the code that is compiled for both implementations sees it.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use harness::peers::additions;
pub(super) use harness::peers::pairs::this as pairs;
pub(super) use rustls as tls;
use tls::certificates::{PeerChains, VerifiedChains};
use tls::operation::{Job, Offload};
use tls::sign::SigningKey;

use crate::choices::Provider;
use crate::workload::Scenario;
use crate::workload::offload::Pool;

pub(super) fn provider(provider: Provider) -> tls::crypto::CryptoProvider {
    let mut crypto = provider.library().this();
    if provider == Provider::Fastest {
        crypto = tls::crypto::fastest::default_provider();
        crypto.cipher_suites.retain(additions::is_shared);
    }
    crypto
}

pub(super) fn all_groups(provider: Provider) -> Vec<&'static dyn tls::crypto::SupportedKxGroup> {
    provider.library().this_groups()
}

pub(super) fn ticketer(provider: Provider) -> Arc<dyn tls::server::ProducesTickets> {
    provider.library().this_ticketer()
}

/// Turns off the caches of peers' certificates that `scenario` does without.
pub(super) fn set_up_caches(
    scenario: &Scenario,
    client: &mut tls::ClientConfig,
    server: &mut tls::ServerConfig,
) {
    if !scenario.shares_chains {
        client.peer_chains = Arc::new(PeerChains::disabled());
        server.peer_chains = client.peer_chains.clone();
    }
    if !scenario.verifies_once {
        client.verified_chains = Arc::new(VerifiedChains::disabled());
        server.verified_chains = client.verified_chains.clone();
    }
}

/// Lets `pool` make the signatures of `key`.
pub(super) fn offloaded(key: Arc<dyn SigningKey>, pool: &Pool) -> Arc<dyn SigningKey> {
    let pool = pool.clone();
    Arc::new(Offload::new(key, move |job: Job| pool.spawn(job)))
}

/// Lets `connection` wait for signatures without blocking its thread.
pub(super) fn set_async(connection: &mut tls::ServerConnection, is_async: bool) {
    connection.set_async(is_async);
}

/// Continues the handshake if the operation that it waits for is over.
pub(super) fn poll_operation(
    connection: &mut tls::ServerConnection,
    waker: &Waker,
) -> Result<(), tls::Error> {
    match connection.poll_operation(&mut Context::from_waker(waker)) {
        Poll::Ready(result) => result,
        Poll::Pending => Ok(()),
    }
}
