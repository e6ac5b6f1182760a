//! Test files and certificate authorities.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pki_types::CertificateDer;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, PKCS_ED25519};
use rustls::RootCertStore;
use rustls_trust::RootSource;

/// An empty folder of its own for each test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("caches-{test}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file with a modification time in 2001, so that it does not count as still changing.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        set_modified(&path, 0);
        path
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// Sets a file's modification time to `seconds` after the start of 2001.
pub(crate) fn set_modified(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(978_307_200 + seconds);
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// A root certificate in both formats.
#[derive(Clone)]
pub(crate) struct Root {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) pem: String,
}

impl Root {
    /// Names of equal length make certificates of equal length.
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.serial_number = Some(1_u64.into());
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let root = params.self_signed(&key).unwrap();
        Self {
            der: root.der().clone(),
            pem: root.pem(),
        }
    }
}

pub(crate) fn some_roots<const N: usize>() -> [Root; N] {
    std::array::from_fn(|number| Root::new(&format!("root {number}")))
}

/// All roots in one PEM text.
pub(crate) fn bundle(roots: &[Root]) -> String {
    roots.iter().map(|root| root.pem.as_str()).collect()
}

/// A source of this PEM text in memory.
pub(crate) fn in_memory(pem: impl Into<Vec<u8>>) -> RootSource {
    RootSource::Pem(pem.into().into())
}

#[track_caller]
pub(crate) fn assert_has(store: &RootCertStore, roots: &[&Root]) {
    let mut expected = RootCertStore::empty();
    for root in roots {
        expected.add(root.der.clone()).unwrap();
    }
    assert_eq!(store.roots, expected.roots);
}
