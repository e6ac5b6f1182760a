//! What could not be used, and why.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::path::PathBuf;

use crate::certificates::FileError;
use crate::error::{CertRevocationListError, Error, OtherError};

/// Why there are no revocation lists.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CrlError {
    /// The file or the directory cannot be read.
    File(FileError),
    /// There is no list in it.
    NoLists,
    /// Some of what is in it cannot be used. The rest alone would leave certificates unchecked.
    Unusable(Arc<[CrlProblem]>),
    /// There are more than `limit` lists on disk.
    TooManyLists {
        /// How many are taken.
        limit: usize,
    },
    /// The lists on disk have more than `limit` bytes.
    TooLong {
        /// The maximum number of bytes of all lists of a source.
        limit: usize,
    },
}

impl From<FileError> for CrlError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<CrlError> for Error {
    /// [`Error::InvalidCertRevocationList`], around what webpki says where it is about one list.
    fn from(error: CrlError) -> Self {
        CertRevocationListError::Other(OtherError(Arc::new(error))).into()
    }
}

impl fmt::Display for CrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::NoLists => f.write_str("no revocation list"),
            Self::Unusable(problems) => {
                f.write_str("unusable revocation lists")?;
                match &**problems {
                    [] => Ok(()),
                    [only] => write!(f, ": {only}"),
                    [first, others @ ..] => write!(f, ": {first} (and {} more)", others.len()),
                }
            }
            Self::TooManyLists { limit } => write!(f, "more than {limit} revocation lists"),
            Self::TooLong { limit } => write!(f, "revocation lists of more than {limit} bytes"),
        }
    }
}

impl core::error::Error for CrlError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            _ => None,
        }
    }
}

/// What is wrong with a revocation list or with a whole file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CrlProblem {
    /// The file it is in; `None` when it is about a list that is in none any more.
    pub file: Option<PathBuf>,
    /// Which one of the lists in that file, from 1; `None` when it is about all of them.
    pub position: Option<usize>,
    /// What it is.
    pub reason: CrlProblemReason,
}

/// What is wrong with a revocation list, or with a file that should have some.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CrlProblemReason {
    /// The PEM around it is not well-formed.
    Pem(String),
    /// It cannot be parsed, or is of a kind that cannot be used.
    List(CertRevocationListError),
    /// How many `BEGIN` marks of lists are not on a line of their own, so that the lists behind them cannot be read.
    Marked(usize),
    /// The file is empty.
    Empty,
    /// The file is named as lists are, `.crl` or `.r0`, and there is none in it.
    NoList,
    /// The file cannot be read.
    File(FileError),
    /// It was issued before the one that is in use, or is dated in the future. The one that is in use stays.
    Older,
    /// A list that is in use is no longer there. It stays in use.
    Missing {
        /// Whose list it is: the content of the issuer's distinguished name in DER.
        issuer: Vec<u8>,
    },
    /// A list that was in use is no longer there, and the lists on disk left no room to keep it. It is no longer in use,
    /// or an older list that is on disk has replaced it. Reported once, by the reading that dropped the list.
    NoRoom {
        /// The content of the issuer's distinguished name in DER.
        issuer: Vec<u8>,
    },
}

impl fmt::Display for CrlProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // an error of the file names it
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
