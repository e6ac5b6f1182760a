//! Log lines of root caches and reloads: warnings about sources.
//!
//! This test has a program of its own because the collector belongs to the process.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use harness::peers::configs::{KeyType, PROVIDERS};
use harness::peers::log_lines::listen;
use log::Level;
use rustls_trust::{ReloadingServerVerifier, RootCache, RootSource};

/// Runs `call`. Returns its result and the warnings logged meanwhile.
fn warnings<T>(call: impl FnOnce() -> T) -> (T, Vec<String>) {
    let (value, lines) = listen(call);
    let warnings = lines.into_iter().filter(|line| line.level == Level::Warn);
    (value, warnings.map(|line| line.text).collect())
}

#[test]
fn problems_of_root_certificates() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logging-roots.pem");
    let name = path.display();
    let cache = RootCache::new();
    let source = RootSource::PemFile(path.clone());
    let damaged = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    let good = &KeyType::Ed25519.identities().ca_pem;

    // only the caller learns of a failed first load
    fs::write(&path, "").unwrap();
    let (loaded, lines) = warnings(|| cache.load(&source));
    assert!(loaded.is_err());
    assert_eq!(lines, [""; 0]);
    fs::write(&path, format!("{good}{damaged}")).unwrap();
    let (_, lines) = warnings(|| {
        cache.load(&source).unwrap();
        cache.load(&source).unwrap();
    });
    let ignored = format!("root certificates: ignored {name}: certificate 2: ");
    let [warning] = &lines[..] else {
        panic!("one line for each certificate");
    };
    assert!(warning.starts_with(&ignored), "{warning}");

    fs::write(&path, format!("{good}{}", damaged.repeat(20))).unwrap();
    let (reloaded, many) = warnings(|| cache.reload(&source).unwrap());
    assert_eq!(reloaded.ignored_count, 20);
    assert_eq!(many.len(), 11);
    assert!(
        many[10].ends_with(" 20 were ignored in all"),
        "{}",
        many[10]
    );

    fs::write(&path, "").unwrap();
    let (reloaded, lines) = warnings(|| cache.reload(&source).unwrap());
    assert!(reloaded.failed_reload.is_some());
    assert_eq!(
        lines,
        [format!(
            "root certificates: keeping the old ones of PemFile({path:?}): no usable root certificate: {name}: no certificate"
        )]
    );
}

#[test]
fn failed_reloads_are_logged() {
    let path = std::env::temp_dir().join(format!("logging-{}.pem", std::process::id()));
    fs::write(&path, &KeyType::Ed25519.identities().ca_pem).unwrap();
    let provider = Arc::new(PROVIDERS[0].this());
    let verifier =
        ReloadingServerVerifier::builder(RootSource::PemFile(path.clone()), provider).build();
    fs::remove_file(&path).unwrap();
    let (_, lines) = warnings(|| verifier.unwrap().reload().unwrap_err());
    let is_told = |line: &&String| line.contains("not replaced") && line.contains("logging-");
    assert_eq!(lines.iter().filter(is_told).count(), 1, "{lines:#?}");
}
