//! The root store.

use std::vec::Vec;
use std::{format, vec};

use super::pki::{leaf, root};
use crate::RootCertStore;
use crate::error::CertificateError;

#[test]
fn parsable_certificates_are_counted() {
    let (one, two) = (root("One", |_| ()), root("Two", |_| ()));
    let mut store = RootCertStore::empty();
    assert!(store.is_empty());

    assert_eq!(
        store.add(vec![1, 2, 3].into()),
        Err(CertificateError::BadEncoding.into())
    );
    assert_eq!(store.add(one.der().clone()), Ok(()));
    assert_eq!(
        store.add_parsable_certificates([
            two.der().clone(),
            vec![].into(),
            leaf(&one, |_| ()),
            vec![0x30, 0].into(),
        ]),
        (2, 2)
    );
    assert_eq!(store.len(), 3);
    assert!(!store.is_empty());
    assert_eq!(
        format!("{store:?}"),
        r#"RootCertStore { roots: "(3 roots)" }"#
    );

    let mut copy = store
        .roots
        .iter()
        .take(2)
        .cloned()
        .collect::<RootCertStore>();
    copy.extend(store.roots.iter().skip(2).cloned());
    assert_eq!(copy.roots, store.roots);
}

#[test]
fn subjects_match_upstream() {
    let roots = ["One", "Two"].map(|name| root(name, |_| ()));
    let mut ours = RootCertStore::empty();
    let mut theirs = rustls_upstream::RootCertStore::empty();
    for root in roots {
        ours.add(root.der().clone()).unwrap();
        theirs.add(root.der().clone()).unwrap();
    }

    let ours = ours.subjects();
    assert_eq!(
        ours.iter().map(AsRef::as_ref).collect::<Vec<&[u8]>>(),
        theirs
            .subjects()
            .iter()
            .map(AsRef::as_ref)
            .collect::<Vec<&[u8]>>()
    );
    assert!(ours[1].as_ref().ends_with(b"Two"));
}
