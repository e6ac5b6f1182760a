use core::hash::Hasher;
use core::time::Duration;
use std::hash::RandomState;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::vec::Vec;
use std::{format, thread};

use super::*;
use crate::certificates::{ChainKind, VerifiedChains, VerifierRules};
use crate::enums::Side;

const BASIS: Basis = Basis {
    peer: Side::Server,
    rules: VerifierRules::from_digest([1; 32]),
};

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn chain(certificates: &[&[u8]]) -> PeerChain {
    PeerChain::copy(ChainKind::X509, certificates.iter().copied())
}

fn acceptances(capacity: usize) -> Acceptances<RandomState> {
    Acceptances::new(capacity, RandomState::new())
}

/// Keeps the acceptance of `chain` from 100 to 200 seconds.
fn accept<S: BuildHasher>(acceptances: &Acceptances<S>, basis: Basis, chain: &PeerChain) {
    let acceptance = Acceptance::new(basis, at(100), at(200)).unwrap();
    acceptances.keep(chain, acceptance);
}

fn is_known<S: BuildHasher>(acceptances: &Acceptances<S>, chain: &PeerChain) -> bool {
    acceptances.find(BASIS, chain, at(150)).is_some()
}

#[test]
fn a_chain_is_found_by_rules_bytes_and_time() {
    let acceptances = acceptances(10);
    let accepted = chain(&[b"end entity", b"issuer"]);
    assert!(!is_known(&acceptances, &accepted));
    accept(&acceptances, BASIS, &accepted);

    let equal = chain(&[b"end entity", b"issuer"]);
    let acceptance = acceptances.find(BASIS, &equal, at(150)).unwrap();
    assert_eq!(
        acceptance,
        Acceptance::new(BASIS, at(100), at(200)).unwrap()
    );

    for (time, is_found) in [(99, false), (100, true), (199, true), (200, false)] {
        let found = acceptances.find(BASIS, &equal, at(time));
        assert_eq!(found.is_some(), is_found, "{time}");
    }
    let mut other_rules = [1; 32];
    other_rules[31] = 2; // not among the hashed bytes
    for other in [
        Basis {
            rules: VerifierRules::from_digest(other_rules),
            ..BASIS
        },
        Basis {
            peer: Side::Client,
            ..BASIS
        },
    ] {
        assert!(acceptances.find(other, &equal, at(150)).is_none());
    }
    for other in [
        &[&b"end entity"[..]][..],
        &[b"end entity", b"ISSUER"],
        &[b"END entity", b"issuer"],
        &[b"issuer", b"end entity"],
        &[b"end entity", b"issuer", b""],
    ] {
        assert!(!is_known(&acceptances, &chain(other)), "{other:?}");
    }
    let key = PeerChain::copy(ChainKind::RawPublicKey, [&b"end entity"[..], b"issuer"]);
    assert!(!is_known(&acceptances, &key));
    let stats = acceptances.stats();
    assert_eq!((stats.entries, stats.bytes), (1, Some(16)));
    assert_eq!((stats.hits, stats.misses), (3, 1 + 2 + 2 + 5 + 1));
}

#[test]
fn a_later_acceptance_replaces_an_earlier_one() {
    let acceptances = acceptances(10);
    let accepted = chain(&[b"end entity"]);
    accept(&acceptances, BASIS, &accepted);
    acceptances.keep(&accepted, Acceptance::new(BASIS, at(300), at(400)).unwrap());
    assert!(!is_known(&acceptances, &accepted));
    assert!(acceptances.find(BASIS, &accepted, at(300)).is_some());
    assert_eq!(acceptances.stats().entries, 1);
}

#[test]
fn the_map_is_bounded() {
    let acceptances = acceptances(100);
    let chain = |number: u32| chain(&[&number.to_be_bytes(), b"issuer"]);
    for number in 0..100_000 {
        accept(&acceptances, BASIS, &chain(number));
    }
    let stats = acceptances.stats();
    assert_eq!((stats.entries, stats.evictions), (100, 99_900));
    assert_eq!(stats.bytes, Some(100 * 10));
    assert!(is_known(&acceptances, &chain(99_999)));
    assert!(is_known(&acceptances, &chain(99_900)));
    assert!(!is_known(&acceptances, &chain(99_899)));
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
    let acceptances = Acceptances::new(10, BuildHasherDefault::<Collides>::default());
    let (first, second) = (chain(&[b"first"]), chain(&[b"second"]));
    accept(&acceptances, BASIS, &first);
    assert!(!is_known(&acceptances, &second));
    let other = Basis {
        rules: VerifierRules::from_digest([2; 32]),
        ..BASIS
    };
    assert!(acceptances.find(other, &first, at(150)).is_none());
    accept(&acceptances, BASIS, &second);
    assert!(is_known(&acceptances, &second));
    assert!(!is_known(&acceptances, &first));
}

#[test]
fn cleared_chains_are_forgotten() {
    let chains = VerifiedChains::new(7);
    let accepted = chain(&[b"end entity"]);
    let acceptance = Acceptance::new(BASIS, at(100), at(200)).unwrap();
    for _ in 0..2 {
        chains.keep(&accepted, acceptance);
        assert!(chains.find(BASIS, &accepted, at(150)).is_some());
        chains.clear();
        assert!(chains.find(BASIS, &accepted, at(150)).is_none());
        assert_eq!(chains.stats().entries, 0);
    }
    for number in 0..20_u8 {
        chains.keep(&chain(&[&[number; 9]]), acceptance);
    }
    assert_eq!(chains.stats().entries, 7, "the capacity stays");
}

#[test]
fn a_map_holds_as_many_chains_as_its_capacity() {
    let acceptance = Acceptance::new(BASIS, at(100), at(200)).unwrap();
    for (chains, capacity) in [
        (VerifiedChains::new(1), 1),
        (VerifiedChains::default(), VerifiedChains::DEFAULT_CAPACITY),
    ] {
        for number in 0..=capacity {
            chains.keep(&chain(&[&number.to_be_bytes()]), acceptance);
        }
        let stats = chains.stats();
        assert_eq!((stats.entries, stats.evictions), (capacity, 1));
        let text = format!("{chains:?}");
        assert!(text.contains(&format!("entries: {capacity},")), "{text}");
    }
}

#[test]
fn long_chains_are_not_stored() {
    let chains = VerifiedChains::default();
    let acceptance = Acceptance::new(BASIS, at(100), at(200)).unwrap();
    let most = chain(&[&[1; 10_000], &[2; 6384 - 2 * 64]]);
    let longer = chain(&[&[3; 10_000], &[2; 6385 - 2 * 64]]);
    for accepted in [&most, &longer] {
        chains.keep(accepted, acceptance);
    }
    assert!(chains.find(BASIS, &most, at(150)).is_some());
    assert!(chains.find(BASIS, &longer, at(150)).is_none());
    // the memory of many short certificates counts as well
    let many = PeerChain::copy(ChainKind::X509, (0..300).map(|_| &b"4"[..]));
    chains.keep(&many, acceptance);
    assert!(chains.find(BASIS, &many, at(150)).is_none());
}

#[test]
fn a_peer_with_one_certificate_takes_one_slot() {
    let acceptances = acceptances(10);
    let other = chain(&[b"other end entity", b"issuer"]);
    accept(&acceptances, BASIS, &other);
    for number in 0..100 {
        let (content, len) = ([number; 100], usize::from(number));
        for issuers in [&[&content[..]][..], &[&content[..len], b"issuer"]] {
            let presented = [&[&b"end entity"[..]], issuers].concat();
            accept(&acceptances, BASIS, &chain(&presented));
        }
    }
    assert!(is_known(&acceptances, &other));
    let stats = acceptances.stats();
    assert_eq!((stats.entries, stats.evictions), (2, 0));
}

#[test]
fn a_disabled_map_stores_nothing() {
    for chains in [VerifiedChains::disabled(), VerifiedChains::new(0)] {
        assert!(!chains.is_enabled());
        let accepted = chain(&[b"end entity"]);
        chains.keep(&accepted, Acceptance::new(BASIS, at(1), at(2)).unwrap());
        chains.clear();
        assert!(chains.find(BASIS, &accepted, at(1)).is_none());
        assert_eq!(chains.stats(), CacheStats::default());
    }
    assert!(VerifiedChains::default().is_enabled());
}

#[test]
fn concurrent_threads_use_one_map() {
    let acceptances = &acceptances(16);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(move || {
                    for number in 0..5000_u32 {
                        let accepted = chain(&[&(number % 32).to_be_bytes()]);
                        acceptances.find(BASIS, &accepted, at(150));
                        accept(acceptances, BASIS, &accepted);
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
    let stats = acceptances.stats();
    assert_eq!(stats.entries, 16);
    assert_eq!(stats.hits + stats.misses, 4 * 5000);
}

#[test]
fn a_poisoned_lock_is_recovered() {
    let acceptances = acceptances(10);
    let accepted = chain(&[b"first"]);
    accept(&acceptances, BASIS, &accepted);
    catch_unwind(AssertUnwindSafe(|| {
        let _accepted = acceptances.accepted();
        panic!("with the lock held");
    }))
    .unwrap_err();
    assert!(acceptances.accepted.lock().is_none(), "it is poisoned");
    assert!(is_known(&acceptances, &accepted));
}
