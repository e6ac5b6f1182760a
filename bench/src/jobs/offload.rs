//! `offload`: the latency of established connections while the same thread makes handshakes whose
//! signatures take time.
//!
//! One thread serves all connections of an implementation. Its clients are on other threads:
//!
//! ```text
//!   echo clients ──── a message every 500 µs, on one connection after the other ──► server
//!        latency ◄─── echo ───────────────────────────────────────────────────────  thread
//!   new clients  ──── ClientHello, Finished ──────────────────────────────────────►   │  ▲
//!                                                                      signature      ▼  │ woken
//!                                                                                     pool
//! ```
//!
//! The network is a channel of messages, so that the server's thread needs no event loop of an
//! operating system. The pauses between handshakes vary, as those of independent clients do.
//!
//! On Linux, the server's thread has its own processor, and new clients and the pool have a low
//! priority. Otherwise the latency shows where the operating system puts the threads: a message to
//! a thread on another processor may take five times as long.

use core::time::Duration;
use std::sync::Arc;

use clap::Args;
use itertools::{iproduct, izip};

use super::job::{Both, Entry, Job, Run, both};
use crate::choices::{Choice, KeyType, Version};
use crate::machine;
use crate::measure::progress;
use crate::row::Row;
use crate::statistics::{median, quantiles, ratio};
use crate::workload::identities::Authority;
use crate::workload::offload::{Pool, Service};
use crate::workload::{Result, Scenario, Sessions};

pub(super) const ENTRY: Entry = Entry::of::<Offload>(
    "offload",
    "echo_p99_us",
    "echo_p50_us handshakes_per_s",
    "ratio_to_no_handshakes",
);

/// The latency of connections whose thread makes handshakes with slow signatures
#[derive(Args)]
pub(crate) struct Offload {}

/// The rounds of a long measurement, and the seconds of each load in a round.
const ROUNDS: f64 = 5.0;
const SECONDS: f64 = 1.0;
const FEWEST_SECONDS: f64 = 0.01;

type Build = fn(&Scenario, usize, Duration, &Pool) -> Result<Service>;

const BUILDS: Both<Build> = both!(offload::service);

const SOME: &str = "50 a second";
const MANY: &str = "as many as possible";
const ON_THREAD: &str = "on the thread";
const OFFLOADED: &str = "offloaded";

/// The loads of a round: the place of the implementation in [`BUILDS`], the names of the work and
/// the way, and the handshakes per second. The first load of each implementation has no handshakes.
const LOADS: [(usize, &str, &str, f64); 8] = [
    (0, "none", "", 0.0),
    (0, SOME, ON_THREAD, 50.0),
    (0, SOME, OFFLOADED, 50.0),
    (0, MANY, ON_THREAD, f64::INFINITY),
    (0, MANY, OFFLOADED, f64::INFINITY),
    (1, "none", "", 0.0),
    (1, SOME, ON_THREAD, 50.0),
    (1, MANY, ON_THREAD, f64::INFINITY),
];

/// The number of established connections that send messages.
fn connections(run: &Run) -> usize {
    (200.0 * run.common.multiplier).clamp(3.0, 200.0) as usize
}

impl Job for Offload {
    fn measure(&self, run: &Run) -> Result<()> {
        let rsa_4096 = Arc::new(Authority::rsa_4096()?);
        for (&provider, is_rsa) in iproduct!(&run.common.providers, [false, true]) {
            let mut scenario = Scenario::of(provider, Version::Tls13, KeyType::EcdsaP256)?;
            scenario.sessions = Sessions::Nothing;
            let (topic, delay, threads) = if is_rsa {
                scenario.server = rsa_4096.clone();
                let threads = Ord::max(machine::processors() - 1, 1);
                ("RSA-4096", Duration::ZERO, threads)
            } else {
                // the threads of the pool only wait
                ("signer of 5 ms", Duration::from_millis(5), 16)
            };
            let pool = Pool::new(threads);
            let built = BUILDS.map(|(_, build)| build(&scenario, connections(run), delay, &pool));
            let services = built.into_iter().collect::<Result<_>>()?;
            run.print(rows(run, &scenario, topic, services)?)?;
        }
        Ok(())
    }
}

fn rows(run: &Run, scenario: &Scenario, topic: &str, mut all: Vec<Service>) -> Result<Vec<Row>> {
    let total = ROUNDS * SECONDS * run.common.multiplier;
    let rounds = total.clamp(1.0, 100.0).round() as usize;
    let duration = Duration::from_secs_f64(total.clamp(FEWEST_SECONDS, SECONDS));
    let mut serve = |at: usize, duration| {
        let (service, _, way, per_second) = LOADS[at];
        all[service](per_second, way == OFFLOADED, duration)
    };
    let label = format!("{} · {topic}", scenario.provider.name());
    let progress = progress(&label, rounds * LOADS.len());
    // fills caches
    for at in 0..LOADS.len() {
        serve(at, duration / 10)?;
    }
    // the figures of each load in each round
    let [mut p50, mut p99, mut rates] = [const { [const { Vec::new() }; LOADS.len()] }; 3];
    for (_, at) in iproduct!(0..rounds, 0..LOADS.len()) {
        let (latencies, rate) = serve(at, duration)?;
        let quantiles = quantiles(&latencies, [0.5, 0.99]).ok_or("no echo")?;
        p50[at].push(quantiles[0]);
        p99[at].push(quantiles[1]);
        rates[at].push(rate);
        progress.inc(1);
    }
    let rows =
        izip!(LOADS, &p50, &p99, &rates).map(|((service, work, way, _), p50, own, rates)| {
            let alone = LOADS.iter().position(|load| load.0 == service);
            let alone = &p99[alone.unwrap_or_default()];
            let median = |samples: &[f64]| median(samples).ok_or("no round");
            run.row_of(BUILDS[service].0, scenario, "buffered")
                .with("topic", topic)
                .with("work", work)
                .with("way", way)
                .with("connections", connections(run))
                .rounded("echo_p50_us", median(p50)? * 1e6, 1)
                .rounded("handshakes_per_s", median(rates)?, 1)
                .median("echo_p99_us", own, 1e-6)?
                .ratio("ratio_to_no_handshakes", ratio(own, alone))
        });
    rows.collect()
}
