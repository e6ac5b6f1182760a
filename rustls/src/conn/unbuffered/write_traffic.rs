//! How an unbuffered connection sends application data.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::UnbufferedConnectionCommon;
use super::to_vec::write_to_vec;
use crate::conn::established::{Established, KEY_UPDATE_LEN};
use crate::conn::records::Sending;
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

    /// As [`Self::encrypt`], behind the first `used` bytes of a `Vec` that grows as needed; returns how many bytes were
    /// written there, which are to be sent.
    ///
    /// The length of `outgoing_tls` says how much of it is initialised, and `used`, which the caller counts, how much of
    /// that waits to be sent. Start again at 0 when all of it was sent, and do not clear the `Vec`: then each of its bytes is
    /// zeroed once, when the `Vec` grows over it, and once it is long enough nothing is zeroed or allocated. It is
    /// never made shorter. Where `used` is its length, output is appended to what is in it; where `used` is more,
    /// zeros come in between.
    ///
    /// ```
    /// use std::io::Write;
    ///
    /// use rustls::unbuffered::WriteTraffic;
    ///
    /// /// Sends messages together. `outgoing` is the same each time, and soon as long as it needs to be.
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
    /// Those of [`Self::encrypt`]; [`EncryptError::InsufficientSize`] only where the memory cannot be had. The length of
    /// `outgoing_tls` and its first `used` bytes are as before then.
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

    /// As [`Self::queue_close_notify`], behind the first `used` bytes of a `Vec` that grows as needed; returns how many
    /// bytes were written there. [`Self::encrypt_to_vec`] says more about `used`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::encrypt_to_vec`].
    pub fn queue_close_notify_to_vec(
        &mut self,
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, EncryptError> {
        write_to_vec(outgoing_tls, used, |out| self.queue_close_notify(out))
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

impl<Data> UnbufferedConnectionCommon<Data> {
    /// A way to send application data at any time, without looking at what was received; `None` when none can be sent:
    /// before the handshake allows it, and after a close_notify of this side or a failure.
    ///
    /// The peer's close_notify is no reason: it ends the peer's direction and no other (RFC 9846 §6.1). So after
    /// [`ConnectionState::PeerClosed`](super::ConnectionState::PeerClosed) this side goes on for as long as it has
    /// something to say, and closes then. It is the same in TLS 1.2, where RFC 5246 §7.2.1 would have this side throw away
    /// what it has to send and close at once: that cuts off answers, which is why TLS 1.3 has changed it, and whether
    /// the peer still listens only the application can know. One that wants it to the letter calls
    /// [`WriteTraffic::queue_close_notify`] right away.
    ///
    /// Bytes of the connection's own that wait to be sent go first, as with every [`WriteTraffic`]. Send what
    /// [`EncodeTlsData`](super::EncodeTlsData) has handed out before what is encrypted here.
    ///
    /// ```
    /// use rustls::server::UnbufferedServerConnection;
    /// use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
    ///
    /// /// Answers a client that has closed its side, and closes this one. Returns how much of `outgoing` is to be sent.
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
            Self::InsufficientSize(InsufficientSizeError { required_size }) => write!(
                f,
                "cannot encrypt due to insufficient size, {required_size} bytes are required"
            ),
            Self::EncryptExhausted => f.write_str("encrypter has been exhausted"),
        }
    }
}

impl core::error::Error for EncryptError {}
