//! Handshakes that wait for operations, are dropped in a wait, or fail in it. Those that complete
//! have the same events as without waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use harness::operations::ends::{APIS, Api, End};
use harness::operations::kinds::{KINDS, Kind, MORE_KINDS, OPERATIONS, World};
use harness::operations::{Plan, When, finish};
use harness::peers::configs::{product, product3};
use harness::peers::events::{Event, Events};
use rustls::observer::End as Ended;

use super::pairs::{closed, failed, finished, lines, summary};

/// Returns the kind's configurations with observers of client and server.
fn observed(kind: &Kind, api: Api, plan: &Arc<Plan>) -> (World, [Arc<Events>; 2]) {
    let World {
        mut client,
        mut server,
    } = kind.world(api, plan);
    let [of_client, of_server] = [Events::new(), Events::new()];
    Arc::make_mut(&mut client).observer = Some(of_client.clone());
    Arc::make_mut(&mut server).observer = Some(of_server.clone());
    (World { client, server }, [of_client, of_server])
}

/// Moves bytes until nothing is left, and finishes operations. Stops, and returns true, if one is
/// pending and `waits` is false.
fn pump(ends: &mut [End; 2], waits: bool) -> bool {
    loop {
        let mut moved = false;
        for (from, to) in [(0, 1), (1, 0)] {
            for bytes in ends[from].output() {
                ends[to].receive(&bytes).unwrap();
                moved = true;
            }
            for end in ends.iter_mut() {
                if end.is_waiting() && !waits {
                    return true;
                }
                finish(|task| end.poll(task)).unwrap();
            }
        }
        if !moved {
            return false;
        }
    }
}

/// Makes the session that the kind resumes, with synchronous calls.
fn prepare(kind: &Kind, api: Api, world: &World, events: &[Arc<Events>; 2]) {
    if kind.is_resumed() {
        let mut ends = api.ends(world, false);
        pump(&mut ends, true);
        drop(ends);
        for events in events {
            let _ = events.take_one();
        }
    }
}

fn ends(kind: &Kind, api: Api, world: &World, is_async: bool) -> [End; 2] {
    let mut ends = api.ends(world, is_async);
    if kind.has_early_data() && api != Api::Quic {
        ends[0].send_early(b"early");
    }
    ends
}

fn all_kinds() -> impl Iterator<Item = (&'static Kind, Api)> {
    let kinds = KINDS.iter().chain(MORE_KINDS);
    kinds.flat_map(|kind| {
        let apis = APIS.into_iter().filter(|api| kind.runs_over(*api));
        apis.map(move |api| (kind, api))
    })
}

fn told(events: &[Event]) -> String {
    format!("{} ({})", lines(events), summary(finished(events)))
}

#[test]
fn asynchronous_handshakes_have_the_events_of_synchronous_ones() {
    for (kind, api) in all_kinds() {
        let told = [When::NoFuture, When::Ready, When::After(2)].map(|when| {
            let plan = Arc::new(Plan::new(when));
            let (world, events) = observed(kind, api, &plan);
            prepare(kind, api, &world, &events);
            let mut ends = ends(kind, api, &world, when != When::NoFuture);
            pump(&mut ends, true);
            drop(ends);
            events.map(|events| told(&events.take_one()))
        });
        assert_eq!(told[0], told[1], "{kind:?} {api:?}");
        assert_eq!(told[0], told[2], "{kind:?} {api:?}");
    }
}

/// A server reports the beginning before it waits, with the name that the client requested.
#[test]
fn a_server_reports_its_beginning_before_it_waits() {
    let plan = Arc::new(Plan::new(When::Never).only("resolve"));
    for (kind, api) in all_kinds() {
        if kind.is_resumed() {
            continue;
        }
        let (world, [of_client, of_server]) = observed(kind, api, &plan);
        let mut ends = ends(kind, api, &world, true);
        assert!(pump(&mut ends, false));
        let begun = of_server.so_far();
        assert_eq!(lines(&begun), "begun", "{kind:?} {api:?}");
        assert_eq!(begun[0].of.server_name.as_deref(), Some("server.example"));
        drop(ends);
        let _ = (of_client.take_one(), of_server.take_one());
    }
}

#[test]
fn a_connection_dropped_in_its_handshake_is_reported_as_failed() {
    let kinds: Vec<_> = all_kinds().collect();
    let mut waited = 0;
    for (operation, (kind, api)) in product(OPERATIONS, kinds) {
        let plan = Arc::new(Plan::new(When::Never).only(operation));
        let (world, events) = observed(kind, api, &plan);
        prepare(kind, api, &world, &events);
        let mut ends = ends(kind, api, &world, true);
        if pump(&mut ends, false) {
            waited += 1;
        }
        let handshaking = ends.each_ref().map(End::is_handshaking);
        let waiting = ends.each_ref().map(End::is_waiting);
        drop(ends);
        for ((events, is_handshaking), is_waiting) in events.iter().zip(handshaking).zip(waiting) {
            let events = events.take_one();
            let what = format!("{kind:?} {api:?} {operation}: {}", lines(&events));
            assert_eq!(failed(&events).is_some(), is_handshaking, "{what}");
            assert!(is_handshaking || !is_waiting, "{what}");
            assert_eq!(closed(&events).end, Ended::Dropped, "{what}");
        }
    }
    assert!(waited > 60, "{waited}");
}

/// A panic in an operation fails the connection, and is the application's fault.
#[test]
fn a_panic_in_an_operation_is_reported_as_the_applications_fault() {
    let kinds = [&KINDS[1], &KINDS[4], &KINDS[11]];
    for (operation, kind, api) in product3(OPERATIONS, kinds, APIS) {
        if !kind.runs_over(api) {
            continue;
        }
        let plan = Arc::new(Plan::new(When::Panics).only(operation));
        let (world, events) = observed(kind, api, &plan);
        prepare(kind, api, &world, &events);
        let mut ends = ends(kind, api, &world, true);
        if !pump(&mut ends, false) {
            drop(ends);
            for events in events {
                let _ = events.take_one();
            }
            continue;
        }
        let waits = usize::from(!ends[0].is_waiting());
        let poll = || while ends[waits].poll_once().is_pending() {};
        catch_unwind(AssertUnwindSafe(poll)).unwrap_err();
        drop(ends);
        let of_waiting = events[waits].take_one();
        let expected = match api {
            // QUIC sends the alert by itself
            Api::Quic => {
                "failed in handshake: general application, sent InternalError; closed failed"
            }
            _ => "failed in handshake: general application; closed failed",
        };
        assert!(
            lines(&of_waiting).ends_with(expected),
            "{}",
            lines(&of_waiting)
        );
        let _ = events[1 - waits].take_one();
    }
}
