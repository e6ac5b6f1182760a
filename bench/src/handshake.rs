//! `handshake`, `handshake-resume`, `handshake-ticket`: handshakes per second of each side and
//! their costs, in all requested combinations.

pub(crate) mod limit;

use std::sync::Arc;
use std::time::Instant;

use bench_allocator::so_far;

use crate::choices::{Allocator, Choice, ClientAuth, Role, chosen};
use crate::cli::{self, Common};
use crate::measure::{self, Plan, Timed, Work};
use crate::report::Job;
use crate::row::Row;
use crate::statistics::ratio;
use crate::suites::Suite;
use crate::workload::{Identity, Result, Scenario, Sessions};
use crate::{this, upstream};

/// Repeatable handshakes of one implementation, or only their cryptography.
pub(crate) trait Handshakes {
    /// Makes one; returns the costs of client and server. `sent` receives the flights of the sides
    /// in turns, the client's first.
    fn make(&mut self, sent: &mut dyn FnMut(&[u8])) -> Result<[Spent; 2]>;

    /// Makes one, after which the server keeps the connection open.
    fn keep_open(&mut self) -> Result<()>;
}

/// The costs of one side of a handshake.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) seconds: f64,
    /// Heap activity, within the work of [`bench_allocator::count`] only.
    pub(crate) allocations: u64,
    /// All requested bytes, however short-lived.
    pub(crate) heap_bytes: u64,
}

impl Spent {
    /// Does `work`, and adds its costs.
    pub(crate) fn by<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (start, before) = (Instant::now(), so_far());
        let result = work();
        let after = so_far();
        self.seconds += start.elapsed().as_secs_f64();
        self.allocations += after.allocations - before.allocations;
        self.heap_bytes += after.taken - before.taken;
        result
    }
}

impl Timed<2> for Box<dyn Handshakes> {
    fn batch(&mut self) -> Result<[f64; 2]> {
        Ok(self.make(&mut |_| ())?.map(|spent| spent.seconds))
    }
}

/// Makes one handshake with `handshakes`; returns its flights.
pub(crate) fn flights(handshakes: &mut dyn Handshakes) -> Result<Vec<Vec<u8>>> {
    let mut flights = Vec::new();
    handshakes.make(&mut |flight| flights.push(flight.to_vec()))?;
    Ok(flights)
}

/// One of the three sub-commands, which differ in their sessions.
pub(crate) struct Handshaking<'a> {
    pub(crate) sessions: Sessions,
    pub(crate) args: &'a cli::Handshake,
}

impl Job for Handshaking<'_> {
    fn common(&self) -> &Common {
        &self.args.common
    }

    fn threads(&self) -> &[usize] {
        &self.args.threads.0
    }

    fn check(&self) -> Result<()> {
        if self.scenarios()?.is_empty() {
            return Err("no provider supports this combination".into());
        }
        Ok(())
    }

    fn measure(&self, allocator: Allocator) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for scenario in self.scenarios()? {
            for &threads in &self.args.threads.0 {
                rows.extend(self.compare(allocator, &scenario, threads)?);
            }
        }
        Ok(rows)
    }
}

/// The contenders, in the order in which they are built.
const NAMES: [&str; 3] = ["this", "upstream", "limit"];

impl Handshaking<'_> {
    fn bench(&self) -> &'static str {
        match self.sessions {
            Sessions::Stored => "handshake-resume",
            Sessions::Tickets => "handshake-ticket",
            _ => "handshake",
        }
    }

    /// All requested combinations that exist.
    fn scenarios(&self) -> Result<Vec<Scenario>> {
        let args = self.args;
        let mut scenarios = Vec::new();
        for provider in args.common.providers() {
            for version in chosen(&args.versions) {
                for key_type in chosen(&args.key_type) {
                    let suite = Suite::with(version, args.cipher, key_type)?;
                    let mut groups = chosen(&args.group);
                    groups.retain(|group| group.usable_with(provider, version));
                    for group in groups {
                        for auth in chosen(&args.client_auth) {
                            let client = (auth == ClientAuth::Yes).then(|| Identity::of(key_type));
                            scenarios.push(Scenario {
                                group: Some(group),
                                client: client.map(Arc::new),
                                sessions: self.sessions,
                                tickets: args.tickets,
                                ..Scenario::new(provider, suite.clone(), key_type)
                            });
                        }
                    }
                }
            }
        }
        Ok(scenarios)
    }

    /// Measures one kind of handshake.
    fn compare(
        &self,
        allocator: Allocator,
        scenario: &Scenario,
        threads: usize,
    ) -> Result<Vec<Row>> {
        let flights = flights(&mut *upstream::connection::handshake::handshakes(scenario)?)?;
        let build = || -> Result<Vec<Box<dyn Handshakes>>> {
            Ok(vec![
                this::connection::handshake::handshakes(scenario)?,
                upstream::connection::handshake::handshakes(scenario)?,
                limit::handshakes(scenario, &flights)?,
            ])
        };
        let costs = count(&mut build()?)?;
        let work = Work {
            build: &build,
            batch_len: 1,
            label: format!(
                "{} · {} · {}",
                allocator.name(),
                scenario.provider.name(),
                scenario.suite.name
            ),
        };
        let plan = Plan::new(self.args.common.multiplier, NAMES.len(), threads);
        let rates = measure::interleaved(&plan, &work)?;
        let mut rows = Vec::new();
        for (index, name) in NAMES.iter().enumerate() {
            for &role in Role::ALL {
                let rate = |index: usize| &rates[index][role as usize][..];
                let (spent, sent) = costs[index][role as usize];
                let row = Row::new(self.bench(), name, scenario.provider, allocator)
                    .with("suite", &scenario.suite.name[..])
                    .with("api", "buffered")
                    .with("version", format!("TLS {}", scenario.suite.version.name()))
                    .with("group", scenario.group.map_or("", Choice::name))
                    .with("key_type", scenario.key_type.name())
                    .with("client_auth", scenario.client.is_some())
                    .with("role", role.name())
                    .with("threads", threads)
                    .with("allocations_per_handshake", spent.allocations)
                    .with("heap_bytes_per_handshake", spent.heap_bytes)
                    .with("sent_bytes_per_handshake", sent)
                    .median("handshakes_per_s", rate(index), 1.0)?
                    .ratio("ratio_to_upstream", ratio(rate(index), rate(1)))?
                    .ratio("share_of_limit", ratio(rate(index), rate(2)))?;
                rows.push(row);
            }
        }
        Ok(rows)
    }
}

/// Counts the heap activity of both sides and the bytes that they send, in a separate pass, so that
/// counting does not disturb the timing.
fn count(all: &mut [Box<dyn Handshakes>]) -> Result<Vec<[(Spent, usize); 2]>> {
    let counts = all.iter_mut().map(|handshakes| {
        // fills buffers and caches first
        for _ in 0..4 {
            handshakes.make(&mut |_| ())?;
        }
        let (mut sent, mut turn) = ([0, 0], 0);
        let (spent, _) = bench_allocator::count(|| {
            handshakes.make(&mut |flight| {
                sent[turn % 2] += flight.len();
                turn += 1;
            })
        });
        let [client, server] = spent?;
        Ok([(client, sent[0]), (server, sent[1])])
    });
    counts.collect()
}
