//! Connections of clients that create one configuration each, like command-line tools.

use std::path::Path;
use std::sync::Arc;

use pki_types::CertificateDer;
use pki_types::pem::PemObject;
use tls::{ClientConfig, RootCertStore};

use super::configs::configs;
use super::dialect::tls;
use super::handshake::Pipes;
use crate::workload::certificates::Costly;
use crate::workload::handshakes::Spent;
use crate::workload::{Result, Scenario};

/// Connections that read their roots from the file `bundle` each time.
pub(crate) fn parsed(scenario: &Scenario, bundle: &Path) -> Result<Costly> {
    let bundle = bundle.to_owned();
    connections(scenario, move || read(&bundle))
}

/// Connections with roots that were read in advance.
pub(crate) fn kept(scenario: &Scenario, bundle: &Path) -> Result<Costly> {
    let roots = read(bundle)?;
    connections(scenario, move || Ok(roots.clone()))
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
pub(crate) fn connections(
    scenario: &Scenario,
    roots: impl Fn() -> Result<Arc<RootCertStore>> + 'static,
) -> Result<Costly> {
    let (configs, mut pipes) = (configs(scenario)?, Pipes::default());
    Ok(Box::new(move || {
        let provider = configs.client.crypto_provider().clone();
        let client = || {
            let config = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()?
                .with_root_certificates(roots()?)
                .with_no_client_auth();
            Ok(Arc::new(config))
        };
        let mut spent: [Spent; 2] = Default::default();
        let (client, _) = pipes.connect(&mut spent, client, &configs.server, &mut |_| ())?;
        let [mut of_client, _] = spent;
        of_client.by(|| drop(client));
        Ok(of_client)
    }))
}
