//! Tests of the application's operations that take time: signatures, verifications, resolvers,
//! session storages and tickets that return futures.
//!
//! [`harness::operations`] has the handshakes, in which each operation occurs, the APIs, and the
//! plans that determine when the futures are ready.
//!
//! The other tests also run with such operations:
//!
//! ```text
//! HARNESS_OPERATIONS=futures cargo test -p rustls-tests
//! ```

mod alerts;
mod boundaries;
mod change_cipher_specs;
mod clocks;
mod interruptions;
mod pending_calls;
mod schedules;
mod threads;
mod tickets;
#[cfg(feature = "logging")]
mod unpolled;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use harness::operations::ends::{APIS, Api, End};
use harness::operations::kinds::{CHECKS, KINDS, Kind, MORE_KINDS, OPERATIONS};
use harness::operations::schedules::{connect, resumable};
use harness::operations::{NotedCall, Plan, When};
use rustls::{Connection, Error};

fn for_all(mut f: impl FnMut(&Kind, Api)) {
    for kind in KINDS.iter().chain(MORE_KINDS) {
        for api in APIS {
            if kind.runs_over(api) {
                f(kind, api);
            }
        }
    }
}

#[test]
fn the_outcome_is_the_same_if_all_operations_are_futures() {
    let mut futures = BTreeSet::new();
    for_all(|kind, api| {
        let sync = Arc::new(Plan::new(When::NoFuture));
        let expected = connect(kind, api, &sync, false);
        for when in [
            When::NoFuture,
            When::Ready,
            When::After(1),
            When::After(2),
            When::FromThread,
        ] {
            let plan = Arc::new(Plan::new(when));
            let outcome = connect(kind, api, &plan, true);
            assert_eq!(outcome, expected, "{kind:?} {api:?} {when:?}");
            assert_eq!(plan.dropped(), 0, "{kind:?} {api:?} {when:?}");
            let expected = expected_calls(&sync, |_| when != When::NoFuture);
            assert_eq!(plan.calls(), expected, "{kind:?} {api:?} {when:?}");
            futures.extend(plan.futures());
        }
    });
    assert_eq!(futures, OPERATIONS.into());
}

/// One operation at a time is a future, and nothing calls its blocking method.
#[test]
fn the_outcome_is_the_same_if_one_operation_is_a_future() {
    for_all(|kind, api| {
        let sync = Arc::new(Plan::new(When::NoFuture));
        let expected = connect(kind, api, &sync, false);
        for operation in OPERATIONS {
            let plan = Arc::new(Plan::new(When::After(1)).only(operation));
            let outcome = connect(kind, api, &plan, true);
            assert_eq!(outcome, expected, "{kind:?} {api:?} {operation}");
            let expected = expected_calls(&sync, |it| it == operation);
            assert_eq!(plan.calls(), expected, "{kind:?} {api:?} {operation}");
        }
    });
}

/// Returns the calls of a connection that did not wait in the form expected from one that may wait:
/// the same calls in the same order, none of which blocks.
fn expected_calls(sync: &Plan, is_future: impl Fn(&str) -> bool) -> Vec<NotedCall> {
    let mut calls = sync.calls();
    for call in &mut calls {
        call.is_future = is_future(call.operation);
    }
    calls
}

/// A program written for rustls 0.23 does not poll.
#[test]
fn a_connection_that_is_not_polled_never_waits() {
    for_all(|kind, api| {
        let sync = Arc::new(Plan::new(When::NoFuture));
        let never = Arc::new(Plan::new(When::Never));
        let expected = connect(kind, api, &sync, false);
        assert_eq!(connect(kind, api, &never, false), expected);
        assert!(never.futures().is_empty(), "{kind:?} {api:?}");
    });
}

#[test]
fn an_async_operation_fails_like_a_sync_one() {
    for operation in OPERATIONS {
        for_all(|kind, api| {
            let plan = |when| Plan::new(when).failing(operation);
            let sync = Arc::new(plan(When::NoFuture));
            let expected = connect(kind, api, &sync, false);
            let all = plan(When::After(1));
            let alone = plan(When::After(1)).only(operation);
            for failing in [all, alone].map(Arc::new) {
                let outcome = connect(kind, api, &failing, true);
                let what = format!("{kind:?} {api:?} {operation}");
                assert_eq!(outcome, expected, "{what}");
                // nobody is accepted after a failed check
                let is_check = CHECKS.contains(&operation);
                let is_checked = is_check && failing.futures().contains(operation);
                assert!(outcome.has_failed() || !is_checked, "{what}");
            }
        });
    }
}

/// One operation at a time never ends: the connection waits until it is dropped, and then drops the
/// operation.
#[test]
fn an_operation_that_never_ends_is_dropped_with_its_connection() {
    let mut dropped = BTreeSet::new();
    for operation in OPERATIONS {
        for_all(|kind, api| {
            let plan = Arc::new(Plan::new(When::Never).only(operation));
            let Some((mut waiting, other)) = until_it_waits(kind, api, &plan) else {
                return;
            };
            for _ in 0..3 {
                assert!(waiting.poll_once().is_pending());
                assert!(waiting.is_waiting() && waiting.is_handshaking());
            }
            assert_eq!(plan.dropped(), 0);
            drop((waiting, other));
            assert!(plan.dropped() >= 1, "{kind:?} {api:?} {operation}");
            dropped.insert(operation);
        });
    }
    assert_eq!(dropped, OPERATIONS.into());
}

/// A connection must not continue after a panic in an operation, which may have been about to
/// reject the peer.
#[test]
fn a_panic_in_an_operation_ends_the_connection() {
    for operation in OPERATIONS {
        for_all(|kind, api| {
            let plan = Arc::new(Plan::new(When::Panics).only(operation));
            let Some((mut waiting, _other)) = until_it_waits(kind, api, &plan) else {
                return;
            };
            // the first poll may only find that there is an operation
            let poll = AssertUnwindSafe(|| while waiting.poll_once().is_pending() {});
            catch_unwind(poll).unwrap_err();
            assert!(!waiting.is_waiting());
            let error = waiting.receive(&[]).unwrap_err();
            assert!(matches!(error, Error::General(_)), "{error:?}");
            assert_eq!(waiting.poll_once(), Poll::Ready(Err(error)));
        });
    }
}

/// Connects until one of the ends waits. Returns that end and the other one.
fn until_it_waits(kind: &Kind, api: Api, plan: &Arc<Plan>) -> Option<(End, End)> {
    let world = resumable(kind, api, plan);
    let [mut client, mut server] = api.ends(&world, true);
    loop {
        let mut moved = deliver(&mut client, &mut server);
        if server.is_waiting() {
            return Some((server, client));
        }
        moved |= deliver(&mut server, &mut client);
        if client.is_waiting() {
            return Some((client, server));
        }
        if !moved {
            return None;
        }
    }
}

/// Connects until one of the ends waits for `operation`, which never ends. Returns that end, the
/// other one, and the plan.
fn pending(kind: &Kind, api: Api, operation: &'static str) -> (End, End, Arc<Plan>) {
    let plan = Arc::new(Plan::new(When::Never).only(operation));
    let (waiting, other) = until_it_waits(kind, api, &plan).unwrap();
    (waiting, other, plan)
}

/// Delivers the output of one end to the other. Returns true if there was any.
fn deliver(from: &mut End, to: &mut End) -> bool {
    let pieces = from.output();
    for bytes in &pieces {
        to.receive(bytes).unwrap();
    }
    !pieces.is_empty()
}

/// Returns the connection of a buffered end.
fn buffered(end: &mut End) -> &mut Connection {
    match end {
        End::Buffered(conn) => conn,
        _ => unreachable!("it is buffered"),
    }
}

/// The APIs over records.
const OVER_RECORDS: [Api; 2] = [Api::Buffered, Api::Unbuffered];
