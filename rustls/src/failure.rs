//! An error that ends a connection, with the alert for the peer.

use crate::enums::AlertDescription;
use crate::error::Error;

/// An error, and the alert that goes with it.
///
/// Any error converts into a failure, with the alert that [`Error::alert`] names. A handler may
/// choose another alert. Handlers only return failures; the connection sends the alert, or passes
/// it to QUIC.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// The alert to send. `None` sends no alert.
    pub(crate) alert: Option<AlertDescription>,
}

impl Failure {
    /// Creates a failure that sends `alert` to the peer.
    pub(crate) fn new(error: impl Into<Error>, alert: AlertDescription) -> Self {
        Self {
            error: error.into(),
            alert: Some(alert),
        }
    }

    /// Creates a failure without a TLS alert, for QUIC. The QUIC implementation reports it as a
    /// PROTOCOL_VIOLATION (RFC 9000 §20.1).
    pub(crate) fn without_alert(error: impl Into<Error>) -> Self {
        Self {
            error: error.into(),
            alert: None,
        }
    }

    /// Creates the failure for a certificate or signature that the verifier rejected.
    ///
    /// The verifier may belong to the application. The three kinds of errors that verifiers use for
    /// the peer keep their alert. Other errors usually arose in another context, and their alert
    /// would mislead the peer, so it becomes handshake_failure.
    pub(crate) fn rejected_by_verifier(error: Error) -> Self {
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
