//! Certificates in files: a server's own, and a bundle of authorities.

use super::{Comparison, Way};
use crate::choices::{Choice, KeyType, Version};
use crate::row::Row;
use crate::workload::certificates::Files;
use crate::workload::files::{AUTHORITIES, PemFile, bundle};
use crate::workload::identities::Authority;
use crate::workload::{Result, Scenario, Sessions};
use crate::{this, upstream};

/// Loads a server's certificate and key.
pub(super) fn own(comparison: &Comparison<'_>, authority: &Authority) -> Result<Vec<Row>> {
    let own = authority.identity(0);
    let provider = comparison.provider;
    let files = &Files {
        chain: PemFile::new("CERTIFICATE", own.chain.iter().map(AsRef::as_ref))?,
        key: PemFile::new("PRIVATE KEY", [own.key.secret_der()].into_iter())?,
    };
    let of_this = || this::connection::certificates::load(files, provider);
    let of_upstream = || upstream::connection::certificates::load(files, provider);
    let reload = || this::certificates::reload_if_changed(files, provider);
    let ways = [
        Way::repeating("this", "each time", of_this),
        Way::repeating("this", "reload_if_changed", reload),
        Way::repeating("upstream", "each time", of_upstream),
    ];
    let topic = "a server's own certificate";
    comparison.rows(topic, "certificate and key from files", &ways)
}

/// Creates a configuration per connection, each with the same 140 authorities.
pub(super) fn roots(comparison: &Comparison<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    // the client verifies two signatures with these keys; with ECDSA that dominates the cost of a
    // connection
    for key_type in [KeyType::Rsa2048, KeyType::EcdsaP256] {
        let new = Scenario::of(comparison.provider, Version::Tls13, key_type)?;
        let scenario = &new.with(|new| new.sessions = Sessions::Nothing);
        let bundle = bundle(&key_type.identities().ca)?;
        let path = bundle.path();
        use this::connection::roots as of_this;
        use upstream::connection::roots as of_upstream;
        let (each_time, alone) = ("parsed each time", "connection alone");
        let cached = || this::certificates::cached(scenario, path);
        let ways = [
            Way::new("this", each_time, || of_this::parsed(scenario, path)),
            Way::new("this", "cached", cached),
            Way::new("this", alone, || of_this::kept(scenario, path)),
            Way::new("upstream", each_time, || {
                of_upstream::parsed(scenario, path)
            }),
            Way::new("upstream", alone, || of_upstream::kept(scenario, path)),
        ];
        let key = key_type.name();
        let work = format!("configuration from {AUTHORITIES} certificates, connection, {key}");
        rows.extend(comparison.rows("roots", &work, &ways)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use pki_types::CertificateDer;
    use pki_types::pem::PemObject;

    use super::*;

    #[test]
    fn a_bundle_has_140_certificates_and_leaves_no_file() {
        let own = &KeyType::EcdsaP256.identities().ca;
        let bundle = bundle(own).unwrap();
        let path = bundle.path().to_owned();
        let read = CertificateDer::pem_file_iter(&path).unwrap();
        let read: Vec<_> = read.map(|certificate| certificate.unwrap()).collect();
        assert_eq!(read.len(), AUTHORITIES);
        assert_eq!(read.last(), Some(own));
        drop(bundle);
        assert!(!path.exists());
    }
}
