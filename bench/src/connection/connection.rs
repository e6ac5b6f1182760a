//! Connections of one of the two implementations: configurations and workloads.
//!
//! This library and upstream have the same API, so this module is compiled twice, as
//! `this::connection` and `upstream::connection`. `tls` names the crate under test. Code for APIs
//! that only one of them has is elsewhere.

pub(crate) mod buffered;
pub(crate) mod certificates;
pub(crate) mod duplex;
pub(crate) mod handshake;
pub(crate) mod many_pairs;
pub(crate) mod offload;
pub(crate) mod roots;
pub(crate) mod sessions;
pub(crate) mod tcp;
pub(crate) mod unbuffered;

use core::hint::black_box;
use std::sync::Arc;

use pki_types::CertificateDer;
use tls::client::{Resumption, Tls12Resumption};
use tls::crypto::GetRandomFailed;
use tls::server::danger::ClientCertVerifier;
use tls::server::{
    NoServerSessionStorage, ProducesTickets, ServerSessionMemoryCache, WebPkiClientVerifier,
};
use tls::ticketer::TicketRotator;
use tls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::pairs::Configs;
use super::tickets::Tickets;
use super::{pairs, tls};
use crate::choices::{Choice, Direction, Provider, Role, Version};
use crate::workload::{
    Identity, Result, Scenario, Sessions, Stretch, Traffic, Workload, check_received, records,
};

/// Creates the configurations of both sides.
pub(crate) fn configs(scenario: &Scenario) -> Result<Configs> {
    let mut provider = super::provider(scenario.provider);
    // first, so that it is negotiated. The others stay: a program that prefers a suite has them,
    // too, and the hash functions of the provider are those of its suites
    let suites = &mut provider.cipher_suites;
    suites.sort_by_key(|suite| format!("{:?}", suite.suite()) != scenario.suite.name);
    if let Some(group) = scenario.group {
        provider.kx_groups = super::all_groups(scenario.provider);
        let groups = &mut provider.kx_groups;
        groups.retain(|known| format!("{:?}", known.name()) == group.name());
    }
    let provider = Arc::new(provider);
    let version: &SupportedProtocolVersion = match scenario.suite.version {
        Version::Tls12 => &tls::version::TLS12,
        Version::Tls13 => &tls::version::TLS13,
    };

    let single = Arc::new(Identity::of(scenario.key_type, Role::Server));
    let of_server = scenario.server.as_ref().unwrap_or(&single);
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[version])?
        .with_root_certificates(only(&of_server.ca)?);
    let mut client = match &scenario.client {
        Some(identity) => {
            client.with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())?
        }
        None => client.with_no_client_auth(),
    };
    client.max_fragment_size = scenario.max_fragment_size;

    let verifier: Arc<dyn ClientCertVerifier> = match &scenario.client {
        Some(identity) => {
            let roots = Arc::new(only(&identity.ca)?);
            WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build()?
        }
        None => WebPkiClientVerifier::no_client_auth(),
    };
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(of_server.chain.clone(), of_server.key.clone_key())?;
    server.max_fragment_size = scenario.max_fragment_size;

    client.resumption = match scenario.sessions {
        Sessions::Default => client.resumption,
        Sessions::Nothing | Sessions::Unused => Resumption::disabled(),
        Sessions::Stored => Resumption::in_memory_sessions(scenario.kept)
            .tls12_resumption(Tls12Resumption::SessionIdOnly),
        Sessions::Tickets | Sessions::RotatedTickets => {
            Resumption::in_memory_sessions(scenario.kept)
        }
    };
    match scenario.sessions {
        Sessions::Default => {}
        Sessions::Unused | Sessions::Stored => {
            server.session_storage = ServerSessionMemoryCache::new(scenario.kept);
        }
        _ => server.session_storage = Arc::new(NoServerSessionStorage {}),
    }
    match scenario.sessions {
        Sessions::Nothing => server.send_tls13_tickets = 0,
        Sessions::Tickets => server.ticketer = super::ticketer(scenario.provider),
        Sessions::RotatedTickets => server.ticketer = rotated(scenario.provider)?,
        _ => {}
    }
    if let Some(tickets) = scenario.tickets {
        server.send_tls13_tickets = tickets;
    }
    super::set_up_caches(scenario, &mut client, &mut server);
    Ok(Configs {
        client: Arc::new(client),
        server: Arc::new(server),
    })
}

/// A ticketer whose keys rotate every second, instead of the library's six hours.
fn rotated(provider: Provider) -> Result<Arc<dyn ProducesTickets>> {
    fn one(provider: Provider) -> core::result::Result<Box<dyn ProducesTickets>, GetRandomFailed> {
        let sealing = super::ticketer(provider);
        let opening = sealing.clone();
        Ok(Box::new(Tickets::new(
            sealing.lifetime(),
            move |plain| sealing.encrypt(plain),
            move |cipher| opening.decrypt(cipher),
        )))
    }
    let make = match provider {
        Provider::AwsLc => || one(Provider::AwsLc),
        Provider::Ring => || one(Provider::Ring),
    };
    Ok(Arc::new(TicketRotator::new(1, make)?))
}

/// A store that trusts only this authority.
pub(super) fn only(ca: &CertificateDer<'static>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(ca.clone())?;
    Ok(roots)
}

/// The work of the buffered API in `direction`, on its own connection.
pub(crate) fn buffered(direction: Direction, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    let pair = pairs::buffered::Pair::connect(&configs(&traffic.connection)?)?;
    Ok(workload(
        pair,
        direction,
        traffic,
        Some(traffic.application()),
    ))
}

/// Receiving through the buffered API, for an application that reads the plaintext in place.
pub(crate) fn fill_buf(direction: Direction, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    let pair = pairs::buffered::Pair::connect(&configs(&traffic.connection)?)?;
    Ok(workload(pair, direction, traffic, None))
}

/// The work of the unbuffered API in `direction`, on its own connection.
pub(crate) fn unbuffered(direction: Direction, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    let pair = pairs::unbuffered::Pair::connect(&configs(&traffic.connection)?)?;
    Ok(workload(pair, direction, traffic, None))
}

/// A pair whose client sends to its server.
trait Transfers: 'static {
    /// Writes the records of `plaintext` to the front of `out`; returns their length.
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize>;

    /// Opens all records of `wire`; returns the length of their plaintext. The application copies
    /// it to `memory`, or reads it in place.
    fn receive(&mut self, wire: &mut [u8], memory: Option<&mut Stretch>) -> Result<usize>;
}

fn workload<P: Transfers>(
    pair: P,
    direction: Direction,
    traffic: &Traffic,
    memory: Option<Stretch>,
) -> Box<dyn Workload> {
    let (plaintext, writes) = (traffic.plaintext(), traffic.writes());
    match direction {
        Direction::Send => {
            let out = traffic.sealed();
            Box::new(Send {
                pair,
                plaintext,
                writes,
                out,
            })
        }
        Direction::Receive => Box::new(Receive {
            pair,
            plaintext,
            writes,
            wire: traffic.incoming(),
            wire_len: 0,
            records: 0,
            memory,
        }),
    }
}

/// Timed: the client's work to make records from plaintext, into one output buffer, again and
/// again.
struct Send<P> {
    pair: P,
    plaintext: Stretch,
    writes: usize,
    out: Stretch,
}

impl<P: Transfers> Workload for Send<P> {
    fn place(&mut self, offset: usize) -> bool {
        self.plaintext.place(offset);
        true
    }

    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            let plaintext = black_box(&*self.plaintext.step());
            let used = self.pair.send(plaintext, self.out.rest())?;
            black_box(self.out.take(used));
        }
        Ok(())
    }

    fn records(&self) -> usize {
        records(self.out.last()).count() * self.writes
    }
}

/// Timed: the server's work to get the plaintext of a batch of records.
struct Receive<P> {
    pair: P,
    plaintext: Stretch,
    writes: usize,
    wire: Vec<u8>,
    wire_len: usize,
    records: usize,
    memory: Option<Stretch>,
}

impl<P: Transfers> Workload for Receive<P> {
    fn place(&mut self, offset: usize) -> bool {
        let memory = self.memory.as_mut();
        memory.map(|memory| memory.place(offset)).is_some()
    }

    fn prepare(&mut self) -> Result<()> {
        self.wire_len = 0;
        for _ in 0..self.writes {
            let free = &mut self.wire[self.wire_len..];
            self.wire_len += self.pair.send(self.plaintext.step(), free)?;
        }
        self.records = records(&self.wire[..self.wire_len]).count();
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let wire = &mut self.wire[..self.wire_len];
        let received = self.pair.receive(wire, self.memory.as_mut())?;
        check_received(received, self.plaintext.last().len() * self.writes)
    }

    fn records(&self) -> usize {
        self.records
    }
}
