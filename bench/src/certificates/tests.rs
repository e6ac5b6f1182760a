//! The rows of the sub-command `certificates`.

use std::collections::BTreeSet;

use clap::Parser;
use pki_types::CertificateDer;
use pki_types::pem::PemObject;

use super::files::bundle;
use super::*;
use crate::cli::{Cli, Command, KeyType};

/// The rows of the shortest possible run.
fn measure(more: &[&str]) -> Vec<Row> {
    let fixed = ["bench", "certificates", "--multiplier=0.001"];
    let cli = Cli::try_parse_from(fixed.iter().chain(more)).unwrap();
    match cli.command {
        Command::Certificates(args) => args.measure(Kind::System).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_work_is_compared_with_its_first_way() {
    let rows = measure(&["--provider=ring"]);
    let mut works = BTreeSet::new();
    for row in &rows {
        assert_eq!(row.provider, "ring");
        let Figure::Cost {
            ns_per_op,
            times_as_fast,
            ..
        } = row.figure
        else {
            continue;
        };
        assert!(ns_per_op > 0.0 && times_as_fast > 0.0, "{row:?}");
        if works.insert((&row.topic, &row.work)) {
            assert_eq!(times_as_fast, 1.0, "{row:?}");
        }
    }
    assert!(works.len() < rows.len());
    assert_eq!(
        report::tables(&rows).matches("\n| system ").count(),
        rows.len()
    );

    let json = report::json(&rows[0]).unwrap();
    let keys = json.as_object().unwrap().keys().map(String::as_str);
    let expected = "bench impl topic work way provider allocator ns_per_op times_as_fast allocations_per_op \
                    heap_bytes_per_op";
    assert_eq!(
        keys.collect::<BTreeSet<_>>(),
        expected.split_whitespace().collect()
    );
    // the parent process must be able to read the rows of the measuring process
    for row in rows {
        let line = serde_json::to_string(&row).unwrap();
        let read: Row = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
    }
}

#[test]
fn a_bundle_has_140_certificates_and_leaves_no_file() {
    let own = &KeyType::EcdsaP256.identities().ca;
    let bundle = bundle(own).unwrap();
    let path = bundle.path().to_owned();
    let certificates = CertificateDer::pem_file_iter(&path).unwrap();
    let certificates = certificates
        .collect::<core::result::Result<Vec<_>, _>>()
        .unwrap();
    assert_eq!(certificates.len(), 140);
    assert_eq!(certificates.last(), Some(own));
    drop(bundle);
    assert!(!path.exists());
}
