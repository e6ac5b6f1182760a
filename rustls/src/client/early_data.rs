//! Early data of a client (0-RTT, RFC 9846 §2.3), as the application writes it into a buffered connection.

use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "std")]
use std::io;

use crate::conn::common_state::CommonState;
use crate::conn::unbuffered::EncryptError;
use crate::conn::unbuffered::to_vec::write_to_vec;

/// Encrypts what is written to it as early data, behind the ClientHello in the connection's outgoing buffer.
///
/// From [`ClientConnection::early_data`](super::ClientConnection::early_data). What is written may be lost:
/// [`ClientConnection::is_early_data_accepted`](super::ClientConnection::is_early_data_accepted) says so.
#[cfg(feature = "std")]
pub struct WriteEarlyData<'a> {
    common: &'a mut CommonState,
}

#[cfg(feature = "std")]
impl<'a> WriteEarlyData<'a> {
    /// `None` unless early data may be sent now.
    pub(super) fn new(common: &'a mut CommonState) -> Option<Self> {
        common.early_data_left()?;
        Some(Self { common })
    }

    /// How many bytes may still be written: what the server's ticket allows, less what was written.
    pub fn bytes_left(&self) -> usize {
        self.common.early_data_left().unwrap_or(0)
    }
}

#[cfg(feature = "std")]
impl io::Write for WriteEarlyData<'_> {
    /// Accepts up to [`bytes_left`](Self::bytes_left), and up to the buffer limit; nothing (`Ok(0)`) once either
    /// is reached. What is not accepted has to wait for the end of the handshake.
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.common.write_early_data(buf)
    }

    /// Does nothing: `write_tls` sends.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "std")]
impl fmt::Debug for WriteEarlyData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteEarlyData")
            .field("bytes_left", &self.bytes_left())
            .finish_non_exhaustive()
    }
}

/// Encrypts early data of an unbuffered connection, to be sent behind the ClientHello.
///
/// From [`TransmitTlsData::may_encrypt_early_data`](crate::unbuffered::TransmitTlsData::may_encrypt_early_data).
/// What is sent may be lost:
/// [`UnbufferedClientConnection::is_early_data_accepted`](super::UnbufferedClientConnection::is_early_data_accepted)
/// says so.
pub struct MayEncryptEarlyData<'c> {
    common: &'c mut CommonState,
}

impl<'c> MayEncryptEarlyData<'c> {
    /// `None` unless early data may be sent now.
    pub(crate) fn new(common: &'c mut CommonState) -> Option<Self> {
        common.early_data_left()?;
        Some(Self { common })
    }

    /// Encrypts all of `early_data` into the front of `outgoing_tls`; returns how many bytes are to be sent.
    ///
    /// # Errors
    ///
    /// [`EarlyDataError::ExceededAllowedEarlyData`] when it is more than the server's ticket allows, together
    /// with what was encrypted before; nothing of it is. [`EarlyDataError::Encrypt`] when `outgoing_tls` is too
    /// short: it says how much is needed, and the same call with that much succeeds.
    pub fn encrypt(
        &mut self,
        early_data: &[u8],
        outgoing_tls: &mut [u8],
    ) -> Result<usize, EarlyDataError> {
        self.common.encrypt_early_data(early_data, outgoing_tls)
    }

    /// As [`Self::encrypt`], behind the first `used` bytes of a `Vec` that grows as needed; returns how many bytes were
    /// written there. [`WriteTraffic::encrypt_to_vec`](crate::unbuffered::WriteTraffic::encrypt_to_vec) says more about
    /// `used`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::encrypt`]; [`EncryptError::InsufficientSize`] only where the memory cannot be had. The length of
    /// `outgoing_tls` and its first `used` bytes are as before then.
    pub fn encrypt_to_vec(
        &mut self,
        early_data: &[u8],
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, EarlyDataError> {
        write_to_vec(outgoing_tls, used, |out| self.encrypt(early_data, out))
    }

    /// How many bytes may still be encrypted: what the server's ticket allows, less what was.
    pub fn bytes_left(&self) -> usize {
        self.common.early_data_left().unwrap_or(0)
    }
}

impl fmt::Debug for MayEncryptEarlyData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MayEncryptEarlyData")
            .field("bytes_left", &self.bytes_left())
            .finish_non_exhaustive()
    }
}

/// Why early data was not encrypted.
#[derive(Debug)]
pub enum EarlyDataError {
    /// It is more than the server's ticket allows. Nothing was encrypted.
    ExceededAllowedEarlyData,

    /// It could not be encrypted.
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
