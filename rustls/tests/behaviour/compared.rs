//! Describes results of both crates as text and compares them.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::io;

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::endpoints::{Endpoint, exchange};
use harness::peers::roles::ROLES;
use proptest::prelude::{Strategy, TestCaseError};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::cases::{Case, Role, tls13_cases};

/// The results of calls in order, and observations between them.
pub type Log = Vec<String>;

/// Describes a result for comparison: the value, or the error's kind and text.
pub fn describe<T: Debug, E: Borrow<io::Error>>(result: Result<T, E>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => {
            let error = error.borrow();
            format!("{:?}: {error}", error.kind())
        }
    }
}

/// Fails at the first line that differs, and shows the lines before it.
#[track_caller]
pub fn assert_same(what: &str, ours: &[String], theirs: &[String]) {
    if let Some(difference) = first_difference(ours, theirs) {
        panic!("{what}: {difference}");
    }
}

/// Returns the first line that differs, and the lines before it.
fn first_difference(ours: &[String], theirs: &[String]) -> Option<String> {
    let at = (0..ours.len().max(theirs.len())).find(|&at| ours.get(at) != theirs.get(at))?;
    Some(format!(
        "line {at}\n  before {:#?}\n  ours   {:?}\n  theirs {:?}",
        &ours[at.saturating_sub(6)..at],
        ours.get(at),
        theirs.get(at)
    ))
}

/// Creates a test for each script of the modules `this` and `upstream`: it logs the same in both
/// crates with every provider and role, and with each input after `in`.
macro_rules! same {
    ($($script:ident $(in $inputs:expr)?),* $(,)?) => {$(
        mod $script {
            use super::*;

            #[test]
            fn matches_upstream() {
                $crate::behaviour::compared::same!(@run $script $($inputs)?);
            }
        }
    )*};
    (@run $script:ident) => {
        $crate::behaviour::compared::same_for_all(
            [""],
            |case, _| this::$script(case),
            |case, _| upstream::$script(case),
        )
    };
    (@run $script:ident $inputs:expr) => {
        $crate::behaviour::compared::same_for_all($inputs, this::$script, upstream::$script)
    };
}

pub(crate) use same;

/// Compares the logs of both crates with every provider, role and case.
pub fn same_for_all<I: Clone + Debug>(
    inputs: impl IntoIterator<Item = I, IntoIter: Clone>,
    ours: impl Fn(Case, I) -> Log,
    theirs: impl Fn(Case, I) -> Log,
) {
    for (case, input) in product(tls13_cases(), inputs) {
        same_for(case, input, &ours, &theirs);
    }
}

/// Like [`same_for_all`], with only one of the providers for each role and input. Use it for
/// thousands of inputs that have nothing to do with the provider.
pub fn same_in_turns<I: Clone + Debug>(
    inputs: impl IntoIterator<Item = I, IntoIter: Clone>,
    ours: impl Fn(Case, I) -> Log,
    theirs: impl Fn(Case, I) -> Log,
) {
    for (number, (role, input)) in product(ROLES, inputs).enumerate() {
        // this sequence has no period, so that each kind of input has both providers
        let provider = PROVIDERS[number.count_ones() as usize % 2];
        same_for(Case::tls13(provider, role), input, &ours, &theirs);
    }
}

/// Compares the logs of both crates with one case and input.
pub fn same_for<I: Clone + Debug>(
    case: Case,
    input: I,
    ours: impl Fn(Case, I) -> Log,
    theirs: impl Fn(Case, I) -> Log,
) {
    let what = format!("{case:?} {input:?}");
    let ours = ours(case, input.clone());
    assert_same(&what, &ours, &theirs(case, input));
}

/// Compares the logs of random operations, which are the same in each run.
pub fn same_for_operations<O: Debug>(
    what: &str,
    cases: u32,
    operations: &impl Strategy<Value = Vec<O>>,
    run: impl Fn(&[O]) -> [Vec<String>; 2],
) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let same = TestRunner::new_with_rng(config, rng).run(operations, |operations| {
        let [ours, theirs] = run(&operations);
        first_difference(&ours, &theirs).map_or(Ok(()), |it| Err(TestCaseError::fail(it)))
    });
    same.unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Describes how a handshake ends: the negotiated values, or the first error and the alert that the
/// other end receives.
pub fn outcome<'a>(
    under_test: &'a mut (dyn Endpoint + 'a),
    peer: &'a mut (dyn Endpoint + 'a),
    role: Role,
) -> String {
    let (client, server) = role.client_and_server(under_test, peer);
    match exchange(client, server) {
        Ok(()) => format!("{} {}", client.negotiated(), server.negotiated()),
        Err(error) => {
            let (to_server, to_client) = (client.take_output(), server.take_output());
            let received = (server.receive(&to_server), client.receive(&to_client));
            format!("{error}, then {received:?}")
        }
    }
}
