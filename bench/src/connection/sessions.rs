//! The memory of a server's stored sessions.

use std::sync::Arc;

use bench_allocator::count;
use tls::client::Resumption;
use tls::server::ServerSessionMemoryCache;

use super::configs::configs;
use super::dialect::{self, tls};
use super::handshake::Pipes;
use crate::workload::{Identity, Result, Scenario};

/// Has `clients` make full handshakes in turns, until the server has stored `sessions` sessions.
/// Returns the heap bytes that the server holds for them after all connections are closed.
pub(crate) fn heap_bytes(
    scenario: &Scenario,
    clients: &[Arc<Identity>],
    sessions: usize,
) -> Result<i64> {
    let mut scenario = Scenario {
        tickets: Some(1),
        ..scenario.clone()
    };
    let mut server = (*configs(&scenario)?.server).clone();
    // room for the session of the warm-up
    server.session_storage = ServerSessionMemoryCache::new(sessions + 1);
    let server = Arc::new(server);
    let clients = clients.iter().map(|client| {
        scenario.client = Some(client.clone());
        let configs = configs(&scenario)?;
        let mut config = (*configs.client).clone();
        config.resumption = Resumption::disabled();
        // the client's knowledge of the server must not count as the server's memory
        let caches = Scenario {
            shares_chains: false,
            verifies_once: false,
            ..scenario.clone()
        };
        dialect::set_up_caches(&caches, &mut config, &mut (*configs.server).clone());
        Ok(Arc::new(config))
    });
    let clients = clients.collect::<Result<Vec<_>>>()?;

    let mut pipes = Pipes::default();
    let mut connect = |client: &Arc<_>| -> Result<()> {
        let client = || Ok(Arc::clone(client));
        let done = pipes.connect(&mut Default::default(), client, &server, &mut |_| ());
        done.map(drop)
    };
    // fills buffers and caches first
    clients.first().map_or(Ok(()), &mut connect)?;
    let (done, counted) = count(|| {
        clients
            .iter()
            .cycle()
            .take(sessions)
            .try_for_each(&mut connect)
    });
    done.map(|()| counted.bytes)
}
