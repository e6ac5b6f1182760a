//! The same bytes as input of this crate and of upstream. Both must continue, or reject with the
//! same alert, unless there is a reason.

use std::sync::OnceLock;

use harness::peers::deviations;
use harness::scripted::recorded::outcome::Outcome;
use harness::scripted::recorded::{Receiver, Scene, scenes};

use super::connections::EDITS;
use super::edits::{CHANGES, edited, spliced};

/// The first byte chooses the scene, of either side, over records or QUIC. The second chooses
/// whether the rest changes messages (`EDITS`) or bytes of the genuine flight and those after it.
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
        // only the first rejected change counts, and even that may make several faults in one
        // record
        let mut fewer = (1..=CHANGES).filter_map(compare);
        compared = fewer.find(|it| it.refused != [false; 2]);
        compared = compared.filter(|it| !(it.may_be_order() && it.is_one_record));
    }
    if let Some(difference) = compared.and_then(|it| it.difference) {
        panic!("{difference}");
    }
}

/// A scene with its flight and those after it, as received by each crate.
struct Flights {
    scene: Scene,
    bytes: [Vec<u8>; 2],
}

struct Compared {
    /// True for each side (this crate, upstream) that rejects the bytes; then true if both do so at
    /// the same record.
    refused: [bool; 2],
    is_one_record: bool,
    /// True if both reject for different reasons, and this crate sends an alert.
    have_other_errors: bool,
    /// A difference without a reason.
    difference: Option<String>,
}

impl Compared {
    /// True if the difference may come from the order in which several faults are found.
    fn may_be_order(&self) -> bool {
        self.difference.is_some() && self.have_other_errors
    }
}

impl Flights {
    fn new(scene: Scene) -> Self {
        let bytes = [scene.rest(), scene.upstream_rest()];
        Self { scene, bytes }
    }

    /// Compares both crates after the first `changes` changes of `program`; `None` if that is
    /// impossible.
    fn compare(&self, edits: bool, program: &[u8], changes: usize) -> Option<Compared> {
        let bytes = self.bytes.each_ref().map(|flights| match edits {
            true => edited(&self.scene, flights, program, changes),
            false => spliced(flights, program, changes),
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

/// The description of the bytes for [`deviations`].
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

/// True if both behave the same or there is a reason for the difference. Rejections with the same
/// alert count as the same.
fn is_explained(case: &str, [ours, theirs]: &[Outcome; 2]) -> bool {
    let is_same = match (&ours.error, &theirs.error) {
        (Some(_), Some(_)) => ours.alert == theirs.alert,
        // upstream verifies the certificate and its signature only once the flight is complete
        (Some(error), None) if theirs.is_handshaking && case.contains("1.2") => {
            error.starts_with("InvalidCertificate") || error.contains("SignedKx")
        }
        _ => ours.is_like(theirs),
    };
    is_same || deviations::is_known(&ours.name(), &theirs.failure_name(), case)
}

/// The outcomes of both crates: once either rejects, and after the other has received the rest.
fn outcomes(scene: &Scene, [ours, theirs]: &[Vec<u8>; 2]) -> [[Outcome; 2]; 2] {
    // up to the same record, as long as both receive the same bytes
    let mut at = 0;
    let mut ends = [Receiver::Buffered, Receiver::Upstream].map(|which| scene.receiver(which));
    let mut errors: [Option<String>; 2] = [None, None];
    while at < ours.len() && errors == [None, None] {
        let end = match ours[at..] {
            [_, _, _, high, low, ..] => at + 5 + usize::from(u16::from_be_bytes([high, low])),
            // this crate does not wait for the rest of a header that is already wrong
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
