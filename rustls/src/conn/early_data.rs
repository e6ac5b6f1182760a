//! A client's early data on its way out (RFC 9846 §4.3.10): never more than the server allows, and apart from
//! the application data that waits for the end of the handshake.

#[cfg(feature = "std")]
use std::io;

use super::common_state::CommonState;
use super::records::Sending;
#[cfg(feature = "std")]
use super::sending::{invalid_data, some_of};
use super::unbuffered::EncryptError;
use super::unwinding::whole;
use crate::client::EarlyDataError;
use crate::enums::ContentType;
#[cfg(feature = "std")]
use crate::error::Error;

impl CommonState {
    /// How many bytes of early data may still be sent; `None` when it is not the time for any.
    pub(crate) fn early_data_left(&self) -> Option<usize> {
        match self.records.sending {
            Sending::EarlyData { left } => Some(left),
            _ => None,
        }
    }

    /// Takes in as much of `payload` as may be sent and as the buffer limit allows; returns how much that is.
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
        // the key cannot be replaced, and has to protect EndOfEarlyData, too
        let room = Ord::min(room, records.sender.payload_left());
        let accepted = Ord::min(payload.len(), Ord::min(left, room));
        let sealed = whole(self, |common| {
            common
                .records
                .seal_pieces(payload[..accepted].into())
                .map_err(|error| invalid_data(common.fail(Error::from(error).into())))
        })?;
        self.records.sending = Sending::EarlyData {
            left: left - sealed,
        };
        some_of(accepted, sealed)
    }

    /// Encrypts all of `payload` into the front of `out`, or nothing.
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
        // the key cannot be replaced, and has to protect EndOfEarlyData, too
        if !self.records.sender.can_protect(payload.len()) {
            return Err(EncryptError::EncryptExhausted.into());
        }
        let used = whole(self, |common| {
            common
                .records
                .sender
                .seal_rarely(ContentType::ApplicationData, payload.into(), out)
                .map_err(|error| common.seal_failed(error))
        })?;
        self.records.sending = Sending::EarlyData { left };
        Ok(used)
    }
}
