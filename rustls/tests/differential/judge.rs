//! Compares this crate's answers to invalid bytes with upstream's. [`harness::peers::deviations`]
//! must explain each difference.

use std::collections::BTreeMap;
use std::sync::Mutex;

use harness::peers::deviations::{self, DEVIATIONS, Differences};
use harness::scripted::recorded::Scene;
use harness::scripted::recorded::outcome::Outcome;

/// Collects the differences.
#[derive(Default)]
pub(crate) struct Judge(Mutex<Findings>);

#[derive(Default)]
struct Findings {
    cases: usize,
    /// The uses of each entry of [`DEVIATIONS`].
    used: BTreeMap<usize, usize>,
    differences: Differences,
}

impl Judge {
    /// Compares the outcomes of the scene's flight after `change`, described by `what`.
    pub(crate) fn compare(&self, scene: &Scene, what: &str, change: impl Fn(&[u8]) -> Vec<u8>) {
        let Some(outcomes) = scene.outcomes(&change) else {
            return;
        };
        if let Some(unbuffered) = &outcomes.unbuffered {
            self.apis(scene, what, &outcomes.buffered, unbuffered);
        }
        let case = scene.case(what, &change(scene.flight()));
        self.upstream(&case, &outcomes.buffered, &outcomes.upstream);
    }

    /// Both APIs of this crate have the same outcome.
    fn apis(&self, scene: &Scene, what: &str, buffered: &Outcome, unbuffered: &Outcome) {
        if buffered != unbuffered {
            let class = format!("buffered   {buffered}\n  unbuffered {unbuffered}");
            let case = format!("{}: {what}", scene.name);
            self.0.lock().unwrap().differences.add(class, &case);
        }
    }

    /// Both crates have the same outcome, or an entry of [`DEVIATIONS`] explains the difference.
    fn upstream(&self, case: &str, ours: &Outcome, theirs: &Outcome) {
        let mut findings = self.0.lock().unwrap();
        findings.cases += 1;
        if ours.is_like(theirs) {
            return;
        }
        let (our_name, their_name) = (ours.name(), theirs.name());
        match deviations::find(&our_name, &their_name, case) {
            Some(reason) => *findings.used.entry(reason).or_default() += 1,
            _ => {
                let class = if our_name == their_name {
                    format!("ours   {ours}\n  theirs {theirs}")
                } else {
                    format!("ours   {our_name}\n  theirs {their_name}")
                };
                findings.differences.add(class, case);
            }
        }
    }

    /// Fails if a difference has no reason, or a reason has no difference.
    pub(crate) fn conclude(self) {
        let findings = self.0.into_inner().unwrap();
        let none_differ = findings.differences.is_empty();
        let unused = |(reason, _): &(usize, _)| !findings.used.contains_key(reason);
        let unused: Vec<_> = DEVIATIONS.iter().enumerate().filter(unused).collect();
        for (_, deviation) in &unused {
            println!("never: {} for {}", deviation.ours, deviation.theirs);
        }
        println!("{} cases, deviations {:?}", findings.cases, findings.used);
        assert!(none_differ && unused.is_empty(), "see above");
    }
}
