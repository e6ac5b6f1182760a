//! A change_cipher_spec that arrives while a connection waits has the same effect as on a
//! connection that does not wait: TLS 1.3 drops a few valid ones, and TLS 1.2 rejects them here.

use std::sync::Arc;

use harness::operations::ends::{Api, End};
use harness::operations::kinds::{KINDS, Kind, OPERATIONS};
use harness::operations::schedules::{pump, resumable};
use harness::operations::{Plan, When, finish};
use harness::peers::configs::{product, product3};
use rustls::Error;

use crate::operations::OVER_RECORDS;

const VALID: &[u8] = &[20, 3, 3, 0, 1, 1];

/// The records that arrive. The peer may already have sent a change_cipher_spec, so the second one
/// may exceed the limit.
const RECORDS: &[&[&[u8]]] = &[
    &[VALID],
    &[VALID, VALID],
    &[VALID, VALID, VALID],
    // not the value 1
    &[&[20, 3, 3, 0, 1, 2]],
    // two in one record
    &[&[20, 3, 3, 0, 2, 1, 1]],
    &[&[20, 3, 3, 0, 0]],
];

/// A place in a connection: an end, and the number of flights that it has received.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    is_server: bool,
    flights: usize,
}

/// Delivers flights until `is_there` returns true for an end and its place. Returns the place.
fn pass_until(ends: &mut [End; 2], mut is_there: impl FnMut(&End, Place) -> bool) -> Option<Place> {
    let mut flights = [0, 0];
    loop {
        let mut moved = false;
        for to in [1, 0] {
            for bytes in ends[1 - to].output() {
                moved = true;
                ends[to].receive(&bytes).unwrap();
                flights[to] += 1;
                let place = Place {
                    is_server: to == 1,
                    flights: flights[to],
                };
                if is_there(&ends[to], place) {
                    return Some(place);
                }
            }
        }
        if !moved {
            return None;
        }
    }
}

/// The results of both ends, and their negotiated values.
type Outcome = ([Result<(), Error>; 2], [String; 2]);

/// Passes `records` to the end of `place`, which waits if it can, and completes the connection.
fn inject(ends: &mut [End; 2], place: Place, records: &[u8]) -> Outcome {
    let there = usize::from(place.is_server);
    let was_waiting = ends[there].is_waiting();
    let received = ends[there].receive(records);
    // an error in later input must not hide the result of the operation
    if was_waiting {
        assert_eq!(received, Ok(()));
        assert!(ends[there].is_waiting());
    }
    let result = received.and_then(|()| finish(|task| ends[there].poll(task)));
    let [client, server] = ends;
    let mut results = pump(client, server);
    if result.is_err() {
        results[there] = result;
    }
    (results, [client.facts(), server.facts()])
}

/// Returns two outcomes: that of `records` that arrive at the first end that waits for `operation`,
/// and that of the same records at the same place of a connection that does not wait.
fn outcomes(
    kind: &Kind,
    api: Api,
    operation: &'static str,
    records: &[u8],
) -> Option<(Place, [Outcome; 2])> {
    let plan = Arc::new(Plan::new(When::After(1)).only(operation));
    let mut ends = api.ends(&resumable(kind, api, &plan), true);
    let place = pass_until(&mut ends, |end, _| end.is_waiting())?;
    let waiting = inject(&mut ends, place, records);

    let plan = Arc::new(Plan::new(When::NoFuture));
    let mut ends = api.ends(&resumable(kind, api, &plan), false);
    pass_until(&mut ends, |_, here| here == place).expect("the same flights");
    let sync = inject(&mut ends, place, records);
    Some((place, [waiting, sync]))
}

#[test]
fn waiting_does_not_change_how_a_change_cipher_spec_is_handled() {
    let (mut accepted, mut rejected) = (0, 0);
    let places = product3(KINDS, OVER_RECORDS, OPERATIONS);
    for ((kind, api, operation), records) in product(places, RECORDS) {
        let records = records.concat();
        let Some((place, outcomes)) = outcomes(kind, api, operation, &records) else {
            continue;
        };
        let [waiting, sync] = outcomes;
        let context = format!("{kind:?} {api:?} {operation} {place:?} {records:?}");
        assert_eq!(waiting, sync, "{context}");
        match waiting.0 {
            [Ok(()), Ok(())] => accepted += 1,
            _ => rejected += 1,
        }
    }
    assert!(accepted > 0 && rejected > 0);
}
