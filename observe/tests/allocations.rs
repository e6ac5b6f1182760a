//! `Counters` allocate nothing for connections. This test is a separate program because the count
//! is process-wide.

use std::alloc::System;
use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, this};
use harness::peers::pairs::this::Configs;
use harness::peers::pairs::this::buffered::{Pair, hand_over, take_in};
use rustls::observer::Observer;
use rustls_observe::Counters;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// Returns configurations that resume sessions.
fn configs(
    provider: Provider,
    versions: Versions,
    authority: KeyType,
    observer: Option<Arc<dyn Observer>>,
) -> Configs {
    let auth = ClientAuth::None;
    let mut client = this::client_of(versions, provider.this(), authority, auth);
    let mut server = this::server_of(versions, provider.this(), KEY_TYPE, auth);
    server.ticketer = provider.this_ticketer();
    client.observer = observer.clone();
    server.observer = observer;
    Configs {
        client: client.into(),
        server: server.into(),
    }
}

/// Returns the minimum numbers of allocations and reallocations in one of 20 rounds, after five
/// rounds that fill the caches. Bytes are not compared, because they vary with the lengths of
/// signatures.
fn cost(mut round: impl FnMut()) -> (usize, usize) {
    for _ in 0..5 {
        round();
    }
    let rounds = (0..20).map(|_| {
        let region = Region::new(HEAP);
        round();
        let change = region.change();
        (change.allocations, change.reallocations)
    });
    rounds.min().unwrap()
}

/// Connects, closes both sides and drops them.
fn talk(configs: &Configs, pipe: &mut Vec<u8>) {
    let mut pair = Pair::connect_through(configs, pipe).unwrap();
    pair.client.send_close_notify();
    hand_over(&mut pair.client, pipe).unwrap();
    take_in(&mut pair.server, pipe, &mut []).unwrap();
}

fn main() {
    let region = Region::new(HEAP);
    drop(Box::new([0u8; 100]));
    assert_ne!(region.change().allocations, 0, "the counter counts");

    let mut pipe = Vec::with_capacity(20_000);
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let counters = Arc::new(Counters::new());
        // resumed handshakes, and those that fail
        for authority in [KEY_TYPE, KeyType::EcdsaP384] {
            let mut cost_with = |observer| {
                let configs = configs(provider, versions, authority, observer);
                cost(|| match authority == KEY_TYPE {
                    true => talk(&configs, &mut pipe),
                    false => drop(Pair::connect_through(&configs, &mut pipe).map(drop)),
                })
            };
            let without = cost_with(None);
            let with = cost_with(Some(counters.clone()));
            let case = format!("{provider:?} {versions:?} {authority:?}");
            println!("{case}: {without:?} without, {with:?} with counters");
            assert_eq!(with, without, "{case}");
        }
        let snapshot = counters.snapshot();
        let resumed = [("kind", "resumed_by_ticket"), ("outcome", "finished")];
        assert_eq!(snapshot.count("tls_handshakes_total", &resumed), 2 * 24);
        assert_eq!(snapshot.count("tls_failures_total", &[]), 2 * 25);
    }
}
