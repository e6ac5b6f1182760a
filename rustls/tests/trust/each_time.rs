//! What is kept of an accepted certificate spares it no check: dates, names and lists count each
//! time, and a refusal is not kept either.

use harness::pki::at;
use pki_types::UnixTime;

use crate::caches::Caches;
use crate::cases::{Case, named};
use crate::ends::{Setup, Side};
use crate::trial::{Sessions, Trial, Who};

/// The last second of every certificate's validity.
const LAST: u64 = 1_893_456_000;

/// When every revocation list has expired.
const NEXT_UPDATE: u64 = 1_704_067_200;

/// Calls `test` with every setup that has caches, and with sessions or without.
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

/// A peer that is accepted at the time `before` and refused at `after`, with `error`.
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
            // a client verifies nothing where it resumes: a session stands for its verifier's word
            // for some days, as long as the certificates have not expired and the clock was not set
            // back by more
            assert!(verdict.is_resumed(), "{setup:?}: {verdict:?}");
        } else {
            let said = verdict.error.unwrap_or_default();
            assert!(said.contains(error), "round {round}, {setup:?}: {said}");
        }
    }
}

#[test]
fn dates_count_each_time() {
    all(|setup, sessions| {
        let times = [at(LAST), at(LAST + 1)];
        assert_checked_each_time(named("good"), times, "ExpiredContext", setup, sessions);
        // a clock that is set back, and far ahead
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

/// One server under two names, of which its certificate has one.
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
                let said = verdict.error.unwrap_or_default();
                assert!(said.contains("NotValidForNameContext"), "{setup:?}: {said}");
            }
        }
    }
}
