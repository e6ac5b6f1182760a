//! Clients that make a configuration of their own for each connection, with 140 authorities from a file.

use core::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use harness::configs::{KeyType, Provider, Versions, server_name};
use pki_types::CertificateDer;
use pki_types::pem::PemObject;
use rustls::certificates::{RootCache, RootSource};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::Counted;
use crate::files::bundle;
use crate::workloads::{Configs, Side, WARM_UP, handshake_of, reported_by_callgrind};

/// How many configurations and connections are counted, the first load into the cache among them: as many as curl's
/// authors counted.
const CONNECTIONS: usize = 50;

const PARSED: &str = "roots/parsed";
const CACHED: &str = "roots/cached";
const KEPT: &str = "roots/connection-alone";

/// The kind of key that most servers have, as curl's had. Verifying its signatures takes the fewest instructions, so
/// this is where the roots matter most.
const KEY_TYPE: KeyType = KeyType::Rsa2048;

/// Counts, of each connection, all that the client does but for closing it.
pub(crate) fn run_all(label: &str, provider: Provider, filter: &str) {
    let names = [PARSED, CACHED, KEPT].map(|name| format!("{label}/{name}"));
    if !names.iter().any(|name| name.contains(filter)) {
        return;
    }
    let configs = &Configs::with_key(provider, Versions::Tls13, KEY_TYPE);
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
        // the first of those that are counted loads the roots
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
    RootCertStore::cached(&RootSource::PemFile(bundle.to_owned())).unwrap()
}

/// The cache takes at least four fifths of all instructions away, the system's and the cryptography's included.
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
            "{label}roots: {without:.0} instructions in all without the cache, {with:.0} with it: {ratio:.1} times \
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
