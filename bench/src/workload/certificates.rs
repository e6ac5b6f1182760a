//! Work on certificates, and its inputs.

use harness::peers::pairs::Result;
use harness::peers::pki;
use pki_types::{CertificateDer, CertificateRevocationListDer};

use super::files::PemFile;
use super::handshakes::Spent;
use crate::measure::{Operation, Repeated, Timed};

/// Repeatable work, which returns its costs.
pub(crate) type Costly = Box<dyn FnMut() -> Result<Spent>>;

impl Timed<1> for Costly {
    fn batch(&mut self) -> Result<[f64; 1]> {
        Ok([self()?.seconds])
    }
}

/// Repeats `operation`; the costs are those of one time.
pub(crate) fn repeating(operation: Result<Operation>) -> Result<Costly> {
    let mut repeated = Repeated::new(operation?)?;
    Ok(Box::new(move || {
        let mut spent = Spent::default();
        spent.by(|| repeated.batch())?;
        Ok(spent.divided(repeated.times()))
    }))
}

/// The files of a server's certificates and key.
pub(crate) struct Files {
    pub(crate) chain: PemFile,
    pub(crate) key: PemFile,
}

/// A revocation list and its issuer.
pub(crate) struct List {
    pub(crate) der: CertificateRevocationListDer<'static>,
    pub(crate) ca: CertificateDer<'static>,
}

impl List {
    pub(crate) fn new(entries: usize) -> Self {
        let issuer = pki::root("issuer of a list", |_| ());
        // an odd factor makes distinct numbers, which look random like those of real authorities
        let serials = (1..=entries as u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self {
            der: pki::crl_of(&issuer, serials, |_| ()).into(),
            ca: issuer.der().clone(),
        }
    }
}
