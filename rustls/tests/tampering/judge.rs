//! Tries one plan on ends of this crate and of upstream. Forbidden results never occur, and an end
//! of this crate answers as upstream's would in its place, unless [`harness::peers::deviations`]
//! explains the difference.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{LazyLock, Mutex};

use harness::peers::configs::Provider;
use harness::peers::deviations::{self, DEVIATIONS, Deviation, Differences};

use crate::tampering::conversation::{Alert, Conversation, Outcome, Report, UPSTREAM_PANICKED};
use crate::tampering::kinds::{Api, Kind, Pair};
use crate::tampering::plans::Plan;

/// The number of tries if random values may cause the difference.
pub(crate) const TRIES: usize = 10;

/// Pairs of ends for one kind of connection.
pub(crate) struct Ends {
    pub(crate) upstream: Pair,
    /// This crate's client in either API with upstream's server.
    clients: [Pair; 2],
    servers: [Pair; 2],
    both: [Pair; 2],
}

impl Ends {
    pub(crate) fn new(kind: Kind, provider: Provider) -> Self {
        use Api::{Buffered, Unbuffered, Upstream};
        let pair = |client, server| Pair::new(kind, provider, [client, server]);
        Self {
            upstream: pair(Upstream, Upstream),
            clients: [pair(Buffered, Upstream), pair(Unbuffered, Upstream)],
            servers: [pair(Upstream, Buffered), pair(Upstream, Unbuffered)],
            both: [pair(Buffered, Unbuffered), pair(Unbuffered, Buffered)],
        }
    }
}

/// Collects the findings.
#[derive(Default)]
pub(crate) struct Judge(Mutex<Findings>);

#[derive(Default)]
struct Findings {
    plans: usize,
    conversations: usize,
    comparisons: usize,
    panics_of_upstream: usize,
    happened: Differences,
    /// The uses of each entry of [`MORE`].
    used: BTreeMap<usize, usize>,
}

impl Judge {
    /// Tries the plan on all pairs; `number` selects the API of this crate's ends.
    pub(crate) fn judge(&self, ends: &Ends, plan: &Plan, number: usize) {
        self.0.lock().unwrap().plans += 1;
        let api = number % 2;
        let (client, server) = (&ends.clients[api], &ends.servers[api]);
        let Some(theirs) = self.run(&ends.upstream, plan) else {
            return;
        };
        if let Some(ours) = self.run(client, plan) {
            self.compare(&ours, &theirs, [client, &ends.upstream], 0, plan);
        }
        if let Some(ours) = self.run(server, plan) {
            self.compare(&ours, &theirs, [server, &ends.upstream], 1, plan);
        }
        self.run(&ends.both[api], plan);
    }

    /// Tries the plan again and asserts that one end fails, and that the client reports `expected`.
    pub(crate) fn refused(&self, ends: &Ends, plan: &Plan, number: usize, expected: &str) {
        let api = number % 2;
        for pair in [&ends.clients[api], &ends.servers[api], &ends.both[api]] {
            let Some(report) = self.run(pair, plan) else {
                continue;
            };
            let [client, server] = report.outcomes.each_ref().map(|it| it.error.as_deref());
            if client.is_none() && server.is_none() {
                self.note(format!("{:?} went on", pair.apis), plan);
            }
            if !client.unwrap_or_default().contains(expected) {
                self.note(format!("{:?}: client {client:?}", pair.apis), plan);
            }
        }
    }

    /// Runs one conversation and records violations.
    pub(crate) fn run(&self, pair: &Pair, plan: &Plan) -> Option<Report> {
        self.count();
        let conversation = || {
            Conversation::new(pair, plan.middle(pair))
                .at(plan.pace)
                .run()
        };
        match panic::catch_unwind(AssertUnwindSafe(conversation)) {
            Ok(report) => Some(report),
            Err(panic) => {
                self.panicked(pair, &*panic, &format!("{plan:?}"));
                None
            }
        }
    }

    /// Compares this crate's end in one conversation with upstream's end in the other.
    fn compare(&self, ours: &Report, theirs: &Report, pairs: [&Pair; 2], end: usize, plan: &Plan) {
        let [untouched, other] = pairs.map(Pair::untouched);
        if ours.applied != theirs.applied || !plan.compares(end == 0, untouched, other) {
            return;
        }
        self.compared();
        let case = format!("{}{}", plan.name, ours.noted[end]);
        let (mut ours, mut theirs) = (vec![&ours.outcomes[end]], vec![&theirs.outcomes[end]]);
        if self.is_like(&ours, &theirs, &case) {
            return;
        }
        let again: Vec<_> = (1..TRIES)
            .filter_map(|_| Some([self.run(pairs[0], plan)?, self.run(pairs[1], plan)?]))
            .collect();
        for report in &again {
            ours.push(&report[0].outcomes[end]);
            theirs.push(&report[1].outcomes[end]);
        }
        if !self.is_like(&ours, &theirs, &case) {
            let side = ["client", "server"][end];
            let (our_name, their_name) = (ours[0].name(), theirs[0].name());
            let what = if our_name == their_name {
                format!("{side}\n  ours   {:?}\n  theirs {:?}", ours[0], theirs[0])
            } else {
                format!("{side}\n  ours   {our_name}\n  theirs {their_name}")
            };
            self.note(what, plan);
        }
    }

    /// True if any two outcomes are alike, or differ for a known reason.
    fn is_like(&self, ours: &[&Outcome], theirs: &[&Outcome], case: &str) -> bool {
        let mut pairs = ours
            .iter()
            .flat_map(|ours| theirs.iter().map(move |theirs| (*ours, *theirs)));
        pairs.any(|(ours, theirs)| {
            ours.is_like(theirs) || self.is_explained(&ours.name(), &theirs.name(), case)
        })
    }

    /// True if there is a reason for the difference between two answers, given as `error / alert`.
    pub(crate) fn is_explained(&self, ours: &str, theirs: &str, case: &str) -> bool {
        let covers = |it: &Deviation| covers(it, ours, theirs, case);
        if DEVIATIONS.iter().any(covers) {
            return true;
        }
        let found = MORE.iter().position(covers);
        if let Some(found) = found {
            *self.0.lock().unwrap().used.entry(found).or_default() += 1;
        }
        found.is_some()
    }

    fn note(&self, what: String, plan: &Plan) {
        self.differ(what, &format!("{plan:?}"));
    }

    /// Counts a new conversation.
    pub(crate) fn count(&self) {
        self.0.lock().unwrap().conversations += 1;
    }

    pub(crate) fn compared(&self) {
        self.0.lock().unwrap().comparisons += 1;
    }

    /// Records that a conversation of these ends panicked.
    pub(crate) fn panicked(&self, pair: &Pair, panic: &(dyn Any + Send), case: &str) {
        let message = message(panic);
        if message == UPSTREAM_PANICKED || pair.apis == [Api::Upstream; 2] {
            self.0.lock().unwrap().panics_of_upstream += 1;
        } else {
            self.differ(format!("{:?}: {message}", pair.apis), case);
        }
    }

    /// Records a finding.
    pub(crate) fn differ(&self, what: String, case: &str) {
        self.0.lock().unwrap().happened.add(what, case);
    }

    /// Fails if there are findings.
    pub(crate) fn conclude(self) {
        let findings = self.0.into_inner().unwrap();
        let nothing_happened = findings.happened.is_empty();
        println!(
            "{} plans, {} conversations, {} comparisons, further deviations {:?}; upstream panicked {} times",
            findings.plans,
            findings.conversations,
            findings.comparisons,
            findings.used,
            findings.panics_of_upstream,
        );
        assert!(nothing_happened, "see above");
    }
}

/// Checks a deviation. An alert that the peer could not read matches any.
fn covers(deviation: &Deviation, ours: &str, theirs: &str, case: &str) -> bool {
    let read = |name: &str, pattern: &str| match (name.strip_suffix('?'), pattern.rsplit_once(' '))
    {
        (Some(error), Some((_, alert))) => format!("{error}{alert}"),
        _ => name.to_owned(),
    };
    let (ours, theirs) = (read(ours, deviation.ours), read(theirs, deviation.theirs));
    deviation.covers(&ours, &theirs, case)
}

impl Outcome {
    fn is_like(&self, theirs: &Self) -> bool {
        // if only the peer noticed the change, this end's outcome is not compared
        if !self.has_noticed() && !theirs.has_noticed() {
            return true;
        }
        let is_unknown = [self, theirs].iter().any(|it| it.alert == Alert::Unknown);
        self.error == theirs.error
            && (self.alert == theirs.alert || is_unknown)
            && self.is_handshaking == theirs.is_handshaking
            && self.received == theirs.received
            && self.early_received == theirs.early_received
            && self.end == theirs.end
    }

    fn has_noticed(&self) -> bool {
        let error = self.error.as_deref();
        error.is_some_and(|error| !error.starts_with("AlertReceived("))
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_owned()
}

/// Deviations that only occur with real encryption, or with both ends live.
static MORE: LazyLock<Vec<Deviation>> =
    LazyLock::new(|| deviations::read(include_str!("deviations.txt")));
