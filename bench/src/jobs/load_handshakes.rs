//! `load handshakes`: many handshakes, one after the other; reports whether the heap grows.

use std::sync::Arc;
use std::time::Instant;

use bench_allocator::{so_far, take_peak};
use clap::Args;
use itertools::iproduct;

use super::handshake::{BUILDS, Build};
use super::job::{Entry, Job, Run};
use crate::choices::{Choice, KeyType, Role, Version};
use crate::measure;
use crate::row::Row;
use crate::workload::{Identity, Result, Scenario, Sessions};

pub(super) const ENTRY: Entry = Entry::of::<LoadHandshakes>(
    "load handshakes",
    "handshakes_per_s",
    "growth_bytes peak_bytes",
    "",
);

/// Many handshakes of every kind; reports whether the heap grows
#[derive(Args)]
pub(crate) struct LoadHandshakes {}

/// The number of handshakes with each implementation and provider, all kinds together.
const COUNT: f64 = 100_000.0;

/// The kinds of handshakes: a name, the sessions, client authentication, and the share of all
/// handshakes in percent. Each version has all of these.
const KINDS: [(&str, Sessions, bool, usize); 6] = [
    ("full", Sessions::Unused, false, 25),
    ("full", Sessions::Unused, true, 15),
    ("stored session", Sessions::Stored, false, 20),
    ("stored session", Sessions::Stored, true, 10),
    ("ticket", Sessions::Tickets, false, 20),
    ("ticket", Sessions::Tickets, true, 10),
];

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// The number of sessions that each side keeps: few, so that the caches are full soon.
const KEPT: usize = 16;

/// The number of phases of equal length.
const PHASES: usize = 10;

impl Job for LoadHandshakes {
    fn measure(&self, run: &Run) -> Result<()> {
        let count = COUNT * run.common.multiplier;
        for (&provider, &version, kind) in iproduct!(&run.common.providers, Version::ALL, KINDS) {
            let (session, sessions, client_auth, share) = kind;
            let phase = (count * share as f64 / 200.0 / PHASES as f64).ceil() as usize;
            let scenario = Scenario::of(provider, version, KEY_TYPE)?.with(|new| {
                new.client = client_auth.then(|| Arc::new(Identity::of(KEY_TYPE, Role::Client)));
                (new.sessions, new.kept) = (sessions, KEPT);
            });
            for (name, build) in BUILDS {
                let row = run
                    .row_of(name, &scenario, "buffered")
                    .with("version", format!("TLS {}", version.name()))
                    .with("session", session)
                    .with("client_auth", client_auth);
                let done = bench_allocator::count(|| measure(row, build, &scenario, phase));
                run.print([done.0?])?;
            }
        }
        Ok(())
    }
}

/// Makes ten phases of `phase` handshakes, and adds the figures to `row`. Call it within the work
/// of [`bench_allocator::count`].
fn measure(row: Row, build: Build, scenario: &Scenario, phase: usize) -> Result<Row> {
    let label = format!("{} {}", row.text("version"), row.text("session"));
    let progress = measure::progress(&label, PHASES);
    let mut ends = Vec::with_capacity(PHASES);
    let mut peak = 0;
    let mut handshakes = build(scenario)?;
    // full tables double once, when removed entries have used up their slots
    for _ in 0..Ord::max(4 * KEPT, phase) {
        handshakes.make(&mut |_| ())?;
    }
    let start = Instant::now();
    for _ in 0..PHASES {
        for _ in 0..phase {
            let before = so_far().bytes;
            take_peak();
            handshakes.make(&mut |_| ())?;
            peak = Ord::max(peak, take_peak() - before);
        }
        ends.push(so_far().bytes);
        progress.inc(1);
    }
    let (count, seconds) = (PHASES * phase, start.elapsed().as_secs_f64());
    let highest = |ends: &[i64]| ends.iter().max().copied().unwrap_or_default();
    let (earlier, later) = ends.split_at(PHASES / 2);
    Ok(row
        .rounded("handshakes_per_s", count as f64 / seconds, 1)
        // the highest counts, since a full cache may briefly have one session less
        .with("growth_bytes", highest(later) - highest(earlier))
        .with("peak_bytes", peak))
}
