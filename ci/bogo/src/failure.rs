//! The failures of a run of the shim, and how the process reports them.

use std::{fmt, io};

use crate::error_name;

/// A failure.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The runner asks for something that this shim, or the public API under it, does not have.
    Unsupported(String),
    /// An invalid command line, which no runner writes.
    Usage(String),
    /// The connection failed.
    Tls(rustls::Error),
    /// The socket failed or ended unexpectedly.
    Io(io::Error),
    /// Data arrived instead of the expected close_notify.
    DataInsteadOfCloseNotify,
    /// The socket ended instead of the expected close_notify.
    EndInsteadOfCloseNotify,
    /// Over QUIC, data arrived at an encryption level where it is not allowed, or not yet.
    EncryptionLevel,
    /// Over QUIC, data arrived that is protected with other keys than ours.
    PacketProtection,
    /// A result differs from the expectation.
    Expectation(String),
}

impl Failure {
    /// The exit code of the process. 89 is the runner's code for an unimplemented test.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Unsupported(_) => 89,
            _ => 1,
        }
    }

    /// Creates the failure of an expectation.
    pub(crate) fn expected(what: &str, wanted: impl fmt::Debug, got: impl fmt::Debug) -> Self {
        Self::Expectation(format!("{what}: expected {wanted:?}, got {got:?}"))
    }
}

/// The runner looks at the first line: one name for each cause. The second line is for people.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => write!(f, "<Unsupported>\n{what}"),
            Self::Usage(what) => write!(f, "<Usage>\n{what}"),
            Self::Tls(error) => write!(f, "<{}>\n{error}", error_name::of(error)),
            Self::Io(error) => write!(f, "<Io::{:?}>\n{error}", error.kind()),
            Self::DataInsteadOfCloseNotify => f.write_str("<DataInsteadOfCloseNotify>"),
            Self::EndInsteadOfCloseNotify => f.write_str("<EndInsteadOfCloseNotify>"),
            Self::EncryptionLevel => f.write_str("<EncryptionLevel>"),
            Self::PacketProtection => f.write_str("<PacketProtection>"),
            Self::Expectation(what) => write!(f, "<Expectation>\n{what}"),
        }
    }
}

impl From<rustls::Error> for Failure {
    fn from(error: rustls::Error) -> Self {
        Self::Tls(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
