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
use super::verifiers::Verifier;
use super::{pairs, tls};
use crate::choices::{Choice, Direction, Provider, Version};
use crate::workload::{Result, Scenario, Sessions, Stretch, Traffic, Workload, record_count};

/// Creates the configurations of both sides.
pub(crate) fn configs(scenario: &Scenario) -> Result<Configs> {
    let mut provider = super::provider(scenario.provider);
    provider
        .cipher_suites
        .retain(|suite| format!("{:?}", suite.suite()) == scenario.suite.name);
    if let Some(group) = scenario.group {
        provider.kx_groups = super::all_groups(scenario.provider);
        provider
            .kx_groups
            .retain(|known| format!("{:?}", known.name()) == group.name());
    }
    let provider = Arc::new(provider);
    let version: &SupportedProtocolVersion = match scenario.suite.version {
        Version::Tls12 => &tls::version::TLS12,
        Version::Tls13 => &tls::version::TLS13,
    };

    let identities = scenario.key_type.identities();
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[version])?
        .with_root_certificates(only(&identities.ca)?);
    let mut client = match &scenario.client {
        Some(identity) => {
            client.with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())?
        }
        None => client.with_no_client_auth(),
    };
    client.max_fragment_size = scenario.max_fragment_size;

    let verifier: Arc<dyn ClientCertVerifier> = match &scenario.client {
        // without the verification, the other costs become visible
        Some(_) if !scenario.verifies_client => {
            let algorithms = provider.signature_verification_algorithms;
            Arc::new(Verifier::checking_signatures(algorithms))
        }
        Some(identity) => {
            let roots = Arc::new(only(&identity.ca)?);
            WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build()?
        }
        None => WebPkiClientVerifier::no_client_auth(),
    };
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(identities.server.chain.clone(), identities.server.key())?;
    server.max_fragment_size = scenario.max_fragment_size;

    match scenario.sessions {
        Sessions::Default => {}
        Sessions::Nothing => {
            client.resumption = Resumption::disabled();
            server.session_storage = Arc::new(NoServerSessionStorage {});
            server.send_tls13_tickets = 0;
        }
        Sessions::Unused => {
            client.resumption = Resumption::disabled();
            server.session_storage = ServerSessionMemoryCache::new(scenario.kept);
        }
        Sessions::Stored => {
            let sessions = Resumption::in_memory_sessions(scenario.kept);
            client.resumption = sessions.tls12_resumption(Tls12Resumption::SessionIdOnly);
            server.session_storage = ServerSessionMemoryCache::new(scenario.kept);
        }
        Sessions::Tickets => {
            client.resumption = Resumption::in_memory_sessions(scenario.kept);
            server.session_storage = Arc::new(NoServerSessionStorage {});
            server.ticketer = super::ticketer(scenario.provider);
        }
        Sessions::RotatedTickets => {
            client.resumption = Resumption::in_memory_sessions(scenario.kept);
            server.session_storage = Arc::new(NoServerSessionStorage {});
            server.ticketer = rotated(scenario.provider)?;
        }
    }
    if let Some(tickets) = scenario.tickets {
        server.send_tls13_tickets = tickets;
    }
    super::share_chains(scenario.shares_chains, &mut client, &mut server);
    Ok(Configs {
        client: Arc::new(client),
        server: Arc::new(server),
    })
}

/// A ticketer whose keys rotate every second, instead of the library's six hours.
fn rotated(provider: Provider) -> Result<Arc<dyn ProducesTickets>> {
    /// Turns a shared ticketer into a boxed one.
    #[derive(Debug)]
    struct Boxed(Arc<dyn ProducesTickets>);

    impl ProducesTickets for Boxed {
        fn enabled(&self) -> bool {
            self.0.enabled()
        }

        fn lifetime(&self) -> u32 {
            self.0.lifetime()
        }

        fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
            self.0.encrypt(plain)
        }

        fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
            self.0.decrypt(cipher)
        }
    }

    fn one(provider: Provider) -> core::result::Result<Box<dyn ProducesTickets>, GetRandomFailed> {
        Ok(Box::new(Boxed(super::ticketer(provider))))
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
    Ok(match direction {
        Direction::Send => Box::new(Send::new(pair, traffic)),
        Direction::Receive => Box::new(buffered::Receive::new(pair, traffic)),
    })
}

/// Receiving through the buffered API, for an application that reads the plaintext in place.
pub(crate) fn fill_buf(_: Direction, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    let pair = pairs::buffered::Pair::connect(&configs(&traffic.connection)?)?;
    Ok(Box::new(buffered::Receive::without_copy(pair, traffic)))
}

/// The work of the unbuffered API in `direction`, on its own connection.
pub(crate) fn unbuffered(direction: Direction, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    let pair = pairs::unbuffered::Pair::connect(&configs(&traffic.connection)?)?;
    Ok(match direction {
        Direction::Send => Box::new(Send::new(pair, traffic)),
        Direction::Receive => Box::new(unbuffered::Receive::new(pair, traffic)),
    })
}

/// Timed: the client's work to make records from plaintext, into one output buffer, again and
/// again.
struct Send<P> {
    pair: P,
    plaintext: Stretch,
    out: Stretch,
    writes: usize,
}

/// A pair whose client sends.
trait Sends {
    /// Writes the records of `plaintext` to the front of `out`; returns their length.
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize>;
}

impl<P> Send<P> {
    fn new(pair: P, traffic: &Traffic) -> Self {
        Self {
            pair,
            plaintext: traffic.plaintext(),
            out: traffic.sealed(),
            writes: traffic.writes(),
        }
    }
}

impl<P: Sends> Workload for Send<P> {
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
        record_count(self.out.last()) * self.writes
    }
}
