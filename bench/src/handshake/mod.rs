//! `handshake`, `handshake-resume`, `handshake-ticket`: handshakes per second of each side and
//! their costs, in all requested combinations.

pub(crate) mod limit;

use std::sync::Arc;
use std::time::Instant;

use bench_allocator::{Counted, Kind};
use serde::{Deserialize, Serialize};

use crate::cli::{ClientAuth, HandshakeApi, HandshakeArgs, RunArgs};
use crate::measure::{self, Plan, Rates, Timed, Work};
use crate::plot::Point;
use crate::report::{self, Cell, Job, Subject, spread};
use crate::statistics::{Summary, ratio, rounded};
use crate::suites::Suite;
use crate::workload::{Identity, Result, Role, SESSIONS, Scenario, Sessions};
use crate::{this, upstream};

/// Repeatable handshakes of one implementation, or only their cryptography.
pub(crate) trait Contender {
    /// Makes one handshake; returns the flights of the sides in turns, the client's first.
    fn flights(&mut self) -> Result<Vec<Vec<u8>>>;

    /// Makes one; returns the seconds that client and server took.
    fn time(&mut self) -> Result<[f64; 2]>;

    /// Makes one; returns the other costs of client and server.
    fn count(&mut self) -> Result<[Cost; 2]>;

    /// Makes one, after which the server keeps the connection open.
    fn keep_open(&mut self) -> Result<()>;
}

/// The costs of one side of a handshake besides time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) allocations: u64,
    /// All requested bytes, however short-lived.
    pub(crate) heap_bytes: u64,
    /// Bytes sent to the other side.
    pub(crate) sent_bytes: u64,
}

/// A measurement of a piece of work, summed over its pieces.
pub(crate) trait Probe {
    type Sum: Default;

    fn measure<T>(sum: &mut Self::Sum, work: impl FnOnce() -> T) -> T;
}

/// Seconds.
pub(crate) struct Clock;

impl Probe for Clock {
    type Sum = f64;

    fn measure<T>(sum: &mut f64, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        *sum += start.elapsed().as_secs_f64();
        result
    }
}

/// Allocations and heap bytes.
pub(crate) struct Heap;

impl Probe for Heap {
    type Sum = Counted;

    fn measure<T>(sum: &mut Counted, work: impl FnOnce() -> T) -> T {
        let (result, counted) = bench_allocator::count(work);
        sum.allocations += counted.allocations;
        sum.taken += counted.taken;
        sum.bytes += counted.bytes;
        result
    }
}

/// Nothing.
pub(crate) struct Nothing;

impl Probe for Nothing {
    type Sum = ();

    fn measure<T>((): &mut (), work: impl FnOnce() -> T) -> T {
        work()
    }
}

impl Timed<2> for Box<dyn Contender> {
    fn batch(&mut self) -> Result<[f64; 2]> {
        self.time()
    }
}

/// One of the three sub-commands, which differ in their sessions.
pub(crate) struct Handshakes<'a> {
    pub(crate) sessions: Sessions,
    pub(crate) args: &'a HandshakeArgs,
}

/// One line of the result.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    subject: Subject,
    version: String,
    group: String,
    key_type: String,
    client_auth: bool,
    role: Role,
    threads: usize,
    /// Handshakes per second if only this side took time: the median over the rounds.
    handshakes_per_s: f64,
    /// The ratio to upstream in the same round: the median over the rounds.
    ratio_to_upstream: f64,
    /// The ratio to the limit in the same round: the median over the rounds.
    share_of_limit: f64,
    allocations_per_handshake: u64,
    heap_bytes_per_handshake: u64,
    sent_bytes_per_handshake: u64,
    /// The 10th and 90th percentile of `handshakes_per_s`.
    handshakes_per_s_spread: (f64, f64),
}

impl Job for Handshakes<'_> {
    type Row = Row;

    const NOTES: &'static str = "\
handshakes/s: counting the time of this side only, from creating the connection to dropping it, tickets
included: median over the rounds and its 10th to 90th percentile. heap bytes: all bytes requested.
limit: the provider's primitives of this handshake alone, in a row. Allocations in C code are not counted.
Figures compare within this run only.";

    const UNIT: &'static str = "handshakes/s";

    fn args(&self) -> &RunArgs {
        &self.args.run
    }

    fn title(&self) -> String {
        self.what().to_owned()
    }

    fn check(&self) -> Result<()> {
        if self.scenarios()?.is_empty() {
            return Err("no provider supports this combination".into());
        }
        Ok(())
    }

    fn measure(&self, allocator: Kind) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for scenario in self.scenarios()? {
            for &api in &self.args.api {
                for &threads in &self.args.threads.0 {
                    let contest = Contest {
                        job: self,
                        allocator,
                        scenario: &scenario,
                        api,
                        threads,
                    };
                    rows.extend(contest.measure()?);
                }
            }
        }
        Ok(rows)
    }
}

impl Handshakes<'_> {
    fn bench(&self) -> &'static str {
        match self.sessions {
            Sessions::Stored => "handshake-resume",
            Sessions::Tickets | Sessions::RotatedTickets => "handshake-ticket",
            Sessions::Default | Sessions::Nothing | Sessions::Unused => "handshake",
        }
    }

    fn what(&self) -> &'static str {
        match self.sessions {
            Sessions::Stored => "handshakes that resume stored sessions",
            Sessions::Tickets | Sessions::RotatedTickets => {
                "handshakes that resume sessions from tickets"
            }
            Sessions::Default | Sessions::Nothing | Sessions::Unused => "full handshakes",
        }
    }

    /// All requested combinations that exist.
    fn scenarios(&self) -> Result<Vec<Scenario>> {
        let args = self.args;
        let mut scenarios = Vec::new();
        for provider in args.run.provider.providers() {
            for &version in &args.versions {
                for &key_type in &args.key_type {
                    let suite = Suite::with(version, args.cipher, key_type)?;
                    let groups = args.group.iter();
                    for &group in groups.filter(|group| group.usable_with(provider, version)) {
                        scenarios.extend(
                            args.client_auth.iter().map(|auth| Scenario {
                                provider,
                                suite: suite.clone(),
                                key_type,
                                group: Some(group),
                                client: (*auth == ClientAuth::Yes)
                                    .then(|| Arc::new(Identity::of(key_type))),
                                verifies_client: true,
                                shares_chains: true,
                                sessions: self.sessions,
                                tickets: args.tickets,
                                kept: SESSIONS,
                                max_fragment_size: None,
                            }),
                        );
                    }
                }
            }
        }
        Ok(scenarios)
    }
}

/// The contenders, in the order in which they are built.
const CONTENDERS: [&str; 3] = ["this", "upstream", "limit"];
const UPSTREAM: usize = 1;
const LIMIT: usize = 2;

/// One kind of handshake over one API. The contenders are measured in turns.
struct Contest<'a> {
    job: &'a Handshakes<'a>,
    allocator: Kind,
    scenario: &'a Scenario,
    api: HandshakeApi,
    threads: usize,
}

impl Contest<'_> {
    fn measure(&self) -> Result<Vec<Row>> {
        let flights =
            upstream::connection::handshake::contender(self.api, self.scenario)?.flights()?;
        let build = || -> Result<Vec<Box<dyn Contender>>> {
            Ok(vec![
                this::connection::handshake::contender(self.api, self.scenario)?,
                upstream::connection::handshake::contender(self.api, self.scenario)?,
                limit::contender(self.scenario, &flights)?,
            ])
        };
        let costs = count(&mut build()?)?;
        let rates = measure::interleaved(
            &Plan::new(
                self.job.args.time.multiplier,
                CONTENDERS.len(),
                self.threads,
            ),
            &Work {
                build: &build,
                batch_len: 1,
                label: format!(
                    "{} · {} · {}",
                    self.allocator.name(),
                    self.scenario.provider.name(),
                    self.scenario.suite.name
                ),
            },
        )?;
        let mut rows = Vec::new();
        for (index, name) in CONTENDERS.iter().enumerate() {
            for role in Role::BOTH {
                let row = self.row(name, index, role, &rates, &costs[index]);
                rows.push(row.ok_or("nothing was measured")?);
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        implementation: &str,
        index: usize,
        role: Role,
        rates: &Rates<2>,
        costs: &[Cost; 2],
    ) -> Option<Row> {
        let of = |index: usize| &rates[index][role as usize];
        let cost = costs[role as usize];
        let rate = Summary::of(of(index).clone())?;
        let scenario = self.scenario;
        Some(Row {
            subject: Subject::new(
                self.job.bench(),
                implementation,
                scenario,
                self.api.name(),
                self.allocator,
            ),
            version: scenario.suite.version.name().to_owned(),
            group: scenario.group.map_or("", |group| group.name()).to_owned(),
            key_type: scenario.key_type.name().to_owned(),
            client_auth: scenario.client.is_some(),
            role,
            threads: self.threads,
            handshakes_per_s: rounded(rate.median, 1),
            ratio_to_upstream: rounded(ratio(of(index), of(UPSTREAM))?, 4),
            share_of_limit: rounded(ratio(of(index), of(LIMIT))?, 4),
            allocations_per_handshake: cost.allocations,
            heap_bytes_per_handshake: cost.heap_bytes,
            sent_bytes_per_handshake: cost.sent_bytes,
            handshakes_per_s_spread: spread(&rate, 1.0),
        })
    }
}

/// Counts in a separate pass, so that counting does not disturb the timing.
fn count(contenders: &mut [Box<dyn Contender>]) -> Result<Vec<[Cost; 2]>> {
    let counts = contenders.iter_mut().map(|contender| {
        // fills buffers and caches first
        for _ in 0..4 {
            contender.time()?;
        }
        contender.count()
    });
    counts.collect()
}

impl Row {
    fn settings(&self) -> String {
        let auth = if self.client_auth {
            " · client certificate"
        } else {
            ""
        };
        format!(
            "{} · {} · {}{auth}",
            self.subject.suite, self.group, self.key_type
        )
    }
}

impl report::Row for Row {
    const TABLE_ONLY: &'static [&'static str] = &["handshakes_per_s_spread"];

    fn heading(&self) -> String {
        format!(
            "{} · {} · {}",
            self.subject.bench,
            self.settings(),
            self.subject.provider
        )
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = self.subject.cells();
        cells.push(Cell::text("side", self.role.name()));
        cells.push(Cell::number("threads", self.threads.to_string()));
        cells.extend(Cell::rate(
            "handshakes/s",
            self.handshakes_per_s,
            self.handshakes_per_s_spread,
        ));
        cells.extend([
            Cell::ratio("to upstream", self.ratio_to_upstream),
            Cell::share("of limit", self.share_of_limit),
            Cell::number("allocations", self.allocations_per_handshake.to_string()),
            Cell::number("heap bytes", self.heap_bytes_per_handshake.to_string()),
            Cell::number("bytes sent", self.sent_bytes_per_handshake.to_string()),
        ]);
        cells
    }

    fn point(&self) -> Option<Point> {
        let what = format!(" {}", self.role.name());
        let point = self
            .subject
            .point(&what, self.threads, self.handshakes_per_s);
        Some(Point {
            group: format!("{} · {}", self.settings(), point.group),
            ..point
        })
    }
}

#[cfg(test)]
mod tests;
