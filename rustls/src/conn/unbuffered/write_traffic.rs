//! How an unbuffered connection sends application data.

use core::fmt;
use core::ops::Range;

use super::UnbufferedConnectionCommon;
use crate::conn::established::{Established, KEY_UPDATE_LEN};
use crate::crypto::cipher::InsufficientSizeError;
use crate::error::Error;
use crate::record::sender::{InPlaceError, InPlaceRoom};

/// Application data can be sent.
pub struct WriteTraffic<'c, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
}

impl<'c, Data> WriteTraffic<'c, Data> {
    pub(super) fn new(conn: &'c mut UnbufferedConnectionCommon<Data>) -> Self {
        Self { conn }
    }
}

impl<Data> WriteTraffic<'_, Data> {
    /// Encrypts `application_data` into the front of `outgoing_tls`; returns how many bytes are to be
    /// sent.
    ///
    /// # Errors
    ///
    /// [`EncryptError::InsufficientSize`] when `outgoing_tls` is too short: it says how much is
    /// needed, and the same call with that much succeeds. [`EncryptError::EncryptExhausted`] when
    /// nothing can be encrypted any more, as after a close_notify.
    pub fn encrypt(
        &mut self,
        application_data: &[u8],
        outgoing_tls: &mut [u8],
    ) -> Result<usize, EncryptError> {
        self.conn
            .driver
            .common
            .encrypt(application_data, outgoing_tls)
    }

    /// How many bytes [`Self::encrypt_in_place`] needs before and behind the payload.
    ///
    /// They are the same from the end of the handshake to the end of the connection.
    pub fn in_place_room(&self) -> InPlaceRoom {
        self.conn.driver.common.records.sender.in_place_room()
    }

    /// Makes a record of the plaintext at `payload` of `buf`, around it and in its place; returns
    /// where in `buf` the record is, to be sent as it is.
    ///
    /// ```text
    ///        ┌─ headroom ─┐┌─ payload ────────┐┌─ tailroom ─┐
    ///  buf = │            ││ plaintext        ││            │
    ///        └────────────┘└──────────────────┘└────────────┘
    ///        │ record                                       │   returned range
    /// ```
    ///
    /// ```
    /// fn send<Data>(
    ///     state: &mut rustls::unbuffered::WriteTraffic<'_, Data>,
    ///     message: &[u8],
    ///     sock: &mut impl std::io::Write,
    /// ) -> Result<(), Box<dyn std::error::Error>> {
    ///     let room = state.in_place_room();
    ///     let mut buf = vec![0; room.headroom + message.len() + room.tailroom];
    ///     // copied here; better to read or compute the plaintext in place
    ///     let payload = room.headroom..room.headroom + message.len();
    ///     buf[payload.clone()].copy_from_slice(message);
    ///
    ///     let record = state.encrypt_in_place(&mut buf, payload)?;
    ///     sock.write_all(&buf[record])?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InPlaceError`]; `buf` is unchanged then, unless the cipher failed, which ends the connection. On
    /// [`InPlaceError::OutputPending`] the connection has something of its own to send first (a KeyUpdate):
    /// [`Self::encrypt`] of nothing hands it out, and so does the next
    /// [`UnbufferedConnectionCommon::process_tls_records`].
    pub fn encrypt_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        self.conn.driver.common.encrypt_in_place(buf, payload)
    }

    /// Encrypts a close_notify into the front of `outgoing_tls`; returns how many bytes are to be
    /// sent. Nothing can be sent after it.
    ///
    /// # Errors
    ///
    /// [`EncryptError::InsufficientSize`] when `outgoing_tls` is too short: it says how much is
    /// needed.
    pub fn queue_close_notify(&mut self, outgoing_tls: &mut [u8]) -> Result<usize, EncryptError> {
        const ALERT_LEN: usize = 2;
        let common = &mut self.conn.driver.common;
        let records = &common.records;
        let closing_len = if records.is_sending_over() {
            0
        } else {
            let owes_update = common
                .established
                .as_ref()
                .is_some_and(Established::owes_update);
            let update_len = if owes_update { KEY_UPDATE_LEN } else { 0 };
            records.sender.sealed_len(update_len) + records.sender.sealed_len(ALERT_LEN)
        };
        let required_size = records.outgoing.len() + closing_len;
        if outgoing_tls.len() < required_size {
            return Err(InsufficientSizeError { required_size }.into());
        }
        common.send_close_notify();
        Ok(common.take_output(outgoing_tls)?)
    }

    /// Replaces the keys of both directions: sends a KeyUpdate that requests one in return (RFC 9846
    /// §4.7.3). It goes out with the next [`Self::encrypt`] or as the next state's
    /// [`EncodeTlsData`](super::EncodeTlsData).
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`] before the handshake is complete.
    pub fn refresh_traffic_keys(self) -> Result<(), Error> {
        self.conn.driver.common.refresh_traffic_keys()
    }
}

/// Why application data was not encrypted.
#[derive(Debug)]
pub enum EncryptError {
    /// The output is too short; nothing changed.
    InsufficientSize(InsufficientSizeError),

    /// Nothing can be encrypted on this connection any more.
    EncryptExhausted,
}

impl From<InsufficientSizeError> for EncryptError {
    fn from(error: InsufficientSizeError) -> Self {
        Self::InsufficientSize(error)
    }
}

impl fmt::Display for EncryptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsufficientSize(error) => error.fmt(f),
            Self::EncryptExhausted => f.write_str("the connection can encrypt no more"),
        }
    }
}

impl core::error::Error for EncryptError {}
