//! Errors from loading revocation lists.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::{CertRevocationListError, Error, OtherError};

use crate::FileError;

/// The reason why there are no revocation lists, or why the old lists stay in use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CrlError {
    /// The file or the directory cannot be read.
    File(FileError),
    /// The source has no list.
    NoLists {
        /// The file or directory.
        path: PathBuf,
    },
    /// No list can be read, or the source is read for the first time and a part of it is unusable:
    /// the other lists alone could leave certificates unchecked. The reload of a verifier also
    /// returns this for problems with single lists or files, and still replaces other lists.
    Unusable(Arc<[CrlProblem]>),
    /// There are more than `limit` lists with different issuers or scopes on disk.
    TooManyLists {
        /// The file or directory.
        path: PathBuf,
        /// The maximum number of lists.
        limit: usize,
    },
    /// The lists on disk have more than `limit` bytes. The lower limits on files normally prevent
    /// this.
    TooLong {
        /// The file or directory.
        path: PathBuf,
        /// The maximum total length, in bytes, of all lists from one source.
        limit: usize,
    },
}

impl From<FileError> for CrlError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<CrlError> for Error {
    /// Wraps the error in [`CertRevocationListError::Other`].
    fn from(error: CrlError) -> Self {
        CertRevocationListError::Other(OtherError(Arc::new(error))).into()
    }
}

impl fmt::Display for CrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::NoLists { path } => write!(f, "{}: no revocation list", path.display()),
            Self::Unusable(problems) => {
                f.write_str("unusable revocation lists")?;
                match &**problems {
                    [] => Ok(()),
                    [only] => write!(f, ": {only}"),
                    [first, others @ ..] => write!(f, ": {first} (and {} more)", others.len()),
                }
            }
            Self::TooManyLists { path, limit } => {
                write!(f, "{}: more than {limit} revocation lists", path.display())
            }
            Self::TooLong { path, limit } => {
                let path = path.display();
                write!(f, "{path}: revocation lists of more than {limit} bytes")
            }
        }
    }
}

impl std::error::Error for CrlError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            _ => None,
        }
    }
}

/// A problem with a revocation list or a whole file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CrlProblem {
    /// The file, or `None` if the list is no longer in a file.
    pub file: Option<PathBuf>,
    /// The position of the list in a PEM file, from 1; `None` if no single list in a PEM file is
    /// affected.
    pub position: Option<usize>,
    /// The problem with the list or the file.
    pub reason: CrlProblemReason,
}

/// The reason for a problem with a revocation list, or with a file that should contain some.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CrlProblemReason {
    /// A section of the PEM is malformed, or the file is in UTF-16. The text describes the error.
    Pem(String),
    /// The list cannot be parsed, or is of an unsupported kind.
    List(CertRevocationListError),
    /// The number of list `BEGIN` marks that the parser skipped, for example because they are not
    /// on a line of their own. These lists cannot be read.
    Marked(usize),
    /// The file is empty, or has only zero bytes, as after a crash.
    Empty,
    /// There is a certificate in place of a list.
    Certificate,
    /// The file has the extension of a list, which is `.crl` or `.r` with a number, but no list in
    /// it.
    NoList,
    /// The file cannot be read.
    File(FileError),
    /// The list is older than the one in use, or dated in the future. The list in use stays.
    Older,
    /// A list in use is no longer in the source. It stays in use.
    Missing {
        /// The list's issuer: its distinguished name in DER, without the outer tag and length.
        issuer: Vec<u8>,
    },
    /// A list in use is no longer in the source, and the limits leave no room for it. It was
    /// dropped, or replaced by an older list on disk. Reported once, by the reading that dropped
    /// the list.
    NoRoom {
        /// The list's issuer: its distinguished name in DER, without the outer tag and length.
        issuer: Vec<u8>,
    },
}

impl fmt::Display for CrlProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // a file error names the file itself
        if let (Some(file), false) = (&self.file, matches!(self.reason, CrlProblemReason::File(_)))
        {
            write!(f, "{}: ", file.display())?;
        }
        if let Some(position) = self.position {
            write!(f, "list {position}: ")?;
        }
        self.reason.fmt(f)
    }
}

impl fmt::Display for CrlProblemReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem(cause) => f.write_str(cause),
            Self::List(error) => write!(f, "{error:?}"),
            Self::Marked(count) => write!(
                f,
                "{count} BEGIN marks of revocation lists are not on lines of their own"
            ),
            Self::Empty => f.write_str("empty file"),
            Self::Certificate => f.write_str("a certificate in DER, not a revocation list"),
            Self::NoList => f.write_str("no revocation list in it"),
            Self::File(error) => error.fmt(f),
            Self::Older => f.write_str(
                "older than the revocation list in use, or dated in the future; the one in use is kept",
            ),
            Self::Missing { issuer } => write!(
                f,
                "no revocation list any more of the issuer {:?}; the old one is kept",
                pki_types::Der::from(issuer.as_slice())
            ),
            Self::NoRoom { issuer } => write!(
                f,
                "no revocation list any more of the issuer {:?}, and no room to keep the old one",
                pki_types::Der::from(issuer.as_slice())
            ),
        }
    }
}
