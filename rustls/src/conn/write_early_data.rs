//! A client's early data (0-RTT, RFC 9846 §2.3), as written by the application.

use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "std")]
use std::io;

use crate::conn::early_data::EarlyDataError;
use crate::conn::to_vec::write_to_vec;
use crate::conn::write_access::WriteAccess;

/// Encrypts early data and queues it after the ClientHello in the connection's outgoing buffer.
///
/// Returned by [`ClientConnection::early_data`](crate::ClientConnection::early_data). The server
/// may reject early data, which is then lost; check
/// [`ClientConnection::is_early_data_accepted`](crate::ClientConnection::is_early_data_accepted).
#[cfg(feature = "std")]
pub struct WriteEarlyData<'a> {
    connection: WriteAccess<'a>,
}

#[cfg(feature = "std")]
impl<'a> WriteEarlyData<'a> {
    /// Returns `None` if early data has ended or is not offered.
    pub(crate) fn new(connection: WriteAccess<'a>) -> Option<Self> {
        connection.common.early_data_left()?;
        Some(Self { connection })
    }

    /// Returns the number of bytes that may still be written: the ticket's limit minus the bytes
    /// written so far, or 0 after a failure.
    pub fn bytes_left(&self) -> usize {
        self.connection.common.early_data_left().unwrap_or(0)
    }
}

#[cfg(feature = "std")]
impl io::Write for WriteEarlyData<'_> {
    /// Accepts up to [`bytes_left`](Self::bytes_left) bytes, within the limits of the buffer and
    /// the key. Returns `Ok(0)` once a limit is reached. At the buffer limit, call `write_tls` and
    /// try again; otherwise, send the rest after the handshake. Errors are those of
    /// [`Writer`](crate::Writer).
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.connection.send(|common| common.write_early_data(buf))
    }

    /// Does nothing: `write_tls` sends the data.
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

/// Encrypts early data for an unbuffered connection. The caller sends it after the ClientHello.
///
/// Returned by [`may_encrypt_early_data`]. The server may reject early data, which is then lost;
/// check [`is_early_data_accepted`].
///
/// [`may_encrypt_early_data`]: crate::unbuffered::TransmitTlsData::may_encrypt_early_data
/// [`is_early_data_accepted`]: crate::client::UnbufferedClientConnection::is_early_data_accepted
pub struct MayEncryptEarlyData<'c> {
    connection: WriteAccess<'c>,
}

impl<'c> MayEncryptEarlyData<'c> {
    /// Returns `None` if early data has ended or is not offered.
    pub(crate) fn new(connection: WriteAccess<'c>) -> Option<Self> {
        connection.common.early_data_left()?;
        Some(Self { connection })
    }

    /// Encrypts all of `early_data` into the front of `outgoing_tls`. Returns the number of bytes
    /// to send.
    ///
    /// # Errors
    ///
    /// - [`EarlyDataError::ExceededAllowedEarlyData`] if `early_data` exceeds
    ///   [`bytes_left`](Self::bytes_left). Nothing is encrypted.
    /// - [`EarlyDataError::Encrypt`] with [`EncryptError::InsufficientSize`] if `outgoing_tls` is
    ///   too short. The error holds the size needed; the same call with that much space succeeds.
    /// - [`EarlyDataError::Encrypt`] with [`EncryptError::EncryptExhausted`] if the key cannot
    ///   protect all of `early_data`, if the cipher fails, which ends the connection, or if the
    ///   connection has already failed.
    ///
    /// [`EncryptError::InsufficientSize`]: crate::unbuffered::EncryptError::InsufficientSize
    /// [`EncryptError::EncryptExhausted`]: crate::unbuffered::EncryptError::EncryptExhausted
    pub fn encrypt(
        &mut self,
        early_data: &[u8],
        outgoing_tls: &mut [u8],
    ) -> Result<usize, EarlyDataError> {
        self.connection
            .send(|common| common.encrypt_early_data(early_data, outgoing_tls))
    }

    /// Encrypts like [`Self::encrypt`], but after the first `used` bytes of a `Vec` that grows as
    /// needed. Returns the number of bytes written there. See
    /// [`WriteTraffic::encrypt_to_vec`](crate::unbuffered::WriteTraffic::encrypt_to_vec) for
    /// `used`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::encrypt`], but [`EncryptError::InsufficientSize`] only if
    /// memory cannot be allocated. The length of `outgoing_tls` and its first `used` bytes are then
    /// unchanged.
    ///
    /// [`EncryptError::InsufficientSize`]: crate::unbuffered::EncryptError::InsufficientSize
    pub fn encrypt_to_vec(
        &mut self,
        early_data: &[u8],
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, EarlyDataError> {
        write_to_vec(outgoing_tls, used, |out| self.encrypt(early_data, out))
    }

    /// Returns the number of bytes that may still be encrypted: the ticket's limit minus the bytes
    /// encrypted so far, or 0 after a failure.
    pub fn bytes_left(&self) -> usize {
        self.connection.common.early_data_left().unwrap_or(0)
    }
}

impl fmt::Debug for MayEncryptEarlyData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MayEncryptEarlyData")
            .field("bytes_left", &self.bytes_left())
            .finish_non_exhaustive()
    }
}
