//! Tests of root files that change, disappear or are damaged while cached, and of the effect on
//! handshakes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use harness::peers::callbacks::Clock;
use rustls_trust::{RootCache, RootSource, RootsError};

use crate::certificate_caches::kit::{GARBAGE, assert_has, some_roots};
#[cfg(unix)]
use crate::directory::make_pipe;
use crate::directory::{Directory, set_modified};

const DAY: i64 = 24 * 60 * 60;

/// Creates a cache with default settings and a test clock.
fn cache(clock: &Arc<Clock>) -> RootCache {
    RootCache::new().with_time_provider(clock.clone())
}

/// A change to a file.
type Damage<'a> = &'a dyn Fn(&Path);

fn become_directory(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
}

#[test]
fn a_failed_reload_keeps_the_old_roots_and_reports_it() {
    let folder = Directory::of_old_files();
    let [a, b] = some_roots();
    let path = folder.path("a.pem");
    let garbage = |content: &'static str| move |path: &Path| fs::write(path, content).unwrap();
    let damages: [(&str, Damage<'_>); 5] = [
        ("No such file", &|path| fs::remove_file(path).unwrap()),
        ("no certificate", &garbage("")),
        ("no certificate", &garbage("nothing of use")),
        ("certificate 1: ", &garbage(GARBAGE)),
        ("not a regular file", &become_directory),
    ];
    for (expected, damage) in damages {
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
        let expected = format!("a.pem: {expected}");
        assert!(failure.contains(&expected), "{failure}");
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

        let _ = fs::remove_dir(&path);
        folder.write("a.pem", &b.pem);
        clock.advance(60);
        let new = cache.load(&source).unwrap();
        assert_has(&new.store, &[&b]);
        assert!(new.failed_reload.is_none());
        let stats = cache.stats();
        assert_eq!((stats.failures, stats.reloads, stats.entries), (3, 1, 1));
    }
}

/// No root is lost because a file of a directory cannot be read, or because a bundle is truncated.
#[test]
fn a_reload_that_loses_roots_keeps_the_old_ones() {
    let [a, b] = some_roots();
    let bundle = format!("{}{}", a.pem, b.pem);
    let write = |content: Vec<u8>| move |path: &Path| fs::write(path, &content).unwrap();
    let cut = |pem: &str, at: usize| write(pem.as_bytes()[..at].to_vec());
    let utf_16 = b.pem.encode_utf16().flat_map(u16::to_le_bytes).collect();
    #[cfg(unix)]
    let [link, pipe] = {
        let link = |path: &Path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("nowhere", path).unwrap();
        };
        let pipe = |path: &Path| {
            fs::remove_file(path).unwrap();
            make_pipe(path);
        };
        [link as fn(&Path), pipe]
    };
    let of_directory: &[(&str, Damage<'_>)] = &[
        ("no certificate", &write(Vec::new())),
        ("no certificate", &write(vec![0; 4096])),
        ("no certificate", &cut(&b.pem, 10)),
        ("certificate 1: ", &cut(&b.pem, 100)),
        ("UTF-16, not UTF-8", &write(utf_16)),
        ("BadEncoding", &write(b.der[..b.der.len() - 1].to_vec())),
        ("not a regular file", &become_directory),
        #[cfg(unix)]
        ("No such file", &link),
        #[cfg(unix)]
        ("not a regular file", &pipe),
    ];
    let of_file: &[(&str, Damage<'_>)] = &[
        ("certificate 2: ", &cut(&bundle, bundle.len() - 40)),
        ("certificate 2: ", &cut(&bundle, a.pem.len() + 100)),
    ];
    for (is_directory, damages) in [(true, of_directory), (false, of_file)] {
        for (expected, damage) in damages {
            let folder = Directory::of_old_files();
            let (source, damaged) = if is_directory {
                folder.write("readme", "The authorities of our customers");
                folder.write("a.pem", &a.pem);
                folder.write("b.pem", &b.pem);
                (RootSource::Directory(folder.path("")), folder.path("b.pem"))
            } else {
                let path = folder.write("both.pem", &bundle);
                (RootSource::PemFile(path.clone()), path)
            };
            let cache = RootCache::new();
            let old = cache.load(&source).unwrap();
            assert_has(&old.store, &[&a, &b]);
            damage(&damaged);
            for _ in 0..2 {
                let kept = cache.reload(&source).unwrap();
                assert!(Arc::ptr_eq(&kept.store, &old.store));
                let failure = kept.failed_reload.unwrap();
                assert!(matches!(failure, RootsError::Lost { count: 1, .. }));
                let text = failure.to_string();
                let file = damaged.display().to_string();
                assert!(text.contains(expected) && text.contains(&file), "{text}");
            }
            // the remaining roots become active only on request
            cache.invalidate(&source);
            assert_has(&cache.store(&source).unwrap(), &[&a]);

            let _ = fs::remove_dir(&damaged);
            let _ = fs::remove_file(&damaged);
            let content = if is_directory { &b.pem } else { &bundle };
            fs::write(&damaged, content).unwrap();
            let repaired = cache.reload(&source).unwrap();
            assert!(repaired.failed_reload.is_none());
            assert_has(&repaired.store, &[&a, &b]);
        }
    }
}

/// The file of a root may be renamed without a change of the roots.
#[test]
fn roots_in_a_renamed_file_are_not_lost() {
    let folder = Directory::of_old_files();
    let [a, b] = some_roots();
    folder.write("a.pem", &a.pem);
    let [old, new] = ["old.pem", "new.pem"].map(|name| folder.path(name));
    fs::write(&old, &b.pem).unwrap();
    let source = RootSource::Directory(folder.path(""));
    let cache = RootCache::new();
    let store = cache.store(&source).unwrap();
    fs::rename(old, &new).unwrap();
    cache.reload(&source).unwrap();
    fs::write(&new, "").unwrap();
    let kept = cache.reload(&source).unwrap();
    assert!(kept.failed_reload.is_some() && Arc::ptr_eq(&kept.store, &store));
}

/// A root that somebody has removed is no longer used, even if the directory has files without a
/// certificate and old faults.
#[test]
fn removed_roots_are_no_longer_used() {
    let folder = Directory::of_old_files();
    let [a, b, c] = some_roots();
    folder.write("damaged.pem", &c.pem[..100]);
    for root in [("a.pem", &a), ("b.pem", &b)] {
        folder.write(root.0, &root.1.pem);
    }
    let source = RootSource::Directory(folder.path(""));
    let cache = RootCache::new();
    assert_has(&cache.store(&source).unwrap(), &[&a, &b]);
    // a file without a certificate explains no loss, and neither does an old fault
    folder.write("readme", "text");
    fs::create_dir(folder.path("old")).unwrap();
    fs::remove_file(folder.path("b.pem")).unwrap();
    let loaded = cache.reload(&source).unwrap();
    assert!(loaded.failed_reload.is_none());
    assert_has(&loaded.store, &[&a]);
    // a new fault does not prevent a replacement if no root is lost
    folder.write("c.pem", &c.pem);
    folder.write("other.pem", &b.pem[..100]);
    let loaded = cache.reload(&source).unwrap();
    assert!(loaded.failed_reload.is_none());
    assert_has(&loaded.store, &[&a, &c]);
    assert_eq!(loaded.ignored_count, 3);
}

#[test]
fn the_retry_interval_can_be_set() {
    let folder = Directory::of_old_files();
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
fn a_changed_file_is_noticed_immediately_on_request() {
    let folder = Directory::of_old_files();
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
        for detects_changes in [false, true] {
            let clock = Clock::now();
            let cache = cache(&clock).with_change_detection(detects_changes);
            let source = RootSource::PemFile(folder.write("a.pem", &a.pem));
            let old = cache.store(&source).unwrap();
            assert!(Arc::ptr_eq(&old, &cache.store(&source).unwrap()));
            assert_eq!(cache.stats().misses, 1, "{what}");

            change();
            if !detects_changes {
                assert!(Arc::ptr_eq(&old, &cache.store(&source).unwrap()), "{what}");
                clock.advance(DAY);
            }
            assert_has(&cache.store(&source).unwrap(), &[&b]);
            assert_eq!(cache.stats().reloads, 1, "{what}");
        }
    }
}

#[test]
fn a_changed_directory_is_noticed_immediately_on_request() {
    let folder = Directory::of_old_files();
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
