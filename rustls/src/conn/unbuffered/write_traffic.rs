//! The state in which an unbuffered connection can send application data.

use alloc::vec::Vec;
use core::ops::Range;

use rustls_core::crypto::cipher::InsufficientSizeError;

use super::UnbufferedConnectionCommon;
use crate::conn::common_state::CommonState;
use crate::conn::in_place_error::InPlaceError;
use crate::conn::records::Sending;
use crate::conn::sending::EncryptError;
use crate::conn::to_vec::write_to_vec;
use crate::error::Error;
use crate::handshake::established::{Established, KEY_UPDATE_LEN};
use crate::record::ALERT_LEN;
use crate::record::sender::InPlaceRoom;

/// Application data can be sent, unless this side has closed.
pub struct WriteTraffic<'c, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
}

impl<'c, Data> WriteTraffic<'c, Data> {
    #[inline]
    pub(super) fn new(conn: &'c mut UnbufferedConnectionCommon<Data>) -> Self {
        Self { conn }
    }
}

impl<Data> WriteTraffic<'_, Data> {
    /// Moves queued bytes to the front of `outgoing_tls`, and encrypts `application_data` after
    /// them. Returns the number of bytes to send.
    ///
    /// # Errors
    ///
    /// - [`EncryptError::InsufficientSize`] if `outgoing_tls` is too short. The error holds the
    ///   size needed; the same call with that much space succeeds.
    /// - [`EncryptError::EncryptExhausted`] if nothing more can be encrypted, for example after a
    ///   close_notify, or if the cipher fails, which ends the connection.
    pub fn encrypt(
        &mut self,
        application_data: &[u8],
        outgoing_tls: &mut [u8],
    ) -> Result<usize, EncryptError> {
        self.conn
            .driver
            .write_access()
            .send(|common| common.encrypt(application_data, outgoing_tls))
    }

    /// Encrypts like [`Self::encrypt`], but after the first `used` bytes of a `Vec` that grows as
    /// needed. Returns the number of bytes written there, which are to be sent.
    ///
    /// The length of `outgoing_tls` is its initialised part. The caller counts the bytes to be sent
    /// in `used`. After sending them, reset `used` to 0 and do not clear the `Vec`. Each byte is
    /// then zeroed only once, when the `Vec` grows, and a long enough `Vec` is neither zeroed nor
    /// reallocated. The `Vec` never shrinks. If `used` equals its length, output is appended. If
    /// `used` is more, zeros fill the gap.
    ///
    /// ```
    /// use std::io::Write;
    ///
    /// use rustls::unbuffered::WriteTraffic;
    ///
    /// /// Sends messages together. Pass the same `outgoing` each time.
    /// fn send<Data>(
    ///     traffic: &mut WriteTraffic<'_, Data>,
    ///     messages: &[&[u8]],
    ///     outgoing: &mut Vec<u8>,
    ///     socket: &mut impl Write,
    /// ) -> Result<(), Box<dyn std::error::Error>> {
    ///     let mut used = 0;
    ///     for message in messages {
    ///         used += traffic.encrypt_to_vec(message, outgoing, used)?;
    ///     }
    ///     socket.write_all(&outgoing[..used])?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::encrypt`], but [`EncryptError::InsufficientSize`] only if
    /// memory cannot be allocated. The length of `outgoing_tls` and its first `used` bytes are then
    /// unchanged.
    pub fn encrypt_to_vec(
        &mut self,
        application_data: &[u8],
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, EncryptError> {
        write_to_vec(outgoing_tls, used, |out| {
            self.encrypt(application_data, out)
        })
    }

    /// Returns the space that [`Self::encrypt_in_place`] needs before and after the payload.
    ///
    /// It stays the same from the end of the handshake to the end of the connection.
    pub fn in_place_room(&self) -> InPlaceRoom {
        self.conn.driver.common.records.sender.in_place_room()
    }

    /// Encrypts the plaintext at `payload` in `buf` in place, and builds a record around it.
    /// Returns the range of the record in `buf`, ready to send.
    ///
    /// ```text
    ///        ┌─ headroom ─┐┌─ payload ────────┐┌─ tailroom ─┐
    ///  buf = │            ││ plaintext        ││            │
    ///        └────────────┘└──────────────────┘└────────────┘
    ///        │ record                                       │   returned range
    /// ```
    ///
    /// An empty payload gives no record: the returned range is empty, too.
    ///
    /// ```
    /// fn send<Data>(
    ///     state: &mut rustls::unbuffered::WriteTraffic<'_, Data>,
    ///     message: &[u8],
    ///     sock: &mut impl std::io::Write,
    /// ) -> Result<(), Box<dyn std::error::Error>> {
    ///     let room = state.in_place_room();
    ///     let mut buf = vec![0; room.headroom + message.len() + room.tailroom];
    ///     // copied for brevity; it is better to read or compute the plaintext in place
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
    /// Returns an [`InPlaceError`]. `buf` is then unchanged, except after
    /// [`InPlaceError::CipherFailed`], which ends the connection. [`InPlaceError::OutputPending`]
    /// means that the connection itself must send a message first, such as a KeyUpdate: get it from
    /// [`Self::encrypt`] with an empty slice, or from the next
    /// [`UnbufferedConnectionCommon::process_tls_records`].
    pub fn encrypt_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        self.conn
            .driver
            .write_access()
            .send(|common| common.encrypt_in_place(buf, payload))
    }

    /// Moves queued bytes to the front of `outgoing_tls`, and encrypts a close_notify after them,
    /// unless one has already been sent. Returns the number of bytes to send. No application data
    /// can be sent after a close_notify.
    ///
    /// # Errors
    ///
    /// - [`EncryptError::InsufficientSize`] if `outgoing_tls` is too short. The error holds the
    ///   size needed.
    /// - [`EncryptError::EncryptExhausted`] if the cipher failed, which ends the connection.
    pub fn queue_close_notify(&mut self, outgoing_tls: &mut [u8]) -> Result<usize, EncryptError> {
        self.conn.driver.write_access().send(|common| {
            let records = &common.records;
            let is_closing = !records.is_sending_over();
            let closing_len = if is_closing {
                let owes_update = common
                    .established
                    .as_ref()
                    .is_some_and(Established::owes_update);
                let update_len = if owes_update { KEY_UPDATE_LEN } else { 0 };
                records.sender.sealed_len(update_len) + records.sender.sealed_len(ALERT_LEN)
            } else {
                0
            };
            let required_size = records.outgoing.len() + closing_len;
            if outgoing_tls.len() < required_size {
                return Err(InsufficientSizeError { required_size }.into());
            }
            common.send_close_notify();
            if is_closing && common.has_failed() {
                return Err(EncryptError::EncryptExhausted);
            }
            Ok(common.take_output(outgoing_tls)?)
        })
    }

    /// Encrypts a close_notify like [`Self::queue_close_notify`], but after the first `used` bytes
    /// of a `Vec` that grows as needed. Returns the number of bytes written there. See
    /// [`Self::encrypt_to_vec`] for `used`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::encrypt_to_vec`].
    pub fn queue_close_notify_to_vec(
        &mut self,
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, EncryptError> {
        write_to_vec(outgoing_tls, used, |out| self.queue_close_notify(out))
    }

    /// Replaces the keys for both directions: queues a KeyUpdate that requests one in return (RFC
    /// 9846 §4.7.3), unless it is a reply itself, or an earlier request is still unanswered. The
    /// message is sent with the next [`Self::encrypt`]; otherwise, the next state is an
    /// [`EncodeTlsData`](super::EncodeTlsData) for it.
    ///
    /// Does nothing after a close_notify, after 2^48 - 1 updates, or while the sending key from an
    /// earlier update is unused and the peer has not requested another update.
    ///
    /// # Errors
    ///
    /// Returns [`Error::HandshakeNotComplete`] before the handshake is complete, and in TLS 1.2,
    /// which cannot replace keys. Returns [`Error::EncryptError`] if the cipher fails, which ends
    /// the connection. Returns the error that ended the connection if it has failed.
    pub fn refresh_traffic_keys(self) -> Result<(), Error> {
        self.conn
            .driver
            .write_access()
            .send(CommonState::refresh_traffic_keys)
    }
}

impl<Data> UnbufferedConnectionCommon<Data> {
    /// Returns a writer for application data at any time, independently of received data. Returns
    /// `None` if application data cannot be sent: before the handshake allows it, and after this
    /// side's close_notify or a failure.
    ///
    /// The peer's close_notify ends only the peer's direction (RFC 9846 §6.1). So this side may
    /// continue to send after [`ConnectionState::PeerClosed`](super::ConnectionState::PeerClosed),
    /// and close later. This also applies to TLS 1.2, although RFC 5246 §7.2.1 requires closing
    /// immediately and discarding pending writes. That rule cuts off responses, and TLS 1.3 removed
    /// it. Only the application knows whether the peer is still reading. To follow RFC 5246, call
    /// [`WriteTraffic::queue_close_notify`] immediately.
    ///
    /// Bytes that the connection has queued are sent first, as with every [`WriteTraffic`]. Send
    /// the bytes from [`EncodeTlsData`](super::EncodeTlsData) before those encrypted with this
    /// writer.
    ///
    /// ```
    /// use rustls::server::UnbufferedServerConnection;
    /// use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
    ///
    /// /// Answers a client that has closed. Returns the number of bytes to send.
    /// fn answer(
    ///     conn: &mut UnbufferedServerConnection,
    ///     incoming: &mut [u8],
    ///     outgoing: &mut Vec<u8>,
    /// ) -> Result<usize, Box<dyn std::error::Error>> {
    ///     let mut used = 0;
    ///     let UnbufferedStatus { state, .. } = conn.process_tls_records(incoming);
    ///     if let ConnectionState::PeerClosed = state? {
    ///         if let Some(mut traffic) = conn.write_traffic() {
    ///             used += traffic.encrypt_to_vec(b"goodbye", outgoing, used)?;
    ///             used += traffic.queue_close_notify_to_vec(outgoing, used)?;
    ///         }
    ///     }
    ///     Ok(used)
    /// }
    /// ```
    pub fn write_traffic(&mut self) -> Option<WriteTraffic<'_, Data>> {
        // after a failure `sending` is never `Traffic`
        if self.driver.common.records.sending != Sending::Traffic {
            return None;
        }
        Some(WriteTraffic::new(self))
    }
}
