//! Equal bytes give the same list, different bytes do not.

use std::sync::Barrier;
use std::{format, thread, vec};

use super::*;
use crate::config::webpki::tests::pki::{Issuer, crl, root};

fn issuer() -> Issuer {
    root("Root", |_| ())
}

fn counts(lists: &SharedLists) -> (usize, u64, u64, u64) {
    let stats = lists.stats();
    (stats.entries, stats.hits, stats.misses, stats.failures)
}

#[test]
fn equal_bytes_share_one_list() {
    let lists = SharedLists::new(8);
    let issuer = issuer();
    let (one, two) = (crl(&issuer, &[1], |_| ()), crl(&issuer, &[2], |_| ()));

    let parsed = lists.list(one.clone()).unwrap();
    assert_eq!(parsed.der(), &one);
    assert!(Arc::ptr_eq(&parsed, &lists.list(one.clone()).unwrap()));
    let other = lists.list(two.clone()).unwrap();
    assert_eq!(other.der(), &two);
    assert!(parsed.parsed().find_serial(&[1]).unwrap().is_some());
    assert!(other.parsed().find_serial(&[1]).unwrap().is_none());

    assert_eq!(counts(&lists), (2, 1, 2, 0));
    assert_eq!(lists.stats().bytes, Some(one.len() + two.len()));
}

#[test]
fn unused_lists_are_removed() {
    let lists = SharedLists::new(100);
    let issuer = issuer();
    for n in 0..200 {
        lists.list(crl(&issuer, &[n], |_| ())).unwrap();
        assert_eq!(lists.stats().entries, 0);
        assert!(lists.lock().len <= 16);
    }

    let der = crl(&issuer, &[1], |_| ());
    drop(lists.list(der.clone()).unwrap());
    drop(lists.list(der).unwrap());
    assert_eq!(counts(&lists), (0, 0, 202, 0));
}

#[test]
fn lists_with_equal_hashes_stay_distinct() {
    let lists = SharedLists::new(8);
    let issuer = issuer();
    let ders = [1, 2, 3].map(|n| crl(&issuer, &[n], |_| ()));
    let parsed = ders
        .clone()
        .map(|der| lists.list_with_hash(7, der).unwrap());
    for (der, list) in ders.iter().zip(&parsed) {
        assert_eq!(list.der(), der);
        assert!(Arc::ptr_eq(
            list,
            &lists.list_with_hash(7, der.clone()).unwrap()
        ));
    }
    assert_eq!(counts(&lists), (3, 3, 3, 0));
}

#[test]
fn lists_beyond_the_capacity_are_not_shared() {
    let lists = SharedLists::new(2);
    let issuer = issuer();
    let ders = [1, 2, 3].map(|n| crl(&issuer, &[n], |_| ()));
    let [one, two, three] = ders.clone().map(|der| lists.list(der).unwrap());
    assert_eq!(lists.stats().entries, 2);
    assert!(!Arc::ptr_eq(&three, &lists.list(ders[2].clone()).unwrap()));
    assert!(Arc::ptr_eq(&two, &lists.list(ders[1].clone()).unwrap()));

    drop(one);
    let three = lists.list(ders[2].clone()).unwrap();
    assert!(Arc::ptr_eq(&three, &lists.list(ders[2].clone()).unwrap()));
    assert_eq!(lists.lock().len, 2);
}

#[test]
fn errors_are_not_cached() {
    let lists = SharedLists::new(8);
    let good = crl(&issuer(), &[1], |_| ());
    for bytes in [vec![], vec![7], good[..good.len() - 1].to_vec()] {
        let der = CertificateRevocationListDer::from(bytes);
        let expected = RevocationList::parse(Arc::new(der.clone())).unwrap_err();
        for _ in 0..2 {
            let error = lists.list(der.clone()).unwrap_err();
            assert_eq!(format!("{error:?}"), format!("{expected:?}"));
        }
        assert_eq!(lists.lock().len, 0);
    }
    assert_eq!(counts(&lists), (0, 0, 6, 6));
}

/// A load that fails counts once, however many threads wait for it.
#[test]
fn waiting_for_a_list_that_cannot_be_parsed_is_a_miss() {
    let lists = SharedLists::new(8);
    let der = CertificateRevocationListDer::from(vec![7]);
    let find = || match lists.find_or_start(1, der.clone()) {
        InUse::Parsing(parsing) => parsing,
        InUse::Parsed(_) => panic!("it was parsed"),
    };
    let (parsing, waiting) = (find(), find());
    assert!(Arc::ptr_eq(&parsing, &waiting));
    lists.finish(1, &parsing).unwrap_err();
    lists.finish(1, &waiting).unwrap_err();
    assert_eq!(counts(&lists), (0, 0, 2, 1));
}

#[test]
fn many_threads_parse_once() {
    const THREADS: usize = 16;

    let issuer = issuer();
    let ders = [1, 2].map(|n| crl(&issuer, &[n], |_| ()));
    let lists = SharedLists::new(8);
    let barrier = Barrier::new(THREADS);
    let parsed = thread::scope(|scope| {
        let threads = [(); THREADS / 2].map(|()| {
            ders.clone().map(|der| {
                scope.spawn(|| {
                    barrier.wait();
                    lists.list(der).unwrap()
                })
            })
        });
        threads.map(|pair| pair.map(|thread| thread.join().unwrap()))
    });

    for [one, two] in &parsed {
        assert!(Arc::ptr_eq(one, &parsed[0][0]));
        assert!(Arc::ptr_eq(two, &parsed[0][1]));
    }
    assert_eq!(counts(&lists), (2, THREADS as u64 - 2, 2, 0));
}

#[test]
fn parsing_does_not_block_lookups() {
    let lists = SharedLists::new(8);
    let issuer = issuer();
    let (one, two) = (crl(&issuer, &[1], |_| ()), crl(&issuer, &[2], |_| ()));

    // the state of a thread before it parses
    let InUse::Parsing(parsing) = lists.find_or_start(7, one.clone()) else {
        panic!("the map was empty");
    };
    // only threads with the same bytes wait for it
    lists.list_with_hash(7, two.clone()).unwrap();
    lists.list_with_hash(8, two).unwrap();
    let found = lists.find_or_start(7, one.clone());
    assert!(found.is(&InUse::Parsing(parsing.clone())));
    drop(found);

    let list = lists.finish(7, &parsing).unwrap();
    assert!(Arc::ptr_eq(&list, &lists.finish(7, &parsing).unwrap()));
    drop(parsing);
    assert!(Arc::ptr_eq(&list, &lists.list_with_hash(7, one).unwrap()));
}

#[test]
fn abandoned_parsing_is_taken_over() {
    let lists = SharedLists::new(8);
    let der = crl(&issuer(), &[1], |_| ());
    drop(lists.find_or_start(7, der.clone()));
    let list = lists.list_with_hash(7, der.clone()).unwrap();
    assert!(Arc::ptr_eq(&list, &lists.list_with_hash(7, der).unwrap()));
}

#[test]
fn a_poisoned_lock_is_recovered() {
    let lists = SharedLists::new(8);
    let der = crl(&issuer(), &[1], |_| ());
    let list = lists.list(der.clone()).unwrap();
    let poisoned = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _guard = lists.known.lock();
            panic!("expected panic under the lock");
        });
        thread.join()
    });
    assert!(poisoned.is_err());
    assert!(lists.known.is_poisoned());
    assert!(Arc::ptr_eq(&list, &lists.list(der).unwrap()));
}
