//! Connections of one of the two implementations: configurations, and the workloads on them.
//!
//! This library and upstream have the same API, so this module exists once and is compiled twice: as
//! `this::connection` and as `upstream::connection`, with `tls` naming the crate under test. Code for what
//! only one of them offers is elsewhere.

pub(crate) mod buffered;
pub(crate) mod heap;
pub(crate) mod tcp;
pub(crate) mod unbuffered;

use std::sync::Arc;

use tls::{ClientConfig, RootCertStore, ServerConfig};

use super::pairs::Configs;
use super::{pairs, tls};
use crate::workload::{Direction, Result, Scenario, Workload};

/// The two configurations that connections are made from.
pub(crate) fn configs(scenario: &Scenario) -> Result<Configs> {
    let mut provider = super::provider(scenario.provider);
    provider
        .cipher_suites
        .retain(|suite| format!("{:?}", suite.suite()) == scenario.suite.name);
    let provider = Arc::new(provider);

    let identities = &scenario.identities;
    let mut roots = RootCertStore::empty();
    roots.add(identities.ca.clone())?;
    let mut client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&tls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.max_fragment_size = scenario.max_fragment_size;

    let server = &identities.server;
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&tls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(server.chain.clone(), server.key())?;
    server.max_fragment_size = scenario.max_fragment_size;
    Ok(Configs {
        client: Arc::new(client),
        server: Arc::new(server),
    })
}

/// The buffered API's work in `direction`, over a connection of its own.
pub(crate) fn buffered(direction: Direction, scenario: &Scenario) -> Result<Box<dyn Workload>> {
    let pair = pairs::buffered::Pair::connect(&configs(scenario)?)?;
    Ok(match direction {
        Direction::Send => Box::new(buffered::Send::new(pair, scenario)),
        Direction::Receive => Box::new(buffered::Receive::new(pair, scenario)),
    })
}

/// Receiving through the buffered API, for an application that looks at what came where it lies.
pub(crate) fn fill_buf(_: Direction, scenario: &Scenario) -> Result<Box<dyn Workload>> {
    let pair = pairs::buffered::Pair::connect(&configs(scenario)?)?;
    Ok(Box::new(buffered::Receive::without_copy(pair, scenario)))
}

/// The unbuffered API's work in `direction`, over a connection of its own.
pub(crate) fn unbuffered(direction: Direction, scenario: &Scenario) -> Result<Box<dyn Workload>> {
    let pair = pairs::unbuffered::Pair::connect(&configs(scenario)?)?;
    Ok(match direction {
        Direction::Send => Box::new(unbuffered::Send::new(pair, scenario)),
        Direction::Receive => Box::new(unbuffered::Receive::new(pair, scenario)),
    })
}
