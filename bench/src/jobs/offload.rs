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
use itertools::{Itertools, iproduct};

use super::job::{Both, Entry, Job, Run, Steps, both};
use crate::arguments::in_range;
use crate::choices::{Choice, KeyType, Version};
use crate::row::Row;
use crate::statistics::{median, quantiles, ratio};
use crate::workload::identities::Authority;
use crate::workload::offload::{Handshakes, Load, Outcome, Pool, Service, Setup};
use crate::workload::{Result, Scenario, Sessions};
use crate::{machine, measure};

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

    /// The threads that make signatures; default: 16 for the slow signer, which sleeps, and all
    /// processors but one for RSA
    #[arg(long, value_name = "N", value_parser = in_range(1..=256))]
    pool_threads: Option<usize>,
}

/// The threads of a pool whose jobs only wait.
const SLEEPING_THREADS: usize = 16;

/// The rounds of a long measurement, and the seconds of each load in a round.
const ROUNDS: f64 = 5.0;
const SECONDS: f64 = 1.0;
const FEWEST_SECONDS: f64 = 0.05;

const BUILDS: Both<fn(&Scenario, &Setup) -> Result<Service>> = both!(offload::service);

impl Job for Offload {
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Steps<'a>> {
        let all = iproduct!(run.common.providers(), [false, true]);
        Ok(Box::new(all.map(|(provider, is_rsa)| {
            let mut scenario = Scenario::of(provider, Version::Tls13, KeyType::EcdsaP256)?;
            scenario.sessions = Sessions::Nothing;
            let (topic, delay, threads) = if is_rsa {
                scenario.server = Some(Arc::new(Authority::new(0).rsa_4096()?));
                let threads = Ord::max(machine::processors() - 1, 1);
                ("RSA-4096".to_owned(), Duration::ZERO, threads)
            } else {
                let topic = format!("signer of {} ms", self.signature_ms);
                let delay = Duration::from_millis(self.signature_ms as u64);
                (topic, delay, SLEEPING_THREADS)
            };
            let setup = Setup {
                connections: self.connections,
                delay,
                pool: Pool::new(self.pool_threads.unwrap_or(threads)),
            };
            self.measure(run, &scenario, &topic, &setup)
        })))
    }
}

impl Offload {
    fn measure(
        &self,
        run: &Run,
        scenario: &Scenario,
        topic: &str,
        setup: &Setup,
    ) -> Result<Vec<Row>> {
        let built = BUILDS.iter().map(|(_, build)| build(scenario, setup));
        let mut services: Vec<_> = built.collect::<Result<_>>()?;
        let loads = self.loads();
        let total = ROUNDS * SECONDS * run.common.multiplier;
        let rounds = total.clamp(1.0, 100.0).round() as usize;
        let duration = Duration::from_secs_f64(total.clamp(FEWEST_SECONDS, SECONDS));
        let label = format!("{} · {topic}", scenario.provider.name());
        let progress = measure::progress(&label, rounds * loads.len());
        let mut outcomes: Vec<Vec<Outcome>> = loads.iter().map(|_| Vec::new()).collect();
        for round in 0..=rounds {
            for ((service, _, _, load), outcomes) in loads.iter().zip(&mut outcomes) {
                // the first round fills caches
                if round == 0 {
                    services[*service](*load, duration / 10)?;
                } else {
                    outcomes.push(services[*service](*load, duration)?);
                    progress.inc(1);
                }
            }
        }

        // the latencies of a load in each round
        let quantile = |at: usize, which: f64| -> Result<Vec<f64>> {
            let of_round = |outcome: &Outcome| {
                let quantile = quantiles(&outcome.latencies, [which]);
                Ok(quantile.ok_or("no echo")?[0])
            };
            outcomes[at].iter().map(of_round).collect()
        };
        let rows = loads
            .iter()
            .enumerate()
            .map(|(at, (service, work, way, _))| {
                let alone = loads.iter().position(|(of, ..)| of == service);
                let [p50, p99, p99_alone] = [
                    quantile(at, 0.5)?,
                    quantile(at, 0.99)?,
                    quantile(alone.unwrap_or_default(), 0.99)?,
                ];
                let rates = outcomes[at].iter().map(|outcome| outcome.handshakes_per_s);
                run.row_of(BUILDS[*service].0, scenario, "buffered")
                    .with("topic", topic)
                    .with("work", &work[..])
                    .with("way", *way)
                    .with("connections", self.connections)
                    .median("echo_p99_us", &p99, 1e-6)?
                    .rounded("echo_p50_us", median(&p50).ok_or("no round")? * 1e6, 1)
                    .rounded(
                        "handshakes_per_s",
                        median(&rates.collect_vec()).ok_or("no round")?,
                        1,
                    )
                    .ratio("ratio_to_no_handshakes", ratio(&p99, &p99_alone))
            });
        rows.collect()
    }

    /// The loads of a round: the implementation, the names of the work and the way, the load. Each
    /// implementation is first without handshakes.
    fn loads(&self) -> Vec<(usize, String, &'static str, Load)> {
        let rate = self.handshakes;
        let none = ("none".to_owned(), Handshakes::None);
        let some = (format!("{rate} a second"), Handshakes::PerSecond(rate));
        let many = ("as many as possible".to_owned(), Handshakes::AtOnce);
        let mut loads = Vec::new();
        for (service, (name, _)) in BUILDS.iter().enumerate() {
            for (work, handshakes) in [&none, &some, &many] {
                let ways: &[_] = match handshakes {
                    Handshakes::None => &[("", false)],
                    _ if *name == "this" => &[("on the thread", false), ("offloaded", true)],
                    _ => &[("on the thread", false)],
                };
                loads.extend(ways.iter().map(|&(way, is_offloaded)| {
                    let handshakes = *handshakes;
                    (
                        service,
                        work.clone(),
                        way,
                        Load {
                            handshakes,
                            is_offloaded,
                        },
                    )
                }));
            }
        }
        loads
    }
}
