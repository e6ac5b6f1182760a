//! Clients that create a configuration for each connection, with 140 authorities from a file.

use core::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use harness::peers::configs::{KeyType, Provider, Versions, server_name};
use pki_types::CertificateDer;
use pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use rustls_trust::{RootCache, RootSource};

use crate::Counted;
use crate::files::bundle;
use crate::workloads::{Side, WARM_UP, configs, handshake_of, reported_by_callgrind};

/// The number of counted configurations and connections, including the first load into the cache;
/// the same as in the measurements by curl's authors.
const CONNECTIONS: usize = 50;

const PARSED: &str = "roots/parsed";
const CACHED: &str = "roots/cached";
const KEPT: &str = "roots/connection-alone";

/// The key type of most servers, as in curl's measurements. Its signatures take the fewest
/// instructions to verify, so the roots matter most here.
const KEY_TYPE: KeyType = KeyType::Rsa2048;

/// Counts all work of the client for each connection, except closing it.
pub(crate) fn run_all(label: &str, provider: Provider, filter: &str) {
    let names = [PARSED, CACHED, KEPT].map(|name| format!("{label}/{name}"));
    if !names.iter().any(|name| name.contains(filter)) {
        return;
    }
    let configs = &configs(provider, Versions::Tls13, KEY_TYPE);
    let bundle = bundle(&KEY_TYPE.identities().ca).unwrap();
    let kept = parsed(bundle.path());
    let ways: [&dyn Fn() -> Arc<RootCertStore>; 3] = [
        &|| parsed(bundle.path()),
        &|| cached(bundle.path()),
        &|| kept.clone(),
    ];
    for (name, roots) in names.iter().zip(ways) {
        if !name.contains(filter) {
            continue;
        }
        let client = || {
            let provider = configs.client.crypto_provider().clone();
            let config = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(black_box(roots()))
                .with_no_client_auth();
            ClientConnection::new(Arc::new(config), server_name()).unwrap()
        };
        for _ in 0..WARM_UP {
            handshake_of(&client, configs, None);
        }
        // the first counted connection loads the roots
        RootCache::global().clear();
        for _ in 0..CONNECTIONS {
            handshake_of(&client, configs, Some(Side::Client));
        }
        reported_by_callgrind(name, CONNECTIONS);
    }
}

fn parsed(bundle: &Path) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(bundle).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    Arc::new(roots)
}

fn cached(bundle: &Path) -> Arc<RootCertStore> {
    RootCache::global()
        .store(&RootSource::PemFile(bundle.to_owned()))
        .unwrap()
}

/// Checks that the cache saves at least four fifths of all instructions, including those of the
/// system and the cryptography.
pub(crate) fn check(counted: &[Counted]) -> Result<(), String> {
    const LEAST: f64 = 5.0;
    for without in counted {
        let Some(label) = without.name.strip_suffix(PARSED) else {
            continue;
        };
        let total = |name: &str| {
            let found = counted
                .iter()
                .find(|other| other.name == format!("{label}{name}"));
            found.map(|found| found.profile.total() as f64 / found.operations)
        };
        let (Some(with), Some(alone)) = (total(CACHED), total(KEPT)) else {
            continue;
        };
        let without = without.profile.total() as f64 / without.operations;
        let ratio = without / with;
        println!(
            "{label}roots: {without:.0} instructions in total without the cache, {with:.0} with it: {ratio:.1} times \
             fewer; {alone:.0} with roots at hand"
        );
        if ratio < LEAST {
            return Err(format!(
                "{label}roots: expected {LEAST} times fewer with the cache"
            ));
        }
    }
    Ok(())
}
