//! Returning clients that authenticate with chains of three certificates: their sessions, and the
//! memory that these take.

use std::sync::Arc;

use harness::peers::pki::{self, Issuer};
use rcgen::DnType;

use super::{Comparison, Costly, Way};
use crate::choices::{Choice, KeyType, Role, Version};
use crate::jobs::handshake::{BUILDS, Build};
use crate::row::Row;
use crate::workload::{Identity, Result, Scenario, Sessions};
use crate::{this, upstream};

/// An authority that certifies clients and servers through two intermediates.
pub(super) struct Authority {
    root: Issuer,
    intermediates: [Issuer; 2],
}

impl Authority {
    pub(super) fn new() -> Self {
        let root = pki::root("authority", |_| ());
        let upper = pki::intermediate("upper intermediate", &root, |_| ());
        let lower = pki::intermediate("lower intermediate", &upper, |_| ());
        Self {
            root,
            intermediates: [lower, upper],
        }
    }

    /// Creates identity number `number`. A server that trusts the authority gets the whole chain.
    pub(super) fn identity(&self, number: usize) -> Identity {
        let key = pki::key();
        let end_entity = pki::leaf_of(&key, &self.intermediates[0], |params| {
            let (kind, name) = (DnType::OrganizationName, format!("client number {number}"));
            params.distinguished_name.push(kind, name);
        });
        let intermediates = self.intermediates.iter().map(|issuer| issuer.der().clone());
        Identity {
            chain: [end_entity].into_iter().chain(intermediates).collect(),
            key: key.into(),
            ca: self.root.der().clone(),
        }
    }
}

const TOPIC: &str = "resumption with a client's chain of three certificates";

/// The number of other connections that the client has open.
const OPEN_CONNECTIONS: usize = 4;

pub(super) fn resumption(comparison: &Comparison<'_>, authority: &Authority) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &version in Version::ALL {
        let new = Scenario::of(comparison.provider, version, KeyType::EcdsaP256)?;
        let scenario = new.with(|new| {
            new.client = Some(Arc::new(authority.identity(0)));
            new.sessions = Sessions::Tickets;
        });
        for (verifies_client, without) in [(true, ""), (false, ", without verifying them")] {
            let shared = scenario.with(|new| new.verifies_client = verifies_client);
            let copies = shared.with(|new| new.shares_chains = false);
            let [(_, this), (_, upstream)] = BUILDS;
            let ways = [
                Way::new("this", "a copy each", || of_server(this, &copies)),
                Way::new("this", "shared", || of_server(this, &shared)),
                Way::new("upstream", "a copy each", || of_server(upstream, &shared)),
            ];
            let work = format!("TLS {}, ticket, server{without}", version.name());
            rows.extend(comparison.rows(TOPIC, &work, &ways)?);
        }
        if version == Version::Tls13 {
            rows.extend(stored(comparison, &scenario, authority)?);
        }
    }
    Ok(rows)
}

/// Handshakes that resume a session. Only the server is measured.
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

/// Measures the memory per stored session, for one client and for as many clients as sessions.
fn stored(
    comparison: &Comparison<'_>,
    scenario: &Scenario,
    authority: &Authority,
) -> Result<Vec<Row>> {
    let sessions = comparison.scaled(4000, 20);
    let shared = scenario.with(|new| new.sessions = Sessions::Stored);
    let copies = shared.with(|new| new.shares_chains = false);
    let mut rows = Vec::new();
    for (whose, count) in [("one client", 1), ("as many clients", sessions)] {
        let clients = (0..count).map(|number| Arc::new(authority.identity(number)));
        let clients: Vec<_> = clients.collect();
        let this = this::connection::sessions::heap_bytes;
        let upstream = upstream::connection::sessions::heap_bytes;
        for (name, way, bytes) in [
            ("this", "a copy each", this(&copies, &clients, sessions)?),
            ("this", "shared", this(&shared, &clients, sessions)?),
            (
                "upstream",
                "a copy each",
                upstream(&shared, &clients, sessions)?,
            ),
        ] {
            let work = format!("TLS 1.3, {sessions} stored sessions of {whose}");
            let row = comparison.row(TOPIC, &work, name, way);
            rows.push(row.rounded("bytes_per_session", bytes as f64 / sessions as f64, 1));
        }
    }
    Ok(rows)
}
