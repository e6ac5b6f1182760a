//! `handshake`, `handshake-resume`, `handshake-ticket`: handshakes per second of each side and
//! their costs, in all requested combinations.

use std::sync::Arc;

use clap::Args;
use itertools::iproduct;

use super::job::{Both, Entry, Job, Run, Steps, both};
use crate::arguments::in_range;
use crate::choices::{
    Choice, Cipher, ClientAuth, Group, KeyType, Role, Several, Threads, Verification, Version,
    chosen, one, several,
};
use crate::limit::handshake as limit;
use crate::measure::{Contender, Work};
use crate::row::Row;
use crate::statistics::ratio;
use crate::suites::Suite;
use crate::tables::TO_BOTH;
use crate::workload::handshakes::{Handshakes, Spent, flights};
use crate::workload::identities::Authority;
use crate::workload::{Identity, Result, Scenario, Sessions};

pub(super) const ENTRY: Entry = Entry::of::<Handshake>(
    "handshake",
    "handshakes_per_s",
    "allocations_per_handshake",
    TO_BOTH,
);

pub(super) const RESUME: Entry = Entry {
    name: "handshake-resume",
    help: Some("Handshakes that resume sessions stored by the server"),
    ..ENTRY
};

pub(super) const TICKET: Entry = Entry {
    name: "handshake-ticket",
    help: Some("Handshakes that resume sessions from tickets that only the server can open"),
    ..ENTRY
};

/// Full handshakes, each side timed separately
#[derive(Args)]
pub(crate) struct Handshake {
    /// The versions of TLS
    #[arg(long = "tls", value_parser = several::<Version>(), value_delimiter = ',', default_value = "all")]
    versions: Vec<Several<Version>>,

    /// The types of the keys in all certificates
    #[arg(long, value_parser = several::<KeyType>(), value_delimiter = ',', default_value = "ecdsa-p256")]
    key_type: Vec<Several<KeyType>>,

    /// The key exchange groups; groups that the provider or TLS 1.2 lacks are skipped
    #[arg(long, value_parser = several::<Group>(), value_delimiter = ',', ignore_case = true, default_value = "X25519")]
    group: Vec<Several<Group>>,

    /// Authenticate the client with a certificate, too
    #[arg(long, value_parser = several::<ClientAuth>(), value_delimiter = ',', default_value = "no")]
    client_auth: Vec<Several<ClientAuth>>,

    /// The number of intermediate certificates in each chain; more than none need keys of
    /// ecdsa-p256
    #[arg(long, default_value = "0", value_name = "N", value_parser = in_range(0..=2))]
    intermediates: usize,

    /// Verify each chain once, which is the default of rustls-inplace, or in each handshake, as
    /// rustls 0.23.46 always does
    #[arg(long, value_parser = several::<Verification>(), value_delimiter = ',', default_value = "all")]
    verify: Vec<Several<Verification>>,

    /// The AEAD of the cipher suite, which also selects the hash function
    #[arg(long, value_parser = one::<Cipher>(), default_value = "aes128-gcm")]
    cipher: Cipher,

    /// The number of tickets a TLS 1.3 server sends; default: none in full handshakes, the
    /// library's default in resumptions
    #[arg(long, value_name = "N", value_parser = in_range(0..=16))]
    tickets: Option<usize>,

    /// The number of threads, each with its own configurations; `1..4` or `1,2,4` measures each
    /// number
    #[arg(long, default_value = "1", value_name = "N")]
    threads: Threads,
}

pub(crate) type Build = fn(&Scenario) -> Result<Box<dyn Handshakes>>;

/// The handshakes of both implementations.
pub(crate) const BUILDS: Both<Build> = both!(handshake::handshakes);

impl Job for Handshake {
    fn threads(&self) -> &[usize] {
        &self.threads.0
    }

    fn steps<'a>(&'a self, run: &'a Run) -> Result<Steps<'a>> {
        let scenarios = self.scenarios(run)?;
        if scenarios.is_empty() {
            return Err("no provider supports this combination".into());
        }
        let all = iproduct!(scenarios, &self.threads.0);
        Ok(Box::new(all.map(|(scenario, &threads)| {
            compare(run, &scenario, threads)
        })))
    }
}

impl Handshake {
    /// All requested combinations that exist.
    fn scenarios(&self, run: &Run) -> Result<Vec<Scenario>> {
        let sessions = match &run.bench[..] {
            "handshake-resume" => Sessions::Stored,
            "handshake-ticket" => Sessions::Tickets,
            _ => Sessions::Nothing,
        };
        let all = iproduct!(
            run.common.providers(),
            chosen(&self.versions),
            chosen(&self.key_type),
            chosen(&self.group),
            chosen(&self.client_auth),
            chosen(&self.verify)
        );
        // a session without a client's certificate leaves no chain to verify
        let verifies = |auth| !sessions.are_resumed() || auth == ClientAuth::Yes;
        let all = all
            .filter(|(provider, version, _, group, ..)| group.usable_with(*provider, *version))
            .filter(|(.., auth, verify)| *verify == Verification::Once || verifies(*auth));
        let scenarios = all.map(|(provider, version, key_type, group, auth, verify)| {
            let suite = Suite::with(version, self.cipher, key_type)?;
            let client = (auth == ClientAuth::Yes).then_some(Role::Client);
            let client = client.map(|role| self.identity(key_type, role));
            Ok(Scenario {
                group: Some(group),
                server: Some(self.identity(key_type, Role::Server)?),
                client: client.transpose()?,
                verifies_once: verify == Verification::Once,
                sessions,
                tickets: self.tickets,
                ..Scenario::new(provider, suite, key_type)
            })
        });
        scenarios.collect()
    }

    fn identity(&self, key_type: KeyType, role: Role) -> Result<Arc<Identity>> {
        Ok(Arc::new(match self.intermediates {
            0 => Identity::of(key_type, role),
            _ if key_type != KeyType::EcdsaP256 => {
                return Err("chains with intermediates need --key-type ecdsa-p256".into());
            }
            intermediates => Authority::new(intermediates).identity(0),
        }))
    }
}

/// The contenders, in the order in which they are built.
const NAMES: [&str; 3] = ["this", "upstream", "limit"];

/// Measures one kind of handshake.
fn compare(run: &Run, scenario: &Scenario, threads: usize) -> Result<Vec<Row>> {
    let [(_, this), (_, upstream)] = BUILDS;
    let flights = flights(&mut *upstream(scenario)?)?;
    let build = || -> Result<Vec<Box<dyn Handshakes>>> {
        let limit = limit::handshakes(scenario, &flights)?;
        Ok(vec![this(scenario)?, upstream(scenario)?, limit])
    };
    let costs = count(&mut build()?)?;
    let verified = ["each time", "once"][usize::from(scenario.verifies_once)];
    let server = scenario.server.as_ref();
    let certificates = server.map_or(1, |server| server.chain.len());
    let (suite, provider) = (&scenario.suite, scenario.provider.name());
    let label = format!("{provider} · {}", suite.name);
    let build = || Ok(build()?.into_iter().map(|it| it as Contender<2>).collect());
    let work = Work {
        threads,
        ..Work::new(&build, NAMES.len(), run.common.multiplier, &label)
    };
    let rates = work.interleaved()?;
    let rows = iproduct!(NAMES.iter().enumerate(), Role::ALL).map(|((index, name), &role)| {
        let rate = |index: usize| &rates[index][role as usize][..];
        let (spent, sent) = costs[index][role as usize];
        run.row_of(name, scenario, "buffered")
            .with("version", format!("TLS {}", suite.version.name()))
            .with("group", scenario.group.map_or("", Choice::name))
            .with("key_type", scenario.key_type.name())
            .with("client_auth", scenario.client.is_some())
            .with("certificates", certificates)
            .with("verified", verified)
            .with("role", role.name())
            .with("threads", threads)
            .with("allocations_per_handshake", spent.allocations)
            .with("heap_bytes_per_handshake", spent.heap_bytes)
            .with("sent_bytes_per_handshake", sent)
            .median("handshakes_per_s", rate(index), 1.0)?
            .ratio("ratio_to_upstream", ratio(rate(index), rate(1)))?
            .ratio("share_of_limit", ratio(rate(index), rate(2)))
    });
    rows.collect()
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
