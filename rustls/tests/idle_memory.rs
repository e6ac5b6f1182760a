//! An idle connection holds no record buffer, in either role.
//!
//! This test has a program of its own because the count is for the whole process.

#[path = "memory/counting.rs"]
mod counting;

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions, this};
use harness::peers::pairs::this::Configs;
use harness::peers::pairs::this::buffered::Pair;
use rustls::{ClientConnection, ServerConnection};

use crate::counting::heap;

/// The maximum size in bytes of an idle client's connection, including the connection itself, and
/// of a server's.
const CLIENT_LIMIT: usize = 3_000;
const SERVER_LIMIT: usize = 2_300;

const CONNECTIONS: usize = 16;

#[test]
fn idle_connection_holds_no_record_buffer() {
    for (provider, versions) in PROVIDERS
        .into_iter()
        .flat_map(|provider| [Versions::Tls12, Versions::Tls13].map(|it| (provider, it)))
    {
        // warm up: one-time setup of a process or thread is not part of a connection
        let configs = configs(provider, versions);
        drop(pair_after_traffic(&configs));
        let pairs: Vec<_> = (0..CONNECTIONS)
            .map(|_| pair_after_traffic(&configs))
            .collect();
        let (clients, servers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let with_both = heap();
        drop(clients);
        let with_servers = heap();
        drop(servers);
        let after = heap();

        let each = |bytes: usize| bytes / CONNECTIONS;
        let (client, server) = (each(with_both - with_servers), each(with_servers - after));
        println!("{provider:?} {versions:?}: client {client}, server {server} bytes");
        assert!(client <= CLIENT_LIMIT, "client holds {client} bytes");
        assert!(server <= SERVER_LIMIT, "server holds {server} bytes");
    }
}

fn configs(provider: Provider, versions: Versions) -> Configs {
    let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    Configs {
        client: Arc::new(this::client_of(versions, provider.this(), key, auth)),
        server: Arc::new(this::server_of(versions, provider.this(), key, auth)),
    }
}

fn pair_after_traffic(configs: &Configs) -> (Box<ClientConnection>, Box<ServerConnection>) {
    let mut pair = Pair::connect(configs).unwrap();
    pair.exchange(&[3; 100_000], &mut Vec::new(), &mut [0; 40_000])
        .unwrap();
    (pair.client, pair.server)
}
