//! Why a run of the shim ends badly, and how the process says so.

use std::{fmt, io};

use crate::error_name;

/// Everything that can go wrong.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The runner asks for what this shim, or the public API under it, does not have.
    Unsupported(String),
    /// A command line that no runner writes.
    Usage(String),
    /// The connection failed, and why.
    Tls(rustls::Error),
    /// The socket failed, or ended where it must not.
    Io(io::Error),
    /// Data came where the peer's close_notify was waited for.
    DataInsteadOfCloseNotify,
    /// The socket ended where the peer's close_notify was waited for.
    EndInsteadOfCloseNotify,
    /// Over QUIC, something came at an encryption level that is not for it, or not yet.
    EncryptionLevel,
    /// Over QUIC, something came that is protected by other keys than ours.
    PacketProtection,
    /// All went well but for something that was expected to come of it.
    Expectation(String),
}

impl Failure {
    /// What the process exits with. 89 is the runner's number for a test that is not implemented.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Unsupported(_) => 89,
            _ => 1,
        }
    }

    /// That what came is not what was expected.
    pub(crate) fn expected(what: &str, wanted: impl fmt::Debug, got: impl fmt::Debug) -> Self {
        Self::Expectation(format!("{what}: expected {wanted:?}, got {got:?}"))
    }
}

/// The first line is what the runner looks at: one name for each cause. The second one is for people.
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
