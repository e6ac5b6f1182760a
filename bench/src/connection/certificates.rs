//! Work on certificates that both implementations can do.

use core::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use bench_allocator::count;
use pki_types::CertificateDer;
use pki_types::pem::PemObject;
use tls::client::{Resumption, WebPkiServerVerifier};
use tls::server::ServerSessionMemoryCache;
use tls::{ClientConfig, RootCertStore};

use super::configs::{configs, only};
use super::dialect::{self, tls};
use super::handshake::Pipes;
use crate::choices::Provider;
use crate::workload::certificates::{Costly, List, repeating};
use crate::workload::handshakes::Spent;
use crate::workload::{Identity, Result, Scenario};

/// Creates a verifier from the bytes of `list`, and drops it.
pub(crate) fn verifier(list: &List, provider: Provider) -> Result<Costly> {
    let provider = Arc::new(dialect::provider(provider));
    let (roots, der) = (Arc::new(only(&list.ca)?), list.der.clone());
    repeating(move || {
        let builder = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
        black_box(builder.with_crls([der.clone()]).build()?);
        Ok(())
    })
}

/// Connections that read their roots from the file `bundle` each time.
pub(crate) fn roots_parsed(scenario: &Scenario, bundle: &Path) -> Result<Costly> {
    let bundle = bundle.to_owned();
    connections(scenario, move || read(&bundle))
}

/// Connections with roots that were read in advance.
pub(crate) fn roots_kept(scenario: &Scenario, bundle: &Path) -> Result<Costly> {
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

/// Lets `clients` make full handshakes in turns, until the server has stored `sessions` sessions.
/// Returns the heap bytes that the server holds for them after all connections are closed.
pub(crate) fn sessions_heap_bytes(
    scenario: &Scenario,
    clients: &[Arc<Identity>],
    sessions: usize,
) -> Result<i64> {
    let (mut scenario, mut server) = (scenario.clone(), configs(scenario)?.server);
    let config = Arc::make_mut(&mut server);
    config.send_tls13_tickets = 1;
    // room for the session of the warm-up
    config.session_storage = ServerSessionMemoryCache::new(sessions + 1);
    let clients = clients.iter().map(|client| {
        scenario.client = Some(client.clone());
        let mut configs = configs(&scenario)?;
        let config = Arc::make_mut(&mut configs.client);
        config.resumption = Resumption::disabled();
        // the client's knowledge of the server must not count as the server's memory
        let caches = scenario.with(|new| (new.shares_chains, new.verifies_once) = (false, false));
        dialect::set_up_caches(&caches, config, Arc::make_mut(&mut configs.server));
        Ok(configs.client)
    });
    let clients = clients.collect::<Result<Vec<_>>>()?;

    let mut pipes = Pipes::default();
    let mut connect = |client: &Arc<_>| -> Result<()> {
        let client = || Ok(Arc::clone(client));
        let done = pipes.connect(&mut Default::default(), client, &server, &mut |_| ());
        done.map(drop)
    };
    // fills buffers and caches first
    clients.first().map_or(Ok(()), &mut connect)?;
    let mut all = clients.iter().cycle().take(sessions);
    let (done, counted) = count(|| all.try_for_each(&mut connect));
    done.map(|()| counted.bytes)
}
