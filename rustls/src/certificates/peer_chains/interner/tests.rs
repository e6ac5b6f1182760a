use core::hash::{BuildHasherDefault, Hasher};
use std::hash::RandomState;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::{ptr, thread};

use super::*;
use crate::certificates::chain_hash::HASHED;
use crate::certificates::{ChainKind, PeerChains};

const X509: ChainKind = ChainKind::X509;

fn interner(capacity: usize) -> Interner<RandomState> {
    Interner::new(capacity, RandomState::new())
}

fn share<S: BuildHasher>(interner: &Interner<S>, kind: ChainKind, chain: &[&[u8]]) -> PeerChain {
    interner.share(PeerChain::copy(kind, chain.iter().copied()))
}

fn is_same(one: &PeerChain, other: &PeerChain) -> bool {
    ptr::eq(&**one, &**other)
}

#[test]
fn equal_chains_are_shared() {
    let interner = interner(10);
    let first = share(&interner, X509, &[b"end entity", b"issuer"]);
    assert!(first.der().eq([&b"end entity"[..], b"issuer"]));
    let second = share(&interner, X509, &[b"end entity", b"issuer"]);
    assert!(is_same(&first, &second));

    let others: [(ChainKind, &[&[u8]]); 5] = [
        (X509, &[b"end entity"]),
        (X509, &[b"end entit", b"yissuer"]),
        (X509, &[b"issuer", b"end entity"]),
        (X509, &[b"end entity", b"issuer", b""]),
        (ChainKind::RawPublicKey, &[b"end entity", b"issuer"]),
    ];
    let others = others.map(|(kind, other)| share(&interner, kind, other));
    for other in &others {
        assert!(!is_same(&first, other));
        assert_ne!(first, *other);
    }
    let stats = interner.stats();
    assert_eq!((stats.hits, stats.misses, stats.entries), (1, 6, 6));
    assert_eq!(stats.bytes, Some(16 + 10 + 16 + 16 + 16 + 16));
    drop(others);
    assert_eq!(
        interner.stats().bytes,
        Some(16),
        "freed chains count no bytes"
    );
}

#[test]
fn freed_chains_are_removed() {
    let interner = interner(1000);
    let first = share(&interner, X509, &[b"first"]);
    for number in 0..100_000_u32 {
        share(&interner, X509, &[&number.to_be_bytes(), &[0; 100]]);
    }
    let stats = interner.stats();
    assert!(stats.entries <= 3, "{stats:?}");
    assert_eq!((stats.bytes, stats.evictions), (Some(5), 0));
    assert!(is_same(&first, &share(&interner, X509, &[b"first"])));

    drop(first);
    assert_eq!(interner.stats().bytes, Some(0));
    share(&interner, X509, &[b"first"]);
    assert_eq!(interner.stats().hits, 1, "it was freed");
}

#[test]
fn the_oldest_chain_is_evicted() {
    let interner = interner(3);
    let names: [&[u8]; 4] = [b"1", b"2", b"3", b"4"];
    let chains: Vec<_> = names.map(|name| share(&interner, X509, &[name])).into();
    let stats = interner.stats();
    assert_eq!((stats.entries, stats.evictions), (3, 1));
    for (number, name) in names.iter().enumerate().skip(1) {
        assert!(is_same(&chains[number], &share(&interner, X509, &[name])));
    }
    assert!(!is_same(&chains[0], &share(&interner, X509, &[b"1"])));
}

/// A hasher that returns the same hash for everything.
#[derive(Default)]
struct Collides;

impl Hasher for Collides {
    fn write(&mut self, _: &[u8]) {}

    fn finish(&self) -> u64 {
        42
    }
}

#[test]
fn chains_with_equal_hashes_are_distinguished() {
    let interner = Interner::new(10, BuildHasherDefault::<Collides>::default());
    let first = share(&interner, X509, &[b"first"]);
    let second = share(&interner, X509, &[b"second"]);
    let key = share(&interner, ChainKind::RawPublicKey, &[b"first"]);
    assert!(second.der().eq([&b"second"[..]]));
    assert_ne!(first, key);
    assert!(is_same(&first, &share(&interner, X509, &[b"first"])));
    assert!(!is_same(&second, &share(&interner, X509, &[b"second"])));
    let stats = interner.stats();
    assert_eq!((stats.entries, stats.hits, stats.misses), (1, 1, 4));

    // the hash is free again
    drop(first);
    let second = share(&interner, X509, &[b"second"]);
    assert!(is_same(&second, &share(&interner, X509, &[b"second"])));
}

#[test]
fn chains_that_differ_outside_the_hashed_bytes_are_distinguished() {
    let interner = interner(10);
    let long = [1; 2 * HASHED];
    let mut other = long;
    other[0] = 2;
    let first = share(&interner, X509, &[&long, b"issuer"]);
    for chain in [[&long[..], b"ISSUER"], [&other, b"issuer"]] {
        let chain = PeerChain::copy(X509, chain);
        assert_eq!(
            hash_chain(&interner.state, &chain),
            hash_chain(&interner.state, &first)
        );
        assert!(is_same(&interner.share(chain.clone()), &chain));
    }
    assert!(is_same(
        &first,
        &share(&interner, X509, &[&long, b"issuer"])
    ));
    other[2 * HASHED - 1] = 3;
    assert_ne!(
        hash_chain(&interner.state, &PeerChain::copy(X509, [&long[..]])),
        hash_chain(&interner.state, &PeerChain::copy(X509, [&other[..]]))
    );
}

#[test]
fn concurrent_threads_share_one_chain() {
    const THREADS: usize = 8;
    let interner = &interner(1000);
    let start = &Barrier::new(THREADS);
    let chains: Vec<Vec<PeerChain>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(move || {
                    let chains = (0..200_u8).map(|number| {
                        start.wait();
                        share(interner, X509, &[&[number], b"issuer"])
                    });
                    chains.collect()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for other in &chains[1..] {
        for (one, other) in chains[0].iter().zip(other) {
            assert!(is_same(one, other));
        }
    }
    let stats = interner.stats();
    assert_eq!(stats.entries, 200);
    assert_eq!(stats.hits + stats.misses, 200 * THREADS as u64);
}

#[test]
fn chains_can_be_inserted_and_removed_concurrently() {
    let interner = &interner(8);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                for number in 0..5000_u32 {
                    let name = (number % 16).to_be_bytes();
                    let chain = share(interner, X509, &[&name]);
                    assert!(chain.der().eq([&name[..]]));
                }
            });
        }
    });
    assert!(interner.stats().entries <= 8);
}

#[test]
fn a_poisoned_lock_is_recovered() {
    let interner = interner(10);
    let first = share(&interner, X509, &[b"first"]);
    let poisoning = catch_unwind(AssertUnwindSafe(|| {
        let _chains = interner.chains();
        panic!("with the lock held");
    }));
    poisoning.unwrap_err();
    assert!(interner.chains.lock().is_none(), "it is poisoned");
    assert!(is_same(&first, &share(&interner, X509, &[b"first"])));
}

#[test]
fn a_disabled_map_shares_nothing() {
    let copy = |chains: &PeerChains| chains.share(PeerChain::copy(X509, [&b"certificate"[..]]));
    for chains in [PeerChains::disabled(), PeerChains::new(0)] {
        assert!(!is_same(&copy(&chains), &copy(&chains)));
        let (one, other) = (copy(&chains), copy(&chains));
        assert!(one == other && !is_same(&one, &other));
        assert_eq!(chains.stats(), CacheStats::default());
    }
    let default = PeerChains::default();
    let chains = [copy(&default), copy(&default)];
    assert!(is_same(&chains[0], &chains[1]));
    let shared = Arc::new(default);
    assert_eq!(shared.stats().hits, 1);
}
