//! Connections of clients that create one configuration each, like command-line tools.

use std::path::Path;
use std::sync::Arc;

use bench_allocator::Counted;
use harness::peers::configs::server_name;
use pki_types::CertificateDer;
use pki_types::pem::PemObject;
use tls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};

use super::handshake::Pipes;
use super::pairs::Configs;
use super::{configs, tls};
use crate::certificates::Contender;
use crate::handshake::{Clock, Heap, Probe};
use crate::workload::{Result, Scenario};

/// Connections that read their roots from the file `bundle` each time.
pub(crate) fn parsed(scenario: &Scenario, bundle: &Path) -> Result<Box<dyn Contender>> {
    let bundle = bundle.to_owned();
    contender(scenario, move || read(&bundle))
}

/// Connections with roots that were read in advance.
pub(crate) fn kept(scenario: &Scenario, bundle: &Path) -> Result<Box<dyn Contender>> {
    let roots = read(bundle)?;
    contender(scenario, move || Ok(roots.clone()))
}

fn read(bundle: &Path) -> Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(bundle)? {
        roots.add(certificate?)?;
    }
    Ok(Arc::new(roots))
}

/// Connections with the roots that `roots` returns. Measures all work of the client, including
/// creating its configuration.
pub(crate) fn contender(
    scenario: &Scenario,
    roots: impl Fn() -> Result<Arc<RootCertStore>> + 'static,
) -> Result<Box<dyn Contender>> {
    Ok(Box::new(Connections {
        roots,
        configs: configs(scenario)?,
        pipes: Pipes::new(),
    }))
}

struct Connections<F> {
    roots: F,
    configs: Configs,
    pipes: Pipes,
}

impl<F: Fn() -> Result<Arc<RootCertStore>>> Connections<F> {
    fn make<P: Probe>(&mut self) -> Result<P::Sum> {
        let (roots, configs) = (&self.roots, &self.configs);
        let client = || {
            let config =
                ClientConfig::builder_with_provider(configs.client.crypto_provider().clone())
                    .with_safe_default_protocol_versions()?
                    .with_root_certificates(roots()?)
                    .with_no_client_auth();
            Ok(ClientConnection::new(Arc::new(config), server_name())?)
        };
        let server = || Ok(ServerConnection::new(configs.server.clone())?);
        let mut sums = Default::default();
        let (client, server) =
            self.pipes
                .connect::<P, _, _>(&mut sums, client, server, &mut |_| ())?;
        if client.is_handshaking() || server.is_handshaking() {
            return Err("the handshake stalled".into());
        }
        let [mut of_client, _] = sums;
        P::measure(&mut of_client, || drop(client));
        Ok(of_client)
    }
}

impl<F: Fn() -> Result<Arc<RootCertStore>>> Contender for Connections<F> {
    fn time(&mut self) -> Result<f64> {
        self.make::<Clock>()
    }

    fn count(&mut self) -> Result<Counted> {
        self.make::<Heap>()
    }
}
