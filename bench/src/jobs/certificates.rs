//! `certificates`: work on certificates that are parsed once, cached and shared, compared with the
//! same work without caches.

use std::sync::Arc;

use bench_allocator::count;
use clap::Args;
use itertools::{Itertools, iproduct, izip};

use super::handshake::{BUILDS, Build};
use super::job::{Both, Entry, Job, Run, both};
use crate::choices::{Choice, KeyType, Provider, Role, Version};
use crate::measure::{Batches, Contender, Work};
use crate::row::Row;
use crate::statistics::ratio;
use crate::workload::certificates::{AUTHORITIES, Bundle, Costly, List};
use crate::workload::identities::Authority;
use crate::workload::{Identity, Result, Scenario, Sessions};
use crate::{this, upstream};

pub(super) const ENTRY: Entry = Entry::of::<Certificates>(
    "certificates",
    "ns_per_op bytes_per_session",
    "allocations_per_op heap_bytes_per_op",
    "times_as_fast",
);

/// Certificate work with and without the caches that parse once and share
#[derive(Args)]
pub(crate) struct Certificates {}

impl Job for Certificates {
    fn measure(&self, run: &Run) -> Result<()> {
        for &provider in &run.common.providers {
            let authority = Authority::new();
            let comparison = Comparison {
                run,
                provider,
                authority,
            };
            run.print(comparison.revocation()?)?;
            run.print(comparison.roots()?)?;
            run.print(comparison.resumption()?)?;
            run.print(comparison.stored()?)?;
        }
        Ok(())
    }
}

/// A way to do a piece of work: the implementation, a name, and the work.
type Way<'a> = (&'static str, &'static str, &'a dyn Fn() -> Result<Costly>);

const RESUMPTION: &str = "resumption with a client's chain of three certificates";

/// The number of other connections that the client has open.
const OPEN_CONNECTIONS: usize = 4;

type HeapBytes = fn(&Scenario, &[Arc<Identity>], usize) -> Result<i64>;

const HEAP_BYTES: Both<HeapBytes> = both!(certificates::sessions_heap_bytes);

/// All pieces of work with one provider.
struct Comparison<'a> {
    run: &'a Run,
    provider: Provider,
    authority: Authority,
}

impl Comparison<'_> {
    /// The share of the usual measuring time for one piece of work, because there are many.
    const SHARE: f64 = 0.5;

    /// Scales the number `most` to the length of this run, but to at least `fewest`.
    fn scaled(&self, most: usize, fewest: usize) -> usize {
        ((most as f64 * self.run.common.multiplier) as usize).clamp(fewest, most)
    }

    fn row(&self, topic: &str, work: &str, implementation: &str, way: &str) -> Row {
        let row = self.run.row(implementation, self.provider);
        row.with("topic", topic).with("work", work).with("way", way)
    }

    /// Measures `ways` in turns. The others are compared with the first one.
    fn compare(&self, topic: &str, work: &str, ways: &[Way<'_>]) -> Result<Vec<Row>> {
        let mut costs = Vec::new();
        for (.., build) in ways {
            // fills the caches first
            build()?()?;
            costs.push(count(build()?).0?);
        }
        let build = || {
            let built = ways.iter().map(|(.., build)| -> Result<Contender<1>> {
                let (mut work, is_busy) = (build()?, true);
                let run = move || Ok([work()?.seconds]);
                Ok(Box::new(Batches { run, is_busy }))
            });
            built.collect()
        };
        let multiplier = Self::SHARE * self.run.common.multiplier;
        let rates = Work::new(&build, 1, multiplier, work).interleaved()?;
        let all = izip!(ways, &costs, &rates);
        let rows = all.map(|((implementation, way, _), spent, [rate])| {
            let times = rate.iter().map(|rate| 1e9 / rate).collect_vec();
            self.row(topic, work, implementation, way)
                .with("allocations_per_op", spent.allocations)
                .with("heap_bytes_per_op", spent.heap_bytes)
                .median("ns_per_op", &times, 1.0)?
                .ratio("times_as_fast", ratio(rate, &rates[0][0]))
        });
        rows.collect()
    }

    /// Creates verifiers that use a long revocation list.
    fn revocation(&self) -> Result<Vec<Row>> {
        // parsing does not depend on the provider
        if self.provider != self.run.common.providers[0] {
            return Ok(Vec::new());
        }
        let entries = self.scaled(100_000, 500);
        let provider = self.provider;
        // a list without another user is parsed each time, so there are two lists
        let [alone, held] = &[List::new(entries), List::new(entries)];
        use this::certificates::with_shared;
        use this::connection::certificates::verifier;
        use upstream::connection::certificates::verifier as of_upstream;
        let ways: [Way<'_>; 3] = [
            ("this", "each time", &|| verifier(alone, provider)),
            ("this", "of the same list", &|| with_shared(held, provider)),
            ("upstream", "each time", &|| of_upstream(alone, provider)),
        ];
        let work = format!("verifier with a list of {entries}");
        self.compare("revocation", &work, &ways)
    }

    /// Creates a configuration per connection, each with the same 140 authorities.
    fn roots(&self) -> Result<Vec<Row>> {
        let key_type = KeyType::Rsa2048;
        let new = Scenario::of(self.provider, Version::Tls13, key_type)?;
        let scenario = &new.with(|new| new.sessions = Sessions::Nothing);
        let bundle = Bundle::new(&key_type.identities().ca)?;
        let path = bundle.path();
        use this::certificates::cached;
        use this::connection::certificates as ours;
        use upstream::connection::certificates as theirs;
        let (each, alone) = ("parsed each time", "connection alone");
        let ways: [Way<'_>; 5] = [
            ("this", each, &|| ours::roots_parsed(scenario, path)),
            ("this", "cached", &|| cached(scenario, path)),
            ("this", alone, &|| ours::roots_kept(scenario, path)),
            ("upstream", each, &|| theirs::roots_parsed(scenario, path)),
            ("upstream", alone, &|| theirs::roots_kept(scenario, path)),
        ];
        let key = key_type.name();
        let work = format!("configuration from {AUTHORITIES} certificates, connection, {key}");
        self.compare("roots", &work, &ways)
    }

    /// Resumes sessions of clients that authenticate with chains of three certificates.
    fn resumption(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for &version in Version::ALL {
            let new = Scenario::of(self.provider, version, KeyType::EcdsaP256)?;
            let once = new.with(|new| {
                new.client = Some(Arc::new(self.authority.identity(0)));
                new.sessions = Sessions::Tickets;
            });
            let each = once.with(|new| new.verifies_once = false);
            let [(_, this), (_, upstream)] = BUILDS;
            let ways: [Way<'_>; 3] = [
                ("this", "verified each time", &|| of_server(this, &each)),
                ("this", "verified once", &|| of_server(this, &once)),
                ("upstream", "verified once", &|| of_server(upstream, &once)),
            ];
            let work = format!("TLS {}, ticket, server", version.name());
            rows.extend(self.compare(RESUMPTION, &work, &ways)?);
        }
        Ok(rows)
    }

    /// Measures the memory per stored session, for one client and for as many clients as sessions.
    fn stored(&self) -> Result<Vec<Row>> {
        let sessions = self.scaled(4000, 20);
        let new = Scenario::of(self.provider, Version::Tls13, KeyType::EcdsaP256)?;
        let shared = new.with(|new| {
            new.client = Some(Arc::new(self.authority.identity(0)));
            new.sessions = Sessions::Stored;
            // the chains that the server remembers are no part of a session
            new.verifies_once = false;
        });
        let copies = shared.with(|new| new.shares_chains = false);
        let [(_, this), (_, upstream)] = HEAP_BYTES;
        let ways = [
            ("this", "a copy each", this, &copies),
            ("this", "shared", this, &shared),
            ("upstream", "a copy each", upstream, &shared),
        ];
        let of_whom = [("one client", 1), ("as many clients", sessions)];
        let rows = iproduct!(of_whom, ways).map(|((whose, count), way)| {
            let (name, way, heap_bytes, scenario) = way;
            let clients = (0..count).map(|number| Arc::new(self.authority.identity(number)));
            let bytes = heap_bytes(scenario, &clients.collect_vec(), sessions)?;
            let work = format!("TLS 1.3, {sessions} stored sessions of {whose}");
            let row = self.row(RESUMPTION, &work, name, way);
            Ok(row.rounded("bytes_per_session", bytes as f64 / sessions as f64, 1))
        });
        rows.collect()
    }
}

/// Returns the server's work in handshakes that resume a session.
fn of_server(build: Build, scenario: &Scenario) -> Result<Costly> {
    let mut handshakes = build(scenario)?;
    // shared certificates live as long as one of their users
    for _ in 0..OPEN_CONNECTIONS {
        handshakes.keep_open()?;
    }
    Ok(Box::new(move || {
        let spent = handshakes.make(&mut |_| ())?;
        Ok(spent[Role::Server as usize])
    }))
}

#[cfg(test)]
mod tests {
    use pki_types::CertificateDer;
    use pki_types::pem::PemObject;

    use super::*;

    #[test]
    fn a_bundle_has_140_certificates_and_leaves_no_file() {
        let own = &KeyType::EcdsaP256.identities().ca;
        let bundle = Bundle::new(own).unwrap();
        let path = bundle.path().to_owned();
        let read = CertificateDer::pem_file_iter(&path).unwrap();
        let read: Vec<_> = read.map(|certificate| certificate.unwrap()).collect();
        assert_eq!(read.len(), AUTHORITIES);
        assert_eq!(read.last(), Some(own));
        drop(bundle);
        assert!(!path.exists());
    }
}
