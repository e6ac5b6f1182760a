//! What a server holds of the sessions that it stores.

use std::sync::Arc;

use bench_allocator::count;
use harness::configs::server_name;
use tls::client::Resumption;
use tls::server::ServerSessionMemoryCache;
use tls::{ClientConnection, ServerConnection};

use super::handshake::Pipes;
use super::{configs, tls};
use crate::handshake::Nothing;
use crate::workload::{Identity, Result, Scenario};

/// Has `clients` make full handshakes in turns, until the server has stored so many sessions; returns how many bytes
/// it holds for them when all connections are closed.
pub(crate) fn held(scenario: &Scenario, clients: &[Arc<Identity>], sessions: usize) -> Result<i64> {
    let mut scenario = Scenario {
        tickets: Some(1),
        ..scenario.clone()
    };
    let mut server = (*configs(&scenario)?.server).clone();
    // the one of the warm-up is stored, too
    server.session_storage = ServerSessionMemoryCache::new(sessions + 1);
    let server = Arc::new(server);
    let clients = clients.iter().map(|client| {
        scenario.client = Some(client.clone());
        let configs = configs(&scenario)?;
        let mut config = (*configs.client).clone();
        config.resumption = Resumption::disabled();
        // what clients know of the server is nothing that the server holds
        super::super::share_chains(false, &mut config, &mut (*configs.server).clone());
        Ok(Arc::new(config))
    });
    let clients = clients.collect::<Result<Vec<_>>>()?;

    let mut pipes = Pipes::new();
    let mut connect = |client: &Arc<_>| -> Result<()> {
        let client = || Ok(ClientConnection::new(Arc::clone(client), server_name())?);
        let server = || Ok(ServerConnection::new(server.clone())?);
        let (client, server) =
            pipes.connect::<Nothing, _, _>(&mut Default::default(), client, server, &mut |_| ())?;
        if client.is_handshaking() || server.is_handshaking() {
            return Err("the handshake came to a halt".into());
        }
        Ok(())
    };
    // buffers and caches have what they keep by then
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
