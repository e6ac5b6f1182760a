//! Log lines of root caches and reloads: warnings about sources.
//!
//! This test has a program of its own because the collector belongs to the process.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use harness::peers::configs::{KeyType, PROVIDERS};
use log::{Level, LevelFilter, Log, Metadata, Record};
use rustls_trust::{ReloadingServerVerifier, RootCache, RootSource};

static LINES: Mutex<Vec<(Level, String)>> = Mutex::new(Vec::new());

struct Collector;

impl Log for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("rustls_trust")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = (record.level(), record.args().to_string());
            LINES.lock().unwrap().push(line);
        }
    }

    fn flush(&self) {}
}

#[test]
fn problems_of_sources() {
    log::set_logger(&Collector).unwrap();
    log::set_max_level(LevelFilter::Trace);
    problems_of_root_certificates();
    failed_reloads_are_logged();
}

fn problems_of_root_certificates() {
    let warnings = || {
        let lines = std::mem::take(&mut *LINES.lock().unwrap());
        let warnings = lines.into_iter().filter(|(level, _)| *level == Level::Warn);
        warnings.map(|(_, text)| text).collect::<Vec<_>>()
    };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logging-roots.pem");
    let name = path.display();
    let cache = RootCache::new();
    let source = RootSource::PemFile(path.clone());
    let damaged = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    let good = &KeyType::Ed25519.identities().ca_pem;

    // only the caller learns of a failed first load
    fs::write(&path, "").unwrap();
    assert!(cache.load(&source).is_err());
    assert_eq!(warnings(), [""; 0]);
    fs::write(&path, format!("{good}{damaged}")).unwrap();
    cache.load(&source).unwrap();
    cache.load(&source).unwrap();
    let ignored = format!("root certificates: ignored {name}: certificate 2: ");
    let [warning] = &warnings()[..] else {
        panic!("one line for each certificate");
    };
    assert!(warning.starts_with(&ignored), "{warning}");

    fs::write(&path, format!("{good}{}", damaged.repeat(20))).unwrap();
    assert_eq!(cache.reload(&source).unwrap().ignored_count, 20);
    let many = warnings();
    assert_eq!(many.len(), 11);
    assert!(
        many[10].ends_with(" 20 were ignored in all"),
        "{}",
        many[10]
    );

    fs::write(&path, "").unwrap();
    assert!(cache.reload(&source).unwrap().failed_reload.is_some());
    assert_eq!(
        warnings(),
        [format!(
            "root certificates: keeping the old ones of PemFile({path:?}): no usable root certificate: {name}: no certificate"
        )]
    );
}

fn failed_reloads_are_logged() {
    let path = std::env::temp_dir().join(format!("logging-{}.pem", std::process::id()));
    fs::write(&path, &KeyType::Ed25519.identities().ca_pem).unwrap();
    let provider = Arc::new(PROVIDERS[0].this());
    let verifier =
        ReloadingServerVerifier::builder(RootSource::PemFile(path.clone()), provider).build();
    fs::remove_file(&path).unwrap();
    verifier.unwrap().reload().unwrap_err();

    let lines = std::mem::take(&mut *LINES.lock().unwrap());
    let is_told = |(level, line): &(Level, String)| {
        *level == Level::Warn && line.contains("not replaced") && line.contains("logging-")
    };
    assert_eq!(
        lines.iter().filter(|line| is_told(line)).count(),
        1,
        "{lines:#?}"
    );
}
