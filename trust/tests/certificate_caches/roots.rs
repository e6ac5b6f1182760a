//! Tests of root certificates: each source is loaded once for all callers, and its store is shared.

use std::fs;
use std::path::{self, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use harness::peers::callbacks::Clock;
use rustls_trust::{RootCache, RootSource};

use crate::certificate_caches::kit::{Root, assert_has, bundle, in_memory, some_roots};
use crate::directory::Directory;

const HOUR: i64 = 60 * 60;

/// Returns every kind of file source, each with `roots` in this order.
fn sources(folder: &Directory, roots: &[Root]) -> [RootSource; 3] {
    let directory = folder.path("directory");
    fs::create_dir(&directory).unwrap();
    for (number, root) in roots.iter().enumerate() {
        if number % 2 == 0 {
            folder.write(&format!("directory/{number}.pem"), &root.pem);
        } else {
            folder.write(&format!("directory/{number}.der"), &root.der);
        }
    }
    let bundle = bundle(roots);
    [
        RootSource::PemFile(folder.write("bundle.pem", &bundle)),
        in_memory(bundle),
        RootSource::Directory(directory),
    ]
}

#[test]
fn each_source_is_loaded_once_and_shared() {
    let folder = Directory::of_old_files();
    let roots = some_roots::<3>();
    let cache = RootCache::new();
    for (number, source) in sources(&folder, &roots).into_iter().enumerate() {
        let loaded = cache.load(&source).unwrap();
        assert_has(&loaded.store, &[&roots[0], &roots[1], &roots[2]]);
        assert!(loaded.ignored.is_empty() && loaded.failed_reload.is_none());
        assert_eq!((loaded.ignored_count, loaded.duplicates), (0, 0));

        assert!(Arc::ptr_eq(&loaded.store, &cache.store(&source).unwrap()));
        let again = cache.load(&source.clone()).unwrap();
        assert!(Arc::ptr_eq(&loaded.store, &again.store));
        assert_eq!(loaded.loaded_at, again.loaded_at);

        let stats = cache.stats();
        let number = number as u64;
        assert_eq!(stats.entries as u64, number + 1);
        assert_eq!((stats.misses, stats.hits), (number + 1, 2 * (number + 1)));
    }
    // the keys of three roots, three times, and the bundle in memory
    let bytes = cache.stats().bytes.unwrap();
    assert!(bytes > 3 * 3 * 65 + bundle(&roots).len(), "{bytes}");
}

#[test]
fn only_sources_with_the_same_bytes_are_shared() {
    let [a, b] = some_roots::<2>();
    let cache = RootCache::new();
    // long, of equal length, and different in one byte that the hash does not sample
    let padding = "#".repeat(100_000);
    let pem = format!("{}{padding}{}", a.pem, b.pem).into_bytes();
    let mut changed = pem.clone();
    changed[a.pem.len() + 300] = b'!';

    let source = |bytes: &[u8]| in_memory(bytes);
    let store = cache.store(&source(&pem)).unwrap();
    assert!(Arc::ptr_eq(&store, &cache.store(&source(&pem)).unwrap()));
    let other = cache.store(&source(&changed)).unwrap();
    assert!(!Arc::ptr_eq(&store, &other));
    assert_eq!(cache.stats().entries, 2);
    assert!(source(&pem) == source(&pem) && source(&pem) != source(&changed));
    let text = format!("Pem([ {} bytes ])", pem.len());
    assert_eq!(format!("{:?}", source(&pem)), text);

    // a path differs from its content
    let path = PathBuf::from("a");
    assert_ne!(
        RootSource::PemFile(path.clone()),
        RootSource::Directory(path)
    );
}

#[test]
fn a_relative_path_is_the_same_source_as_the_absolute_one() {
    let folder = Directory::of_old_files();
    let [a] = some_roots();
    let absolute = folder.write("a.pem", &a.pem);
    let here = path::absolute(".").unwrap();
    // up to the root and down again
    let mut relative = PathBuf::new();
    relative.extend(here.components().skip(1).map(|_| ".."));
    relative.extend(absolute.components().skip(1));
    assert!(relative.is_relative());

    let cache = RootCache::new();
    let store = cache.store(&RootSource::PemFile(relative)).unwrap();
    assert_has(&store, &[&a]);

    let plain = RootSource::PemFile("no-such-file.pem".into());
    let error = cache.store(&plain).unwrap_err().to_string();
    assert!(error.contains(here.to_str().unwrap()), "{error}");
    // relative paths work here, too
    cache.invalidate(&plain);
    assert_eq!(cache.stats().entries, 1);
}

#[test]
fn there_is_one_cache_for_the_process() {
    let [a] = some_roots();
    let source = in_memory(a.pem);
    let store = RootCache::global().store(&source).unwrap();
    let loaded = RootCache::global().load(&source).unwrap();
    let again = RootCache::global().store(&source).unwrap();
    assert!(Arc::ptr_eq(&store, &loaded.store) && Arc::ptr_eq(&store, &again));
    // it is already in use
    assert!(RootCache::new().install_global().is_err());
}

#[test]
fn files_are_read_again_after_the_lifetime() {
    let [a, b] = some_roots();
    for (case, lifetime, seen_after) in [
        ("off", Some(Duration::ZERO), 0),
        ("an hour", Some(Duration::from_secs(60 * 60)), HOUR),
        ("a day, by default", None, 24 * HOUR),
    ] {
        let folder = Directory::of_old_files();
        let clock = Clock::now();
        let mut cache = RootCache::new().with_time_provider(clock.clone());
        if let Some(lifetime) = lifetime {
            cache = cache.with_lifetime(lifetime);
        }
        let source = RootSource::PemFile(folder.write("a.pem", &a.pem));
        let old = cache.store(&source).unwrap();
        folder.write("a.pem", &b.pem);
        if seen_after > 0 {
            clock.advance(seen_after - 1);
            assert!(Arc::ptr_eq(&old, &cache.store(&source).unwrap()), "{case}");
            clock.advance(1);
        }
        assert_has(&cache.store(&source).unwrap(), &[&b]);
        // a clock that was set back expires entries
        folder.write("a.pem", &a.pem);
        clock.advance(-1);
        assert_has(&cache.store(&source).unwrap(), &[&a]);
    }
}

#[test]
fn sources_in_memory_are_parsed_once() {
    let [a] = some_roots();
    let clock = Clock::now();
    let cache = RootCache::new().with_time_provider(clock.clone());
    let source = in_memory(a.pem);
    cache.store(&source).unwrap();
    clock.advance(1000 * HOUR);
    cache.store(&source).unwrap();
    assert_eq!(cache.stats().misses, 1);
}

#[test]
fn equal_roots_share_one_store() {
    let [a, b] = some_roots();
    let folder = Directory::of_old_files();
    let clock = Clock::now();
    let cache = RootCache::new().with_time_provider(clock.clone());
    let source = RootSource::PemFile(folder.write("a.pem", &a.pem));
    let old = cache.load(&source).unwrap();

    // different bytes, the same roots
    folder.write("a.pem", format!("a comment\n{}{}", a.pem, a.pem));
    clock.advance(24 * HOUR);
    let new = cache.load(&source).unwrap();
    assert!(Arc::ptr_eq(&old.store, &new.store));
    assert_ne!(old.loaded_at, new.loaded_at);
    assert_eq!((old.duplicates, new.duplicates), (0, 1));
    assert_eq!(cache.stats().reloads, 1);

    folder.write("a.pem", bundle(&[a.clone(), b.clone()]));
    clock.advance(24 * HOUR);
    let newer = cache.load(&source).unwrap();
    assert_has(&newer.store, &[&a, &b]);
    // earlier callers keep the old store
    assert_has(&old.store, &[&a]);
}

#[test]
fn the_number_of_sources_is_limited() {
    let folder = Directory::of_old_files();
    let roots = some_roots::<3>();
    let [file, pem, directory] = sources(&folder, &roots);
    let cache = RootCache::new().with_capacity(2);
    for source in [&file, &pem, &file, &directory] {
        cache.store(source).unwrap();
    }
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.evictions, stats.misses), (2, 1, 3));
    cache.store(&file).unwrap();
    assert_eq!(cache.stats().misses, 3);
    cache.store(&pem).unwrap();
    assert_eq!(cache.stats().misses, 4);
}

#[test]
fn the_roots_of_mozilla_are_loaded() {
    let cache = RootCache::new();
    let store = cache.store(&RootSource::WebPki).unwrap();
    assert!(store.len() > 100);
    let again = cache.store(&RootSource::WebPki).unwrap();
    assert!(Arc::ptr_eq(&store, &again));
    assert_eq!(format!("{:?}", RootSource::WebPki), "WebPki");
}
