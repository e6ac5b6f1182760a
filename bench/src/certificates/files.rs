//! Files in PEM, for as long as they are needed: among them the authorities that systems have, 140 certificates.

use core::time::Duration;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use std::{env, fs, io, process};

use pem::{EncodeConfig, LineEnding, Pem};
use pki_types::CertificateDer;

/// How many authorities there are: as many as curl's authors measured with.
const AUTHORITIES: usize = 140;

/// Mozilla's authorities and `own`, which comes last. There are not as many of them: the first come twice.
pub(crate) fn bundle(own: &CertificateDer<'_>) -> io::Result<PemFile> {
    let real = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cycle();
    let authorities = real.take(AUTHORITIES - 1).chain([own]);
    PemFile::new("CERTIFICATE", authorities.map(AsRef::as_ref))
}

/// A file, which is gone when this is dropped.
pub(crate) struct PemFile {
    path: PathBuf,
}

impl PemFile {
    /// Writes these in DER, each between lines with `label`. The file says that it is a minute old: who watches it need
    /// not think that it is still being written.
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
        // it is in a folder for temporary files: no harm if it stays
        let _ = fs::remove_file(&self.path);
    }
}
