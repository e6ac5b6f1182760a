//! The configurations of both sides.

use std::sync::Arc;

use pki_types::CertificateDer;
use tls::client::{Resumption, Tls12Resumption};
use tls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use tls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::dialect::pairs::Configs;
use super::dialect::{self, tls};
use crate::choices::{Choice, Version};
use crate::workload::{Identity, Result, Scenario, Sessions};

/// Creates the configurations of both sides.
pub(crate) fn configs(scenario: &Scenario) -> Result<Configs> {
    let mut provider = dialect::provider(scenario.provider);
    // the first suite is negotiated. The others stay, as in a program that only prefers a suite,
    // and because the provider has the hash functions of its suites
    let suites = &mut provider.cipher_suites;
    suites.sort_by_key(|suite| format!("{:?}", suite.suite()) != scenario.suite.name);
    if let Some(group) = scenario.group {
        provider.kx_groups = dialect::all_groups(scenario.provider);
        let groups = &mut provider.kx_groups;
        groups.retain(|known| format!("{:?}", known.name()) == group.name());
    }
    let provider = Arc::new(provider);
    let version: &SupportedProtocolVersion = match scenario.suite.version {
        Version::Tls12 => &tls::version::TLS12,
        Version::Tls13 => &tls::version::TLS13,
    };

    let of_server = &scenario.server;
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[version])?
        .with_root_certificates(only(&of_server.ca)?);
    let (mut client, verifier) = match scenario.client.as_deref() {
        None => (
            client.with_no_client_auth(),
            WebPkiClientVerifier::no_client_auth(),
        ),
        Some(Identity { chain, key, ca }) => {
            let roots = Arc::new(only(ca)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
            let client = client.with_client_auth_cert(chain.clone(), key.clone_key())?;
            (client, verifier.build()?)
        }
    };

    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(of_server.chain.clone(), of_server.key.clone_key())?;

    let in_memory = || Resumption::in_memory_sessions(scenario.kept);
    let cache = || ServerSessionMemoryCache::new(scenario.kept);
    match scenario.sessions {
        Sessions::Default => {}
        Sessions::Nothing => {
            client.resumption = Resumption::disabled();
            server.session_storage = Arc::new(NoServerSessionStorage {});
            server.send_tls13_tickets = 0;
        }
        Sessions::Unused => {
            client.resumption = Resumption::disabled();
            server.session_storage = cache();
        }
        Sessions::Stored => {
            client.resumption = in_memory().tls12_resumption(Tls12Resumption::SessionIdOnly);
            server.session_storage = cache();
        }
        Sessions::Tickets => {
            client.resumption = in_memory();
            server.session_storage = Arc::new(NoServerSessionStorage {});
            server.ticketer = dialect::ticketer(scenario.provider);
        }
    }
    dialect::set_up_caches(scenario, &mut client, &mut server);
    Ok(Configs {
        client: Arc::new(client),
        server: Arc::new(server),
    })
}

/// A store that trusts only this authority.
pub(in super::super) fn only(ca: &CertificateDer<'static>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(ca.clone())?;
    Ok(roots)
}
