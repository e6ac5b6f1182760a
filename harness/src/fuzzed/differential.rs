//! The same bytes to this crate and to upstream: both go on or both refuse with the same alert, or there is a reason.

use std::sync::OnceLock;

use super::connections::EDITS;
use super::edits::{CHANGES, edited, spliced};
use crate::deviations;
use crate::recorded::flights::Record;
use crate::recorded::outcome::Outcome;
use crate::recorded::{Receiver, Scene, scenes};

/// The first byte chooses how far a connection is, of both sides, over records or QUIC; the second whether the rest
/// changes messages (`EDITS`) or bytes of the genuine flight and those after it.
pub fn differential(input: &[u8]) {
    static FLIGHTS: OnceLock<Vec<Flights>> = OnceLock::new();
    let &[which, how, ref program @ ..] = input else {
        return;
    };
    let all = FLIGHTS.get_or_init(|| scenes(false).into_iter().map(Flights::new).collect());
    let flights = &all[usize::from(which) % all.len()];
    let compare = |changes| flights.compare(how & EDITS != 0, program, changes);
    let mut compared = compare(CHANGES);
    if compared.as_ref().is_some_and(Compared::may_be_order) {
        // the first change that is refused counts; it may still make several faults in one record
        let mut fewer = (1..=CHANGES).filter_map(compare);
        compared = fewer.find(|it| it.refused != [false; 2]);
        compared = compared.filter(|it| !(it.may_be_order() && it.is_one_record));
    }
    if let Some(difference) = compared.and_then(|it| it.difference) {
        panic!("{difference}");
    }
}

/// A scene, and its flight and those after it as each crate's receiver gets them: their bytes, and their messages.
struct Flights {
    scene: Scene,
    bytes: [Vec<u8>; 2],
    messages: [Vec<Record>; 2],
}

struct Compared {
    /// Which of the two refuse, this crate and upstream, and whether both do so at the same record.
    refused: [bool; 2],
    is_one_record: bool,
    /// Both refuse, for other reasons, and this crate tells the peer.
    have_other_errors: bool,
    /// What differs without a reason.
    difference: Option<String>,
}

impl Compared {
    /// Which of several faults is found first is a matter of order.
    fn may_be_order(&self) -> bool {
        self.difference.is_some() && self.have_other_errors
    }
}

impl Flights {
    fn new(scene: Scene) -> Self {
        let bytes = [scene.rest(), scene.upstream_rest()];
        let messages = bytes.each_ref().map(|flights| scene.messages(flights));
        Self {
            scene,
            bytes,
            messages,
        }
    }

    /// What comes of the first `changes` of those that `program` says; `None` if it cannot be compared.
    fn compare(&self, edits: bool, program: &[u8], changes: usize) -> Option<Compared> {
        let framing = self.scene.framing();
        let bytes = [0, 1].map(|of| match edits {
            true => edited(framing, &self.messages[of], program, changes),
            false => spliced(&self.bytes[of], program, changes),
        });
        if !self.scene.are_comparable([&bytes[0], &bytes[1]]) {
            return None;
        }
        let [first, last] = outcomes(&self.scene, &bytes);
        let case = case(&self.scene, &bytes[0]);
        let is_explained = is_explained(&case, &first) || is_explained(&case, &last);
        let refused = last.each_ref().map(|outcome| outcome.error.is_some());
        let difference = || {
            let [ours, theirs] = &last;
            format!("{case}\n  ours   {ours}\n  theirs {theirs}")
        };
        Some(Compared {
            refused,
            is_one_record: first.iter().all(|outcome| outcome.error.is_some()),
            have_other_errors: refused == [true; 2]
                && last[0].alert.is_some()
                && last[0].error != last[1].error,
            difference: (!is_explained).then(difference),
        })
    }
}

/// What the bytes are, in the words of [`deviations`].
fn case(scene: &Scene, bytes: &[u8]) -> String {
    let mut case = scene.case("", bytes);
    // extensions of Encrypted ClientHello
    for typ in [[0xfd, 0x00], [0xfe, 0x0d]] {
        if case.contains("ClientHello") && bytes.windows(2).any(|pair| pair == typ) {
            case += &format!(": with 0x{:02x}{:02x}", typ[0], typ[1]);
        }
    }
    case
}

/// Whether both do the same, or there is a reason why they do not. Refused with the same alert is the same.
fn is_explained(case: &str, [ours, theirs]: &[Outcome; 2]) -> bool {
    let is_same = match (&ours.error, &theirs.error) {
        (Some(_), Some(_)) => ours.alert == theirs.alert,
        // upstream looks at the certificate and what it signed when the flight is complete
        (Some(error), None) if theirs.is_handshaking && case.contains("1.2") => {
            error.starts_with("InvalidCertificate") || error.contains("SignedKx")
        }
        _ => ours.is_like(theirs),
    };
    is_same || deviations::is_known(&ours.name(), &theirs.failure_name(), case)
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
