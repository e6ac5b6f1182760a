//! HPKE, for one crate.

use super::HPKE_SUITES;
use super::tls::crypto::hpke::{EncapsulatedSecret, Hpke, HpkeOpener, HpkeSuite};
use crate::scripted::ech::{EchExtension, EchKey};

/// Finds the suite with this KEM, KDF and AEAD.
pub(crate) fn find(suite: (u16, u16, u16)) -> Option<&'static dyn Hpke> {
    let is_it = |hpke: &&&'static dyn Hpke| {
        let HpkeSuite { kem, sym } = hpke.suite();
        suite == (kem.into(), sym.kdf_id.into(), sym.aead_id.into())
    };
    HPKE_SUITES.iter().find(is_it).copied()
}

/// Creates a context for opening. Returns `None` if there is no such suite, and `Some(None)` if
/// `enc` is invalid.
pub(crate) fn opener(
    key: &EchKey,
    extension: &EchExtension,
) -> Option<Option<Box<dyn HpkeOpener>>> {
    let (kdf, aead) = extension.suite;
    let hpke = find((key.config.kem, kdf, aead))?;
    // RFC 9849 §7.1
    let info = [&b"tls ech\0"[..], &key.config.encoded()].concat();
    let enc = EncapsulatedSecret(extension.enc.clone());
    let opener = hpke.setup_opener(&enc, &info, &key.private_key().to_vec().into());
    Some(opener.ok())
}
