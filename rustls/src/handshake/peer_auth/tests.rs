mod arguments;
mod model;

use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::pin::pin;
use std::string::String;
use std::sync::Mutex;

use pki_types::ServerName;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use self::model::{LASTING, Model, OwnRules, Recorded, Wrapper, at, chain, received, rules};
use super::*;
use crate::callbacks::run_sync;
use crate::certificates::{Basis, VerifiedChains};
use crate::config::verify::{ClientCertVerified, Proof, ServerCertVerified};
use crate::enums::Side;
use crate::error::PeerMisbehaved;

/// One handshake of a history.
#[derive(Clone, Copy, Debug)]
struct Step {
    model: Model,
    chain: u8,
    name: u8,
    now: u64,
    signs: bool,
    /// The session to resume on a server, counted back from the most recent.
    resumes: Option<usize>,
    /// True if a server without rules verifies the chain when the Certificate arrives.
    is_early: bool,
}

/// The outcome of a handshake, which must be the same with and without kept acceptances.
type Outcome = Result<(), String>;

/// The handshakes of one configuration, and its sessions.
struct Peers {
    known: VerifiedChains,
    chains: PeerChains,
    sessions: Vec<(PeerChain, Option<Acceptance>)>,
    is_server: bool,
}

impl Peers {
    fn new(known: VerifiedChains, is_server: bool) -> Self {
        Self {
            known,
            chains: PeerChains::disabled(),
            sessions: Vec::new(),
            is_server,
        }
    }

    /// Returns the outcome and the calls to the verifier, with 's' for the signature.
    fn handshake(&mut self, step: &Step) -> (Outcome, String) {
        let verifier = Recorded::new(step.model);
        let outcome = if self.is_server {
            self.of_client(&verifier, step)
        } else {
            self.of_server(&verifier, step)
        };
        let outcome = outcome.map_err(|failure| format!("{failure:?}"));
        (outcome, verifier.calls())
    }

    fn of_server(&self, verifier: &Recorded, step: &Step) -> Result<(), Failure> {
        let name = char::from(b'a' + step.name);
        let server_name = ServerName::try_from(format!("{name}.example")).unwrap();
        let server = || ServerVerifier {
            verifier,
            server_name: &server_name,
            ocsp_response: &[],
        };
        let chain = received(step.chain);
        self.authenticate(&chain, server, verifier, step).map(drop)
    }

    fn of_client(&mut self, verifier: &Recorded, step: &Step) -> Result<(), Failure> {
        let known = &self.known;
        let check = ChainCheck::new(ClientVerifier(verifier), known, Callbacks::Sync);
        let now = at(step.now);
        if let Some((chain, acceptance)) = step
            .resumes
            .and_then(|back| self.sessions.iter().rev().nth(back))
            .cloned()
        {
            let resumed = check.verify_unless_accepted(&chain, acceptance, now);
            let acceptance = run_sync(pin!(resumed))??;
            self.sessions.push((chain, acceptance));
            return Ok(());
        }
        let chain = match step.is_early {
            true if !check.has_rules() => arrived(received(step.chain), &check, now)?,
            true | false => received(step.chain),
        };
        let client = self.authenticate(&chain, || ClientVerifier(verifier), verifier, step)?;
        let acceptance = client.acceptance();
        self.sessions.push((client.chain, acceptance));
        Ok(())
    }

    fn authenticate<V: PeerVerifier>(
        &self,
        chain: &ReceivedChain,
        peer_verifier: impl Fn() -> V,
        verifier: &Recorded,
        step: &Step,
    ) -> Result<AuthenticatedChain, Failure> {
        finish(&Signed {
            chain,
            verifier: peer_verifier,
            known: &self.known,
            signature: || {
                verifier.call('s');
                match step.signs {
                    true => Ok(()),
                    false => Err(PeerMisbehaved::SignedKxWithWrongAlgorithm.into()),
                }
            },
            now: at(step.now),
            chains: &self.chains,
        })
    }
}

/// A peer that has signed the handshake. `signature` returns the result of the verification.
struct Signed<'a, V, S> {
    chain: &'a ReceivedChain,
    verifier: V,
    known: &'a VerifiedChains,
    signature: S,
    now: UnixTime,
    chains: &'a PeerChains,
}

impl<V, F, S> SignedPeer for Signed<'_, F, S>
where
    V: PeerVerifier,
    F: Fn() -> V,
    S: Fn() -> Result<(), Failure>,
{
    fn chain(&self) -> &ReceivedChain {
        self.chain
    }

    fn verifier(&self) -> impl PeerVerifier {
        (self.verifier)()
    }

    fn known(&self) -> &VerifiedChains {
        self.known
    }

    fn signature(&self) -> HandshakeSignature<'_> {
        unreachable!("the signature is not verified by a verifier")
    }

    fn verify_signature(
        &self,
        _: &ChainCheck<'_, impl PeerVerifier>,
    ) -> Called<Result<(), Failure>> {
        Called::Returned((self.signature)())
    }

    fn now(&self) -> Result<UnixTime, Error> {
        Ok(self.now)
    }

    fn chains(&self) -> &PeerChains {
        self.chains
    }
}

/// Authenticates `peer` with calls that are not pending.
fn finish(peer: &impl SignedPeer) -> Result<AuthenticatedChain, Failure> {
    let mut step = super::Step::first(peer, Callbacks::Sync)?;
    loop {
        step = match step {
            super::Step::Chain(called, then) => {
                then.step(returned(called), peer, Callbacks::Sync)?
            }
            super::Step::Signature(called, then) => {
                then.step(returned(called), peer, Callbacks::Sync)?
            }
            super::Step::Authenticated(chain) => return Ok(chain),
        };
    }
}

fn returned<T>(called: Called<T>) -> T {
    match called {
        Called::Returned(result) => result,
        Called::Pending(_) => panic!("a call is pending"),
    }
}

/// Verifies `chain` when it arrives.
fn arrived(
    chain: ReceivedChain,
    check: &ChainCheck<'_, impl PeerVerifier>,
    now: UnixTime,
) -> Result<ReceivedChain, Failure> {
    let verified = returned(chain.verify_on_arrival(check, now)?);
    Ok(ReceivedChain {
        verdict: Some(check.verdict(verified, now)?),
        ..chain
    })
}

/// Authenticates a peer with a valid signature at the time `now`.
fn authenticate<V: PeerVerifier>(
    chain: &ReceivedChain,
    verifier: impl Fn() -> V,
    known: &VerifiedChains,
    now: u64,
) -> AuthenticatedChain {
    finish(&Signed {
        chain,
        verifier,
        known,
        signature: || Ok(()),
        now: at(now),
        chains: &PeerChains::disabled(),
    })
    .unwrap()
}

fn a_step() -> impl Strategy<Value = Step> {
    let flags = any::<[bool; 6]>();
    let own = prop_oneof![
        4 => Just(None),
        1 => Just(Some(OwnRules::ProofOfInner)),
        1 => Just(Some(OwnRules::OwnProof)),
        1 => Just(Some(OwnRules::NoProof)),
    ];
    let numbers = (0..3_u8, 0..4_u8, 0..4_u8);
    let now = prop_oneof![0..40_u64, Just(25_u64)];
    let resumes = proptest::option::of(0..3_usize);
    (flags, own, numbers, now, resumes, any::<bool>()).prop_map(
        |(flags, own, (number, chain, name), now, resumes, plain)| {
            let [
                forwards_rules,
                forwards_recheck,
                is_narrower,
                is_wider,
                fails,
                is_early,
            ] = flags;
            let mut wrapper = Wrapper {
                forwards_rules,
                forwards_recheck,
                own,
                is_narrower,
                is_wider: is_wider && own.is_none(),
            };
            if plain {
                wrapper = Wrapper::NONE;
            }
            wrapper.forwards_recheck &= !wrapper.lies();
            Step {
                model: Model { number, wrapper },
                chain,
                name,
                now,
                signs: !fails || plain,
                resumes,
                is_early,
            }
        },
    )
}

/// Runs `steps` with and without kept acceptances. The outcomes must be the same.
fn check_history(steps: &[Step], capacity: usize, is_server: bool) {
    let mut with = Peers::new(VerifiedChains::new(capacity), is_server);
    let mut without = Peers::new(VerifiedChains::disabled(), is_server);
    for (number, step) in steps.iter().enumerate() {
        let (outcome, calls) = with.handshake(step);
        let (expected, _) = without.handshake(step);
        assert_eq!(outcome, expected, "step {number}, {calls}");
        // a failed handshake adds no session, so both have the same number of them
        assert_eq!(with.sessions.len(), without.sessions.len());
    }
}

#[test]
fn remembered_acceptances_do_not_change_the_outcome() {
    let strategy = (
        proptest::collection::vec(a_step(), 3..9),
        1..5_usize,
        any::<bool>(),
    );
    let histories = Config {
        failure_persistence: None,
        ..Config::with_cases(100_000)
    };
    TestRunner::new(histories)
        .run(&strategy, |(steps, capacity, is_server)| {
            check_history(&steps, capacity, is_server);
            Ok(())
        })
        .unwrap();
}

const PLAIN: Step = Step {
    model: Model {
        number: 0,
        wrapper: Wrapper::NONE,
    },
    chain: 0,
    name: 0,
    now: 10,
    signs: true,
    resumes: None,
    is_early: true,
};

/// Checks the calls of each step, on both sides: 'v' verifies the chain, 'r' rechecks it, 's' is
/// the signature.
fn check_calls(steps: &[(Step, &str)]) {
    for is_server in [false, true] {
        let mut peers = Peers::new(VerifiedChains::default(), is_server);
        for (number, (step, expected)) in steps.iter().enumerate() {
            let (_, calls) = peers.handshake(step);
            assert_eq!(calls, *expected, "step {number}, server: {is_server}");
        }
    }
}

fn with(change: impl FnOnce(&mut Step)) -> Step {
    let mut step = PLAIN;
    change(&mut step);
    step
}

#[test]
fn a_chain_is_verified_once_for_its_rules_and_bytes() {
    check_calls(&[
        (PLAIN, "srv"),
        (PLAIN, "sr"),
        (with(|it| it.model.number = 1), "srv"),
        (with(|it| it.model.number = 1), "sr"),
        (with(|it| it.now = 99), "sr"),
        (PLAIN, "sr"),
        (with(|it| it.now = 9), "srv"), // the clock was set back
        (with(|it| it.now = 9), "sr"),
        (with(|it| (it.chain, it.now) = (1, 20)), "srv"),
        (with(|it| (it.chain, it.now) = (1, 29)), "sr"),
        (with(|it| (it.chain, it.now) = (1, 30)), "srv"),
        (with(|it| (it.chain, it.now) = (1, 19)), "srv"),
    ]);
}

#[test]
fn nothing_is_looked_up_after_an_invalid_signature() {
    let unsigned = with(|it| it.signs = false);
    check_calls(&[
        (unsigned, "sv"),
        (PLAIN, "srv"), // the chain of a peer that has not signed is not kept
        (PLAIN, "sr"),
        (unsigned, "sv"),
    ]);
}

#[test]
fn an_invalid_signature_is_rejected() {
    let unsigned = with(|it| it.signs = false);
    for (is_server, forwards_rules, is_early) in [
        (false, false, false),
        (false, true, false),
        (true, false, false),
        (true, false, true),
        (true, true, true),
    ] {
        let of = |mut step: Step| {
            step.model.wrapper.forwards_rules = forwards_rules;
            step.is_early = is_early;
            step
        };
        let mut peers = Peers::new(VerifiedChains::default(), is_server);
        // the chain is unknown at first, and known at the end
        for step in [unsigned, PLAIN, unsigned].map(of) {
            let (outcome, calls) = peers.handshake(&step);
            assert_eq!(outcome.is_ok(), step.signs, "{step:?}, {calls}");
        }
        // an error of the chain comes first
        for step in [
            Step {
                chain: 2,
                ..unsigned
            },
            Step { chain: 2, ..PLAIN },
        ]
        .map(of)
        {
            let (outcome, _) = peers.handshake(&step);
            assert!(outcome.unwrap_err().contains("Expired"), "{step:?}");
        }
    }
}

/// An attacker may relay a handshake to another server, which signs it. The time until the
/// rejection must not reveal whether the client knows that server.
#[test]
fn a_known_chain_for_another_name_is_verified_in_full() {
    let other_name = with(|it| (it.chain, it.now, it.name) = (2, 25, 3));
    let other_name = Step {
        model: Model {
            number: 1,
            ..other_name.model
        },
        ..other_name
    };
    let mut client = Peers::new(VerifiedChains::default(), false);
    let known = Step {
        name: 0,
        ..other_name
    };
    for (step, expected) in [
        (other_name, "srv"),
        (known, "srv"),
        (known, "sr"),
        (other_name, "srv"),
    ] {
        let (outcome, calls) = client.handshake(&step);
        assert_eq!(calls, expected);
        assert_eq!(outcome.is_ok(), step.name == 0);
    }
}

#[test]
fn a_rejection_is_not_remembered() {
    let rejected = with(|it| it.chain = 2);
    check_calls(&[(rejected, "srv"), (rejected, "srv")]);
}

#[test]
fn verifiers_without_rules_are_called_in_the_order_of_0_23() {
    let plain = with(|it| it.model.wrapper.forwards_rules = false);
    check_calls(&[
        (plain, "vs"),
        (plain, "vs"),
        (PLAIN, "srv"),
        (plain, "vs"),
        (with(|it| it.signs = false), "sv"),
    ]);
    // the signature for a rejected chain is not verified
    let mut rejected = Peers::new(VerifiedChains::default(), true);
    let (outcome, calls) = rejected.handshake(&Step { chain: 2, ..plain });
    outcome.unwrap_err();
    assert_eq!(calls, "v");
}

#[test]
fn the_chain_is_verified_before_the_signature_if_the_map_is_disabled() {
    for is_server in [false, true] {
        for disabled in [VerifiedChains::disabled(), VerifiedChains::new(0)] {
            let mut peers = Peers::new(disabled, is_server);
            for _ in 0..2 {
                let (outcome, calls) = peers.handshake(&PLAIN);
                assert_eq!((outcome, &*calls), (Ok(()), "vs"));
            }
            assert!(
                peers
                    .sessions
                    .iter()
                    .all(|(_, acceptance)| acceptance.is_none())
            );
            let resumed = with(|it| it.resumes = Some(0));
            if is_server {
                assert_eq!(peers.handshake(&resumed).1, "v");
            }
        }
    }
}

#[test]
fn wrappers_that_forward_only_some_methods_are_called_each_time() {
    let of = |wrapper| with(|it| it.model.wrapper = wrapper);
    let no_recheck = of(Wrapper {
        forwards_recheck: false,
        is_narrower: true,
        ..Wrapper::NONE
    });
    let no_rules = of(Wrapper {
        forwards_rules: false,
        is_narrower: true,
        ..Wrapper::NONE
    });
    let inner_proof = of(Wrapper {
        own: Some(OwnRules::ProofOfInner),
        ..Wrapper::NONE
    });
    let no_proof = of(Wrapper {
        own: Some(OwnRules::NoProof),
        ..Wrapper::NONE
    });
    let own_proof = of(Wrapper {
        own: Some(OwnRules::OwnProof),
        ..Wrapper::NONE
    });
    check_calls(&[(PLAIN, "srv"), (no_recheck, "srv"), (no_recheck, "srv")]);
    check_calls(&[(inner_proof, "srv"), (inner_proof, "srv"), (PLAIN, "srv")]);
    check_calls(&[(no_proof, "srv"), (no_proof, "srv")]);
    check_calls(&[(own_proof, "srv"), (own_proof, "sr"), (PLAIN, "srv")]);
    let mut peers = Peers::new(VerifiedChains::default(), true);
    peers.handshake(&PLAIN).0.unwrap();
    for narrower in [no_recheck, no_rules] {
        peers.handshake(&narrower).0.unwrap_err();
    }
}

#[test]
fn a_session_is_resumed_without_verification_while_its_acceptance_holds() {
    let resumed = |now, number| {
        with(|it| {
            it.resumes = Some(0);
            it.now = now;
            it.model.number = number;
        })
    };
    let mut peers = Peers::new(VerifiedChains::default(), true);
    let mut check = |step: &Step, is_accepted: bool, expected: &str| {
        let (outcome, calls) = peers.handshake(step);
        assert_eq!(outcome.is_ok(), is_accepted, "{step:?}");
        assert_eq!(calls, expected, "{step:?}");
    };
    check(&PLAIN, true, "srv");
    check(&resumed(10, 0), true, "r");
    check(&resumed(99, 0), true, "r");
    check(&resumed(9, 0), true, "v"); // the clock was set back: verified at 9 from here on
    check(&resumed(9, 0), true, "r");
    check(&resumed(100, 0), false, "v");
    check(&resumed(14, 1), true, "v");
    check(&resumed(14, 1), true, "r");
    check(&resumed(15, 1), false, "v");
    check(&resumed(14, 0), true, "v"); // its rules are those of the last resumption
    let no_rules = |step: Step| Step {
        model: Model {
            wrapper: Wrapper {
                forwards_rules: false,
                ..Wrapper::NONE
            },
            ..step.model
        },
        ..step
    };
    check(&no_rules(resumed(14, 0)), true, "v"); // adds nothing to the session
    check(&resumed(14, 0), true, "v");
    // a full handshake with a known chain passes its acceptance on
    check(&PLAIN, true, "sr");
    check(&resumed(10, 0), true, "r");
}

/// Another machine may run newer code with the same rules.
#[test]
fn an_acceptance_in_a_session_ends_after_a_day() {
    const DAY: u64 = 24 * 60 * 60;
    let verifier = Recorded::new(PLAIN.model);
    let known = VerifiedChains::default();
    let basis = Basis {
        peer: Side::Client,
        rules: rules(0),
    };
    let acceptance = Acceptance::new(basis, at(10), at(2 * DAY)).unwrap();
    for (now, expected) in [(10 + DAY - 1, "r"), (10 + DAY, "v")] {
        let check = ChainCheck::new(ClientVerifier(&verifier), &known, Callbacks::Sync);
        let chain = chain(0);
        let resumed = check.verify_unless_accepted(&chain, Some(acceptance), at(now));
        let resumed = run_sync(pin!(resumed)).unwrap();
        assert_eq!(verifier.calls(), expected, "{now}");
        if now < 10 + DAY {
            // a resumption does not prolong it
            assert_eq!(resumed.unwrap(), Some(acceptance));
        }
    }
}

/// A client's sessions end with the acceptance, even if nobody else may rely on it.
#[test]
fn the_end_of_an_acceptance_is_reported() {
    let without_rules = Model {
        wrapper: Wrapper {
            forwards_rules: false,
            ..Wrapper::NONE
        },
        ..PLAIN.model
    };
    let maps = [VerifiedChains::default(), VerifiedChains::disabled()];
    for (model, known) in [PLAIN.model, without_rules]
        .into_iter()
        .flat_map(|model| maps.iter().map(move |known| (model, known)))
    {
        // the chain is known the second time
        for now in [10, 11] {
            let verifier = Recorded::new(model);
            let check = ChainCheck::new(ClientVerifier(&verifier), known, Callbacks::Sync);
            let client = authenticate(&received(0), || ClientVerifier(&verifier), known, now);
            let until = client.verdict.until;
            assert_eq!(until, Some(at(100)), "{model:?}, {known:?}");
            // the time stays that of the verification
            let kept = check
                .basis
                .and_then(|basis| Acceptance::new(basis, at(10), at(100)));
            assert_eq!(client.acceptance(), kept);
        }
    }
}

/// A chain that is too long to be known is verified before the signature. Its sessions rely on the
/// acceptance like others.
#[test]
fn a_chain_that_is_verified_on_arrival_has_an_acceptance() {
    let without_rules = Wrapper {
        forwards_rules: false,
        ..Wrapper::NONE
    };
    for wrapper in [Wrapper::NONE, without_rules] {
        for known in [VerifiedChains::default(), VerifiedChains::disabled()] {
            let verifier = Recorded::new(Model {
                wrapper,
                ..PLAIN.model
            });
            let client = || ClientVerifier(&verifier);
            let check = ChainCheck::new(client(), &known, Callbacks::Sync);
            let arrived = arrived(received(0), &check, at(10)).unwrap();
            assert_eq!(verifier.calls(), "v");
            let authenticated = authenticate(&arrived, client, &known, 10);
            assert_eq!(verifier.calls(), "", "it is not verified again");
            let kept = check
                .basis
                .map(|basis| Acceptance::new(basis, at(10), at(100)).unwrap());
            let until = authenticated.verdict.until;
            assert_eq!((authenticated.acceptance(), until), (kept, Some(at(100))));
            assert_eq!(known.stats().entries, 0);

            let rejected = finish(&Signed {
                chain: &arrived,
                verifier: client,
                known: &known,
                signature: || Err(PeerMisbehaved::SignedKxWithWrongAlgorithm.into()),
                now: at(10),
                chains: &PeerChains::disabled(),
            });
            rejected.unwrap_err();
        }
    }
}

/// After a day, a session that began with the first acceptance could not use it.
#[test]
fn a_session_starts_with_a_recent_acceptance() {
    const HOUR: u64 = 60 * 60;
    let at = |hours: u64, resumes| {
        with(|it| (it.model.number, it.now, it.resumes) = (LASTING, 10 + hours * HOUR, resumes))
    };
    let full = |hours| at(hours, None);
    let resumed = |hours| at(hours, Some(0));
    let mut server = Peers::new(VerifiedChains::default(), true);
    for (step, expected) in [
        (full(0), "srv"),
        (full(11), "sr"),
        (resumed(23), "r"),
        (full(25), "srv"),
        (resumed(25), "r"),
        (full(36), "sr"),
        (resumed(48), "r"),
        (full(37), "srv"),
        (resumed(60), "r"),
        (resumed(61), "v"),
        (resumed(84), "r"), // it carries the acceptance of the previous resumption
    ] {
        let (outcome, calls) = server.handshake(&step);
        assert_eq!((outcome, &*calls), (Ok(()), expected), "{step:?}");
    }
    let stats = server.known.stats();
    assert_eq!((stats.hits, stats.misses), (2, 3));

    // a client's sessions carry no acceptance
    let mut client = Peers::new(VerifiedChains::default(), false);
    for (step, expected) in [(full(0), "srv"), (full(25), "sr"), (full(9999), "sr")] {
        assert_eq!(client.handshake(&step).1, expected, "{step:?}");
    }
}

/// A proof by other rules may have ended already. Its end then limits no session.
#[test]
fn a_past_expiry_applies_only_to_a_proof_by_the_verifiers_own_rules() {
    let without_rules = Wrapper {
        forwards_rules: false,
        ..Wrapper::NONE
    };
    for (wrapper, of_proof, is_own) in [
        (Wrapper::NONE, Some(rules(0)), true),
        (Wrapper::NONE, Some(rules(1)), false),
        (Wrapper::NONE, None, false),
        (without_rules, Some(rules(0)), false),
        (without_rules, None, false),
    ] {
        let verifier = Recorded::new(Model {
            wrapper,
            ..PLAIN.model
        });
        for known in [VerifiedChains::default(), VerifiedChains::disabled()] {
            let check = ChainCheck::new(ClientVerifier(&verifier), &known, Callbacks::Sync);
            for (until, is_future) in [(9, false), (10, false), (11, true)] {
                let end = check.until(&Proof::new(of_proof, at(until)), at(10));
                let expected = (is_future || is_own).then_some(at(until));
                assert_eq!(end, expected, "{wrapper:?}, {of_proof:?}");
            }
            assert_eq!(check.until(&Proof::default(), at(10)), None);
        }
    }
}

/// A type that verifies both sides by equal rules has accepted a chain for only one of them.
#[test]
fn an_acceptance_as_a_client_does_not_hold_for_a_server() {
    let mut peers = Peers::new(VerifiedChains::default(), false);
    for (is_server, expected) in [(false, "srv"), (true, "srv"), (true, "sr"), (false, "sr")] {
        peers.is_server = is_server;
        assert_eq!(peers.handshake(&PLAIN).1, expected);
    }
}

#[test]
fn a_wrapper_keeps_the_expiry_of_the_inner_proof() {
    let (inner, outer) = (rules(1), rules(2));
    let proof = ServerCertVerified::assertion_until(inner, at(7)).with_rules(outer);
    assert_eq!((proof.0.rules(), proof.0.until), (Some(outer), Some(at(7))));
    let proof = ClientCertVerified::assertion_until(inner, at(7)).with_rules(outer);
    assert_eq!((proof.0.rules(), proof.0.until), (Some(outer), Some(at(7))));
    let proof = ServerCertVerified::assertion().with_rules(outer);
    assert_eq!((proof.0.rules(), proof.0.until), (None, None));
    let proof = ClientCertVerified::assertion().with_rules(outer);
    assert_eq!((proof.0.rules(), proof.0.until), (None, None));
}

#[test]
fn a_session_does_not_use_the_acceptance_of_another() {
    // the map knows the chain, but the session was created earlier
    let no_rules = with(|it| it.model.wrapper.forwards_rules = false);
    let mut peers = Peers::new(VerifiedChains::default(), true);
    peers.handshake(&no_rules).0.unwrap();
    peers.handshake(&PLAIN).0.unwrap();
    let resumed = with(|it| it.resumes = Some(1));
    assert_eq!(peers.handshake(&resumed).1, "v");
}

#[test]
fn a_panicking_verifier_leaves_no_acceptance() {
    let known = VerifiedChains::default();
    let verifier = Recorded::new(PLAIN.model);
    let result = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        finish(&Signed {
            chain: &received(0),
            verifier: || ClientVerifier(&verifier),
            known: &known,
            signature: || panic!("signature"),
            now: at(10),
            chains: &PeerChains::disabled(),
        })
    }));
    result.unwrap_err();
    assert_eq!(known.stats().entries, 0);
}

#[test]
fn an_empty_chain_is_an_error() {
    let known = VerifiedChains::default();
    let verifier = Recorded::new(PLAIN.model);
    let check = ChainCheck::new(ClientVerifier(&verifier), &known, Callbacks::Sync);
    let acceptance = Acceptance::new(check.basis.unwrap(), at(10), at(20));
    assert!(acceptance.is_some());
    for acceptance in [None, acceptance] {
        let resumed = check.verify_unless_accepted(&[], acceptance, at(10));
        let failure = run_sync(pin!(resumed)).unwrap().unwrap_err();
        assert_eq!(failure.error, Error::NoCertificatesPresented);
    }
    let chain = ReceivedChain::copy(ChainKind::X509, [].into_iter());
    assert_eq!(
        chain.end_entity().unwrap_err(),
        Error::NoCertificatesPresented
    );
    let failure = finish(&Signed {
        chain: &chain,
        verifier: || ClientVerifier(&verifier),
        known: &known,
        signature: || Ok(()),
        now: at(10),
        chains: &PeerChains::disabled(),
    })
    .unwrap_err();
    assert_eq!(failure.error, Error::NoCertificatesPresented);
    assert!(verifier.calls().is_empty());
}
