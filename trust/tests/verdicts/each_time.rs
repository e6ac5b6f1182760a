//! Cached certificates are still checked for dates, names and revocation each time, and refusals
//! are not cached.

use harness::peers::pki::at;
use pki_types::UnixTime;

use crate::caches::Caches;
use crate::cases::{Case, named};
use crate::ends::{Setup, Side};
use crate::trial::{Sessions, Trial, Who};

/// The last second of each certificate's validity.
const LAST: u64 = 1_893_456_000;

/// The expiry of each revocation list.
const NEXT_UPDATE: u64 = 1_704_067_200;

/// Calls `test` with every setup that has caches, with and without sessions.
fn all(test: impl Fn(&Setup, Sessions)) {
    for resumes in [false, true] {
        for setup in Setup::all(resumes) {
            test(&setup, Sessions::Sealed);
            if resumes && setup.side == Side::Server {
                test(&setup, Sessions::Stored);
            }
        }
    }
}

/// Asserts that a peer is accepted at `before` and refused with `error` at `after`, repeatedly.
fn assert_checked_each_time(
    case: &Case,
    [before, after]: [UnixTime; 2],
    error: &str,
    setup: &Setup,
    sessions: Sessions,
) {
    let trial = Trial::new(case, setup, sessions, &Caches::on());
    for round in 0..3 {
        setup.clock.set(before);
        let verdict = trial.connect(Who::Judge, &case.good);
        assert!(
            verdict.is_accepted(),
            "round {round}, {setup:?}: {verdict:?}"
        );

        setup.clock.set(after);
        let verdict = trial.connect(Who::Judge, &case.good);
        let is_session_over = after.as_secs() < before.as_secs() || after.as_secs() > LAST;
        if setup.side == Side::Client && setup.resumes && !is_session_over {
            // a resuming client does not verify again: the session stays valid for days unless a
            // certificate expires or the clock is set back further
            assert!(verdict.is_resumed(), "{setup:?}: {verdict:?}");
        } else {
            let error_text = verdict.error.unwrap_or_default();
            assert!(
                error_text.contains(error),
                "round {round}, {setup:?}: {error_text}"
            );
        }
    }
}

#[test]
fn dates_count_each_time() {
    all(|setup, sessions| {
        let times = [at(LAST), at(LAST + 1)];
        assert_checked_each_time(named("good"), times, "ExpiredContext", setup, sessions);
        // a clock set back, and one far ahead
        let times = [at(1_700_000_000), at(0)];
        assert_checked_each_time(named("good"), times, "NotValidYet", setup, sessions);
        let times = [at(1_700_000_000), at(u64::MAX >> 1)];
        assert_checked_each_time(named("good"), times, "Expired", setup, sessions);
    });
}

#[test]
fn dates_of_lists_count_each_time() {
    all(|setup, sessions| {
        let case = named("list that has not expired");
        let times = [at(NEXT_UPDATE - 1), at(NEXT_UPDATE)];
        let error = "ExpiredRevocationListContext";
        assert_checked_each_time(case, times, error, setup, sessions);
    });
}

/// A server whose certificate covers only one of its two names.
#[test]
fn names_count_each_time() {
    for resumes in [false, true] {
        for setup in Setup::all(resumes) {
            if setup.side != Side::Client {
                continue;
            }
            let case = named("good");
            let trial = Trial::new(case, &setup, Sessions::Sealed, &Caches::on());
            let other = trial.asking_for("other.example");
            for _ in 0..3 {
                let verdict = trial.connect(Who::Judge, &case.good);
                assert!(verdict.is_accepted(), "{setup:?}: {verdict:?}");
                let verdict = other.connect(Who::Judge, &case.good);
                let error_text = verdict.error.unwrap_or_default();
                assert!(
                    error_text.contains("NotValidForNameContext"),
                    "{setup:?}: {error_text}"
                );
            }
        }
    }
}
