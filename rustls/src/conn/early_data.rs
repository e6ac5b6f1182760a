//! Sends a client's early data (RFC 9846 §4.3.10): never more than the server allows, and separate
//! from application data that is waiting for the end of the handshake.

use core::fmt;
#[cfg(feature = "std")]
use std::io;

use super::common_state::CommonState;
use super::records::Sending;
use super::sending::EncryptError;
#[cfg(feature = "std")]
use super::sending::{invalid_data, write_result};
use super::to_vec::TooShort;
use crate::enums::ContentType;
#[cfg(feature = "std")]
use crate::error::Error;

impl CommonState {
    /// Returns the number of early data bytes that may still be sent, or `None` if early data has
    /// ended or is not offered.
    pub(crate) fn early_data_left(&self) -> Option<usize> {
        match self.records.sending {
            Sending::EarlyData { left } => Some(left),
            _ => None,
        }
    }

    /// Seals as much of `payload` as the ticket, the key and the buffer limit allow. Returns the
    /// number of bytes sealed.
    #[cfg(feature = "std")]
    pub(crate) fn write_early_data(&mut self, payload: &[u8]) -> io::Result<usize> {
        self.check_failed().map_err(invalid_data)?;
        let Some(left) = self.early_data_left() else {
            return Ok(0);
        };
        let records = &mut self.records;
        let room = self.buffer_limit.map_or(usize::MAX, |limit| {
            limit.saturating_sub(records.outgoing.len())
        });
        // the key cannot be replaced, and must also protect EndOfEarlyData
        let room = Ord::min(room, records.sender.payload_left());
        let accepted = Ord::min(payload.len(), Ord::min(left, room));
        let sealed = records
            .seal_pieces(payload[..accepted].into())
            .map_err(|error| invalid_data(self.fail(Error::from(error).into())))?;
        self.records.sending = Sending::EarlyData {
            left: left - sealed,
        };
        write_result(accepted, sealed)
    }

    /// Encrypts `payload` into the front of `out`, completely or not at all.
    pub(crate) fn encrypt_early_data(
        &mut self,
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<usize, EarlyDataError> {
        let left = self
            .early_data_left()
            .ok_or(EncryptError::EncryptExhausted)?;
        let left = left
            .checked_sub(payload.len())
            .ok_or(EarlyDataError::ExceededAllowedEarlyData)?;
        // the key cannot be replaced, and must also protect EndOfEarlyData
        let sender = &mut self.records.sender;
        if !sender.can_protect(payload.len()) {
            return Err(EncryptError::EncryptExhausted.into());
        }
        let used = sender
            .seal_cold(ContentType::ApplicationData, payload.into(), out)
            .map_err(|error| self.seal_failed(error))?;
        self.records.sending = Sending::EarlyData { left };
        Ok(used)
    }
}

/// The reason why early data was not encrypted.
#[derive(Debug)]
pub enum EarlyDataError {
    /// The data exceeds what is left of the limit in the server's ticket. Nothing was encrypted.
    ExceededAllowedEarlyData,

    /// The output buffer is too short, the key cannot protect the data, the cipher failed, or early
    /// data can no longer be sent.
    Encrypt(EncryptError),
}

impl From<EncryptError> for EarlyDataError {
    fn from(error: EncryptError) -> Self {
        Self::Encrypt(error)
    }
}

impl fmt::Display for EarlyDataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExceededAllowedEarlyData => f.write_str("cannot send any more early data"),
            Self::Encrypt(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for EarlyDataError {}

impl TooShort for EarlyDataError {
    fn required_size(&self) -> Option<usize> {
        match self {
            Self::Encrypt(error) => error.required_size(),
            Self::ExceededAllowedEarlyData => None,
        }
    }
}
