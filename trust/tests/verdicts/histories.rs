//! Tests of arbitrary histories of connections, with and without caches: trust, credentials and
//! times change between the connections. Remembered acceptances, shared chains and sessions never
//! change a verdict.

use std::cell::Cell;
use std::collections::HashMap;
use std::env;

use harness::peers::configs::{PROVIDERS, Versions, product3};
use harness::peers::roles::ROLES;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::verdicts::caches::Caches;
use crate::verdicts::cases::{self, Case, named};
use crate::verdicts::ends::{Setup, Verdict};
use crate::verdicts::trial::{Sessions, Trial, Who};

/// The environment variable with the number of histories. By default, there are few, so that the
/// test takes some seconds.
const HISTORIES: &str = "VERDICT_HISTORIES";

/// Times at which certificates and lists of the cases begin or expire, and times around them.
const TIMES: [u64; 9] = [
    1_577_836_799, // before all certificates
    1_577_836_800,
    1_672_531_200, // 2023, the start of the lists
    1_700_000_000,
    1_700_000_001,
    1_704_067_199,
    1_704_067_200, // 2024, the next update of the lists
    1_893_456_000, // the last second of the certificates
    1_893_456_001,
];

/// One connection.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The case with the judge's trust.
    trust: usize,
    /// The case with the peer's credential.
    presented: usize,
    is_good: bool,
    /// The time; `None` means that of the case with the judge's trust.
    time: Option<usize>,
    who: Who,
}

fn a_step() -> impl Strategy<Value = Step> {
    let count = cases::all().len();
    // a few cases come often, so that they meet each other and themselves
    let good = cases::all().iter().position(|case| case.name == "good");
    let good = good.unwrap();
    let case = || prop_oneof![2 => Just(good), 1 => 0..count];
    let time = prop_oneof![2 => Just(None), 3 => (0..TIMES.len()).prop_map(Some)];
    let who = prop_oneof![7 => Just(Who::Judge), 1 => Just(Who::Anybody)];
    (case(), case(), any::<bool>(), time, who).prop_map(|(trust, presented, is_good, time, who)| {
        Step {
            trust,
            presented,
            is_good,
            time,
            who,
        }
    })
}

/// Judges of all cases with the same caches and sessions.
struct Judges {
    base: Trial,
    by_case: HashMap<usize, Trial>,
    setup: Setup,
}

impl Judges {
    fn new(setup: &Setup, sessions: Sessions, caches: &Caches) -> Self {
        Self {
            base: Trial::new(named("good"), setup, sessions, caches),
            by_case: HashMap::new(),
            setup: setup.clone(),
        }
    }

    fn connect(&mut self, step: &Step) -> Verdict {
        let case: &Case = &cases::all()[step.trust];
        let trial = self
            .by_case
            .entry(step.trust)
            .or_insert_with(|| self.base.sharing(case));
        let time = step.time.map_or(case.now, |time| TIMES[time]);
        self.setup.clock.set(time);
        let presented = &cases::all()[step.presented];
        let presented = match step.is_good {
            true => &presented.good,
            false => &presented.presented,
        };
        trial.connect(step.who, presented)
    }
}

#[test]
fn no_history_changes_a_verdict() {
    let histories = env::var(HISTORIES).map_or(1000, |number| number.parse().unwrap());
    let ends: Vec<_> = product3(PROVIDERS, Versions::EACH, ROLES).collect();
    let strategy = (
        0..ends.len(),
        any::<bool>(),
        prop_oneof![Just(Sessions::Sealed), Just(Sessions::Stored)],
        proptest::collection::vec(a_step(), 3..7),
    );
    let (resumed, accepted) = (Cell::new(0), Cell::new(0));
    let caches = Caches::on();
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(histories)
    });
    runner
        .run(&strategy, |(ends_of, resumes, sessions, steps)| {
            let (provider, versions, side) = ends[ends_of];
            let setup = Setup::new(provider, versions, side, resumes);
            let mut with = Judges::new(&setup, sessions, &caches);
            let mut without = Judges::new(&setup, sessions, &Caches::Off);
            for step in &steps {
                // RFC 7250 is implemented for TLS 1.3 only
                let case = &cases::all()[step.trust];
                if case.trust.roots.is_empty() && versions == Versions::Tls12 {
                    continue;
                }
                let verdict = with.connect(step);
                prop_assert_eq!(&verdict, &without.connect(step), "{:?}", step);
                accepted.set(accepted.get() + usize::from(verdict.is_accepted()));
                resumed.set(resumed.get() + usize::from(verdict.is_resumed()));
            }
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
    // the histories test something
    let (resumed, accepted) = (resumed.get(), accepted.get());
    let verified = caches.kept().verified.stats();
    assert!(accepted > histories as usize / 2, "{accepted} accepted");
    assert!(resumed > histories as usize / 10, "{resumed} resumed");
    assert!(verified.hits > u64::from(histories) / 10, "{verified:?}");
}
