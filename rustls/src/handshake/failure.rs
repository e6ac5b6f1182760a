//! Why a connection ends, and what the peer is told of it.

use crate::enums::AlertDescription;
use crate::error::Error;

/// An error, and the alert that goes with it.
///
/// Any error becomes one with the alert that [`Error::alert`] names. A handler that knows better names
/// another. Handlers return it; the connection sends the alert.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// `None`: the peer is told nothing.
    pub(crate) alert: Option<AlertDescription>,
}

impl Failure {
    /// `error`, told to the peer as `alert`.
    pub(crate) fn new(error: impl Into<Error>, alert: AlertDescription) -> Self {
        Self {
            error: error.into(),
            alert: Some(alert),
        }
    }

    /// `error`, of which TLS tells the peer nothing. Over QUIC it is a PROTOCOL_VIOLATION (RFC 9000 §20.1), which is
    /// QUIC's to tell.
    pub(crate) fn without_alert(error: impl Into<Error>) -> Self {
        Self {
            error: error.into(),
            alert: None,
        }
    }

    /// A verifier refused a certificate or a signature.
    ///
    /// The verifier may be the application's own. Errors about the peer keep their alert; any other error
    /// arose in another context, whose alert would mislead the peer: handshake_failure, as in 0.23.
    pub(crate) fn refused_by_verifier(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(_)
            | Error::PeerMisbehaved(_)
            | Error::PeerIncompatible(_) => error.into(),
            _ => Self::new(error, AlertDescription::HandshakeFailure),
        }
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        Self {
            alert: error.alert(),
            error,
        }
    }
}
