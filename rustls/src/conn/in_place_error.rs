//! The errors of in-place encryption.

use core::fmt;
#[cfg(feature = "std")]
use std::io;

use crate::record::sender::SealInPlaceError;

/// An error from encrypting application data in place. The buffer is unchanged, unless the error is
/// [`Self::CipherFailed`]. The connection may have queued a message such as a KeyUpdate
/// ([`Self::OutputPending`]), or have ended ([`Self::EncryptExhausted`], [`Self::CipherFailed`]);
/// otherwise it is unchanged, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InPlaceError {
    /// There is too little room before the payload.
    HeadroomTooShort {
        /// The number of bytes needed before the payload.
        required: usize,
    },
    /// There is too little room after the payload.
    TailroomTooShort {
        /// The number of bytes needed after the payload.
        required: usize,
    },
    /// The payload does not fit into one record.
    PayloadTooLong {
        /// The maximum number of bytes that one record carries.
        max: usize,
    },
    /// The payload's range is not within the buffer.
    PayloadOutOfBounds,
    /// Earlier output is unsent. Send it first, or the record would overtake it.
    OutputPending,
    /// Application data cannot be sent yet: the handshake is not complete.
    HandshakeNotComplete,
    /// The connection can no longer send application data: a close_notify was requested, the
    /// connection has failed, or its key has reached its limit and cannot be replaced.
    EncryptExhausted,
    /// The cipher failed during this call, which ends the connection. The bytes of the payload and
    /// of the room around it are unspecified.
    CipherFailed,
}

impl From<SealInPlaceError> for InPlaceError {
    fn from(error: SealInPlaceError) -> Self {
        match error {
            SealInPlaceError::HeadroomTooShort { required } => Self::HeadroomTooShort { required },
            SealInPlaceError::TailroomTooShort { required } => Self::TailroomTooShort { required },
            SealInPlaceError::PayloadTooLong { max } => Self::PayloadTooLong { max },
            SealInPlaceError::PayloadOutOfBounds => Self::PayloadOutOfBounds,
            SealInPlaceError::Exhausted => Self::EncryptExhausted,
            SealInPlaceError::Failed => Self::CipherFailed,
        }
    }
}

impl fmt::Display for InPlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeadroomTooShort { required } => {
                write!(f, "{required} bytes are needed before the payload")
            }
            Self::TailroomTooShort { required } => {
                write!(f, "{required} bytes are needed after the payload")
            }
            Self::PayloadTooLong { max } => {
                write!(f, "the payload is longer than one record's {max} bytes")
            }
            Self::PayloadOutOfBounds => f.write_str("the payload is not within the buffer"),
            Self::OutputPending => f.write_str("earlier output must be sent first"),
            Self::HandshakeNotComplete => f.write_str("the handshake is not complete"),
            Self::EncryptExhausted => f.write_str("the connection can no longer encrypt"),
            Self::CipherFailed => f.write_str("encryption failed"),
        }
    }
}

impl core::error::Error for InPlaceError {}

#[cfg(feature = "std")]
impl From<InPlaceError> for io::Error {
    fn from(error: InPlaceError) -> Self {
        let kind = match error {
            InPlaceError::OutputPending => io::ErrorKind::WouldBlock,
            InPlaceError::HandshakeNotComplete => io::ErrorKind::NotConnected,
            InPlaceError::EncryptExhausted => io::ErrorKind::BrokenPipe,
            InPlaceError::CipherFailed => io::ErrorKind::InvalidData,
            InPlaceError::HeadroomTooShort { .. }
            | InPlaceError::TailroomTooShort { .. }
            | InPlaceError::PayloadTooLong { .. }
            | InPlaceError::PayloadOutOfBounds => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn errors_name_the_missing_room() {
        for (error, text) in [
            (InPlaceError::HeadroomTooShort { required: 13 }, "13 bytes"),
            (InPlaceError::TailroomTooShort { required: 17 }, "17 bytes"),
            (InPlaceError::PayloadTooLong { max: 16384 }, "16384 bytes"),
            (InPlaceError::PayloadOutOfBounds, "not within the buffer"),
            (InPlaceError::OutputPending, "sent first"),
            (
                InPlaceError::HandshakeNotComplete,
                "the handshake is not complete",
            ),
            (InPlaceError::EncryptExhausted, "no longer encrypt"),
            (InPlaceError::CipherFailed, "encryption failed"),
        ] {
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
