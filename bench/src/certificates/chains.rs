//! Returning clients that authenticate with chains of three certificates: their sessions, and the
//! memory that these take.

use std::sync::Arc;

use bench_allocator::Counted;

use super::clients::Authority;
use super::{Contender, Contest, Figure, Row, Run, Way};
use crate::cli::{Cipher, HandshakeApi, KeyType, Provider, Version};
use crate::statistics::rounded;
use crate::suites::Suite;
use crate::workload::{Identity, Result, Role, SESSIONS, Scenario, Sessions};
use crate::{handshake, this, upstream};

pub(super) fn measure(run: &Run, provider: Provider) -> Result<Vec<Row>> {
    let authority = Authority::new()?;
    let key_type = KeyType::EcdsaP256;
    let mut rows = Vec::new();
    for (version, sessions) in [
        (Version::Tls13, Sessions::Tickets),
        (Version::Tls13, Sessions::Stored),
        (Version::Tls12, Sessions::Tickets),
        (Version::Tls12, Sessions::Stored),
    ] {
        let scenario = Scenario {
            provider,
            suite: Suite::with(version, Cipher::Aes128Gcm, key_type)?,
            key_type,
            group: None,
            client: Some(authority.client(0)?),
            verifies_client: true,
            shares_chains: true,
            sessions,
            tickets: None,
            kept: SESSIONS,
            max_fragment_size: None,
        };
        let believing = Scenario {
            verifies_client: false,
            ..scenario.clone()
        };
        rows.extend(run.measure(&contest(&scenario, &Role::BOTH, "both sides"))?);
        rows.extend(run.measure(&contest(&scenario, &[Role::Server], "server"))?);
        let without = "server, without verifying them";
        rows.extend(run.measure(&contest(&believing, &[Role::Server], without))?);
        if sessions == Sessions::Stored {
            rows.extend(held(run, &scenario, &authority)?);
        }
    }
    Ok(rows)
}

/// Measures the memory per stored session, for one client and for as many clients as sessions.
fn held(run: &Run, scenario: &Scenario, authority: &Authority) -> Result<Vec<Row>> {
    let sessions = run.scaled(4000, 20);
    let copies = Scenario {
        shares_chains: false,
        ..scenario.clone()
    };
    let mut rows = Vec::new();
    for (whose, count) in [("one client", 1), ("as many clients", sessions)] {
        let clients = (0..count).map(|number| authority.client(number));
        let clients = clients.collect::<Result<Vec<_>>>()?;
        for (implementation, way, measure, scenario) in [
            (
                "this",
                "a copy each",
                this::connection::sessions::heap_bytes as HeapBytes,
                &copies,
            ),
            (
                "this",
                "shared",
                this::connection::sessions::heap_bytes,
                scenario,
            ),
            (
                "upstream",
                "a copy each",
                upstream::connection::sessions::heap_bytes,
                scenario,
            ),
        ] {
            let bytes = measure(scenario, &clients, sessions)?;
            rows.push(Row {
                bench: "certificates".to_owned(),
                implementation: implementation.to_owned(),
                topic: TOPIC.to_owned(),
                work: format!(
                    "{}, stored sessions of {whose}",
                    scenario.suite.version.name()
                ),
                way: way.to_owned(),
                provider: scenario.provider.name().to_owned(),
                allocator: run.allocator.name().to_owned(),
                figure: Figure::Stored {
                    sessions,
                    bytes_per_session: rounded(bytes as f64 / sessions as f64, 1),
                },
            });
        }
    }
    Ok(rows)
}

type HeapBytes = fn(&Scenario, &[Arc<Identity>], usize) -> Result<i64>;

const TOPIC: &str = "resumption with a client's chain of three certificates";

/// Handshakes that resume a session of a client with three certificates. Measures the sum over
/// `roles`, which `whose` describes.
fn contest<'a>(scenario: &'a Scenario, roles: &'static [Role], whose: &str) -> Contest<'a> {
    let kept = match scenario.sessions {
        Sessions::Stored => "stored session",
        _ => "ticket",
    };
    let copies = Scenario {
        shares_chains: false,
        ..scenario.clone()
    };
    let side = move |build: Build, scenario: &Scenario| -> Result<Box<dyn Contender>> {
        let mut handshakes = build(HandshakeApi::Buffered, scenario)?;
        // shared certificates live as long as one of their users
        for _ in 0..OPEN_CONNECTIONS {
            handshakes.keep_open()?;
        }
        Ok(Box::new(Sides { handshakes, roles }))
    };
    Contest {
        topic: TOPIC,
        work: format!("{}, {kept}, {whose}", scenario.suite.version.name()),
        provider: scenario.provider,
        ways: vec![
            Way::new("this", "a copy each", move || {
                side(this::connection::handshake::contender, &copies)
            }),
            Way::new("this", "shared", move || {
                side(this::connection::handshake::contender, scenario)
            }),
            Way::new("upstream", "a copy each", move || {
                side(upstream::connection::handshake::contender, scenario)
            }),
        ],
    }
}

/// The number of other connections that the client has open.
const OPEN_CONNECTIONS: usize = 4;

type Build = fn(HandshakeApi, &Scenario) -> Result<Box<dyn handshake::Contender>>;

/// Handshakes of which only `roles` are measured.
struct Sides {
    handshakes: Box<dyn handshake::Contender>,
    roles: &'static [Role],
}

impl Contender for Sides {
    fn time(&mut self) -> Result<f64> {
        let times = self.handshakes.time()?;
        Ok(self.roles.iter().map(|role| times[*role as usize]).sum())
    }

    fn count(&mut self) -> Result<Counted> {
        let costs = self.handshakes.count()?;
        let costs = self.roles.iter().map(|role| costs[*role as usize]);
        Ok(costs.fold(Counted::default(), |sum, cost| Counted {
            allocations: sum.allocations + cost.allocations,
            taken: sum.taken + cost.heap_bytes,
            ..sum
        }))
    }
}
