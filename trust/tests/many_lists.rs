//! Tests more revocation lists than a process shares. The map of shared lists belongs to the
//! process, so this test is a separate program.

use std::sync::Arc;
use std::{env, fs, process};

use harness::peers::pki::{crl, root};
use rustls::certificates::RevocationList;
use rustls_trust::{CrlCache, CrlSource};

/// The number of lists that a process shares.
const SHARED: u64 = 16_384;

#[test]
fn an_unchanged_list_stays_the_same_object_if_it_cannot_be_shared() {
    let list = crl(&root("One", |_| ()), &[3], |_| ());
    let mut other = list.to_vec();
    let _others = (0..SHARED)
        .map(|number| {
            // creates a different list for each number; nothing checks the signature
            let end = other.len() - 8;
            other[end..].copy_from_slice(&number.to_be_bytes());
            RevocationList::from_der(other.clone().into()).unwrap()
        })
        .collect::<Vec<_>>();
    let parse = || RevocationList::from_der(list.clone()).unwrap();
    assert!(!Arc::ptr_eq(&parse(), &parse()), "the lists are shared");

    let path = env::temp_dir().join(format!("rustls-many-lists-{}.crl", process::id()));
    fs::write(&path, &list).unwrap();
    let (cache, source) = (CrlCache::new(), CrlSource::File(path.clone()));
    let first = cache.load(&source).unwrap();
    let second = cache.reload(&source).unwrap();
    fs::remove_file(path).unwrap();
    assert_eq!(cache.stats().reloads, 1);
    assert!(second.problems.is_empty());
    assert!(Arc::ptr_eq(&first.lists[0], &second.lists[0]));
}
