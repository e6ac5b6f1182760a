//! Tests that the dates and revocation of cached certificates are checked each time, and that
//! rejections are not cached.

use harness::peers::roles::Role;

use crate::verdicts::caches::Caches;
use crate::verdicts::cases::{Case, named};
use crate::verdicts::ends::Setup;
use crate::verdicts::trial::{Sessions, Trial, Who};

/// The last second of each certificate's validity.
const LAST: u64 = 1_893_456_000;

/// The expiry of each revocation list.
const NEXT_UPDATE: u64 = 1_704_067_200;

/// Calls `test` with every setup that has caches, with and without sessions.
fn all(test: impl Fn(&Setup, Sessions)) {
    for resumes in [false, true] {
        for setup in Setup::all(resumes) {
            test(&setup, Sessions::Sealed);
            if resumes && setup.side == Role::Server {
                test(&setup, Sessions::Stored);
            }
        }
    }
}

/// Asserts that a peer is accepted at `before` and rejected with `error` at `after`, repeatedly.
fn assert_checked_each_time(
    case: &Case,
    [before, after]: [u64; 2],
    error: &str,
    setup: &Setup,
    sessions: Sessions,
) {
    let trial = Trial::new(case, setup, sessions, &Caches::on());
    for round in 0..3 {
        setup.clock.set(before);
        let verdict = trial.connect(Who::Judge, &case.good);
        verdict.assert_accepted((round, setup));

        setup.clock.set(after);
        let verdict = trial.connect(Who::Judge, &case.good);
        let end = if error == "ExpiredRevocationListContext" {
            NEXT_UPDATE - 1
        } else {
            LAST
        };
        let is_session_over = after < before || after > end;
        if setup.side == Role::Client && setup.resumes && !is_session_over {
            // a resuming client does not verify again: the session stays valid for days unless a
            // certificate or an enforced list expires, or the clock is set back further
            assert!(verdict.is_resumed(), "{setup:?}: {verdict:?}");
        } else {
            verdict.assert_refused(error, (round, setup));
        }
    }
}

#[test]
fn dates_are_checked_each_time() {
    let (good, unexpired) = (named("good"), named("list that has not expired"));
    let now = 1_700_000_000;
    all(|setup, sessions| {
        for (case, times, error) in [
            (good, [LAST, LAST + 1], "ExpiredContext"),
            // a clock set back, and one far ahead
            (good, [now, 1], "NotValidYet"),
            (good, [now, u64::MAX >> 1], "Expired"),
            // the date of a list
            (
                unexpired,
                [NEXT_UPDATE - 1, NEXT_UPDATE],
                "ExpiredRevocationListContext",
            ),
        ] {
            assert_checked_each_time(case, times, error, setup, sessions);
        }
    });
}
