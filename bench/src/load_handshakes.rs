//! `load handshakes`: a million handshakes, one after the other; reports whether the heap grows.

use std::sync::Arc;
use std::time::Instant;

use bench_allocator::{so_far, take_peak};

use crate::choices::{Allocator, Choice, Cipher, KeyType, Version};
use crate::cli::{Common, LoadHandshakes};
use crate::handshake::Handshakes;
use crate::report::Job;
use crate::row::Row;
use crate::suites::Suite;
use crate::workload::{Identity, Result, Scenario, Sessions};
use crate::{measure, this, upstream};

/// The kinds of handshakes: a name, the sessions, client authentication, and the share of all
/// handshakes in percent. Each version has all of these.
const KINDS: [(&str, Sessions, bool, usize); 7] = [
    ("full", Sessions::Unused, false, 25),
    ("full", Sessions::Unused, true, 10),
    ("stored session", Sessions::Stored, false, 20),
    ("stored session", Sessions::Stored, true, 5),
    ("ticket", Sessions::Tickets, false, 20),
    ("ticket", Sessions::Tickets, true, 5),
    ("ticket, rotated", Sessions::RotatedTickets, false, 15),
];

/// The number of sessions that each side keeps: few, so that the caches are full soon.
const KEPT: usize = 16;

/// The number of phases of equal length.
const PHASES: usize = 10;

type Build = fn(&Scenario) -> Result<Box<dyn Handshakes>>;

const BUILDS: [(&str, Build); 2] = [
    ("this", this::connection::handshake::handshakes),
    ("upstream", upstream::connection::handshake::handshakes),
];

impl Job for LoadHandshakes {
    fn common(&self) -> &Common {
        &self.common
    }

    fn measure(&self, allocator: Allocator) -> Result<Vec<Row>> {
        let (count, key_type) = (
            self.count as f64 * self.common.multiplier,
            KeyType::EcdsaP256,
        );
        let mut rows = Vec::new();
        for provider in self.common.providers() {
            for &version in Version::ALL {
                for (session, sessions, client_auth, share) in KINDS {
                    let phase = (count * share as f64 / 200.0 / PHASES as f64).ceil() as usize;
                    let client = client_auth.then(|| Arc::new(Identity::of(key_type)));
                    let suite = Suite::with(version, Cipher::Aes128Gcm, key_type)?;
                    let scenario = Scenario {
                        client,
                        sessions,
                        kept: KEPT,
                        ..Scenario::new(provider, suite, key_type)
                    };
                    for (name, build) in BUILDS {
                        let row = Row::new("load-handshakes", name, provider, allocator)
                            .with("suite", &scenario.suite.name[..])
                            .with("api", "buffered")
                            .with("version", format!("TLS {}", version.name()))
                            .with("session", session)
                            .with("client_auth", client_auth);
                        let (row, _) =
                            bench_allocator::count(|| measure(row, build, &scenario, phase));
                        rows.push(row?);
                    }
                }
            }
        }
        Ok(rows)
    }
}

/// Makes ten phases of `phase` handshakes, and adds the figures to `row`. Call it within the work
/// of [`bench_allocator::count`].
fn measure(row: Row, build: Build, scenario: &Scenario, phase: usize) -> Result<Row> {
    let label = format!("{} {}", row.text("version"), row.text("session"));
    let progress = measure::progress(label, PHASES);
    let mut ends = Vec::with_capacity(PHASES);
    let mut peak = 0;
    let empty = so_far().bytes;
    let mut handshakes = build(scenario)?;
    // full tables double once, when removed entries have used up their slots
    for _ in 0..Ord::max(4 * KEPT, phase) {
        handshakes.make(&mut |_| ())?;
    }
    let (warm, start) = (so_far().allocations, Instant::now());
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
    let allocations = (so_far().allocations - warm) as f64;
    let highest = |ends: &[i64]| ends.iter().copied().max().unwrap_or_default();
    progress.finish_and_clear();
    Ok(row
        .with("handshakes", count)
        .rounded("handshakes_per_s", count as f64 / seconds, 1)
        .rounded("allocations_per_handshake", allocations / count as f64, 2)
        // configurations and caches
        .with("live_bytes", ends[PHASES - 1] - empty)
        // the highest counts, since a full cache may briefly have one session less
        .with(
            "growth_bytes",
            highest(&ends[PHASES / 2..]) - highest(&ends[..PHASES / 2]),
        )
        .with("peak_bytes", peak))
}
