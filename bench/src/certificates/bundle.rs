//! A file of authorities in PEM, as systems have it: 140 certificates, one of which is the bench's own.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, io, process};

use pem::{EncodeConfig, LineEnding, Pem};
use pki_types::CertificateDer;

/// How many certificates there are: as many as curl's authors measured with.
const CERTIFICATES: usize = 140;

/// The file, which is gone when this is dropped.
pub(crate) struct Bundle {
    path: std::path::PathBuf,
}

impl Bundle {
    /// Writes Mozilla's authorities and `own`, which comes last. There are not as many of them: the first come twice.
    pub(crate) fn new(own: &CertificateDer<'_>) -> io::Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("rustls-bench-{}-{number}.pem", process::id());
        let bundle = Self {
            path: env::temp_dir().join(name),
        };
        let real = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cycle();
        let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
        let mut file = io::BufWriter::new(fs::File::create_new(&bundle.path)?);
        for der in real.take(CERTIFICATES - 1).chain([own]) {
            let pem = Pem::new("CERTIFICATE", der.as_ref());
            file.write_all(pem::encode_config(&pem, config).as_bytes())?;
        }
        file.flush()?;
        Ok(bundle)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        // it is in a folder for temporary files: no harm if it stays
        let _ = fs::remove_file(&self.path);
    }
}
