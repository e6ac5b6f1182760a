//! Temporary directories.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use pki_types::CertificateDer;
use rustls_trust::RootSource;

/// An empty directory, removed on drop.
pub(crate) struct Directory {
    path: PathBuf,
    /// True if the files are so old that they do not count as still changing.
    is_old: bool,
}

impl Directory {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trust-{}-{count}", process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir(&path).unwrap();
        let is_old = false;
        Self { path, is_old }
    }

    /// Creates a directory whose files were modified in 2001.
    pub(crate) fn of_old_files() -> Self {
        let mut directory = Self::new();
        directory.is_old = true;
        directory
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        if self.is_old {
            set_modified(&path, 0);
        }
        path
    }

    /// Replaces all files with these certificates.
    pub(crate) fn replace_roots(&self, roots: &[CertificateDer<'static>]) -> RootSource {
        for entry in fs::read_dir(&self.path).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (number, root) in roots.iter().enumerate() {
            self.write(&format!("{number:03}"), root);
        }
        RootSource::Directory(self.path.clone())
    }
}

impl AsRef<Path> for Directory {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Sets a file's modification time to `seconds` after the start of 2001.
pub(crate) fn set_modified(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(978_307_200 + seconds);
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// Creates a named pipe.
#[cfg(unix)]
pub(crate) fn make_pipe(path: &Path) {
    let status = process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}
