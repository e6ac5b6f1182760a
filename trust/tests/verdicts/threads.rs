//! Tests of many threads with one judge: each connection has the same verdict as on a single
//! thread.

use std::sync::Barrier;
use std::thread;

use harness::peers::configs::{Provider, Versions};
use harness::peers::roles::Role;

use crate::verdicts::caches::Caches;
use crate::verdicts::cases::{self, Case, named};
use crate::verdicts::ends::{Setup, Verdict};
use crate::verdicts::trial::{Sessions, Trial, Who};

const THREADS: usize = 8;

/// Returns the cases with this judge's trust and time.
fn of_one_judge(setup: &Setup) -> Vec<&'static Case> {
    let good = named("good");
    let all = cases::all().iter();
    all.filter(|case| case.trust == good.trust && case.now == good.now)
        .filter(|case| !case.presented.is_raw || setup.versions == Versions::Tls13)
        .collect()
}

#[test]
fn verdicts_are_the_same_in_many_threads() {
    for (provider, versions, side) in [
        (Provider::Ring, Versions::Tls13, Role::Server),
        (Provider::Ring, Versions::Tls12, Role::Client),
        (Provider::AwsLc, Versions::Tls12, Role::Server),
        (Provider::AwsLc, Versions::Tls13, Role::Client),
    ] {
        let setup = Setup::new(provider, versions, side, false);
        let cases = of_one_judge(&setup);
        assert!(cases.len() > 40);
        let alone = Trial::new(named("good"), &setup, Sessions::Stored, &Caches::Off);
        let expected: Vec<_> = cases
            .iter()
            .map(|case| alone.connect(Who::Judge, &case.presented))
            .collect();

        let caches = Caches::on();
        let trial = Trial::new(named("good"), &setup, Sessions::Stored, &caches);
        let barrier = Barrier::new(THREADS);
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (trial, barrier) = (trial.with_another_peer(), &barrier);
                let (cases, expected) = (&cases, &expected);
                scope.spawn(move || connect_all(&trial, barrier, cases, expected, number));
            }
        });

        let stats = caches.kept().chains.stats();
        // peers without a certificate cause no lookup
        let looked_for = stats.hits + stats.misses;
        assert!(looked_for <= (THREADS * cases.len()) as u64, "{stats:?}");
        assert!(stats.hits > 0 && stats.misses > 0, "{stats:?}");
    }
}

/// Connects on many threads. Half of them run the same case at the same time, the others different
/// ones.
fn connect_all(
    trial: &Trial,
    barrier: &Barrier,
    cases: &[&Case],
    expected: &[Verdict],
    number: usize,
) {
    let offset = if number % 2 == 0 { 0 } else { number * 7 };
    for turn in 0..cases.len() {
        let index = (turn + offset) % cases.len();
        let case = cases[index];
        if turn % 8 == 0 {
            barrier.wait();
        }
        let verdict = trial.connect(Who::Judge, &case.presented);
        assert_eq!(verdict, expected[index], "{}", case.name);
    }
}
