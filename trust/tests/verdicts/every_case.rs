//! Tests of every case with judges without caches, with caches, and of upstream. Verdicts do not
//! depend on earlier connections.

use harness::peers::configs::{Provider, Versions, product};
use harness::peers::roles::{ROLES, Role};

use crate::verdicts::caches::Caches;
use crate::verdicts::cases::{self, Case, Credential, named};
use crate::verdicts::ends::{Setup, Verdict};
use crate::verdicts::trial::{Sessions, Trial, Who, of_upstream};

harness::listed! {
    /// The connections before the one under test.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum History {
        /// None, except one to obtain a session if necessary.
        None,
        /// The judge accepted the same peer with a valid certificate.
        Accepted,
        /// The judge has already verified the same credential.
        Judged,
        /// Another configuration, with the same caches and sessions, trusts anybody and has
        /// accepted the credential.
        AcceptedElsewhere,
    }
}

/// Returns the connections of a case in order.
fn connections<'a>(case: &'a Case, setup: &Setup, history: History) -> Vec<(Who, &'a Credential)> {
    let Case {
        good, presented, ..
    } = case;
    let mut connections = Vec::new();
    if setup.resumes {
        connections.push((Who::Judge, good));
    }
    connections.extend(match history {
        History::None => vec![],
        History::Accepted => vec![(Who::Judge, good), (Who::Judge, good)],
        History::Judged => vec![(Who::Judge, presented)],
        History::AcceptedElsewhere => vec![
            (Who::Anybody, presented),
            (Who::Judge, presented),
            (Who::Anybody, presented),
        ],
    });
    connections.push((Who::Judge, presented));
    connections
}

/// Returns this crate's verdicts for these connections.
fn verdicts(
    case: &Case,
    setup: &Setup,
    sessions: Sessions,
    history: History,
    caches: &Caches,
) -> Vec<Verdict> {
    let trial = Trial::new(case, setup, sessions, caches);
    connections(case, setup, history)
        .into_iter()
        .map(|(who, presented)| trial.connect(who, presented))
        .collect()
}

/// Calls `test` with every case in every setup to which it applies.
fn setups(provider: Provider, resumes: bool, test: impl Fn(&Setup, Sessions, &Case)) {
    for (versions, side) in product(Versions::EACH, ROLES) {
        let setup = Setup::new(provider, versions, side, resumes);
        for case in cases::all() {
            // RFC 7250 is implemented for TLS 1.3 only
            let is_raw = case.trust.roots.is_empty() || case.presented.is_raw;
            if is_raw && versions == Versions::Tls12 {
                continue;
            }
            test(&setup, Sessions::Sealed, case);
            if resumes && side == Role::Server {
                test(&setup, Sessions::Stored, case);
            }
        }
    }
}

/// Cases not compared with upstream, which passes further raw public keys on to verifiers. This
/// crate rejects them.
const NOT_UPSTREAM: &[&str] = &["two raw keys"];

/// Cases in which upstream sends another alert or none (docs/differences.md).
const OTHER_ALERTS: &[&str] = &[
    "a certificate for a raw key",
    "a raw key for a certificate",
    "no certificate",
    "no raw key",
    "too long",
];

/// Compares the verdict of a judge without caches, which has not met the peer before, with
/// upstream's.
fn assert_same_as_upstream(verdict: &Verdict, case: &Case, setup: &Setup) {
    let name = &*case.name;
    if NOT_UPSTREAM.contains(&name) {
        return;
    }
    let mut expected = of_upstream(case, setup);
    if OTHER_ALERTS.contains(&name) {
        expected.alert.clone_from(&verdict.alert);
    }
    // RFC 9846 §4.5.1, RFC 5246 §7.4.2: a certificate has at least one byte. This crate checks that
    // before any verifier
    if case.presented.chain.iter().any(|cert| cert.is_empty()) {
        expected.error = Some("InvalidMessage(IllegalEmptyValue)".to_owned());
        expected.alert = Some("AlertReceived(DecodeError)".to_owned());
    }
    assert_eq!(*verdict, expected, "{name}: {setup:?}");
}

/// Asserts that no session created with `presented` is used where `presented` would be rejected.
fn assert_isolated(verdicts: &[Verdict], case: &Case, setup: &Setup) {
    let full = Setup {
        resumes: false,
        ..setup.clone()
    };
    let trial = Trial::new(case, &full, Sessions::Stored, &Caches::Off);
    if trial.connect(Who::Judge, &case.presented).is_accepted()
        || case.presented.chain == case.good.chain
    {
        return;
    }
    let connections = connections(case, setup, History::AcceptedElsewhere);
    for (number, (verdict, (who, _))) in verdicts.iter().zip(connections).enumerate() {
        if who == Who::Judge && verdict.is_accepted() {
            let chain = case.presented.chain.iter();
            let presented: Vec<_> = chain.map(|cert| cert.to_vec()).collect();
            let what = format!("{}: connection {number}, {setup:?}", case.name);
            assert!(verdict.peer_certificates != presented, "{what}");
        }
    }
}

/// Compares no caches, new caches, and caches that all cases share.
fn compare(provider: Provider, resumes: bool) {
    let shared = Caches::on();
    setups(provider, resumes, |setup, sessions, case| {
        for &history in History::ALL {
            let expected = verdicts(case, setup, sessions, history, &Caches::Off);
            match history {
                History::None if !resumes => assert_same_as_upstream(&expected[0], case, setup),
                History::AcceptedElsewhere if resumes => assert_isolated(&expected, case, setup),
                _ => {}
            }
            let new = (!resumes).then(Caches::on);
            for caches in new.iter().chain([&shared]) {
                let verdicts = verdicts(case, setup, sessions, history, caches);
                for (number, (verdict, expected)) in verdicts.iter().zip(&expected).enumerate() {
                    let what = format!("connection {number} of {history:?}, {setup:?}");
                    assert_eq!(verdict, expected, "{}: {what}", case.name);
                }
            }
        }
    });
    shared.assert_used();
}

#[test]
fn full_handshakes_with_aws_lc_have_the_same_verdicts() {
    compare(Provider::AwsLc, false);
}

#[test]
fn full_handshakes_with_ring_have_the_same_verdicts() {
    compare(Provider::Ring, false);
}

#[test]
fn resumed_handshakes_with_aws_lc_have_the_same_verdicts() {
    compare(Provider::AwsLc, true);
}

#[test]
fn resumed_handshakes_with_ring_have_the_same_verdicts() {
    compare(Provider::Ring, true);
}

/// A server's tickets contain the client's chain. A client of upstream accepts two of 40 kB.
#[test]
fn clients_with_long_chains_resume() {
    let case = named("a hundred intermediates");
    for setup in Setup::all(true) {
        for sessions in [Sessions::Sealed, Sessions::Stored] {
            let trial = Trial::new(case, &setup, sessions, &Caches::on());
            for is_resumed in [false, true, true] {
                let verdict = trial.connect(Who::Judge, &case.presented);
                verdict.assert_accepted(&setup);
                assert_eq!(verdict.is_resumed(), is_resumed, "{setup:?}");
            }
        }
    }
}

/// Checks the tests themselves: valid peers are accepted and resume.
#[test]
fn valid_chains_are_accepted_and_resumed() {
    let refused = |side| {
        let setup = Setup::new(Provider::Ring, Versions::Tls13, side, true);
        let is_refused = |case: &&Case| {
            let (sessions, history) = (Sessions::Sealed, History::Accepted);
            let verdicts = verdicts(case, &setup, sessions, history, &Caches::on());
            assert_eq!(verdicts[0].is_accepted(), verdicts[1].is_resumed());
            !verdicts[0].is_accepted()
        };
        let names = cases::all().iter().filter(is_refused);
        names.map(|case| &*case.name).collect::<Vec<_>>()
    };
    // cases without a valid credential
    let expected = [
        "1970",
        "in millions of years",
        "a trusted certificate itself",
        "revoked issuer",
        "list of a namesake",
        "unknown status",
        "unknown status of the end entity",
        "expired list refused",
    ];
    assert_eq!(refused(Role::Server), expected);
    assert_eq!(refused(Role::Client), expected);
}
