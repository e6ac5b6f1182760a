//! The times of handshakes, as far as they do not depend on the machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::operations::ends::{APIS, Api, End};
use harness::operations::kinds::{KINDS, OPERATIONS, World};
use harness::operations::{Plan, When};
use harness::peers::configs::product;
use harness::peers::events::{Events, Facts, waits};

use super::pairs::finished;

/// Waits until the clock has moved.
fn let_time_pass() {
    let start = Instant::now();
    while start.elapsed() == Duration::ZERO {}
}

/// Returns the facts of client and server of a handshake in which `operation` waits.
fn facts(kind: usize, api: Api, operation: &'static str) -> [Facts; 2] {
    let kind = &KINDS[kind];
    let plan = Arc::new(Plan::new(When::After(2)).only(operation));
    let World {
        mut client,
        mut server,
    } = kind.world(api, &plan);
    let events = [Events::new(), Events::new()];
    Arc::make_mut(&mut client).observer = Some(events[0].clone());
    Arc::make_mut(&mut server).observer = Some(events[1].clone());
    let world = World { client, server };
    let connections = if kind.is_resumed() { 2 } else { 1 };
    for _ in 0..connections {
        for events in &events {
            let _ = events.take();
        }
        connect(&mut api.ends(&world, true));
    }
    events.map(|events| finished(&events.take_one()).clone())
}

fn connect(ends: &mut [End; 2]) {
    loop {
        let mut moved = false;
        for (from, to) in [(0, 1), (1, 0)] {
            for bytes in ends[from].output() {
                ends[to].receive(&bytes).unwrap();
                moved = true;
            }
            for end in ends.iter_mut() {
                while end.is_waiting() {
                    let_time_pass();
                    let _ = end.poll_once();
                }
            }
        }
        if !moved {
            return;
        }
    }
}

/// Returns the times of waits for certificate, session, verification, signature and ticket.
fn each_wait(facts: &Facts) -> [bool; 5] {
    let durations = &facts.durations;
    [
        durations.certificate,
        durations.session,
        durations.verification,
        durations.signature,
        durations.ticket,
    ]
    .map(|wait| wait != Duration::ZERO)
}

#[test]
fn a_wait_has_the_name_of_its_call() {
    const NOTHING: [bool; 5] = [false; 5];
    // a full handshake with a client certificate, one resumed by a ticket, and one from the storage
    let cases = [
        (1, "resolve", [[true, false, false, false, false]; 2]),
        (1, "sign", [[false, false, false, true, false]; 2]),
        (
            1,
            "verify_server_cert",
            [[false, false, true, false, false], NOTHING],
        ),
        (
            1,
            "verify_client_cert",
            [NOTHING, [false, false, true, false, false]],
        ),
        (3, "decrypt", [NOTHING, [false, false, false, false, true]]),
        (3, "encrypt", [NOTHING, [false, false, false, false, true]]),
        (6, "take", [NOTHING, [false, true, false, false, false]]),
        (6, "put", [NOTHING, [false, true, false, false, false]]),
        (14, "get", [NOTHING, [false, true, false, false, false]]),
    ];
    for ((kind, operation, expected), api) in product(cases, APIS) {
        if !KINDS[kind].runs_over(api) {
            continue;
        }
        let facts = facts(kind, api, operation);
        for (facts, expected) in facts.iter().zip(expected) {
            assert_eq!(each_wait(facts), expected, "{kind} {operation} {api:?}");
            let durations = &facts.durations;
            assert!(durations.own_work != Duration::ZERO);
            assert!(durations.own_work + waits(durations) <= durations.whole);
        }
    }
}

#[test]
fn a_handshake_without_operations_waits_for_none() {
    for (kind, api) in product(0..KINDS.len(), APIS) {
        if KINDS[kind].runs_over(api) {
            for facts in facts(kind, api, "nothing") {
                assert_eq!(waits(&facts.durations), Duration::ZERO);
            }
        }
    }
    assert!(!OPERATIONS.contains(&"nothing"));
}
