//! Tests of reloading revocation lists: no older list replaces one in use.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use harness::peers::callbacks::Clock;
use harness::peers::pki::{Issuer, crl, root};
use rcgen::{SerialNumber, date_time_ymd};
use rustls::pki_types::CertificateRevocationListDer as Crl;
use rustls_trust::{CrlCache, CrlError, CrlProblemReason, CrlSource, LoadedCrls};

use crate::certificate_caches::revocation::assert_lists;
use crate::directory::{Directory, set_modified};

const LIFETIME: i64 = 100;

/// A directory of lists, and a cache with a test clock.
struct Fixture {
    folder: Directory,
    clock: Arc<Clock>,
    cache: CrlCache,
    source: CrlSource,
}

impl Fixture {
    fn new() -> Self {
        let folder = Directory::of_old_files();
        let clock = Clock::now();
        Self {
            cache: CrlCache::new()
                .with_lifetime(Duration::from_secs(LIFETIME as u64))
                .with_retry_interval(Duration::from_secs(10))
                .with_time_provider(clock.clone()),
            source: CrlSource::Directory(folder.as_ref().into()),
            folder,
            clock,
        }
    }

    fn write(&self, name: &str, der: &Crl<'_>) -> PathBuf {
        self.folder.write(name, der)
    }

    fn load(&self) -> LoadedCrls {
        self.cache.load(&self.source).unwrap()
    }

    /// Loads the lists after their lifetime has passed.
    fn load_later(&self) -> LoadedCrls {
        self.clock.advance(LIFETIME);
        self.load()
    }
}

/// Creates a list issued on the given day of January 2023.
fn issued(issuer: &Issuer, day: u8, number: u64) -> Crl<'static> {
    crl(issuer, &[day], |params| {
        params.this_update = date_time_ymd(2023, 1, day);
        params.crl_number = SerialNumber::from(number);
    })
}

#[track_caller]
fn assert_has(loaded: &LoadedCrls, expected: &[&Crl<'static>]) {
    assert_lists(&loaded.lists, expected);
}

#[test]
fn newer_lists_replace_older_ones() {
    let fixture = Fixture::new();
    let [one, two] = ["One", "Two"].map(|name| root(name, |_| ()));
    let (first, other) = (issued(&one, 1, 1), issued(&two, 1, 1));
    fixture.write("one", &first);
    fixture.write("two", &other);
    let before = fixture.load();
    assert_has(&before, &[&first, &other]);

    // not before the lifetime has passed
    let second = issued(&one, 2, 2);
    fixture.write("one", &second);
    fixture.clock.advance(LIFETIME - 1);
    let still = fixture.load();
    assert!(Arc::ptr_eq(&still.lists, &before.lists));
    fixture.clock.advance(1);
    let after = fixture.load();
    assert_has(&after, &[&second, &other]);
    assert!(after.problems.is_empty() && after.failed_reload.is_none());
    // an unchanged list stays the same allocation
    assert!(Arc::ptr_eq(&after.lists[1], &before.lists[1]));

    let again = fixture.load_later();
    assert!(Arc::ptr_eq(&again.lists, &after.lists));
    // earlier results keep their lists
    assert_has(&before, &[&first, &other]);
    let stats = fixture.cache.stats();
    assert_eq!((stats.misses, stats.reloads, stats.failures), (3, 2, 0));
}

#[test]
fn changed_files_are_read_immediately_on_request() {
    let fixture = Fixture::new();
    let issuer = root("One", |_| ());
    let (first, second) = (issued(&issuer, 1, 1), issued(&issuer, 2, 2));
    let path = fixture.write("one", &first);
    let source = CrlSource::File(path.clone());
    let cache = CrlCache::new().with_change_detection(true);
    assert_has(&cache.load(&source).unwrap(), &[&first]);
    fixture.write("one", &second);
    set_modified(&path, 60);
    assert_has(&cache.load(&source).unwrap(), &[&second]);
    assert_has(&cache.load(&source).unwrap(), &[&second]);
    assert_eq!(cache.stats().hits, 1);

    let third = issued(&issuer, 3, 3);
    fixture.folder.write("one", &third);
    set_modified(&path, 60);
    assert_has(&cache.reload(&source).unwrap(), &[&third]);
}

#[test]
fn older_lists_do_not_replace_newer_ones() {
    let fixture = Fixture::new();
    let [one, two] = ["One", "Two"].map(|name| root(name, |_| ()));
    let in_use = issued(&one, 2, 7);
    fixture.write("one", &in_use);
    fixture.write("two", &issued(&two, 1, 1));
    fixture.load();

    let newer = issued(&two, 3, 2);
    fixture.write("two", &newer);
    for older in [issued(&one, 1, 7), issued(&one, 1, 9), issued(&one, 2, 6)] {
        let path = fixture.write("one", &older);
        let loaded = fixture.load_later();
        assert_has(&loaded, &[&in_use, &newer]);
        assert_eq!(loaded.problems.len(), 1);
        assert_eq!(loaded.problems[0].file, Some(path));
        assert!(matches!(loaded.problems[0].reason, CrlProblemReason::Older));
    }
    // equal time and number, but another signature
    let same = crl(&one, &[8], |params| {
        params.this_update = date_time_ymd(2023, 1, 2);
    });
    fixture.write("one", &same);
    let loaded = fixture.load_later();
    assert_has(&loaded, &[&same, &newer]);
    assert!(loaded.problems.is_empty());

    // an explicit invalidation accepts an older list
    let older = issued(&one, 1, 1);
    fixture.write("one", &older);
    fixture.cache.invalidate(&fixture.source);
    assert_has(&fixture.load(), &[&older, &newer]);
}

#[test]
fn forged_lists_dated_in_the_future_do_not_replace_others() {
    let fixture = Fixture::new();
    let issuer = root("One", |_| ());
    let forged = crl(&root("One", |_| ()), &[], |params| {
        params.this_update = date_time_ymd(9998, 1, 1);
        params.next_update = date_time_ymd(9999, 1, 1);
        params.crl_number = SerialNumber::from_slice(&[0x7f; 20]);
    });

    // a forged list cannot replace one in use
    let in_use = issued(&issuer, 1, 1);
    fixture.write("one", &in_use);
    fixture.load();
    fixture.write("one", &forged);
    let loaded = fixture.load_later();
    assert_has(&loaded, &[&in_use]);
    assert!(matches!(loaded.problems[0].reason, CrlProblemReason::Older));

    // if the forged list came first, the next one replaces it
    fixture.cache.clear();
    assert_has(&fixture.load(), &[&forged]);
    let genuine = issued(&issuer, 2, 2);
    fixture.write("one", &genuine);
    let loaded = fixture.load_later();
    assert_has(&loaded, &[&genuine]);
    assert!(loaded.problems.is_empty());
}

#[test]
fn removed_and_damaged_lists_stay_in_use() {
    let fixture = Fixture::new();
    let [one, two] = ["One", "Two"].map(|name| root(name, |_| ()));
    let in_use = issued(&one, 1, 1);
    fixture.write("one", &in_use);
    fixture.write("two", &issued(&two, 1, 1));
    let issuer = fixture.cache.lists(&fixture.source).unwrap()[0]
        .issuer()
        .to_vec();

    // the other list is replaced each time
    for (day, content) in [
        (2, None),
        (3, Some(Vec::new())),
        (4, Some(in_use[..in_use.len() - 1].to_vec())),
        (5, Some(b"-----BEGIN X509 CRL-----\nMII".to_vec())),
        (6, Some(b"what was here".to_vec())),
    ] {
        fs::remove_file(fixture.folder.path("one")).unwrap_or_default();
        if let Some(content) = &content {
            fixture.folder.write("one", content);
        }
        let newer = issued(&two, day, 1);
        fixture.write("two", &newer);

        let loaded = fixture.load_later();
        assert_has(&loaded, &[&in_use, &newer]);
        let last = loaded.problems.last().unwrap();
        let CrlProblemReason::Missing { issuer: missing } = &last.reason else {
            panic!("{last:?}");
        };
        assert_eq!(missing, &issuer);
        let damaged = content.is_some_and(|content| !content.starts_with(b"what"));
        assert_eq!(loaded.problems.len(), 1 + usize::from(damaged));
        if damaged {
            assert_eq!(loaded.problems[0].file, Some(fixture.folder.path("one")));
        }
    }

    let back = issued(&one, 2, 2);
    fixture.write("one", &back);
    let loaded = fixture.load_later();
    assert_eq!(loaded.lists.len(), 2);
    assert!(loaded.lists.iter().any(|list| list.der() == &back));
    assert!(loaded.problems.is_empty());
}

#[test]
fn the_last_lists_stay_in_use_if_all_are_removed() {
    let fixture = Fixture::new();
    let issuer = root("One", |_| ());
    let in_use = issued(&issuer, 1, 1);
    let path = fixture.write("one", &in_use);
    let before = fixture.load();

    fixture.folder.write("one", []);
    let loaded = fixture.load_later();
    assert!(Arc::ptr_eq(&loaded.lists, &before.lists));
    assert!(matches!(loaded.failed_reload, Some(CrlError::Unusable(_))));
    assert_eq!(loaded.loaded_at, before.loaded_at);

    fs::remove_file(&path).unwrap();
    let loaded = fixture.load_later();
    assert!(Arc::ptr_eq(&loaded.lists, &before.lists));
    let failure = loaded.failed_reload;
    assert!(matches!(failure, Some(CrlError::NoLists { .. })));

    fs::remove_dir(&fixture.folder).unwrap();
    let loaded = fixture.load_later();
    assert!(Arc::ptr_eq(&loaded.lists, &before.lists));
    assert!(matches!(loaded.failed_reload, Some(CrlError::File(_))));
    assert_eq!(fixture.cache.stats().failures, 3);

    // the cache reports the failure until there are lists again
    let again = fixture.load();
    assert!(again.failed_reload.is_some());
    assert_eq!(fixture.cache.stats().failures, 3);
    fs::create_dir(&fixture.folder).unwrap();
    fixture.write("one", &issued(&issuer, 2, 2));
    assert!(fixture.load_later().failed_reload.is_none());
}
