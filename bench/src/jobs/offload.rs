//! `offload`: the latency of established connections while the same thread makes handshakes whose
//! signatures take time.
//!
//! One thread serves all connections of an implementation. Its clients are on two other threads:
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
//! On Linux, the server's thread has a processor of its own, and new clients and the pool have a
//! low priority. Otherwise the latency shows where the operating system puts the threads: a message
//! to a thread on another processor may take five times as long.

use core::time::Duration;
use std::sync::Arc;

use clap::Args;
use itertools::iproduct;

use super::job::{Both, Entry, Job, Run, both};
use crate::arguments::in_range;
use crate::choices::{Choice, KeyType, Version};
use crate::machine;
use crate::measure::progress;
use crate::row::Row;
use crate::statistics::{median, quantiles, ratio};
use crate::workload::identities::Authority;
use crate::workload::offload::{Handshakes, Load, Pool, Service, Setup};
use crate::workload::{Result, Scenario, Sessions};

pub(super) const ENTRY: Entry = Entry::of::<Offload>(
    "offload",
    "echo_p99_us",
    "echo_p50_us handshakes_per_s",
    "ratio_to_no_handshakes",
);

/// The latency of connections whose thread makes handshakes with slow signatures
#[derive(Args)]
pub(crate) struct Offload {
    /// The number of established connections that send messages
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = in_range(1..=10_000))]
    connections: usize,

    /// The handshakes that clients begin in a second
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = in_range(1..=10_000))]
    handshakes: usize,

    /// The milliseconds of a signature by the slow signer
    #[arg(long, default_value_t = 5, value_name = "MS", value_parser = in_range(1..=1000))]
    signature_ms: usize,
}

/// The threads of a pool whose jobs only wait.
const SLEEPING_THREADS: usize = 16;

/// The rounds of a long measurement, and the seconds of each load in a round.
const ROUNDS: f64 = 5.0;
const SECONDS: f64 = 1.0;
const FEWEST_SECONDS: f64 = 0.05;

const BUILDS: Both<fn(&Scenario, &Setup) -> Result<Service>> = both!(offload::service);

/// The loads of a round, each with the place of its implementation in [`BUILDS`]. Each
/// implementation is first without handshakes.
const LOADS: [(usize, Load); 8] = {
    const fn load(handshakes: Handshakes, is_offloaded: bool) -> Load {
        Load {
            handshakes,
            is_offloaded,
        }
    }
    [
        (0, load(Handshakes::None, false)),
        (0, load(Handshakes::PerSecond, false)),
        (0, load(Handshakes::PerSecond, true)),
        (0, load(Handshakes::AtOnce, false)),
        (0, load(Handshakes::AtOnce, true)),
        (1, load(Handshakes::None, false)),
        (1, load(Handshakes::PerSecond, false)),
        (1, load(Handshakes::AtOnce, false)),
    ]
};

impl Job for Offload {
    fn measure(&self, run: &Run) -> Result<()> {
        for (&provider, is_rsa) in iproduct!(&run.common.providers, [false, true]) {
            let mut scenario = Scenario::of(provider, Version::Tls13, KeyType::EcdsaP256)?;
            scenario.sessions = Sessions::Nothing;
            let (topic, delay, threads) = if is_rsa {
                scenario.server = Arc::new(Authority::new(0).rsa_4096()?);
                let threads = Ord::max(machine::processors() - 1, 1);
                ("RSA-4096".to_owned(), Duration::ZERO, threads)
            } else {
                let topic = format!("signer of {} ms", self.signature_ms);
                let delay = Duration::from_millis(self.signature_ms as u64);
                (topic, delay, SLEEPING_THREADS)
            };
            let setup = Setup {
                connections: self.connections,
                per_second: self.handshakes,
                delay,
                pool: Pool::new(threads),
            };
            run.print(compare(run, &scenario, &topic, &setup)?)?;
        }
        Ok(())
    }
}

fn compare(run: &Run, scenario: &Scenario, topic: &str, setup: &Setup) -> Result<Vec<Row>> {
    let built = BUILDS.iter().map(|(_, build)| build(scenario, setup));
    let mut services: Vec<_> = built.collect::<Result<_>>()?;
    let total = ROUNDS * SECONDS * run.common.multiplier;
    let rounds = total.clamp(1.0, 100.0).round() as usize;
    let duration = Duration::from_secs_f64(total.clamp(FEWEST_SECONDS, SECONDS));
    let label = format!("{} · {topic}", scenario.provider.name());
    let progress = progress(&label, rounds * LOADS.len());
    // fills caches
    for (service, load) in LOADS {
        services[service](load, duration / 10)?;
    }
    // the figures of each load in each round
    let [mut p50, mut p99, mut rates] = [const { [const { Vec::new() }; LOADS.len()] }; 3];
    for _ in 0..rounds {
        for (at, (service, load)) in LOADS.into_iter().enumerate() {
            let outcome = services[service](load, duration)?;
            let quantiles = quantiles(&outcome.latencies, [0.5, 0.99]).ok_or("no echo")?;
            p50[at].push(quantiles[0]);
            p99[at].push(quantiles[1]);
            rates[at].push(outcome.handshakes_per_s);
            progress.inc(1);
        }
    }
    let rows = LOADS.iter().enumerate().map(|(at, (service, load))| {
        let alone = LOADS.iter().position(|(of, _)| of == service);
        let way = match load.handshakes {
            Handshakes::None => "",
            _ if load.is_offloaded => "offloaded",
            _ => "on the thread",
        };
        let work = match load.handshakes {
            Handshakes::None => "none".to_owned(),
            Handshakes::PerSecond => format!("{} a second", setup.per_second),
            Handshakes::AtOnce => "as many as possible".to_owned(),
        };
        let median = |samples: &[f64]| median(samples).ok_or("no round");
        run.row_of(BUILDS[*service].0, scenario, "buffered")
            .with("topic", topic)
            .with("work", work)
            .with("way", way)
            .with("connections", setup.connections)
            .rounded("echo_p50_us", median(&p50[at])? * 1e6, 1)
            .rounded("handshakes_per_s", median(&rates[at])?, 1)
            .median("echo_p99_us", &p99[at], 1e-6)?
            .ratio(
                "ratio_to_no_handshakes",
                ratio(&p99[at], &p99[alone.unwrap_or_default()]),
            )
    });
    rows.collect()
}
