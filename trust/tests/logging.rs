//! Tests of the log lines of root caches and reloads: warnings about sources.
//!
//! This test is a separate program because the logger belongs to the process.

use std::path::Path;
use std::sync::Arc;
use std::{env, fs, process};

use harness::peers::callbacks::Clock;
use harness::peers::configs::{KeyType, PROVIDERS};
use harness::peers::log_lines::listen;
use harness::peers::pki;
use log::Level;
use rcgen::CertificateParams;
use rustls_trust::{
    CertifiedKeyFiles, ReloadingCertifiedKeys, ReloadingServerVerifier, RootCache, RootSource,
};

/// Runs `call`. Returns its result and the warnings logged by it.
fn warnings<T>(call: impl FnOnce() -> T) -> (T, Vec<String>) {
    let (value, lines) = listen(call);
    let warnings = lines.into_iter().filter(|line| line.level == Level::Warn);
    (value, warnings.map(|line| line.text).collect())
}

#[test]
fn problems_of_root_certificates_are_logged() {
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

    // nothing is repeated
    let reload = || warnings(|| cache.reload(&source).unwrap());
    assert_eq!(reload().1, [""; 0]);

    fs::write(&path, format!("{good}{}", damaged.repeat(20))).unwrap();
    let (reloaded, many) = reload();
    assert_eq!(reloaded.ignored_count, 20);
    assert_eq!(many.len(), 11);
    assert!(many[10].ends_with(" 20 were ignored in all"), "{many:?}");

    fs::write(&path, "").unwrap();
    let (reloaded, lines) = reload();
    assert!(reloaded.failed_reload.is_some());
    let keeping = format!("root certificates: keeping the old ones of PemFile({path:?})");
    let reason = format!("no usable root certificate: {name}: no certificate");
    assert_eq!(lines, [format!("{keeping}: {reason}")]);
    for _ in 0..3 {
        assert_eq!(reload().1, [""; 0]);
    }
    // another failure is logged
    fs::remove_file(&path).unwrap();
    assert_eq!(reload().1.len(), 1);
    // and so is the same one after a success
    for _ in 0..2 {
        fs::write(&path, good).unwrap();
        reload();
        fs::write(&path, "").unwrap();
        assert_eq!(reload().1.len(), 1);
    }
}

/// A line for each kind of failure names the file and what remains in use. It is not repeated each
/// second.
#[test]
fn failed_reloads_are_logged_once() {
    let path = env::temp_dir().join(format!("logging-{}.pem", process::id()));
    fs::write(&path, &KeyType::Ed25519.identities().ca_pem).unwrap();
    let provider = Arc::new(PROVIDERS[0].this());
    let source = RootSource::PemFile(path.clone());
    let builder = ReloadingServerVerifier::builder(source, provider);
    let verifier = builder.build().unwrap();
    let warnings = || {
        let (_, lines) = warnings(|| verifier.reload_if_changed().unwrap_err());
        let is_told = |line: &String| line.contains("the old content stays in use: ");
        lines.into_iter().filter(is_told).collect::<Vec<_>>()
    };
    let damages: [&dyn Fn(); 2] = [&|| fs::remove_file(&path).unwrap(), &|| {
        fs::write(&path, "").unwrap()
    }];
    for damage in damages {
        damage();
        let lines = warnings();
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(lines[0].contains(&*path.to_string_lossy()), "{lines:#?}");
        for _ in 0..3 {
            assert_eq!(warnings(), [""; 0]);
        }
    }
}

/// Flaws do not make a reload fail. Their texts contain the time of the check, but a new time does
/// not make a new message.
#[test]
fn flaws_of_certificates_are_logged_once() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let key = pki::key();
    let issuer = pki::root("ca", |_| ());
    let issue = |until| {
        let mut params = CertificateParams::new([pki::SERVER.into()]).unwrap();
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        params.signed_by(&key, &issuer).unwrap().pem()
    };
    let [chain_file, key_file] =
        ["chain", "key"].map(|it| folder.join(format!("logging-{it}.pem")));
    let write = |certificates: &[i32]| {
        let chain: String = certificates.iter().map(|until| issue(*until)).collect();
        fs::write(&chain_file, chain).unwrap();
    };
    fs::write(&key_file, key.serialize_pem()).unwrap();
    write(&[2030, 2021]);
    let files = CertifiedKeyFiles::new(&chain_file, &key_file).with_ocsp(folder.join("none"));
    let clock = Clock::at(pki::now().as_secs());
    let build = || {
        ReloadingCertifiedKeys::builder(Arc::new(PROVIDERS[0].this()))
            .with_default(files.clone())
            .with_time_provider(clock.clone())
            .build()
            .unwrap()
    };
    let (keys, lines) = warnings(build);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    let flaws = ["chain.pem: certificate 2: ", "none: no OCSP"];
    for (line, flaw) in lines.iter().zip(flaws) {
        let is_it = line.contains(": active, but ") && line.contains(flaw);
        assert!(is_it, "{line}");
    }
    let reload = || warnings(|| keys.reload().unwrap()).1;
    for _ in 0..3 {
        clock.advance(1);
        assert_eq!(reload(), [""; 0]);
    }
    write(&[2030]);
    assert_eq!(reload(), [""; 0]);
    write(&[2030, 2021]);
    assert_eq!(reload().len(), 1);
}
