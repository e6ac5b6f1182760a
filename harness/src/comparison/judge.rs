//! Compares the outcomes of both crates.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Mutex;

use super::deviations::{Section, TABLE};
use super::outcome::Outcome;
use crate::operations::plan_of_process;
use crate::peers::configs::product;
use crate::peers::endpoints::Endpoint;
use crate::peers::roles::Implementation;
use crate::scripted::recorded::Scene;
use crate::scripted::recorded::flights::{Record, encode};

/// The message of every failure.
pub const REMEDY: &str = "correct this crate, or give the difference a row with its reason in \
     harness/src/comparison/deviations.txt; delete rows that explain nothing";

/// Collects the differences that no row of `deviations.txt` explains.
pub struct Judge {
    /// The section that is used as well as the general one.
    section: Section,
    findings: Mutex<Findings>,
}

#[derive(Default)]
struct Findings {
    cases: usize,
    /// The uses of each row, by its index.
    used: BTreeMap<usize, usize>,
    /// Each kind of difference, with its count and a few cases.
    differences: BTreeMap<String, (usize, Vec<String>)>,
}

impl Judge {
    /// Creates a judge that uses this section as well as the general one.
    pub fn new(section: Section) -> Self {
        Self {
            section,
            findings: Mutex::default(),
        }
    }

    /// Feeds the scene's flight to both crates after `change`, described by `what`.
    pub fn compare(&self, scene: &Scene, what: &str, change: impl Fn(&[u8]) -> Vec<u8>) {
        if let Some([ours, theirs]) = scene.changed(change) {
            let case = scene.case(what, &ours);
            let end = |which| scene.receiver(which);
            self.feed(&case, end, scene.apis(), [&ours, &theirs]);
        }
    }

    /// Like [`Self::compare`], for a change to the records of the flight.
    pub fn records(&self, scene: &Scene, what: &str, change: impl Fn(&mut Vec<Record>)) {
        self.compare(scene, what, |flight| {
            let mut records = scene.records(flight);
            change(&mut records);
            encode(&records)
        });
    }

    /// Like [`Self::records`], with each handshake message in a separate record.
    pub fn messages(&self, scene: &Scene, what: &str, change: impl Fn(&mut Vec<Record>)) {
        self.compare(scene, what, |flight| {
            let mut messages = scene.messages(flight);
            change(&mut messages);
            encode(&messages)
        });
    }

    /// Feeds `ours` to a new endpoint of this crate in each of `apis`, and `theirs` to one of
    /// upstream. Returns upstream's outcome, which all others must equal.
    pub fn feed(
        &self,
        case: &str,
        end: impl Fn(Implementation) -> Box<dyn Endpoint>,
        apis: &[Implementation],
        [ours, theirs]: [&[u8]; 2],
    ) -> Outcome {
        let outcome = |which, bytes| Outcome::new(&mut *end(which), bytes);
        let theirs = outcome(Implementation::Upstream, theirs);
        let ours = apis.iter().map(|api| outcome(*api, ours));
        let ours: Vec<_> = ours.collect();
        for other in &ours[1..] {
            if *other != ours[0] {
                let difference = format!("{:?}   {}\n  {:?} {other}", apis[0], ours[0], apis[1]);
                self.differ(difference, case);
            }
        }
        self.count();
        if let Some(difference) = self.difference(case, &ours[0], &theirs) {
            self.differ(difference, case);
        }
        theirs
    }

    /// Compares the outcomes of a case with random values. After some try, one of this crate's
    /// outcomes so far must equal one of upstream's.
    pub fn tries(&self, case: &str, tries: impl Iterator<Item = [Outcome; 2]>) {
        self.count();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut difference = None;
        for [our, their] in tries {
            ours.push(our);
            theirs.push(their);
            for (ours, theirs) in product(&ours, &theirs) {
                let Some(found) = self.difference(case, ours, theirs) else {
                    return;
                };
                difference.get_or_insert(found);
            }
        }
        if let Some(difference) = difference {
            self.differ(difference, case);
        }
    }

    /// Returns the difference between two outcomes, unless a row explains it.
    pub fn difference(&self, case: &str, ours: &Outcome, theirs: &Outcome) -> Option<String> {
        // if only the peer noticed a change, the outcome depends on when its alert arrived
        let is_peers = !ours.has_noticed() && !theirs.has_noticed();
        if self.section == Section::Live && is_peers {
            return None;
        }
        let (our_name, their_name) = (ours.name(), theirs.name());
        if ours.is_like(theirs) {
            let is_same = ours.error.is_none() || ours.reported == theirs.reported;
            let case = format!("{case}: {our_name}");
            return (!is_same)
                .then(|| self.accessors(&ours.reported, &theirs.reported, &case))
                .flatten();
        }
        if self.explains(&our_name, &their_name, case) {
            return None;
        }
        Some(if our_name == their_name {
            both(ours, theirs)
        } else {
            both(our_name, their_name)
        })
    }

    /// Returns the difference between the accessors after the same failure.
    fn accessors(&self, ours: &str, theirs: &str, case: &str) -> Option<String> {
        // an inserted record ends a waiting connection before it has negotiated more
        let is_early = plan_of_process().is_some() && case.contains(" in the clear at ");
        let is_explained = self.is_in(&[Section::Accessors], ours, theirs, case) || is_early;
        (!is_explained).then(|| both(ours, theirs))
    }

    /// True if a row explains the difference between two results, given as `error / alert`.
    pub fn explains(&self, ours: &str, theirs: &str, case: &str) -> bool {
        self.is_in(&[Section::Any, self.section], ours, theirs, case)
    }

    fn is_in(&self, sections: &[Section], ours: &str, theirs: &str, case: &str) -> bool {
        let mut rows = TABLE.iter();
        let found =
            rows.position(|row| sections.contains(&row.section) && row.covers(ours, theirs, case));
        if let Some(row) = found {
            *self.findings.lock().unwrap().used.entry(row).or_default() += 1;
        }
        found.is_some()
    }

    /// Compares what both crates print for the same values or the same calls.
    pub fn texts<T: Display>(&self, ours: &[T], theirs: &[T], agree: impl Fn(&T, &T) -> bool) {
        assert_eq!(ours.len(), theirs.len(), "the numbers of values differ");
        for (ours, theirs) in ours.iter().zip(theirs) {
            self.count();
            if !agree(ours, theirs) {
                self.differ(both(ours, theirs), "");
            }
        }
    }

    fn count(&self) {
        self.findings.lock().unwrap().cases += 1;
    }

    /// Records a difference of this kind.
    pub fn differ(&self, kind: String, case: &str) {
        let differences = &mut self.findings.lock().unwrap().differences;
        let (count, cases) = differences.entry(kind).or_default();
        *count += 1;
        if cases.len() < 5 {
            cases.push(case.to_owned());
        }
    }

    /// Fails if there are differences, or if a row of `complete` sections explained none.
    pub fn conclude(self, complete: &[Section]) {
        let findings = self.findings.into_inner().unwrap();
        for (kind, (count, cases)) in &findings.differences {
            println!("{count} times: {kind}");
            for case in cases {
                println!("    {case:.300}");
            }
        }
        let rows = TABLE
            .iter()
            .enumerate()
            .filter(|(at, row)| complete.contains(&row.section) && !findings.used.contains_key(at));
        let unused: Vec<_> = rows.map(|(_, row)| row).collect();
        for row in &unused {
            println!("never: {} for {}", row.ours, row.theirs);
        }
        println!("{} cases, deviations {:?}", findings.cases, findings.used);
        let is_fine = findings.differences.is_empty() && unused.is_empty();
        assert!(is_fine, "see above: {REMEDY}");
    }
}

/// Returns the results of both crates, one below the other.
fn both(ours: impl Display, theirs: impl Display) -> String {
    format!("ours   {ours}\n  theirs {theirs}")
}
