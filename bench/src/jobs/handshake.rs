//! `handshake`, `handshake-resume`, `handshake-ticket`: handshakes per second of each side and
//! their costs, in all requested combinations.

use std::sync::Arc;

use clap::Args;
use clap::builder::BoolishValueParser;
use itertools::iproduct;

use super::job::{Both, Entry, Job, Run, both};
use crate::choices::{Choice, Cipher, Group, KeyType, Role, Version, names, one};
use crate::limit::handshake as limit;
use crate::measure::{Contender, Work};
use crate::row::Row;
use crate::suites::Suite;
use crate::tables::TO_BOTH;
use crate::workload::handshakes::{Handshakes, Spent, flights};
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
    #[arg(long = "tls", value_parser = one::<Version>(), value_delimiter = ',',
          default_values = names::<Version>())]
    versions: Vec<Version>,

    /// The types of the keys in all certificates
    #[arg(long = "key-type", value_parser = one::<KeyType>(), value_delimiter = ',',
          default_value = "ecdsa-p256")]
    key_types: Vec<KeyType>,

    /// The key exchange groups; groups that the provider or TLS 1.2 lacks are skipped
    #[arg(long = "group", value_parser = one::<Group>(), value_delimiter = ',', ignore_case = true,
          default_value = "X25519")]
    groups: Vec<Group>,

    /// Authenticate the client with a certificate, too
    #[arg(long, value_parser = BoolishValueParser::new(), value_delimiter = ',', default_value = "no",
          value_name = "yes|no")]
    client_auth: Vec<bool>,

    /// The AEAD of the cipher suite, which also selects the hash function
    #[arg(long, value_parser = one::<Cipher>(), default_value = "aes128-gcm")]
    cipher: Cipher,
}

pub(crate) type Build = fn(&Scenario) -> Result<Box<dyn Handshakes>>;

/// The handshakes of both implementations.
pub(crate) const BUILDS: Both<Build> = both!(handshake::handshakes);

impl Job for Handshake {
    fn measure(&self, run: &Run) -> Result<()> {
        let scenarios = self.scenarios(run)?;
        if scenarios.is_empty() {
            return Err("no provider supports this combination".into());
        }
        for scenario in scenarios {
            run.print(compare(run, &scenario)?)?;
        }
        Ok(())
    }
}

impl Handshake {
    /// All requested combinations that exist, with chains that are verified once and each time.
    fn scenarios(&self, run: &Run) -> Result<Vec<Scenario>> {
        let sessions = match &run.bench[..] {
            "handshake-resume" => Sessions::Stored,
            "handshake-ticket" => Sessions::Tickets,
            _ => Sessions::Nothing,
        };
        let all = iproduct!(
            &run.common.providers,
            &self.versions,
            &self.key_types,
            &self.groups,
            &self.client_auth,
            [true, false]
        );
        // a session without a client's certificate leaves no chain to verify
        let verifies = |client_auth: &bool| *client_auth || !sessions.are_resumed();
        let all = all
            .filter(|(provider, version, _, group, ..)| group.usable_with(**provider, **version))
            .filter(|(.., client_auth, once)| *once || verifies(client_auth));
        let scenarios = all.map(
            |(&provider, &version, &key_type, &group, &client_auth, verifies_once)| {
                let client = || Arc::new(Identity::of(key_type, Role::Client));
                let suite = Suite::with(version, self.cipher, key_type)?;
                Ok(Scenario {
                    group: Some(group),
                    client: client_auth.then(client),
                    verifies_once,
                    sessions,
                    ..Scenario::new(provider, suite, key_type)
                })
            },
        );
        scenarios.collect()
    }
}

/// The contenders, in the order in which they are built.
const NAMES: [&str; 3] = ["this", "upstream", "limit"];

/// Measures one kind of handshake.
fn compare(run: &Run, scenario: &Scenario) -> Result<Vec<Row>> {
    let [(_, this), (_, upstream)] = BUILDS;
    let flights = flights(&mut *upstream(scenario)?)?;
    let build = || -> Result<_> {
        let limit = limit::handshakes(scenario, &flights)?;
        Ok([this(scenario)?, upstream(scenario)?, limit])
    };
    let costs = build()?.into_iter().map(count);
    let costs: Vec<_> = costs.collect::<Result<_>>()?;
    let build = || Ok(build()?.map(|it| it as Contender<2>).into());
    let verified = ["each time", "once"][usize::from(scenario.verifies_once)];
    let (suite, provider) = (&scenario.suite, scenario.provider.name());
    let label = format!("{provider} · {}", suite.name);
    let rates = Work::new(&build, 1, run.common.multiplier, label).interleaved()?;
    let rows = iproduct!(NAMES.iter().enumerate(), Role::ALL).map(|((index, name), &role)| {
        let rate = |index: usize| &rates[index][role as usize][..];
        let compared = [rate(index), rate(1), rate(2)];
        let spent = costs[index][role as usize];
        run.row_of(name, scenario, "buffered")
            .with("version", format!("TLS {}", suite.version.name()))
            .with("group", scenario.group.map_or("", Choice::name))
            .with("key_type", scenario.key_type.name())
            .with("client_auth", scenario.client.is_some())
            .with("verified", verified)
            .with("role", role.name())
            .with("allocations_per_handshake", spent.allocations)
            .with("heap_bytes_per_handshake", spent.heap_bytes)
            .compared("", "handshakes_per_s", compared, 1.0)
    });
    rows.collect()
}

/// Counts the heap activity of both sides in a separate pass, so that counting does not disturb the
/// timing.
fn count(mut handshakes: Box<dyn Handshakes>) -> Result<[Spent; 2]> {
    // fills buffers and caches first
    for _ in 0..4 {
        handshakes.make(&mut |_| ())?;
    }
    bench_allocator::count(|| handshakes.make(&mut |_| ())).0
}
