//! The same bytes as input of this crate and of upstream. Both must continue, or reject with the
//! same alert, unless there is a reason.

use std::sync::OnceLock;

use harness::comparison::{Alert, Judge, Outcome, REMEDY, Section, in_step};
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
        panic!("{difference}\n{REMEDY}");
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
        let mut ends = [Receiver::Buffered, Receiver::Upstream].map(|it| self.scene.receiver(it));
        let [first, last] = in_step(&mut ends, [&bytes[0], &bytes[1]]);
        let case = case(&self.scene, &bytes[0]);
        let refused = last.each_ref().map(|outcome| outcome.error.is_some());
        let is_one_record = first.iter().all(|outcome| outcome.error.is_some());
        let have_other_errors =
            refused == [true; 2] && last[0].alert != Alert::None && last[0].error != last[1].error;
        let difference = difference(&case, first).and_then(|_| difference(&case, last));
        Some(Compared {
            refused,
            is_one_record,
            have_other_errors,
            difference: difference.map(|difference| format!("{case}\n  {difference}")),
        })
    }
}

/// The description of the bytes for the table of [`harness::comparison`].
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

/// The difference between both crates without a reason. Rejections with the same alert count as
/// the same.
fn difference(case: &str, [ours, theirs]: [Outcome; 2]) -> Option<String> {
    // upstream verifies the certificate and its signature only once the flight is complete
    let is_later = case.contains("1.2") && theirs.error.is_none() && theirs.is_handshaking;
    let is_certificate =
        |error: &String| error.starts_with("InvalidCertificate") || error.contains("SignedKx");
    if ours.rejects_like(&theirs) || is_later && ours.error.as_ref().is_some_and(is_certificate) {
        return None;
    }
    // leave out a warning before the failure, unless upstream alone sent it before the same error
    let is_only_warning = ours.error == theirs.error && ours.alert == Alert::None;
    let theirs = match is_only_warning {
        true => theirs,
        false => theirs.without_warning(),
    };
    Judge::new(Section::Later).difference(case, &ours, &theirs)
}
