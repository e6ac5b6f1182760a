//! Work on certificates, and its inputs.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, process};

use harness::peers::pairs::Result;
use harness::peers::pki;
use pem::{EncodeConfig, LineEnding, Pem};
use pki_types::{CertificateDer, CertificateRevocationListDer};

use super::handshakes::Spent;
use crate::measure::{Repeated, Timed};

/// Repeatable work, which returns its costs.
pub(crate) type Costly = Box<dyn FnMut() -> Result<Spent>>;

/// Repeats `operation`. Returns the costs of one repetition.
pub(crate) fn repeating(operation: impl FnMut() -> Result<()> + 'static) -> Result<Costly> {
    let mut repeated = Repeated::new(Box::new(operation))?;
    Ok(Box::new(move || {
        let mut spent = Spent::default();
        spent.by(|| repeated.batch())?;
        Ok(spent.divided(repeated.times()))
    }))
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

/// The number of authorities, the same as in the measurements by curl's authors.
pub(crate) const AUTHORITIES: usize = 140;

/// A PEM file of authorities, as operating systems have one. It is removed on drop.
pub(crate) struct Bundle {
    path: PathBuf,
}

impl Bundle {
    /// Writes Mozilla's authorities, then `own`. There are fewer than [`AUTHORITIES`], so the first
    /// ones occur twice.
    pub(crate) fn new(own: &CertificateDer<'_>) -> Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("rustls-bench-{}-{number}.pem", process::id());
        let path = env::temp_dir().join(name);
        let real = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cycle();
        let authorities = real.take(AUTHORITIES - 1).chain([own]);
        let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
        let pem = |der: &CertificateDer<'_>| {
            pem::encode_config(&Pem::new("CERTIFICATE", der.as_ref()), config)
        };
        let mut file = File::create_new(&path)?;
        file.write_all(authorities.map(pem).collect::<String>().as_bytes())?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        // the folder is for temporary files, so a leftover does no harm
        let _ = fs::remove_file(&self.path);
    }
}
