//! Work on certificates, and its inputs: temporary PEM files, among them a bundle of 140
//! authorities, as operating systems have them.

use core::time::Duration;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use std::{env, fs, io, process};

use harness::peers::pairs::Result;
use harness::peers::pki;
use pem::{EncodeConfig, LineEnding, Pem};
use pki_types::{CertificateDer, CertificateRevocationListDer};

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

/// The number of authorities, the same as in the measurements by curl's authors.
pub(crate) const AUTHORITIES: usize = 140;

/// Writes Mozilla's authorities, then `own`. There are fewer than [`AUTHORITIES`], so the first
/// ones occur twice.
pub(crate) fn bundle(own: &CertificateDer<'_>) -> io::Result<PemFile> {
    let real = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cycle();
    let authorities = real.take(AUTHORITIES - 1).chain([own]);
    PemFile::new("CERTIFICATE", authorities.map(AsRef::as_ref))
}

/// A file that is removed on drop.
pub(crate) struct PemFile {
    path: PathBuf,
}

impl PemFile {
    /// Writes `contents`, which are DER, each between lines with `label`. Sets the file's age to a
    /// minute, so that a watcher does not take it for a file still being written.
    pub(crate) fn new<'a>(
        label: &str,
        contents: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("rustls-bench-{}-{number}.pem", process::id());
        let file = Self {
            path: env::temp_dir().join(name),
        };
        let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
        let pems = contents.map(|der| pem::encode_config(&Pem::new(label, der), config));
        let mut written = fs::File::create_new(&file.path)?;
        written.write_all(pems.collect::<String>().as_bytes())?;
        written.set_modified(SystemTime::now() - Duration::from_secs(60))?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PemFile {
    fn drop(&mut self) {
        // the folder is for temporary files, so a leftover does no harm
        let _ = fs::remove_file(&self.path);
    }
}
