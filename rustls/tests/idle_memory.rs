//! What a connection holds while nothing happens on it: no record buffer, in either role.
//!
//! One test in a program of its own: the count is of the whole process.

use std::alloc::System;
use std::io::{Read, Write};
use std::sync::Arc;

use harness::configs::{ClientAuth, KeyType, PROVIDERS, Provider, server_name, this};
use rustls::{ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The most heap that an idle connection may hold, in bytes.
const LIMIT: usize = 6_000;

const CONNECTIONS: usize = 16;

fn heap() -> isize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize + stats.bytes_reallocated
}

#[test]
fn idle_connection_holds_no_record_buffer() {
    for provider in PROVIDERS {
        // what is made once for a process or a thread is not a connection's
        let configs = configs(provider);
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

        let each = |bytes: isize| usize::try_from(bytes).unwrap() / CONNECTIONS;
        let (client, server) = (each(with_both - with_servers), each(with_servers - after));
        // the connection types themselves are in the vectors
        let client = client - size_of::<ClientConnection>();
        let server = server - size_of::<ServerConnection>();
        println!("{provider:?}: client {client}, server {server} bytes of heap");
        assert!(client <= LIMIT, "client holds {client} bytes");
        assert!(server <= LIMIT, "server holds {server} bytes");
    }
}

type Configs = (Arc<ClientConfig>, Arc<ServerConfig>);

fn configs(provider: Provider) -> Configs {
    let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    (
        Arc::new(this::client(provider.this(), key, auth)),
        Arc::new(this::server(provider.this(), key, auth)),
    )
}

fn pair_after_traffic(configs: &Configs) -> (ClientConnection, ServerConnection) {
    let mut client = ClientConnection::new(configs.0.clone(), server_name()).unwrap();
    let mut server = ServerConnection::new(configs.1.clone()).unwrap();
    while client.is_handshaking() || server.is_handshaking() || server.wants_write() {
        deliver(&mut client, &mut server);
        deliver(&mut server, &mut client);
    }
    let plaintext = vec![3; 100_000];
    send(&mut client, &mut server, &plaintext);
    send(&mut server, &mut client, &plaintext);
    (client, server)
}

/// Moves what waits from one end to the other; returns how much plaintext came of it.
fn deliver<A, B>(from: &mut ConnectionCommon<A>, to: &mut ConnectionCommon<B>) -> usize {
    let mut wire = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut wire).unwrap();
    }
    let mut rest = &wire[..];
    let mut received = 0;
    let mut plaintext = vec![0; 40_000];
    while !rest.is_empty() {
        to.read_tls(&mut rest).unwrap();
        to.process_new_packets().unwrap();
        received += to.reader().read(&mut plaintext).unwrap_or(0);
    }
    received
}

fn send<A, B>(from: &mut ConnectionCommon<A>, to: &mut ConnectionCommon<B>, plaintext: &[u8]) {
    let (mut sent, mut received) = (0, 0);
    while received < plaintext.len() {
        sent += from.writer().write(&plaintext[sent..]).unwrap();
        received += deliver(from, to);
    }
}
