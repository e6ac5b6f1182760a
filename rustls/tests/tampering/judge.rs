//! Tries one plan on ends of this crate and of upstream. Forbidden results never occur, and an end
//! of this crate reacts in the same way as upstream's, unless [`harness::comparison`] has a reason
//! for the difference.

use std::any::Any;
use std::iter;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use harness::comparison::{self, Section};
use harness::peers::configs::Provider;
use harness::peers::roles::Implementation::{Buffered, OpeningInto, Unbuffered, Upstream};
use harness::peers::roles::{ROLES, Role};

use crate::tampering::conversation::{Conversation, Report, UPSTREAM_PANICKED};
use crate::tampering::kinds::{Kind, Pair};
use crate::tampering::plans::Plan;

/// The number of APIs to receive with.
const APIS: usize = 3;

/// The number of tries if random values may cause a difference.
const TRIES: usize = 10;

/// Pairs of ends for one kind of connection.
pub(crate) struct Ends {
    pub(crate) upstream: Pair,
    /// This crate's client in each API with upstream's server.
    clients: [Pair; APIS],
    servers: [Pair; APIS],
    both: [Pair; APIS],
}

impl Ends {
    pub(crate) fn new(kind: Kind, provider: Provider) -> Self {
        let pair = |client, server| Pair::new(kind, provider, [client, server]);
        Self {
            upstream: pair(Upstream, Upstream),
            clients: [Buffered, Unbuffered, OpeningInto].map(|api| pair(api, Upstream)),
            servers: [Buffered, Unbuffered, OpeningInto].map(|api| pair(Upstream, api)),
            both: [
                pair(Buffered, Unbuffered),
                pair(Unbuffered, OpeningInto),
                pair(OpeningInto, Buffered),
            ],
        }
    }
}

/// Counts conversations, and collects the findings.
pub(crate) struct Judge {
    comparison: comparison::Judge,
    plans: AtomicUsize,
    conversations: AtomicUsize,
    panics_of_upstream: AtomicUsize,
}

impl Judge {
    pub(crate) fn new() -> Self {
        Self {
            comparison: comparison::Judge::new(Section::Live),
            plans: AtomicUsize::new(0),
            conversations: AtomicUsize::new(0),
            panics_of_upstream: AtomicUsize::new(0),
        }
    }

    /// Tries the plan on all pairs; `number` selects the API of this crate's ends.
    pub(crate) fn judge(&self, ends: &Ends, plan: &Plan, number: usize) {
        self.plans.fetch_add(1, Relaxed);
        let api = number % APIS;
        let Some(theirs) = self.run(&ends.upstream, plan) else {
            return;
        };
        for (pair, side) in [&ends.clients[api], &ends.servers[api]]
            .into_iter()
            .zip(ROLES)
        {
            if let Some(ours) = self.run(pair, plan) {
                self.compare([&ours, &theirs], [pair, &ends.upstream], side, plan);
            }
        }
        self.run(&ends.both[api], plan);
    }

    /// Tries the plan again and asserts that one end fails, and that the client reports `expected`.
    pub(crate) fn refused(&self, ends: &Ends, plan: &Plan, number: usize, expected: &str) {
        let api = number % APIS;
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
    fn run(&self, pair: &Pair, plan: &Plan) -> Option<Report> {
        self.conversations.fetch_add(1, Relaxed);
        let conversation = || {
            Conversation::new(pair, plan.middle(pair))
                .at(plan.pace)
                .run()
        };
        let run = panic::catch_unwind(AssertUnwindSafe(conversation));
        run.map_err(|panic| {
            let message = message(&*panic);
            if message == UPSTREAM_PANICKED || pair.apis == [Upstream; 2] {
                self.panics_of_upstream.fetch_add(1, Relaxed);
            } else {
                self.note(format!("{:?}: {message}", pair.apis), plan);
            }
        })
        .ok()
    }

    /// Compares this crate's end in one conversation with upstream's end in the other.
    fn compare(&self, reports: [&Report; 2], pairs: [&Pair; 2], side: Role, plan: &Plan) {
        let [ours, theirs] = reports;
        let [untouched, other] = pairs.map(Pair::untouched);
        if ours.applied != theirs.applied || !plan.compares(side, untouched, other) {
            return;
        }
        let end = side as usize;
        let case = format!("{}{} at the {}", plan.name, ours.noted[end], side.name());
        let outcomes = |reports: [&Report; 2]| reports.map(|it| it.outcomes[end].clone());
        let again = |_| {
            let [ours, theirs] = pairs.map(|pair| self.run(pair, plan));
            Some(outcomes([&ours?, &theirs?]))
        };
        let tries = iter::once(outcomes(reports)).chain((1..TRIES).filter_map(again));
        self.comparison.tries(&case, tries);
    }

    /// Records a violation.
    fn note(&self, what: String, plan: &Plan) {
        self.comparison.differ(what, &format!("{plan:?}"));
    }

    /// Fails if there are findings.
    pub(crate) fn conclude(self) {
        println!(
            "{:?} plans, {:?} conversations; upstream panicked {:?} times",
            self.plans, self.conversations, self.panics_of_upstream,
        );
        self.comparison.conclude(&[]);
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_owned()
}
