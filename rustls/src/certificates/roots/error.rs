//! What could not be used, and why.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use std::path::PathBuf;

use crate::certificates::FileError;
use crate::error::{Error, OtherError};

/// Why there are no roots.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RootsError {
    /// A file or a directory cannot be read.
    File(FileError),
    /// Nothing in the source can be used as a root.
    NoRoots {
        /// What was passed over: the first thousand.
        ignored: Arc<[IgnoredCertificate]>,
    },
}

impl From<FileError> for RootsError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<RootsError> for Error {
    /// [`Error::Other`].
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
                match &**ignored {
                    [] => Ok(()),
                    [only] => write!(f, ": {only}"),
                    [first, others @ ..] => write!(f, ": {first} (and {} more)", others.len()),
                }
            }
        }
    }
}

impl core::error::Error for RootsError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            Self::NoRoots { .. } => None,
        }
    }
}

/// What was passed over while roots were read: a certificate, or a whole file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IgnoredCertificate {
    /// The file it is in, where it is in one.
    pub file: Option<PathBuf>,
    /// Which one of the certificates in that file or in memory, from 1; `None` when it is about all of them.
    pub position: Option<usize>,
    /// Why.
    pub reason: IgnoredReason,
}

/// Why something was passed over while roots were read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum IgnoredReason {
    /// The PEM around it is not well-formed.
    Pem(String),
    /// It is not a certificate that can be a root.
    Certificate(Error),
    /// How many `BEGIN` marks of certificates are not on a line of their own, or name a format that is not read.
    Marked(usize),
    /// The file has no certificate.
    NoCertificate,
    /// The file cannot be read.
    File(FileError),
    /// The platform says so.
    Platform(String),
}

impl IgnoredCertificate {
    /// False for what directories have besides certificates.
    pub(super) fn is_unexpected(&self) -> bool {
        !matches!(self.reason, IgnoredReason::NoCertificate)
    }
}

impl fmt::Display for IgnoredCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // an error of the file names it
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
