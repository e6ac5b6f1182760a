//! Every case before judges that keep nothing, that keep everything, and of upstream: the same verdicts,
//! whatever was kept before.

use std::sync::Arc;

use harness::configs::{Provider, Versions};

use crate::caches::Caches;
use crate::cases::{self, Case, Shown};
use crate::ends::{self, Clock, Peer, Setup, Side, Verdict, this, upstream};

/// What came before the peer shows what the case is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum History {
    /// Nothing, or what it takes to have a session.
    None,
    /// The same peer was accepted, with a certificate that is good.
    Accepted,
    /// The same peer was judged already.
    Judged,
    /// Another configuration, which has the same caches and sessions and trusts anybody, has accepted what is
    /// shown.
    AcceptedElsewhere,
}

const HISTORIES: [History; 4] = [
    History::None,
    History::Accepted,
    History::Judged,
    History::AcceptedElsewhere,
];

/// Which configuration a connection is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Judge,
    Anybody,
}

/// The connections of a case, one after the other.
fn connections<'a>(case: &'a Case, setup: &Setup, history: History) -> Vec<(Who, &'a Shown)> {
    let Case { good, shown, .. } = case;
    let mut connections = Vec::new();
    if setup.resumes {
        connections.push((Who::Judge, good));
    }
    connections.extend(match history {
        History::None => vec![],
        History::Accepted => vec![(Who::Judge, good), (Who::Judge, good)],
        History::Judged => vec![(Who::Judge, shown)],
        History::AcceptedElsewhere => vec![
            (Who::Anybody, shown),
            (Who::Judge, shown),
            (Who::Anybody, shown),
        ],
    });
    connections.push((Who::Judge, shown));
    connections
}

/// How a server of the judges keeps sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sessions {
    Stored,
    Sealed,
}

// One text for two crates: their types have the same names and are not the same.
macro_rules! verdicts {
    ($module:ident, $case:expr, $setup:expr, $sessions:expr, $history:expr, $caches:expr) => {{
        let (case, setup): (&Case, &Setup) = ($case, $setup);
        setup.clock.set(case.now);
        let sessions = $module::Sessions::new(setup, $sessions == Sessions::Sealed);
        let (judge, anybody) = $module!(judges, case, setup, sessions, $caches);
        let peer = Peer::new(setup);
        connections(case, setup, $history)
            .into_iter()
            .map(|(who, shown)| {
                let judge = match who {
                    Who::Judge => &judge,
                    Who::Anybody => &anybody,
                };
                let mut judge = judge.start();
                let verdict = ends::connect(&mut judge, &mut peer.showing(shown));
                $module!(read, judge, verdict, $caches);
                verdict
            })
            .collect::<Vec<_>>()
    }};
}

macro_rules! this {
    (judges, $case:ident, $setup:ident, $sessions:ident, $caches:expr) => {{
        let caches: &Caches = $caches;
        let (trust, provider) = (&$case.trust, $setup.provider);
        match $setup.side {
            Side::Client => {
                let verifier = this::server_verifier(trust, caches.roots(trust), provider);
                let make = |verifier| {
                    let mut config = this::client($setup, &$sessions, verifier);
                    caches.set_up_client(&mut config);
                    this::Judge::Client(Arc::new(config), trust.server_name.clone())
                };
                (
                    make(verifier.clone()),
                    make(Arc::new(this::Anybody(verifier))),
                )
            }
            Side::Server => {
                let verifier = this::client_verifier(trust, caches.roots(trust), provider);
                let make = |verifier| {
                    let mut config = this::server($setup, &$sessions, verifier);
                    caches.set_up_server(&mut config);
                    this::Judge::Server(Arc::new(config))
                };
                (
                    make(verifier.clone()),
                    make(Arc::new(this::Anybody(verifier))),
                )
            }
        }
    }};
    (read, $judge:ident, $verdict:ident, $caches:expr) => {
        if $verdict.is_accepted() {
            $caches.read(&$judge);
        }
    };
}

macro_rules! upstream {
    (judges, $case:ident, $setup:ident, $sessions:ident, $caches:expr) => {{
        let () = $caches;
        let (trust, provider) = (&$case.trust, $setup.provider);
        let roots = upstream::roots(trust);
        match $setup.side {
            Side::Client => {
                let verifier = upstream::server_verifier(trust, roots, provider);
                let make = |verifier| {
                    let config = upstream::client($setup, &$sessions, verifier);
                    upstream::Judge::Client(Arc::new(config), trust.server_name.clone())
                };
                (
                    make(verifier.clone()),
                    make(Arc::new(upstream::Anybody(verifier))),
                )
            }
            Side::Server => {
                let verifier = upstream::client_verifier(trust, roots, provider);
                let make = |verifier| {
                    let config = upstream::server($setup, &$sessions, verifier);
                    upstream::Judge::Server(Arc::new(config))
                };
                (
                    make(verifier.clone()),
                    make(Arc::new(upstream::Anybody(verifier))),
                )
            }
        }
    }};
    (read, $judge:ident, $verdict:ident, $caches:expr) => {};
}

/// Calls `test` with every case and every setup that a case is of use in.
fn setups(provider: Provider, resumes: bool, test: impl Fn(&Setup, Sessions, &Case)) {
    for versions in [Versions::Tls12, Versions::Tls13] {
        for side in [Side::Client, Side::Server] {
            let setup = Setup {
                provider,
                versions,
                side,
                resumes,
                clock: Arc::new(Clock::default()),
            };
            for case in cases::all() {
                // RFC 7250 is implemented for TLS 1.3
                let is_raw = case.trust.roots.is_empty() || case.shown.is_raw;
                if is_raw && versions == Versions::Tls12 {
                    continue;
                }
                test(&setup, Sessions::Sealed, case);
                if resumes && side == Side::Server {
                    test(&setup, Sessions::Stored, case);
                }
            }
        }
    }
}

/// Where upstream is not compared: it shows verifiers further raw public keys, which are refused here.
const NOT_UPSTREAM: &[&str] = &["two raw keys"];

/// Where upstream sends no alert, or another (README, "Where it differs").
const OTHER_ALERTS: &[&str] = &[
    "a certificate for a raw key",
    "a raw key for a certificate",
    "no certificate",
    "no raw key",
    "too long",
];

fn assert_same(
    verdicts: &[Verdict],
    expected: &[Verdict],
    case: &Case,
    setup: &Setup,
    history: History,
) {
    for (number, (verdict, expected)) in verdicts.iter().zip(expected).enumerate() {
        assert_eq!(
            verdict, expected,
            "{}: connection {number} of {history:?}, {setup:?}",
            case.name
        );
    }
    assert_eq!(verdicts.len(), expected.len());
}

fn assert_same_as_upstream(verdicts: &[Verdict], case: &Case, setup: &Setup, sessions: Sessions) {
    let name = &*case.name;
    if NOT_UPSTREAM.contains(&name) {
        return;
    }
    let history = History::None;
    let mut expected = verdicts!(upstream, case, setup, sessions, history, ());
    if OTHER_ALERTS.contains(&name) {
        for (verdict, expected) in verdicts.iter().zip(&mut expected) {
            expected.alert.clone_from(&verdict.alert);
        }
    }
    assert_same(verdicts, &expected, case, setup, history);
}

/// Without caches, with new ones, and with caches that all cases share.
fn compare(provider: Provider, resumes: bool) {
    let shared = Caches::on();
    setups(provider, resumes, |setup, sessions, case| {
        for history in HISTORIES {
            let expected = verdicts!(this, case, setup, sessions, history, &Caches::Off);
            if history == History::None && !resumes {
                assert_same_as_upstream(&expected, case, setup, sessions);
            }
            let new = (!resumes).then(Caches::on);
            for caches in new.iter().chain([&shared]) {
                let verdicts = verdicts!(this, case, setup, sessions, history, caches);
                assert_same(&verdicts, &expected, case, setup, history);
            }
        }
    });
}

#[test]
fn full_handshakes_of_aws_lc() {
    compare(Provider::AwsLc, false);
}

#[test]
fn full_handshakes_of_ring() {
    compare(Provider::Ring, false);
}

#[test]
fn resumed_handshakes_of_aws_lc() {
    compare(Provider::AwsLc, true);
}

#[test]
fn resumed_handshakes_of_ring() {
    compare(Provider::Ring, true);
}

/// That the comparisons are of something: peers are accepted when they show what is good, and resume.
#[test]
fn good_chains_are_accepted_and_resumed() {
    let refused = |side| {
        let setup = Setup {
            provider: Provider::Ring,
            versions: Versions::Tls13,
            side,
            resumes: true,
            clock: Arc::new(Clock::default()),
        };
        let is_refused = |case: &&Case| {
            let (sessions, history) = (Sessions::Sealed, History::Accepted);
            let verdicts = verdicts!(this, case, &setup, sessions, history, &Caches::on());
            let [first, second, ..] = &*verdicts else {
                panic!("{verdicts:?}")
            };
            let resumed = second.negotiated.as_deref().unwrap_or_default();
            assert_eq!(first.is_accepted(), resumed.contains("Resumed"));
            !first.is_accepted()
        };
        let names = cases::all().iter().filter(is_refused);
        names.map(|case| &*case.name).collect::<Vec<_>>()
    };
    // where nothing is good
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
    assert_eq!(refused(Side::Server), expected);
    assert_eq!(refused(Side::Client), expected);
}
