//! `load handshakes`: a million handshakes, one after the other; reports whether the heap grows.

use std::sync::Arc;
use std::time::Instant;

use bench_allocator::{Kind, so_far, take_peak};
use serde::{Deserialize, Serialize};

use crate::cli::{Cipher, HandshakeApi, KeyType, LoadHandshakesArgs, Provider, RunArgs, Version};
use crate::handshake::Contender;
use crate::plot::Point;
use crate::report::{self, Cell, Job, Subject};
use crate::statistics::rounded;
use crate::suites::Suite;
use crate::workload::{Identity, Result, Scenario, Sessions};
use crate::{measure, this, upstream};

/// A variety of handshakes; each version has all of these.
#[derive(Clone, Copy)]
struct Variety {
    name: &'static str,
    sessions: Sessions,
    client_auth: bool,
    /// The share of all handshakes, in percent.
    share: usize,
    /// The handshakes until all caches are full and their tables have their final size.
    warm_up: usize,
}

const VARIETIES: [Variety; 7] = [
    Variety::new("full", Sessions::Unused, false, 25, WARM_UP),
    Variety::new("full", Sessions::Unused, true, 10, WARM_UP),
    Variety::new("stored session", Sessions::Stored, false, 20, WARM_UP),
    Variety::new("stored session", Sessions::Stored, true, 5, WARM_UP),
    Variety::new("ticket", Sessions::Tickets, false, 20, SHORT_WARM_UP),
    Variety::new("ticket", Sessions::Tickets, true, 5, SHORT_WARM_UP),
    Variety::new(
        "ticket, key replaced",
        Sessions::RotatedTickets,
        false,
        15,
        SHORT_WARM_UP,
    ),
];

/// Full tables double once, when removed entries have used up their slots.
const WARM_UP: usize = 4 * KEPT;
const SHORT_WARM_UP: usize = 20;

impl Variety {
    const fn new(
        name: &'static str,
        sessions: Sessions,
        client_auth: bool,
        share: usize,
        warm_up: usize,
    ) -> Self {
        Self {
            name,
            sessions,
            client_auth,
            share,
            warm_up,
        }
    }

    fn scenario(self, version: Version, provider: Provider, key_type: KeyType) -> Result<Scenario> {
        let client = self.client_auth.then(|| Arc::new(Identity::of(key_type)));
        Ok(Scenario {
            provider,
            suite: Suite::with(version, Cipher::Aes128Gcm, key_type)?,
            key_type,
            group: None,
            client,
            verifies_client: true,
            shares_chains: true,
            sessions: self.sessions,
            tickets: None,
            kept: KEPT,
            max_fragment_size: None,
        })
    }
}

/// The number of sessions that each side keeps: few, so that the caches are full soon.
const KEPT: usize = 16;

/// The number of phases of equal length.
const PHASES: usize = 10;

/// One line of the result.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    subject: Subject,
    version: String,
    session: String,
    client_auth: bool,
    handshakes: usize,
    /// Both sides, one after the other on one thread, with the allocator counting.
    handshakes_per_s: f64,
    allocations_per_handshake: f64,
    /// The heap bytes of configurations and caches at the end.
    live_bytes: i64,
    /// The growth of the heap from the first five phases to the last five, comparing the highest
    /// use at the end of a phase. A full cache may briefly have one session less.
    growth_bytes: i64,
    /// The most heap in use beyond that, within a handshake.
    peak_bytes: i64,
}

impl Job for LoadHandshakesArgs {
    type Row = Row;

    const NOTES: &'static str = "\
Both sides in one thread, over memory, on a counting allocator; handshakes/s: both sides together. live: heap
that configurations and caches hold between two handshakes. growth: of the highest in use at
the ends of ten equal phases, from the first five to the last five, after the caches are full. peak: the highest that a handshake takes in addition.
key replaced: rotated every second; a server keeps the last key.";

    const UNIT: &'static str = "handshakes/s";

    fn args(&self) -> &RunArgs {
        &self.run
    }

    fn title(&self) -> String {
        "many handshakes".to_owned()
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        let count = self.count as f64 * self.time.multiplier;
        let mut rows = Vec::new();
        for provider in self.run.provider.providers() {
            for &api in &self.api {
                for version in [Version::Tls13, Version::Tls12] {
                    for variety in VARIETIES {
                        let share = variety.share as f64 / 200.0 / self.api.len() as f64;
                        let phase = (count * share / PHASES as f64).ceil() as usize;
                        let scenario = variety.scenario(version, provider, self.key_type)?;
                        for (name, build) in CONTENDERS {
                            let label = format!(
                                "{} · {name} · {} · {}",
                                provider.name(),
                                version.name(),
                                variety.name
                            );
                            let (row, _) = bench_allocator::count(|| {
                                let totals =
                                    Totals::new(build, api, &scenario, variety, phase, label);
                                totals.map(|totals| {
                                    let subject = Subject::new(
                                        "load-handshakes",
                                        name,
                                        &scenario,
                                        api.name(),
                                        allocator,
                                    );
                                    totals.row(subject, version, variety)
                                })
                            });
                            rows.push(row?);
                        }
                    }
                }
            }
        }
        Ok(rows)
    }
}

type Build = fn(HandshakeApi, &Scenario) -> Result<Box<dyn Contender>>;

const CONTENDERS: [(&str, Build); 2] = [
    ("this", this::connection::handshake::contender),
    ("upstream", upstream::connection::handshake::contender),
];

/// The highest of `numbers`.
fn highest(numbers: &[i64]) -> i64 {
    numbers.iter().copied().max().unwrap_or_default()
}

/// The totals over all phases of one variety.
struct Totals {
    handshakes: usize,
    seconds: f64,
    allocations: u64,
    live: i64,
    growth: i64,
    peak: i64,
}

impl Totals {
    /// Makes ten phases of `phase` handshakes. Call it within the work of
    /// [`bench_allocator::count`].
    fn new(
        build: Build,
        api: HandshakeApi,
        scenario: &Scenario,
        variety: Variety,
        phase: usize,
        label: String,
    ) -> Result<Self> {
        let progress = measure::progress(label, PHASES);
        let mut ends = Vec::with_capacity(PHASES);
        let mut peak = 0;
        let empty = so_far().bytes;
        let mut contender = build(api, scenario)?;
        for _ in 0..Ord::max(variety.warm_up, phase) {
            contender.time()?;
        }
        let warm = so_far().allocations;
        let start = Instant::now();
        for _ in 0..PHASES {
            for _ in 0..phase {
                let before = so_far().bytes;
                take_peak();
                contender.time()?;
                peak = Ord::max(peak, take_peak() - before);
            }
            ends.push(so_far().bytes);
            progress.inc(1);
        }
        let totals = Self {
            handshakes: PHASES * phase,
            seconds: start.elapsed().as_secs_f64(),
            allocations: so_far().allocations - warm,
            live: ends[PHASES - 1] - empty,
            growth: highest(&ends[PHASES / 2..]) - highest(&ends[..PHASES / 2]),
            peak,
        };
        progress.finish_and_clear();
        Ok(totals)
    }

    fn row(&self, subject: Subject, version: Version, variety: Variety) -> Row {
        let handshakes = self.handshakes as f64;
        Row {
            subject,
            version: version.name().to_owned(),
            session: variety.name.to_owned(),
            client_auth: variety.client_auth,
            handshakes: self.handshakes,
            handshakes_per_s: rounded(handshakes / self.seconds, 1),
            allocations_per_handshake: rounded(self.allocations as f64 / handshakes, 2),
            live_bytes: self.live,
            growth_bytes: self.growth,
            peak_bytes: self.peak,
        }
    }
}

impl report::Row for Row {
    fn heading(&self) -> String {
        format!("handshakes · {} · {}", self.subject.provider, self.version)
    }

    fn cells(&self) -> Vec<Cell> {
        let auth = if self.client_auth { "yes" } else { "no" };
        let mut cells = self.subject.cells();
        cells.extend([
            Cell::text("session", &self.session),
            Cell::text("client certificate", auth),
            Cell::number("handshakes", self.handshakes.to_string()),
            Cell::number("handshakes/s", format!("{:.0}", self.handshakes_per_s)),
            Cell::number("allocations", self.allocations_per_handshake.to_string()),
            Cell::number("live bytes", self.live_bytes.to_string()),
            Cell::number("growth", self.growth_bytes.to_string()),
            Cell::number("peak bytes", self.peak_bytes.to_string()),
        ]);
        cells
    }

    fn point(&self) -> Option<Point> {
        let auth = if self.client_auth {
            ", client certificate"
        } else {
            ""
        };
        let what = format!(" {} {}{auth}", self.version, self.session);
        Some(self.subject.point(&what, 1, self.handshakes_per_s))
    }
}
