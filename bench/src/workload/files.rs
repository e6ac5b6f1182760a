//! Temporary PEM files, among them a bundle of 140 authorities, as operating systems have them.

use core::time::Duration;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use std::{env, fs, io, process};

use pem::{EncodeConfig, LineEnding, Pem};
use pki_types::CertificateDer;

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
