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
use harness::peers::configs::SERVER_NAME;
use itertools::{Itertools, iproduct};
use pki_types::PrivateKeyDer;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, PKCS_RSA_SHA256,
    RsaKeySize,
};

use super::job::{Entry, Job, Run, Step};
use crate::arguments::in_range;
use crate::choices::{KeyType, Version};
use crate::row::Row;
use crate::statistics::{median, quantiles, ratio};
use crate::tables::View;
use crate::workload::offload::{Handshakes, Load, Outcome, Pool, Service, Setup};
use crate::workload::{Identity, Result, Scenario, Sessions};
use crate::{machine, measure, this, upstream};

pub(super) const ENTRY: Entry = Entry {
    name: "offload",
    help: "The latency of connections whose thread makes handshakes with slow signatures",
    view: View {
        main: "echo_p99_us",
        side_by_side: "echo_p50_us handshakes_per_s",
        once: "ratio_to_no_handshakes",
        ..View::GENERAL
    },
    ..Entry::of::<Offload>()
};

/// The arguments of `offload`.
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

/// The handshakes under way at the same time when as many as possible are made.
const AT_ONCE: usize = 32;

/// The threads of a pool whose jobs only wait.
const SLEEPING_THREADS: usize = 16;

/// The rounds of a long measurement, and the seconds of each load in a round.
const ROUNDS: f64 = 5.0;
const SECONDS: f64 = 1.0;
const FEWEST_SECONDS: f64 = 0.05;

type Build = fn(&Scenario, &Setup) -> Result<Box<dyn Service>>;

const BUILDS: [(&str, Build); 2] = [
    ("this", this::connection::offload::service),
    ("upstream", upstream::connection::offload::service),
];

impl Job for Offload {
    fn steps<'a>(&'a self, run: &'a Run) -> Result<Vec<Step<'a>>> {
        let keys = [false, true];
        let steps = iproduct!(run.common.providers(), keys).map(|(provider, is_rsa)| -> Step<'a> {
            Box::new(move || {
                let scenario = Scenario::of(provider, Version::Tls13, KeyType::EcdsaP256)?;
                let scenario = scenario.with(|new| new.sessions = Sessions::Nothing);
                if is_rsa {
                    let identity = Arc::new(rsa_4096()?);
                    let scenario = scenario.with(|new| new.server = Some(identity));
                    let threads = Ord::max(machine::processors() - 1, 1);
                    return self.measure(run, &scenario, "RSA-4096", Duration::ZERO, threads);
                }
                let signature = Duration::from_millis(self.signature_ms as u64);
                let topic = format!("signer of {} ms", self.signature_ms);
                self.measure(run, &scenario, &topic, signature, SLEEPING_THREADS)
            })
        });
        Ok(steps.collect())
    }
}

impl Offload {
    fn measure(
        &self,
        run: &Run,
        scenario: &Scenario,
        topic: &str,
        delay: Duration,
        threads: usize,
    ) -> Result<Vec<Row>> {
        let setup = Setup {
            connections: self.connections,
            delay,
            pool: Pool::new(self.pool_threads.unwrap_or(threads)),
        };
        let built = BUILDS.iter().map(|(_, build)| build(scenario, &setup));
        let mut services: Vec<_> = built.collect::<Result<_>>()?;
        let loads = self.loads();
        let total = ROUNDS * SECONDS * run.common.multiplier;
        let rounds = total.clamp(1.0, 100.0).round() as usize;
        let duration = Duration::from_secs_f64(total.clamp(FEWEST_SECONDS, SECONDS));
        let label = format!("{} · {topic}", scenario.provider.name());
        let progress = measure::progress(&label, rounds * loads.len());
        let mut outcomes: Vec<Vec<Outcome>> = loads.iter().map(|_| Vec::new()).collect();
        for round in 0..=rounds {
            for (&(service, _, _, load), outcomes) in loads.iter().zip(&mut outcomes) {
                let duration = if round == 0 { duration / 10 } else { duration };
                let outcome = services[service].run(Load { duration, ..load })?;
                // the first round fills caches
                if round > 0 {
                    outcomes.push(outcome);
                    progress.inc(1);
                }
            }
        }

        let quantile = |which: f64| -> Result<Vec<Vec<f64>>> {
            let of_round = |outcome: &Outcome| {
                let [latency] = quantiles(&outcome.latencies, [which]).ok_or("no echo")?;
                Ok(latency)
            };
            let of_load = |outcomes: &Vec<Outcome>| outcomes.iter().map(of_round).collect();
            outcomes.iter().map(of_load).collect()
        };
        let [p50, p99] = [quantile(0.5)?, quantile(0.99)?];
        let rows = loads
            .iter()
            .enumerate()
            .map(|(at, (service, work, way, _))| {
                let alone = loads.iter().position(|(of, ..)| of == service);
                let rates = outcomes[at].iter().map(|outcome| outcome.handshakes_per_s);
                let rate = median(&rates.collect_vec()).ok_or("no round")?;
                let row = run
                    .row_of(BUILDS[*service].0, scenario, "buffered")
                    .with("topic", topic)
                    .with("work", &work[..])
                    .with("way", *way)
                    .with("connections", self.connections)
                    .median("echo_p99_us", &p99[at], 1e-6)?
                    .rounded("echo_p50_us", median(&p50[at]).ok_or("no round")? * 1e6, 1)
                    .rounded("handshakes_per_s", rate, 1);
                row.ratio(
                    "ratio_to_no_handshakes",
                    ratio(&p99[at], &p99[alone.unwrap_or_default()]),
                )
            });
        rows.collect()
    }

    /// The loads of a round: the implementation, the names of the work and the way, the load. Each
    /// implementation is first without handshakes.
    fn loads(&self) -> Vec<(usize, String, &'static str, Load)> {
        let rate = self.handshakes;
        let of_all = [
            ("none".to_owned(), Handshakes::None),
            (format!("{rate} a second"), Handshakes::PerSecond(rate)),
            (
                "as many as possible".to_owned(),
                Handshakes::AtOnce(AT_ONCE),
            ),
        ];
        let all = iproduct!(0..BUILDS.len(), of_all, [false, true]);
        let possible = all.filter(|(service, (_, handshakes), is_offloaded)| {
            !is_offloaded || (BUILDS[*service].0 == "this" && *handshakes != Handshakes::None)
        });
        let loads = possible.map(|(service, (work, handshakes), is_offloaded)| {
            let way = match handshakes {
                Handshakes::None => "",
                _ if is_offloaded => "offloaded",
                _ => "on the thread",
            };
            let load = Load {
                duration: Duration::ZERO,
                handshakes,
                is_offloaded,
            };
            (service, work, way, load)
        });
        loads.collect()
    }
}

/// A server with an RSA key of 4096 bits, certified by an authority with a fast key.
fn rsa_4096() -> Result<Identity> {
    let mut ca = CertificateParams::new(Vec::new())?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
    let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_4096)?;
    let name = SERVER_NAME.to_owned();
    let certificate = CertificateParams::new(vec![name])?.signed_by(&key, &ca)?;
    Ok(Identity {
        chain: vec![certificate.der().clone()],
        key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        ca: ca.der().clone(),
    })
}
