//! The same bytes to this crate and to upstream: both go on or both refuse with the same alert, or there is a reason.

use std::sync::OnceLock;

use super::INPUT_LIMIT;
use super::connections::EDITS;
use super::edits::edited;
use crate::deviations;
use crate::recorded::flights::Record;
use crate::recorded::outcome::Outcome;
use crate::recorded::{Receiver, Scene, scenes};

/// The first byte chooses how far a connection is, of both sides, over records or QUIC; the second what the rest is
/// ([`EDITS`]).
pub(super) fn differential(input: &[u8]) {
    if let Some(difference) = difference(input) {
        panic!("{difference}");
    }
}

/// What differs without a reason.
fn difference(input: &[u8]) -> Option<String> {
    static SCENES: OnceLock<Vec<(Scene, [Vec<Record>; 2])>> = OnceLock::new();
    let &[which, how, ref rest @ ..] = input else {
        return None;
    };
    let scenes = SCENES.get_or_init(|| {
        let scenes = scenes(false).into_iter();
        scenes
            .map(|scene| {
                let flights = [scene.rest(), scene.upstream_rest()];
                let messages = flights.map(|flight| scene.messages(&flight));
                (scene, messages)
            })
            .collect()
    });
    let (scene, messages) = &scenes[usize::from(which) % scenes.len()];
    let rest = &rest[..rest.len().min(INPUT_LIMIT)];
    let bytes = match how & EDITS {
        0 => [rest.to_vec(), scene.for_upstream(rest)],
        _ => messages
            .each_ref()
            .map(|messages| edited(scene.framing(), messages, rest)),
    };
    let [first, last] = outcomes(scene, &bytes);
    let case = scene.case("", &bytes[0]);
    if is_explained(&case, &first) || is_explained(&case, &last) {
        return None;
    }
    let [ours, theirs] = first;
    Some(format!("{case}\n  ours   {ours}\n  theirs {theirs}"))
}

/// Whether both do the same, or there is a reason why they do not.
///
/// Where both refuse and not for the same reason there is more than one: which of them is found first is a matter of
/// order, and the test `differential`, which makes one change at a time, looks at that.
fn is_explained(case: &str, [ours, theirs]: &[Outcome; 2]) -> bool {
    let is_same = match (&ours.error, &theirs.error) {
        (Some(our_error), Some(their_error)) => {
            our_error != their_error || ours.alert == theirs.alert
        }
        // upstream looks at the certificate and what it signed when the flight is complete
        (Some(error), None) if theirs.is_handshaking && case.contains("1.2") => {
            error.starts_with("InvalidCertificate") || error.contains("SignedKx")
        }
        _ => ours.is_like(theirs),
    };
    is_same || deviations::find(&ours.name(), &theirs.name(), case).is_some()
}

/// What comes of the same in both crates: as soon as one of them refuses, and when the other has received the rest.
fn outcomes(scene: &Scene, [ours, theirs]: &[Vec<u8>; 2]) -> [[Outcome; 2]; 2] {
    // to the same record, where there are still the same
    let mut at = 0;
    let mut ends = [Receiver::Buffered, Receiver::Upstream].map(|which| scene.receiver(which));
    let mut errors: [Option<String>; 2] = [None, None];
    while at < ours.len() && errors == [None, None] {
        let end = match ours[at..] {
            [_, _, _, high, low, ..] => at + 5 + usize::from(u16::from_be_bytes([high, low])),
            // ours does not wait for the rest of a header that is wrong already
            _ => break,
        };
        let record = at..end.min(ours.len());
        at = record.end;
        errors = [
            ends[0].receive(&ours[record.clone()]).err(),
            ends[1].receive(&theirs[record]).err(),
        ];
    }
    let [our_error, their_error] = &mut errors;
    let [our_end, their_end] = &mut ends;
    let first = [
        Outcome::after(&mut **our_end, our_error.clone()),
        Outcome::after(&mut **their_end, their_error.clone()),
    ];
    let mut last = first.clone();
    if our_error.is_none() {
        last[0] = Outcome::new(&mut **our_end, &ours[at..]);
    }
    if their_error.is_none() {
        last[1] = Outcome::new(&mut **their_end, &theirs[at..]);
    }
    [first, last]
}
