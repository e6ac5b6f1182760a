//! Files, and a clock that stands still.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// A folder of its own for each test, empty at first.
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

    /// Writes a file that was changed last when the year 2001 began: nobody takes it for one that may be changing.
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

/// So many seconds after the year 2001 began.
pub(crate) fn set_modified(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(978_307_200 + seconds);
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// A clock that moves when it is told to.
#[derive(Debug)]
pub(crate) struct Clock(AtomicU64);

impl Clock {
    /// One that shows the present, so that certificates are valid.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(UnixTime::now().as_secs()))
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = Duration::from_secs(self.0.load(Ordering::SeqCst));
        Some(UnixTime::since_unix_epoch(seconds))
    }
}
