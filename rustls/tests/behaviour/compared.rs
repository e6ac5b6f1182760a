//! Describes results of both crates as text and compares them.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::io;

use harness::peers::configs::{PROVIDERS, Provider, product};
use harness::peers::endpoints::{Endpoint, exchange};

use crate::connected::{ROLES, Role};

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

/// Fails at the first line that differs, showing what came before.
#[track_caller]
pub fn assert_same(what: &str, ours: &[String], theirs: &[String]) {
    if let Some(difference) = first_difference(ours, theirs) {
        panic!("{what}: {difference}");
    }
}

/// The first line that differs, and the lines before it.
pub fn first_difference(ours: &[String], theirs: &[String]) -> Option<String> {
    let at = (0..ours.len().max(theirs.len())).find(|&at| ours.get(at) != theirs.get(at))?;
    Some(format!(
        "line {at}\n  before {:#?}\n  ours   {:?}\n  theirs {:?}",
        &ours[at.saturating_sub(6)..at],
        ours.get(at),
        theirs.get(at)
    ))
}

/// Runs a test with every provider in every role.
pub fn for_all(test: impl Fn(Provider, Role)) {
    for (provider, role) in product(PROVIDERS, ROLES) {
        test(provider, role);
    }
}

/// Describes how a handshake ends: the negotiated values, or the first error and the alert that the
/// other end receives.
pub fn outcome<'a>(
    under_test: &'a mut (dyn Endpoint + 'a),
    peer: &'a mut (dyn Endpoint + 'a),
    role: Role,
) -> String {
    let (client, server) = match role {
        Role::Client => (under_test, peer),
        Role::Server => (peer, under_test),
    };
    match exchange(client, server) {
        Ok(()) => format!("{} {}", client.negotiated(), server.negotiated()),
        Err(error) => {
            let (to_server, to_client) = (client.take_output(), server.take_output());
            let received = (server.receive(&to_server), client.receive(&to_client));
            format!("{error}, then {received:?}")
        }
    }
}
