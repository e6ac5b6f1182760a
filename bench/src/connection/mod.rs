//! Connections of one of the two implementations: configurations, and the workloads on them.
//!
//! This library and upstream have the same API, so this module exists once and is compiled twice: as
//! `this::connection` and as `upstream::connection`, with `tls` the crate that it is about. What only
//! one of them has is not here.

pub(crate) mod buffered;
pub(crate) mod heap;
pub(crate) mod unbuffered;

use std::sync::Arc;

use tls::crypto::CryptoProvider;
use tls::{ClientConfig, RootCertStore, ServerConfig};

use super::tls;
use crate::cli::Provider;
use crate::workload::{Direction, Result, Scenario, Workload};

/// The two configurations that connections are made from.
pub(crate) struct Configs {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
}

impl Configs {
    pub(crate) fn new(scenario: &Scenario) -> Result<Self> {
        let mut provider = match scenario.provider {
            Provider::AwsLcRs => tls::crypto::aws_lc_rs::default_provider(),
            Provider::Ring => tls::crypto::ring::default_provider(),
        };
        provider
            .cipher_suites
            .retain(|suite| format!("{:?}", suite.suite()) == scenario.suite.name);
        let provider: Arc<CryptoProvider> = Arc::new(provider);

        let identity = &scenario.identity;
        let mut roots = RootCertStore::empty();
        roots.add(identity.root.clone())?;
        let mut client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&tls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.max_fragment_size = scenario.max_fragment_size;

        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&tls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(identity.chain.clone(), identity.key.clone_key())?;
        server.max_fragment_size = scenario.max_fragment_size;
        Ok(Self {
            client: Arc::new(client),
            server: Arc::new(server),
        })
    }
}

/// The buffered API's work in `direction`, over a connection of its own.
pub(crate) fn buffered(direction: Direction, scenario: &Scenario) -> Result<Box<dyn Workload>> {
    let pair = buffered::Pair::connect(&Configs::new(scenario)?)?;
    Ok(match direction {
        Direction::Send => Box::new(buffered::Send::new(pair, scenario)),
        Direction::Receive => Box::new(buffered::Receive::new(pair, scenario)),
    })
}

/// The unbuffered API's work in `direction`, over a connection of its own.
pub(crate) fn unbuffered(direction: Direction, scenario: &Scenario) -> Result<Box<dyn Workload>> {
    let pair = unbuffered::Pair::connect(&Configs::new(scenario)?)?;
    Ok(match direction {
        Direction::Send => Box::new(unbuffered::Send::new(pair, scenario)),
        Direction::Receive => Box::new(unbuffered::Receive::new(pair, scenario)),
    })
}
