//! Root files that change, disappear or are damaged while cached, and the effect on handshakes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use harness::peers::callbacks::Clock;
use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, this as configs};
use harness::peers::endpoints::{ThisBuffered, exchange};
use rustls::ClientConfig;
use rustls_trust::{RootCache, RootSource, RootsError};

use crate::kit::{Folder, assert_has, set_modified, some_roots};

const DAY: i64 = 24 * 60 * 60;

/// A cache with default settings and a test clock.
fn cache(clock: &Arc<Clock>) -> RootCache {
    RootCache::new().with_time_provider(clock.clone())
}

/// A change to a file.
type Damage<'a> = &'a dyn Fn(&Path);

#[test]
fn a_failed_reload_keeps_the_old_roots_and_reports_it() {
    let folder = Folder::new("failed");
    let [a, b] = some_roots();
    let path = folder.path("a.pem");
    let garbage = |content: &'static str| move |path: &Path| fs::write(path, content).unwrap();
    let damages: [(&str, Damage<'_>); 5] = [
        ("a.pem: No such file", &|path| {
            fs::remove_file(path).unwrap()
        }),
        ("a.pem: no certificate", &garbage("")),
        ("a.pem: no certificate", &garbage("nothing of use")),
        (
            "a.pem: certificate 1: ",
            &garbage("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"),
        ),
        ("a.pem: not a regular file", &|path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (number, (expected, damage)) in damages.into_iter().enumerate() {
        let clock = Clock::now();
        let cache = cache(&clock);
        let source = RootSource::PemFile(folder.write("a.pem", &a.pem));
        let old = cache.load(&source).unwrap();
        damage(&path);

        clock.advance(DAY);
        let kept = cache.load(&source).unwrap();
        assert!(Arc::ptr_eq(&kept.store, &old.store));
        assert_eq!(kept.loaded_at, old.loaded_at);
        let failure = kept.failed_reload.unwrap().to_string();
        assert!(failure.contains(expected), "{failure}");
        assert!(Arc::ptr_eq(&cache.store(&source).unwrap(), &old.store));
        // retried once a minute
        clock.advance(59);
        cache.load(&source).unwrap();
        assert_eq!(cache.stats().failures, 1);
        clock.advance(1);
        cache.load(&source).unwrap();
        assert_eq!(cache.stats().failures, 2);
        // or on request
        let kept = cache.reload(&source).unwrap();
        assert!(kept.failed_reload.is_some() && Arc::ptr_eq(&kept.store, &old.store));

        if number == 4 {
            fs::remove_dir(&path).unwrap();
        }
        folder.write("a.pem", &b.pem);
        clock.advance(60);
        let new = cache.load(&source).unwrap();
        assert_has(&new.store, &[&b]);
        assert!(new.failed_reload.is_none());
        let stats = cache.stats();
        assert_eq!((stats.failures, stats.reloads, stats.entries), (3, 1, 1));
    }
}

#[test]
fn the_retry_interval_can_be_set() {
    let folder = Folder::new("retry");
    let [a, b] = some_roots();
    let clock = Clock::now();
    let cache = cache(&clock).with_retry_interval(Duration::from_secs(5));
    let source = RootSource::PemFile(folder.write("a.pem", &a.pem));
    cache.load(&source).unwrap();
    folder.write("a.pem", "");
    clock.advance(DAY);
    cache.load(&source).unwrap();
    folder.write("a.pem", &b.pem);
    clock.advance(4);
    assert!(cache.load(&source).unwrap().failed_reload.is_some());
    clock.advance(1);
    assert_has(&cache.load(&source).unwrap().store, &[&b]);
}

#[test]
fn a_directory_that_is_gone_keeps_the_old() {
    let folder = Folder::new("gone");
    let [a] = some_roots();
    fs::create_dir(folder.path("roots")).unwrap();
    folder.write("roots/a.pem", &a.pem);
    let clock = Clock::now();
    let cache = cache(&clock);
    let source = RootSource::Directory(folder.path("roots"));
    let old = cache.store(&source).unwrap();
    fs::remove_dir_all(folder.path("roots")).unwrap();
    clock.advance(DAY);
    let kept = cache.load(&source).unwrap();
    assert!(Arc::ptr_eq(&kept.store, &old));
    assert!(matches!(kept.failed_reload, Some(RootsError::File(_))));
}

#[test]
fn a_changed_file_is_seen_at_once_if_asked_for() {
    let folder = Folder::new("changed-file");
    let [a, b] = some_roots();
    assert_eq!(a.pem.len(), b.pem.len(), "the sizes must be equal");
    let path = folder.path("a.pem");
    let changes: [(&str, &dyn Fn()); 5] = [
        ("size", &|| {
            folder.write("a.pem", format!("{}\n", b.pem));
        }),
        ("modification time", &|| {
            fs::write(&path, &b.pem).unwrap();
            set_modified(&path, 1);
        }),
        ("an earlier modification time", &|| {
            fs::write(&path, &b.pem).unwrap();
            set_modified(&path, 10);
            set_modified(&path, 9);
        }),
        ("another file of the same size and time", &|| {
            let new = folder.write("new.pem", &b.pem);
            fs::rename(new, &path).unwrap();
        }),
        ("gone and back", &|| {
            fs::remove_file(&path).unwrap();
            folder.write("a.pem", &b.pem);
        }),
    ];
    for (what, change) in changes {
        for at_once in [false, true] {
            let clock = Clock::now();
            let cache = cache(&clock).with_change_detection(at_once);
            let source = RootSource::PemFile(folder.write("a.pem", &a.pem));
            let old = cache.store(&source).unwrap();
            assert!(Arc::ptr_eq(&old, &cache.store(&source).unwrap()));
            assert_eq!(cache.stats().misses, 1, "{what}");

            change();
            if !at_once {
                assert!(Arc::ptr_eq(&old, &cache.store(&source).unwrap()), "{what}");
                clock.advance(DAY);
            }
            assert_has(&cache.store(&source).unwrap(), &[&b]);
            assert_eq!(cache.stats().reloads, 1, "{what}");
        }
    }
}

#[test]
fn a_file_written_a_moment_ago_is_read_again() {
    let folder = Folder::new("a-moment-ago");
    let [a, b] = some_roots();
    let cache = RootCache::new().with_change_detection(true);
    let path = folder.path("a.pem");
    let source = RootSource::PemFile(path.clone());
    // equal sizes, and probably equal times at the file system's resolution
    for root in [&a, &b, &a, &b] {
        fs::write(&path, &root.pem).unwrap();
        assert_has(&cache.store(&source).unwrap(), &[root]);
    }
}

#[test]
fn a_changed_directory_is_seen_at_once_if_asked_for() {
    let folder = Folder::new("changed-directory");
    let [a, b, c] = some_roots();
    folder.write("a.pem", &a.pem);
    folder.write("c.pem", &c.pem);
    let cache = RootCache::new().with_change_detection(true);
    let source = RootSource::Directory(folder.path(""));
    // otherwise the directory would count as still changing
    let age_directory = || {
        let directory = fs::File::open(&folder).unwrap();
        directory.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    };
    age_directory();
    let old = cache.store(&source).unwrap();
    assert_has(&old, &[&a, &c]);
    assert!(Arc::ptr_eq(&old, &cache.store(&source).unwrap()));
    assert_eq!(cache.stats().misses, 1);

    // changed in place, which does not show in the directory's own time
    fs::write(folder.path("c.pem"), &b.pem).unwrap();
    set_modified(&folder.path("c.pem"), 1);
    assert_has(&cache.store(&source).unwrap(), &[&a, &b]);
    folder.write("b.pem", &c.pem);
    assert_has(&cache.store(&source).unwrap(), &[&a, &c, &b]);
    age_directory();
    cache.store(&source).unwrap();
    fs::remove_file(folder.path("a.pem")).unwrap();
    assert_has(&cache.store(&source).unwrap(), &[&c, &b]);
}

#[test]
fn a_damaged_change_keeps_the_old_until_it_changes_again() {
    let folder = Folder::new("damaged-change");
    let [a, b] = some_roots();
    let clock = Clock::now();
    let cache = cache(&clock).with_change_detection(true);
    let source = RootSource::PemFile(folder.write("a.pem", &a.pem));
    let old = cache.store(&source).unwrap();
    folder.write("a.pem", "half of it");
    for _ in 0..3 {
        let kept = cache.load(&source).unwrap();
        assert!(kept.failed_reload.is_some() && Arc::ptr_eq(&kept.store, &old));
    }
    assert_eq!(cache.stats().failures, 1);
    folder.write("a.pem", &b.pem);
    assert_has(&cache.load(&source).unwrap().store, &[&b]);
}

/// Connects a client that trusts `source` to a server with each provider, and returns the results.
fn connect(cache: &RootCache, source: &RootSource) -> Vec<Result<(), String>> {
    let connect = |provider: Provider| {
        let client = ClientConfig::builder_with_provider(provider.this().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(cache.store(source).unwrap())
            .with_no_client_auth();
        let server = configs::server(provider.this(), KeyType::Ed25519, ClientAuth::None);
        exchange(
            &mut ThisBuffered::client(client),
            &mut ThisBuffered::server(server),
        )
    };
    PROVIDERS.map(connect).into()
}

#[test]
fn handshakes_follow_the_file() {
    let folder = Folder::new("handshakes");
    let trusted = KeyType::Ed25519.identities();
    let other = KeyType::EcdsaP256.identities();
    let clock = Clock::now();
    let cache = cache(&clock);
    let source = RootSource::PemFile(folder.write("a.pem", &trusted.ca_pem));
    let accepts = |cache: &RootCache| connect(cache, &source).iter().all(Result::is_ok);
    assert!(accepts(&cache));

    // the authority is no longer trusted once a day has passed
    folder.write("a.pem", &other.ca_pem);
    assert!(accepts(&cache));
    clock.advance(DAY);
    for refused in connect(&cache, &source) {
        let error = refused.unwrap_err();
        assert!(
            error.starts_with("client: ") && error.contains("UnknownIssuer"),
            "{error}"
        );
    }

    // an unusable file does not bring it back
    folder.write("a.pem", "");
    clock.advance(DAY);
    assert!(!accepts(&cache));
    folder.write("a.pem", &trusted.ca_pem);
    clock.advance(DAY);
    assert!(accepts(&cache));
}
