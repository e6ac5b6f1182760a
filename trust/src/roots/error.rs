//! Errors from loading roots, and descriptions of skipped certificates.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::{Error, OtherError};

use crate::FileError;

/// The reason why there are no roots, or why the old roots stay in use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RootsError {
    /// A file or a directory cannot be read.
    File(FileError),
    /// The source has no usable root.
    NoRoots {
        /// The skipped certificates and files, at most the first thousand.
        ignored: Arc<[IgnoredCertificate]>,
    },
    /// Some of the previous roots are missing, and some certificates or files have become unusable:
    /// the source may be half written. The old roots stay in use. If you have removed roots on
    /// purpose, call [`invalidate`](crate::Cache::invalidate).
    Lost {
        /// The number of missing roots.
        count: usize,
        /// The skipped certificates and files, at most the first thousand.
        ignored: Arc<[IgnoredCertificate]>,
    },
}

impl From<FileError> for RootsError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<RootsError> for Error {
    /// Wraps the error in [`Error::Other`].
    fn from(error: RootsError) -> Self {
        Self::Other(OtherError(Arc::new(error)))
    }
}

impl fmt::Display for RootsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::NoRoots { ignored } => {
                f.write_str("no usable root certificate")?;
                write_first(f, ignored)
            }
            Self::Lost { count, ignored } => {
                write!(f, "{count} root certificates are missing")?;
                write_first(f, ignored)
            }
        }
    }
}

fn write_first(f: &mut fmt::Formatter<'_>, ignored: &[IgnoredCertificate]) -> fmt::Result {
    // files that need not have a certificate come last
    let mut unexpected = ignored.iter().filter(|ignored| ignored.is_unexpected());
    let Some(first) = unexpected.next().or_else(|| ignored.first()) else {
        return Ok(());
    };
    write!(f, ": {first}")?;
    match ignored.len() - 1 {
        0 => Ok(()),
        others => write!(f, " (and {others} more)"),
    }
}

impl std::error::Error for RootsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            Self::NoRoots { .. } | Self::Lost { .. } => None,
        }
    }
}

/// A certificate or file that was skipped while reading roots, or an error reported by the
/// platform.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IgnoredCertificate {
    /// The file, or the directory if it has no files. `None` for PEM in memory and for the
    /// platform's roots.
    pub file: Option<PathBuf>,
    /// The position among the certificates and malformed sections of the PEM, from 1. `None` if the
    /// item is not one of them.
    pub position: Option<usize>,
    /// The reason for skipping the item.
    pub reason: IgnoredReason,
}

/// The reason for an [`IgnoredCertificate`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum IgnoredReason {
    /// A section of the PEM is malformed, or the content is DER or UTF-16. The text describes the
    /// error.
    Pem(String),
    /// The item is not a certificate, or cannot be a root.
    Certificate(Error),
    /// The number of certificate `BEGIN` marks that the parser skipped, for example because they
    /// are not on a line of their own, or have an unsupported label.
    Marked(usize),
    /// The file, the directory or the PEM in memory contains no certificate.
    NoCertificate,
    /// The file cannot be read.
    File(FileError),
    /// The platform reported an error.
    Platform(String),
}

impl IgnoredCertificate {
    /// False for content without certificates, such as other files, which are common in certificate
    /// directories.
    pub(super) fn is_unexpected(&self) -> bool {
        !matches!(self.reason, IgnoredReason::NoCertificate)
    }
}

impl fmt::Display for IgnoredCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // a file error names the file itself
        if let (Some(file), false) = (&self.file, matches!(self.reason, IgnoredReason::File(_))) {
            write!(f, "{}: ", file.display())?;
        }
        if let Some(position) = self.position {
            write!(f, "certificate {position}: ")?;
        }
        self.reason.fmt(f)
    }
}

impl fmt::Display for IgnoredReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem(cause) | Self::Platform(cause) => f.write_str(cause),
            Self::Certificate(error) => error.fmt(f),
            Self::Marked(count) => write!(
                f,
                "{count} BEGIN marks of certificates are not on lines of their own, or are in another format"
            ),
            Self::NoCertificate => f.write_str("no certificate"),
            Self::File(error) => error.fmt(f),
        }
    }
}
