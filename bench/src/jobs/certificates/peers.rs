//! Returning clients that authenticate with chains of three certificates: their sessions, and the
//! memory that these take.

use std::sync::Arc;

use super::{Comparison, Way};
use crate::choices::{Choice, KeyType, Role, Version};
use crate::jobs::handshake::{BUILDS, Build};
use crate::jobs::job::both;
use crate::row::Row;
use crate::workload::certificates::Costly;
use crate::workload::identities::Authority;
use crate::workload::{Identity, Result, Scenario, Sessions};

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
        let each = scenario.with(|new| new.verifies_once = false);
        let [(_, this), (_, upstream)] = BUILDS;
        let ways = [
            Way::new("this", "verified each time", || of_server(this, &each)),
            Way::new("this", "verified once", || of_server(this, &scenario)),
            Way::new("upstream", "verified once", || {
                of_server(upstream, &scenario)
            }),
        ];
        let work = format!("TLS {}, ticket, server", version.name());
        rows.extend(comparison.rows(TOPIC, &work, &ways)?);
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

type HeapBytes = fn(&Scenario, &[Arc<Identity>], usize) -> Result<i64>;

const HEAP_BYTES: [(&str, HeapBytes); 2] = both!(sessions::heap_bytes);

/// Measures the memory per stored session, for one client and for as many clients as sessions.
fn stored(
    comparison: &Comparison<'_>,
    scenario: &Scenario,
    authority: &Authority,
) -> Result<Vec<Row>> {
    let sessions = comparison.scaled(4000, 20);
    let shared = scenario.with(|new| {
        new.sessions = Sessions::Stored;
        // the chains that the server remembers belong to no session
        new.verifies_once = false;
    });
    let copies = shared.with(|new| new.shares_chains = false);
    let mut rows = Vec::new();
    for (whose, count) in [("one client", 1), ("as many clients", sessions)] {
        let clients = (0..count).map(|number| Arc::new(authority.identity(number)));
        let clients: Vec<_> = clients.collect();
        let [(_, this), (_, upstream)] = HEAP_BYTES;
        for (name, way, heap_bytes, scenario) in [
            ("this", "a copy each", this, &copies),
            ("this", "shared", this, &shared),
            ("upstream", "a copy each", upstream, &shared),
        ] {
            let bytes = heap_bytes(scenario, &clients, sessions)?;
            let work = format!("TLS 1.3, {sessions} stored sessions of {whose}");
            let row = comparison.row(TOPIC, &work, name, way);
            rows.push(row.rounded("bytes_per_session", bytes as f64 / sessions as f64, 1));
        }
    }
    Ok(rows)
}
