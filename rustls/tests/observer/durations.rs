//! The durations in events, checked without relying on the speed of the machine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::operations::ends::{APIS, Api, End};
use harness::operations::kinds::{KINDS, OPERATIONS, World};
use harness::operations::{Plan, When};
use harness::peers::configs::{Provider, Versions, product, product3};
use harness::peers::endpoints::Endpoint;
use harness::peers::events::{Events, Facts, waits};
use harness::wire::{Record, records};
use rustls::ServerConnection;
use rustls::server::Acceptor;

use super::pairs::{self, Pair, failed, finished};

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

/// Returns the labels of the waits that the facts report.
fn reported_waits(facts: &Facts) -> Vec<&'static str> {
    let waits = facts.durations.waits();
    let waits = waits.filter(|(_, wait)| *wait != Duration::ZERO);
    waits.map(|(label, _)| label).collect()
}

#[test]
fn each_wait_is_counted_under_the_operation_that_caused_it() {
    const NOTHING: &[&str] = &[];
    // a full handshake with a client certificate, one resumed by a ticket, and one from the storage
    let cases: [(_, _, [&[&str]; 2]); 9] = [
        (1, "resolve", [&["certificate"]; 2]),
        (1, "sign", [&["signature"]; 2]),
        (1, "verify_server_cert", [&["verification"], NOTHING]),
        (1, "verify_client_cert", [NOTHING, &["verification"]]),
        (3, "decrypt", [NOTHING, &["ticket"]]),
        (3, "encrypt", [NOTHING, &["ticket"]]),
        (6, "take", [NOTHING, &["session"]]),
        (6, "put", [NOTHING, &["session"]]),
        (14, "get", [NOTHING, &["session"]]),
    ];
    for ((kind, operation, expected), api) in product(cases, APIS) {
        if !KINDS[kind].runs_over(api) {
            continue;
        }
        let facts = facts(kind, api, operation);
        for (facts, expected) in facts.iter().zip(expected) {
            assert_eq!(
                reported_waits(facts),
                expected,
                "{kind} {operation} {api:?}"
            );
            let durations = &facts.durations;
            assert!(durations.own_work != Duration::ZERO);
            assert!(durations.own_work + waits(durations) <= durations.whole);
        }
    }
}

#[test]
fn a_handshake_without_operations_reports_no_waits() {
    for (kind, api) in product(0..KINDS.len(), APIS) {
        if KINDS[kind].runs_over(api) {
            for facts in facts(kind, api, "nothing") {
                assert_eq!(waits(&facts.durations), Duration::ZERO);
            }
        }
    }
    assert!(!OPERATIONS.contains(&"nothing"));
}

/// Lets some time pass, and returns how much.
fn pause() -> Duration {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(50) {}
    start.elapsed()
}

/// Cuts what one side sends over `api` into pieces: each record into two.
fn pieces(api: Api, bytes: &[u8]) -> Vec<Vec<u8>> {
    let whole = match api {
        Api::Quic => vec![bytes.to_vec()],
        _ => records(bytes).iter().map(Record::to_bytes).collect(),
    };
    let halves = whole.iter().flat_map(|record| {
        let (front, back) = record.split_at(record.len() / 2);
        [front.to_vec(), back.to_vec()]
    });
    halves.collect()
}

/// Runs a handshake in which time passes between all calls. Returns how much of it passed while
/// each side neither worked nor waited for an operation.
fn connect_slowly(api: Api, ends: &mut [End; 2]) -> [Duration; 2] {
    let mut idle = [Duration::ZERO; 2];
    let mut has_begun = [true, false];
    loop {
        let mut moved = false;
        for (from, to) in [(0, 1), (1, 0)] {
            for bytes in ends[from].output() {
                for (at, piece) in pieces(api, &bytes).iter().enumerate() {
                    let mut pass = |ends: &[End; 2]| {
                        let passed = pause();
                        for side in 0..2 {
                            let end = &ends[side];
                            if has_begun[side] && end.is_handshaking() && !end.is_waiting() {
                                idle[side] += passed;
                            }
                        }
                    };
                    pass(ends);
                    ends[to].receive(piece).unwrap();
                    pass(ends);
                    for side in 0..2 {
                        while ends[side].is_waiting() {
                            pass(ends);
                            let _ = ends[side].poll_once();
                        }
                    }
                    pass(ends);
                    has_begun[to] |= api == Api::Quic || at > 0;
                    moved = true;
                }
            }
        }
        if !moved {
            return idle;
        }
    }
}

#[test]
fn idle_time_does_not_count_as_work() {
    let whens = [When::NoFuture, When::Ready, When::After(2)];
    for (kind, api, when) in product3(KINDS, APIS, whens) {
        if !kind.runs_over(api) {
            continue;
        }
        let World {
            mut client,
            mut server,
        } = kind.world(api, &Arc::new(Plan::new(when)));
        let events = [Events::new(), Events::new()];
        let config = Arc::make_mut(&mut client);
        config.observer = Some(events[0].clone());
        config.max_fragment_size = Some(128);
        let config = Arc::make_mut(&mut server);
        config.observer = Some(events[1].clone());
        config.max_fragment_size = Some(128);
        let world = World { client, server };
        for is_resumed in [false, true] {
            if is_resumed && !kind.is_resumed() {
                continue;
            }
            let mut ends = api.ends(&world, when != When::NoFuture);
            if is_resumed && kind.has_early_data() {
                ends[0].send_early(b"early");
            }
            let idle = connect_slowly(api, &mut ends);
            drop(ends);
            for (events, idle) in events.iter().zip(idle) {
                let events = events.take_one();
                let durations = &finished(&events).durations;
                let what = format!("{kind:?} {api:?} {when:?}: {durations:?}, {idle:?}");
                assert_ne!(idle, Duration::ZERO, "{what}");
                assert!(
                    durations.own_work + waits(durations) + idle <= durations.whole,
                    "{what}"
                );
            }
        }
    }
}

/// A ClientHello may arrive in several records.
#[test]
fn waiting_for_the_rest_of_a_client_hello_does_not_count_as_work() {
    let pair = Pair::of(Provider::AwsLc, Versions::Tls13)
        .edit(|client| client.max_fragment_size = Some(100), |_| ());
    let mut client = pairs::Api::Buffered.end(&pair.client);
    let hello = client.take_output();
    let hello = records(&hello);
    assert!(hello.len() > 2);
    for observed in [false, true] {
        let mut acceptor = Acceptor::default();
        if observed {
            acceptor.set_observer(pair.of_server.clone());
        }
        // creates an observation, with or without an observer
        acceptor.set_observer_context(7);
        let mut idle = Duration::ZERO;
        let mut accepted = None;
        for record in &hello {
            acceptor.read_tls(&mut &record.to_bytes()[..]).unwrap();
            accepted = acceptor.accept().unwrap();
            if accepted.is_none() {
                idle += pause();
            }
        }
        let server = accepted
            .unwrap()
            .into_connection(pair.server.clone().server());
        let server: ServerConnection = server.map_err(|(error, _)| error).unwrap();
        idle += pause();
        drop(server);
        let events = pair.of_server.take_one();
        let durations = failed(&events).unwrap().handshake.durations;
        assert!(
            durations.own_work + idle <= durations.whole,
            "{observed} {durations:?} {idle:?}"
        );
    }
}

/// The failure is reported when the connection is dropped, and happened before.
#[test]
fn the_duration_of_a_handshake_ends_at_a_panic() {
    let plan = Arc::new(Plan::new(When::Panics).only("resolve"));
    for api in APIS {
        let World { client, mut server } = KINDS[0].world(api, &plan);
        let events = Events::new();
        Arc::make_mut(&mut server).observer = Some(events.clone());
        let world = World { client, server };
        let start = Instant::now();
        let mut ends = api.ends(&world, true);
        for bytes in ends[0].output() {
            ends[1].receive(&bytes).unwrap();
        }
        let poll = || while ends[1].poll_once().is_pending() {};
        catch_unwind(AssertUnwindSafe(poll)).unwrap_err();
        let after = pause();
        drop(ends);
        let all = start.elapsed();
        let events = events.take_one();
        let durations = &failed(&events).unwrap().handshake.durations;
        assert_ne!(durations.certificate, Duration::ZERO);
        assert!(durations.whole + after <= all, "{api:?} {durations:?}");
    }
}
