//! What connections hold on the heap, and how many allocations it takes to make them.
//!
//! Everything is counted by the global allocator. What a provider's C code allocates by itself (aws-lc:
//! key schedules, key exchange) does not pass through it.

use bench_allocator::count;

use super::configs;
use super::pairs::{Configs, buffered, unbuffered};
use crate::cli::Api;
use crate::memory::Idle;
use crate::workload::{Result, Scenario};

/// How many bytes both connections of a pair carry each way before they are idle again.
const TRAFFIC: usize = 1 << 20;

/// Bytes per write.
const WRITE: usize = 1 << 14;

/// Long enough for the records of one write, and for what a handshake sends at a time.
const WIRE: usize = 2 * WRITE;

/// Establishes `connections` pairs at once, lets them carry [`TRAFFIC`] if `used`, and measures how much heap
/// dropping them frees. What they share (configurations, session caches, buffers that the thread keeps) stays
/// and is not counted.
pub(crate) fn idle(api: Api, scenario: &Scenario, connections: usize, used: bool) -> Result<Idle> {
    let configs = configs(scenario)?;
    let (clients, servers) = match api {
        Api::Buffered => {
            let (clients, servers) = buffered_pairs(&configs, connections, used)?;
            (given_back(clients), given_back(servers))
        }
        _ => {
            let (clients, servers) = unbuffered_pairs(&configs, connections, used)?;
            (given_back(clients), given_back(servers))
        }
    };
    Ok(Idle {
        client: clients / connections as f64,
        server: servers / connections as f64,
    })
}

type Halves<C, S> = (Vec<Box<C>>, Vec<Box<S>>);

fn buffered_pairs(
    configs: &Configs,
    connections: usize,
    used: bool,
) -> Result<Halves<super::tls::ClientConnection, super::tls::ServerConnection>> {
    let (plaintext, mut pipe, mut application) = (vec![0; WRITE], Vec::new(), vec![0; WRITE]);
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for _ in 0..connections {
        let mut pair = buffered::Pair::connect(configs)?;
        for _ in 0..if used { TRAFFIC / WRITE } else { 0 } {
            pair.exchange(&plaintext, &mut pipe, &mut application)?;
        }
        clients.push(pair.client);
        servers.push(pair.server);
    }
    Ok((clients, servers))
}

fn unbuffered_pairs(
    configs: &Configs,
    connections: usize,
    used: bool,
) -> Result<
    Halves<
        super::tls::client::UnbufferedClientConnection,
        super::tls::server::UnbufferedServerConnection,
    >,
> {
    let (plaintext, mut wire) = (vec![0; WRITE], vec![0; WIRE]);
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for _ in 0..connections {
        let mut pair = unbuffered::Pair::connect(configs)?;
        for _ in 0..if used { TRAFFIC / WRITE } else { 0 } {
            pair.exchange(&plaintext, &mut wire)?;
        }
        clients.push(pair.client);
        servers.push(pair.server);
    }
    Ok((clients, servers))
}

/// How many bytes dropping `connections` frees.
fn given_back<T>(mut connections: Vec<Box<T>>) -> f64 {
    let ((), counted) = count(|| connections.clear());
    -counted.bytes as f64
}

/// How many allocations one full handshake takes: both sides, making the connections, and tickets.
pub(crate) fn handshake_allocations(api: Api, scenario: &Scenario) -> Result<u64> {
    // a configuration that has seen no connection has no session to resume
    let configs = configs(scenario)?;
    let (mut there, mut back) = (Vec::with_capacity(WIRE), Vec::with_capacity(WIRE));
    let counted = match api {
        Api::Buffered => {
            let (pair, counted) = count(|| buffered::Pair::connect_through(&configs, &mut there));
            pair?;
            counted
        }
        _ => {
            let (pair, counted) =
                count(|| unbuffered::Pair::connect_through(&configs, &mut there, &mut back));
            pair?;
            counted
        }
    };
    Ok(counted.allocations)
}

/// Heap bytes that the calling thread still holds after its first connections, which carried traffic, are
/// gone. Call it once per thread, in a process that has had connections before.
pub(crate) fn kept_by_thread(scenario: &Scenario) -> Result<i64> {
    let (result, counted) = count(|| {
        let configs = configs(scenario)?;
        buffered_pairs(&configs, 2, true).map(drop)
    });
    result?;
    Ok(counted.bytes)
}
