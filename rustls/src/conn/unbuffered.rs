//! The unbuffered connection: all buffers are the caller's.
//!
//! [`UnbufferedConnectionCommon::process_tls_records`] opens records where the caller received them
//! and says, by a [`ConnectionState`], what to do next; application data is encrypted from the
//! caller's slice into the caller's slice. The connection itself stores no record but handshake
//! messages and alerts that wait to be sent.

use core::fmt;
use core::num::NonZeroUsize;
use core::ops::{Deref, Range};

use super::common_state::CommonState;
use super::core::{ConnectionCore, Processed};
use crate::client::ClientConnectionData;
use crate::crypto::cipher::InsufficientSizeError;
use crate::enums::ContentType;
use crate::error::Error;
use crate::record::sender::{InPlaceError, InPlaceRoom, SealError};
use crate::server::ServerConnectionData;

/// What unbuffered client and server connections have in common.
pub struct UnbufferedConnectionCommon<Data> {
    core: ConnectionCore<Data>,
    progress: Progress,
    /// The record at the front of the incoming bytes is opened, and its plaintext not yet handed out.
    opened: Option<Processed>,
}

/// What the caller has been told so far.
#[derive(Debug, Default)]
struct Progress {
    /// Encoded bytes were handed out and not yet reported as transmitted.
    wants_transmit: bool,
    /// [`ConnectionState::PeerClosed`] was returned.
    told_peer_closed: bool,
}

impl UnbufferedConnectionCommon<ClientConnectionData> {
    /// Processes the TLS records in `incoming_tls`, bytes received from the server, and says what to
    /// do next.
    ///
    /// See [`UnbufferedStatus`] and [`ConnectionState`].
    pub fn process_tls_records<'c, 'i>(
        &'c mut self,
        incoming_tls: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        self.process(incoming_tls)
    }
}

impl UnbufferedConnectionCommon<ServerConnectionData> {
    /// Processes the TLS records in `incoming_tls`, bytes received from the client, and says what to
    /// do next.
    ///
    /// See [`UnbufferedStatus`] and [`ConnectionState`].
    pub fn process_tls_records<'c, 'i>(
        &'c mut self,
        incoming_tls: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        self.process(incoming_tls)
    }
}

impl<Data> UnbufferedConnectionCommon<Data> {
    pub(crate) fn new(core: ConnectionCore<Data>) -> Self {
        Self {
            core,
            progress: Progress::default(),
            opened: None,
        }
    }

    pub(crate) fn data(&self) -> &Data {
        &self.core.data
    }

    fn process<'c, 'i>(&'c mut self, incoming_tls: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Data> {
        let mut discard = 0;
        let failed = |discard, error| UnbufferedStatus {
            discard,
            state: Err(error),
        };
        let next = loop {
            if let Some(opened) = &self.opened {
                break match opened.record_len <= incoming_tls.len() - discard {
                    true => Next::Read,
                    false => Next::Idle,
                };
            }
            // what waits to be sent comes first, and of incoming records one at a time: each may
            // change what comes next
            if self.core.common.wants_write() {
                break Next::Encode;
            }
            if self.progress.wants_transmit {
                break Next::Transmit;
            }
            if self.core.common.received_close_notify {
                // RFC 9846 §6.1: data received after a closure alert is ignored
                discard = incoming_tls.len();
                break Next::Closing;
            }
            if let Err(error) = self.core.check_failed() {
                return failed(discard, error);
            }
            if discard == incoming_tls.len() {
                break Next::Idle;
            }
            match self.core.process_record(&mut incoming_tls[discard..]) {
                Ok(None) => break Next::Idle,
                Ok(Some(record)) if record.plaintext.is_empty() => discard += record.record_len,
                Ok(Some(record)) => {
                    self.opened = Some(record);
                    break Next::Read;
                }
                Err(error) => return failed(discard, error),
            }
        };
        UnbufferedStatus {
            discard,
            state: Ok(self.connection_state(next, &incoming_tls[discard..])),
        }
    }

    #[inline]
    fn connection_state<'c, 'i>(
        &'c mut self,
        next: Next,
        incoming_tls: &'i [u8],
    ) -> ConnectionState<'c, 'i, Data> {
        match next {
            Next::Encode => EncodeTlsData {
                conn: self,
                encoded: false,
            }
            .into(),
            Next::Transmit => TransmitTlsData { conn: self }.into(),
            Next::Read => ReadTraffic {
                conn: self,
                incoming_tls,
            }
            .into(),
            Next::Closing if !self.progress.told_peer_closed => {
                self.progress.told_peer_closed = true;
                ConnectionState::PeerClosed
            }
            Next::Closing if self.core.common.is_sending_over() => ConnectionState::Closed,
            Next::Closing | Next::Idle => match self.core.common.may_send_application_data {
                true => ConnectionState::WriteTraffic(WriteTraffic { conn: self }),
                false => ConnectionState::BlockedHandshake,
            },
        }
    }

    /// Derives keying material from the connection (RFC 9846 §7.5, RFC 5705) and returns it in
    /// `output`.
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`] before the handshake is complete; [`Error::General`] when
    /// `output` is empty or too long.
    pub fn export_keying_material<T: AsMut<[u8]>>(
        &self,
        output: T,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<T, Error> {
        self.core.export_keying_material(output, label, context)
    }

    /// Copies what waits to be sent to the front of `out` and then has `write` write behind it.
    ///
    /// Nothing changes when `out` has no room for what waits and `len` more bytes.
    fn send_behind_pending(
        &mut self,
        out: &mut [u8],
        len: usize,
        write: impl FnOnce(&mut CommonState, &mut [u8]) -> Result<usize, EncryptError>,
    ) -> Result<usize, EncryptError> {
        let common = &mut self.core.common;
        let pending = common.outgoing.len();
        let required_size = pending.saturating_add(len);
        if out.len() < required_size {
            return Err(InsufficientSizeError { required_size }.into());
        }
        let written = write(common, &mut out[pending..])?;
        if pending != 0 {
            out[..pending].copy_from_slice(common.outgoing.pending());
            common.consume_outgoing(pending);
        }
        Ok(pending + written)
    }
}

impl<T> Deref for UnbufferedConnectionCommon<T> {
    type Target = CommonState;

    fn deref(&self) -> &Self::Target {
        &self.core.common
    }
}

impl<Data> fmt::Debug for UnbufferedConnectionCommon<Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.common.fmt(f)
    }
}

/// What [`UnbufferedConnectionCommon::process`] found to be next.
enum Next {
    Encode,
    Transmit,
    Read,
    Closing,
    Idle,
}

/// What came of [`UnbufferedConnectionCommon::process_tls_records`].
#[must_use]
#[derive(Debug)]
pub struct UnbufferedStatus<'c, 'i, Data> {
    /// How many bytes of `incoming_tls` are done with: to be dropped from its front once `state` was
    /// handled, before the next call.
    pub discard: usize,

    /// What to do next, or why the connection is over. After an error, further calls give the alert
    /// to be sent, and then the error again.
    pub state: Result<ConnectionState<'c, 'i, Data>, Error>,
}

/// What an unbuffered connection needs its user to do next.
#[non_exhaustive]
pub enum ConnectionState<'c, 'i, Data> {
    /// Application data was received; [`ReadTraffic::next_record`] hands it out.
    ReadTraffic(ReadTraffic<'c, 'i, Data>),

    /// The peer has closed its side: no more application data will come. More may still be sent.
    PeerClosed,

    /// Both sides have closed.
    Closed,

    /// Bytes wait to be sent; [`EncodeTlsData::encode`] hands them out.
    EncodeTlsData(EncodeTlsData<'c, Data>),

    /// All bytes handed out by [`EncodeTlsData::encode`] must be sent now, then
    /// [`TransmitTlsData::done`] called.
    TransmitTlsData(TransmitTlsData<'c, Data>),

    /// The handshake waits for more bytes from the peer.
    BlockedHandshake,

    /// The handshake is complete: application data can be sent, and more bytes from the peer be
    /// processed when they come.
    WriteTraffic(WriteTraffic<'c, Data>),
}

impl<'c, 'i, Data> From<ReadTraffic<'c, 'i, Data>> for ConnectionState<'c, 'i, Data> {
    fn from(state: ReadTraffic<'c, 'i, Data>) -> Self {
        Self::ReadTraffic(state)
    }
}

impl<'c, Data> From<EncodeTlsData<'c, Data>> for ConnectionState<'c, '_, Data> {
    fn from(state: EncodeTlsData<'c, Data>) -> Self {
        Self::EncodeTlsData(state)
    }
}

impl<'c, Data> From<TransmitTlsData<'c, Data>> for ConnectionState<'c, '_, Data> {
    fn from(state: TransmitTlsData<'c, Data>) -> Self {
        Self::TransmitTlsData(state)
    }
}

impl<Data> fmt::Debug for ConnectionState<'_, '_, Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadTraffic(..) => "ReadTraffic",
            Self::PeerClosed => "PeerClosed",
            Self::Closed => "Closed",
            Self::EncodeTlsData(..) => "EncodeTlsData",
            Self::TransmitTlsData(..) => "TransmitTlsData",
            Self::BlockedHandshake => "BlockedHandshake",
            Self::WriteTraffic(..) => "WriteTraffic",
        })
    }
}

/// Application data was received.
///
/// It stays where it was received: a state that is dropped without [`Self::next_record`] comes again.
pub struct ReadTraffic<'c, 'i, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    /// The opened record, and what follows it.
    incoming_tls: &'i [u8],
}

impl<'c, 'i, Data> ReadTraffic<'c, 'i, Data> {
    /// The next record's application data, where it was received; `None` when there is no more
    /// before the next [`UnbufferedConnectionCommon::process_tls_records`].
    pub fn next_record(&mut self) -> Option<Result<AppDataRecord<'_>, Error>> {
        let opened = self.conn.opened.take()?;
        Some(Ok(AppDataRecord {
            discard: opened.record_len,
            payload: &self.incoming_tls[opened.plaintext],
        }))
    }

    /// How many bytes [`Self::next_record`] will hand out.
    pub fn peek_len(&self) -> Option<NonZeroUsize> {
        let opened = self.conn.opened.as_ref()?;
        NonZeroUsize::new(opened.plaintext.len())
    }
}

/// One record's application data.
#[derive(Debug)]
pub struct AppDataRecord<'i> {
    /// How many more bytes of `incoming_tls` are done with. They must be added to
    /// [`UnbufferedStatus::discard`]: the record is among them.
    pub discard: usize,

    /// The application data.
    pub payload: &'i [u8],
}

/// Application data can be sent.
pub struct WriteTraffic<'c, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
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
        let core = &mut self.conn.core;
        if !core.common.can_send_application_data() {
            return Err(EncryptError::EncryptExhausted);
        }
        core.refresh_worn_keys(application_data.len())
            .map_err(|_| EncryptError::EncryptExhausted)?;
        let len = match core.common.wants_write() {
            true => core.common.sender.sealed_len(application_data.len()),
            // nothing waits: the sender itself knows what is too short
            false => 0,
        };
        self.conn
            .send_behind_pending(outgoing_tls, len, |common, out| {
                common
                    .sender
                    .seal(ContentType::ApplicationData, application_data.into(), out)
                    .map_err(EncryptError::from)
            })
    }

    /// How many bytes [`Self::encrypt_in_place`] needs before and behind the payload.
    ///
    /// They are the same from the end of the handshake to the end of the connection.
    pub fn in_place_room(&self) -> InPlaceRoom {
        self.conn.core.common.sender.in_place_room()
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
    ///     // put here by a copy; better read or computed where it is to lie
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
    /// [`InPlaceError`]; `buf` and the connection are as they were then. On
    /// [`InPlaceError::OutputPending`] the connection has something of its own to send first (a
    /// KeyUpdate): the next [`UnbufferedConnectionCommon::process_tls_records`] hands it out.
    pub fn encrypt_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
    ) -> Result<Range<usize>, InPlaceError> {
        self.conn.core.seal_in_place(buf, payload)
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
        let common = &mut self.conn.core.common;
        let len = match common.is_sending_over() {
            true => 0,
            false => common.sender.sealed_len(ALERT_LEN),
        };
        let required_size = common.outgoing.len() + len;
        if outgoing_tls.len() < required_size {
            return Err(InsufficientSizeError { required_size }.into());
        }
        common.send_close_notify();
        self.conn.send_behind_pending(outgoing_tls, 0, |_, _| Ok(0))
    }

    /// Replaces the keys of both directions: sends a KeyUpdate that requests one in return (RFC 9846
    /// §4.7.3). It goes out with the next [`Self::encrypt`] or as the next state's
    /// [`EncodeTlsData`].
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`] before the handshake is complete.
    pub fn refresh_traffic_keys(self) -> Result<(), Error> {
        self.conn.core.refresh_traffic_keys()
    }
}

/// Bytes wait to be sent.
pub struct EncodeTlsData<'c, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    encoded: bool,
}

impl<Data> EncodeTlsData<'_, Data> {
    /// Writes the bytes that wait to the front of `outgoing_tls`; returns how many.
    ///
    /// # Errors
    ///
    /// [`EncodeError::InsufficientSize`] when `outgoing_tls` is too short: it says how much is
    /// needed, and nothing is lost. [`EncodeError::AlreadyEncoded`] at the second success.
    pub fn encode(&mut self, outgoing_tls: &mut [u8]) -> Result<usize, EncodeError> {
        if self.encoded {
            return Err(EncodeError::AlreadyEncoded);
        }
        let common = &mut self.conn.core.common;
        let pending = common.outgoing.pending();
        let required_size = pending.len();
        let Some(out) = outgoing_tls.get_mut(..required_size) else {
            return Err(InsufficientSizeError { required_size }.into());
        };
        out.copy_from_slice(pending);
        common.consume_outgoing(required_size);
        self.conn.progress.wants_transmit = true;
        self.encoded = true;
        Ok(required_size)
    }
}

/// Encoded bytes must be sent before the connection goes on.
pub struct TransmitTlsData<'c, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
}

impl<Data> TransmitTlsData<'_, Data> {
    /// All encoded bytes were sent.
    pub fn done(self) {
        self.conn.progress.wants_transmit = false;
    }

    /// A way to add application data to the bytes that are about to be sent, when it is allowed
    /// already.
    pub fn may_encrypt_app_data(&mut self) -> Option<WriteTraffic<'_, Data>> {
        match self.conn.core.common.can_send_application_data() {
            true => Some(WriteTraffic { conn: self.conn }),
            false => None,
        }
    }
}

/// Why bytes that wait to be sent were not handed out.
#[derive(Debug)]
pub enum EncodeError {
    /// The output is too short; nothing changed.
    InsufficientSize(InsufficientSizeError),

    /// They were handed out before.
    AlreadyEncoded,
}

impl From<InsufficientSizeError> for EncodeError {
    fn from(error: InsufficientSizeError) -> Self {
        Self::InsufficientSize(error)
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsufficientSize(error) => error.fmt(f),
            Self::AlreadyEncoded => f.write_str("these bytes were encoded before"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Why application data was not encrypted.
#[derive(Debug)]
pub enum EncryptError {
    /// The output is too short; nothing changed.
    InsufficientSize(InsufficientSizeError),

    /// Nothing can be encrypted on this connection any more.
    EncryptExhausted,
}

impl From<SealError> for EncryptError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::InsufficientSize(size) => Self::InsufficientSize(size),
            SealError::Exhausted | SealError::Failed => Self::EncryptExhausted,
        }
    }
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
