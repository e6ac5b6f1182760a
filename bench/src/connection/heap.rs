//! The heap bytes that connections hold, and the allocations it takes to create them.
//!
//! Everything is counted by the global allocator. Allocations within a provider's C code (aws-lc:
//! key schedules, key exchange) do not pass through it.

use bench_allocator::count;

use super::configs;
use super::pairs::{Configs, buffered, unbuffered};
use crate::cli::Api;
use crate::memory::Idle;
use crate::workload::{Result, Scenario};

/// The bytes that both connections of a pair send before they are idle again.
const TRAFFIC: usize = 1 << 20;

/// Bytes per write.
const WRITE: usize = 1 << 14;

/// Large enough for the records of one write, and for a flight of a handshake.
const WIRE: usize = 2 * WRITE;

/// Establishes `connections` pairs at once, sends [`TRAFFIC`] over them if `used`, and measures the
/// heap bytes that dropping them frees. Shared data (configurations, session caches, the thread's
/// buffer pool) stays and is not counted.
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

/// The heap bytes that dropping `connections` frees.
fn given_back<T>(mut connections: Vec<Box<T>>) -> f64 {
    let ((), counted) = count(|| connections.clear());
    -counted.bytes as f64
}

/// The allocations of one full handshake: both sides, including creating the connections and
/// handling tickets.
pub(crate) fn handshake_allocations(api: Api, scenario: &Scenario) -> Result<u64> {
    // a new configuration has no session to resume
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

/// Heap bytes that the calling thread still holds after its first connections were dropped. Call it
/// once per thread, in a process that has had connections before.
pub(crate) fn kept_by_thread(scenario: &Scenario) -> Result<i64> {
    let (result, counted) = count(|| {
        let configs = configs(scenario)?;
        buffered_pairs(&configs, 2, true).map(drop)
    });
    result?;
    Ok(counted.bytes)
}
