//! Compares this crate's answers to invalid bytes with upstream's. [`harness::peers::deviations`]
//! must explain each difference.

use std::collections::BTreeMap;
use std::sync::Mutex;

use harness::operations::plan_of_process;
use harness::peers::deviations::{self, ACCESSOR_DEVIATIONS, DEVIATIONS, Deviation, Differences};
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
    /// The uses of each entry of [`ACCESSOR_DEVIATIONS`].
    used_for_accessors: BTreeMap<usize, usize>,
    differences: Differences,
}

impl Findings {
    /// The accessors of both connections differ after the same failure.
    fn accessors(&mut self, case: &str, ours: &Outcome, theirs: &Outcome) {
        let case = format!("{case}: {}", ours.name());
        let (our_values, their_values) = (&ours.reported, &theirs.reported);
        let mut known = ACCESSOR_DEVIATIONS.iter();
        match known.position(|it| it.covers(our_values, their_values, &case)) {
            Some(reason) => *self.used_for_accessors.entry(reason).or_default() += 1,
            // an inserted record ends a connection that waits before it has selected more
            None if plan_of_process().is_some() && case.contains(" in the clear at ") => {}
            None => {
                let class = format!("ours   {our_values}\n  theirs {their_values}");
                self.differences.add(class, &case);
            }
        }
    }
}

impl Judge {
    /// Compares the outcomes of the scene's flight after `change`, described by `what`.
    pub(crate) fn compare(&self, scene: &Scene, what: &str, change: impl Fn(&[u8]) -> Vec<u8>) {
        let Some(outcomes) = scene.outcomes(&change) else {
            return;
        };
        let case = scene.case(what, &change(scene.flight()));
        self.outcomes(
            &case,
            &outcomes.buffered,
            outcomes.unbuffered.as_ref(),
            &outcomes.upstream,
        );
    }

    /// Compares the outcomes of one case: of this crate's APIs, and of upstream.
    pub(crate) fn outcomes(
        &self,
        case: &str,
        ours: &Outcome,
        unbuffered: Option<&Outcome>,
        theirs: &Outcome,
    ) {
        if let Some(unbuffered) = unbuffered {
            self.apis(case, ours, unbuffered);
        }
        self.upstream(case, ours, theirs);
    }

    /// Both APIs of this crate have the same outcome.
    fn apis(&self, case: &str, buffered: &Outcome, unbuffered: &Outcome) {
        if buffered != unbuffered {
            let class = format!("buffered   {buffered}\n  unbuffered {unbuffered}");
            self.0.lock().unwrap().differences.add(class, case);
        }
    }

    /// Both crates have the same outcome, or an entry of [`DEVIATIONS`] explains the difference.
    fn upstream(&self, case: &str, ours: &Outcome, theirs: &Outcome) {
        let mut findings = self.0.lock().unwrap();
        findings.cases += 1;
        if ours.is_like(theirs) {
            if ours.error.is_some() && ours.reported != theirs.reported {
                findings.accessors(case, ours, theirs);
            }
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
        let unused = unused(&DEVIATIONS, &findings.used)
            .chain(unused(&ACCESSOR_DEVIATIONS, &findings.used_for_accessors));
        let unused: Vec<_> = unused.collect();
        for deviation in &unused {
            println!("never: {} for {}", deviation.ours, deviation.theirs);
        }
        println!("{} cases, deviations {:?}", findings.cases, findings.used);
        assert!(none_differ && unused.is_empty(), "see above");
    }
}

/// The entries of `table` that explain nothing.
fn unused<'a>(
    table: &'a [Deviation],
    used: &BTreeMap<usize, usize>,
) -> impl Iterator<Item = &'a Deviation> {
    let entries = table.iter().enumerate();
    entries.filter_map(|(at, entry)| (!used.contains_key(&at)).then_some(entry))
}
