//! Reads files with limits, and detects changes to them.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fmt, mem};

use zeroize::Zeroizing;

use super::loading::Version;

/// The maximum number of entries in a directory. A directory with more cannot be read.
pub(crate) const MAX_DIRECTORY_ENTRIES: usize = 16_384;

/// The maximum number of attempts to read a file that changes while it is being read.
const ATTEMPTS: usize = 3;

/// The coarsest resolution of modification times among common file systems: that of FAT.
const COARSEST_CLOCK: Duration = Duration::from_secs(2);

/// The error from reading a file or a directory.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileError {
    /// The file or directory.
    pub path: PathBuf,
    /// The reason why it cannot be read.
    pub cause: FileErrorCause,
}

/// The reason why a file or a directory cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FileErrorCause {
    /// The standard library returned an I/O error, usually one from the operating system.
    Io(Arc<io::Error>),
    /// The path does not lead to a regular file, directly or through a link. A directory cannot be
    /// read as a file; opening a device may have side effects, and reading a device or a pipe may
    /// never end.
    NotRegular,
    /// The file has more than `limit` bytes: the limit for one file, or what its directory's limit
    /// leaves after the files before it.
    TooLong {
        /// The maximum number of bytes.
        limit: u64,
    },
    /// The directory has more than `limit` entries.
    TooManyEntries {
        /// The maximum number of entries.
        limit: usize,
    },
    /// In each of several attempts, the file changed while it was read, or its content did not have
    /// the length in its metadata. Replace files in use by renaming.
    ChangedWhileRead,
}

impl FileError {
    fn new(path: &Path, cause: FileErrorCause) -> Self {
        Self {
            path: path.into(),
            cause,
        }
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::new(path, FileErrorCause::Io(Arc::new(error)))
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.cause)
    }
}

impl fmt::Display for FileErrorCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotRegular => f.write_str("not a regular file"),
            Self::TooLong { limit } => write!(f, "longer than {limit} bytes"),
            Self::TooManyEntries { limit } => write!(f, "more than {limit} entries"),
            Self::ChangedWhileRead => f.write_str("changed while it was read"),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            FileErrorCause::Io(error) => Some(&**error),
            _ => None,
        }
    }
}

/// Reads a regular file of up to `limit` bytes.
///
/// If the file changes while it is being read, reads it again, up to three times in all, so that
/// old and new content are not mixed. Cannot detect a writer that pauses halfway.
///
/// # Errors
///
/// Returns [`FileError`] if the file cannot be read, is not a regular file, is too long, or changes
/// during each attempt.
pub(crate) fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    for _ in 0..ATTEMPTS {
        if let Some(content) = read_once(path, limit, |_| ())? {
            return Ok(content);
        }
    }
    Err(FileError::new(path, FileErrorCause::ChangedWhileRead))
}

/// The length of the longest generated file that is read without a reallocation. Such files, for
/// example in `/proc`, report a length of 0.
const MOST_GENERATED: usize = 16 * 1024;

/// The points at which tests may change the file.
enum Moment {
    BeforeOpening,
    AfterReading,
}

/// Reads the file, or returns `None` if it changed while it was read. Tests change the file in
/// `meanwhile`.
fn read_once(
    path: &Path,
    limit: u64,
    meanwhile: impl Fn(Moment),
) -> Result<Option<Vec<u8>>, FileError> {
    let io_error = |error| FileError::io(path, error);
    // opening a device may have side effects, so check first
    refuse_irregular(path, &fs::metadata(path).map_err(io_error)?)?;
    meanwhile(Moment::BeforeOpening);
    let file = open_without_waiting(path).map_err(io_error)?;
    let before = file.metadata().map_err(io_error)?;
    refuse_irregular(path, &before)?;

    let too_long = || FileError::new(path, FileErrorCause::TooLong { limit });
    if before.len() > limit {
        return Err(too_long());
    }
    // the file may be a private key: zeroize the content if it is not returned. Allocate enough,
    // because a `Vec` that grows leaves a copy
    let room = match before.len() {
        0 => MOST_GENERATED,
        len => usize::try_from(len).unwrap_or(0) + 1,
    };
    let mut content = Zeroizing::new(Vec::with_capacity(room));
    (&file)
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(io_error)?;
    let length = content.len() as u64;
    if length > limit {
        return Err(too_long());
    }

    meanwhile(Moment::AfterReading);
    let after = file.metadata().map_err(io_error)?;
    // a generated file reports a length of 0
    let is_whole = length == after.len() || after.len() == 0;
    Ok((is_whole && Stat::new(&before) == Stat::new(&after)).then(|| mem::take(&mut *content)))
}

/// Opens a file for reading. On the Unix platforms below, does not block if a pipe has replaced the
/// file after the check.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(O_NONBLOCK);
    }
    options.open(path)
}

/// The C library's `O_NONBLOCK`, which std does not export. 0 on platforms that are not listed.
#[cfg(unix)]
const O_NONBLOCK: i32 = if cfg!(any(
    target_vendor = "apple",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "aix"
)) {
    0x4
} else if cfg!(any(target_os = "illumos", target_os = "solaris")) {
    0x80
} else if cfg!(any(target_os = "android", target_os = "linux")) {
    if cfg!(any(
        target_arch = "mips",
        target_arch = "mips32r6",
        target_arch = "mips64",
        target_arch = "mips64r6"
    )) {
        0x80
    } else if cfg!(any(target_arch = "sparc", target_arch = "sparc64")) {
        0x4000
    } else {
        0x800
    }
} else {
    0
};

fn refuse_irregular(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(FileError::new(path, FileErrorCause::NotRegular))
}

/// Returns the sorted names of the entries of a directory.
///
/// # Errors
///
/// Returns [`FileError`] if it cannot be read or has more than [`MAX_DIRECTORY_ENTRIES`] entries.
pub(crate) fn list_directory(path: &Path) -> Result<Vec<OsString>, FileError> {
    let io_error = |error| FileError::io(path, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(io_error)? {
        if names.len() == MAX_DIRECTORY_ENTRIES {
            let limit = MAX_DIRECTORY_ENTRIES;
            return Err(FileError::new(
                path,
                FileErrorCause::TooManyEntries { limit },
            ));
        }
        names.push(entry.map_err(io_error)?.file_name());
    }
    names.sort_unstable();
    Ok(names)
}

/// The size and modification time of a file, or of a directory and each of its entries.
///
/// On Unix, the device, the inode and its change time are included. So the version changes even if
/// the file is replaced by another of the same size and date.
#[derive(Clone, Debug)]
pub struct FileVersion {
    /// The name and metadata of each file or directory; the metadata is `None` if it cannot be
    /// read.
    stats: Vec<(OsString, Option<Stat>)>,
    is_settled: bool,
}

impl FileVersion {
    /// Returns the version of a file.
    pub(crate) fn of_file(path: &Path) -> Self {
        Self::new(Vec::from([(OsString::new(), Stat::at(path))]))
    }

    /// Returns the version of a directory and its entries.
    pub(crate) fn of_directory(path: &Path) -> Self {
        let mut stats = Vec::from([(OsString::new(), Stat::at(path))]);
        // of an unreadable directory, only its own metadata is known
        for name in list_directory(path).unwrap_or_default() {
            let stat = Stat::at(&path.join(&name));
            stats.push((name, stat));
        }
        Self::new(stats)
    }

    fn new(stats: Vec<(OsString, Option<Stat>)>) -> Self {
        let now = SystemTime::now();
        Self {
            is_settled: stats
                .iter()
                .filter_map(|(_, stat)| stat.as_ref())
                .all(|stat| stat.is_settled(now)),
            stats,
        }
    }
}

impl PartialEq for FileVersion {
    fn eq(&self, other: &Self) -> bool {
        self.stats == other.stats
    }
}

impl Version for FileVersion {
    fn is_settled(&self) -> bool {
        self.is_settled
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Stat {
    length: u64,
    modified: Option<SystemTime>,
    identity: Identity,
}

impl Stat {
    fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::new)
    }

    fn new(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            identity: identity(metadata),
        }
    }

    /// False if a later change that keeps the size might get the same modification time.
    fn is_settled(&self, now: SystemTime) -> bool {
        self.modified.is_some_and(|modified| {
            let apart = match now.duration_since(modified) {
                Ok(ago) => ago,
                Err(ahead) => ahead.duration(),
            };
            apart > COARSEST_CLOCK
        })
    }
}

#[cfg(unix)]
type Identity = (u64, u64, i64, i64);
#[cfg(not(unix))]
type Identity = ();

/// Returns the device, the inode number and the time of the inode's last change.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (
        metadata.dev(),
        metadata.ino(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    )
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::{env, process};

    use super::*;

    struct TestFile(PathBuf);

    impl TestFile {
        fn new(name: &str, content: &[u8]) -> Self {
            let path = env::temp_dir().join(format!("rustls-files-{}-{name}", process::id()));
            fs::write(&path, content).unwrap();
            Self(path)
        }
    }

    impl Drop for TestFile {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    #[test]
    fn files_that_change_while_they_are_read_are_not_returned() {
        let TestFile(path) = &TestFile::new("changes", b"old");
        let read = |meanwhile: &dyn Fn()| {
            let then = |moment| {
                if matches!(moment, Moment::AfterReading) {
                    meanwhile();
                }
            };
            read_once(path, 100, then).unwrap()
        };
        assert_eq!(read(&|| ()).unwrap(), b"old");
        let append = || {
            let mut file = File::options().append(true).open(path).unwrap();
            file.write_all(b" and new").unwrap();
        };
        assert_eq!(read(&append), None);
        assert_eq!(read(&|| fs::write(path, "").unwrap()), None);
        // same size, other time
        let touch = || {
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        };
        assert_eq!(read(&touch), None);
        // the next attempt reads the replacement
        #[cfg(unix)]
        assert_eq!(read(&|| fs::remove_file(path).unwrap()), None);
    }

    /// Without the flag of `open`, this test blocks forever.
    #[cfg(unix)]
    #[test]
    fn a_pipe_that_replaces_a_file_is_rejected_without_blocking() {
        let TestFile(path) = &TestFile::new("swapped", b"content");
        assert_ne!(O_NONBLOCK, 0, "the flag is unknown on this platform");
        let swap = |moment| {
            if matches!(moment, Moment::BeforeOpening) {
                fs::remove_file(path).unwrap();
                let status = process::Command::new("mkfifo").arg(path).status().unwrap();
                assert!(status.success());
            }
        };
        let cause = read_once(path, 100, swap).unwrap_err().cause;
        assert!(matches!(cause, FileErrorCause::NotRegular), "{cause:?}");
    }

    #[test]
    fn files_up_to_the_limit_are_read() {
        let TestFile(path) = &TestFile::new("limit", &[7; 100]);
        assert_eq!(read_file(path, 100).unwrap(), [7; 100]);
        let cause = read_file(path, 99).unwrap_err().cause;
        assert!(matches!(cause, FileErrorCause::TooLong { limit: 99 }));
    }

    #[test]
    fn the_version_of_a_recently_written_file_is_unsettled() {
        let TestFile(path) = &TestFile::new("recent", b"");
        assert!(!FileVersion::of_file(path).is_settled());
        let file = File::options().append(true).open(path).unwrap();
        let now = SystemTime::now();
        for (time, settled) in [
            (now - 2 * COARSEST_CLOCK, true),
            (now + 20 * COARSEST_CLOCK, true),
            (now + COARSEST_CLOCK, false),
        ] {
            file.set_modified(time).unwrap();
            assert_eq!(FileVersion::of_file(path).is_settled(), settled);
        }
        // a missing file cannot change undetected
        fs::remove_file(path).unwrap();
        assert!(FileVersion::of_file(path).is_settled());
    }
}
