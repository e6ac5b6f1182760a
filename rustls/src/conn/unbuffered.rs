//! The unbuffered connection: the caller owns the buffers for records and application data.
//!
//! [`UnbufferedConnectionCommon::process_tls_records`] opens records in the caller's buffer. It
//! returns a [`ConnectionState`], which tells the application what to do next. Application data is
//! encrypted from one of the caller's slices into another. The connection itself buffers only its
//! own messages, incomplete handshake messages, handshake messages that must wait, and data that
//! the application has peeked at but not taken.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use core::task::{self, Poll};

use rustls_core::crypto::cipher::InsufficientSizeError;

pub use super::app_data_record::AppDataRecord;
use super::common_state::{CommonState, received_would_be_lost};
use super::driver::{Driver, Processed};
use super::kernel::KernelConnection;
use super::records::{Receiving, Sending};
pub use super::sending::EncryptError;
use super::split::{Receiver, Sender, split};
use super::to_vec::{TooShort, write_to_vec};
use super::unwinding::{PanicGuard, fail_on_panic};
use crate::conn::write_early_data::MayEncryptEarlyData;
use crate::error::Error;
use crate::handshake::client::connection_data::ClientConnectionData;
use crate::handshake::server::connection_data::ServerConnectionData;
use crate::suites::ExtractedSecrets;

mod peek_record;
mod pending_payload;
mod read_early_data;
mod read_traffic;
mod write_traffic;

use pending_payload::PendingPayload;
pub use read_early_data::ReadEarlyData;
pub use read_traffic::ReadTraffic;
pub use write_traffic::WriteTraffic;

/// Methods that unbuffered client and server connections share.
pub struct UnbufferedConnectionCommon<Data> {
    driver: Driver<Data>,
    progress: Progress,
    /// The application data in the most recently returned state.
    pending: PendingPayload,
}

/// The requests and reports that earlier states have passed to the application.
#[derive(Debug, Default)]
struct Progress {
    /// True if encoded bytes were returned and not yet reported as sent.
    wants_transmit: bool,
    /// True once [`ConnectionState::PeerClosed`] was returned.
    reported_peer_closed: bool,
}

impl UnbufferedConnectionCommon<ClientConnectionData> {
    /// Processes the TLS records in `incoming_tls`, which were received from the server, and
    /// returns the next action for the application.
    ///
    /// See [`UnbufferedStatus`] and [`ConnectionState`].
    #[inline]
    pub fn process_tls_records<'c, 'i>(
        &'c mut self,
        incoming_tls: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        // fast path: writers poll with no input
        if incoming_tls.is_empty() && self.is_ready_to_write() {
            return UnbufferedStatus::ready_to_write(self);
        }
        self.process_out_of_line(incoming_tls)
    }

    // a separate function, so that applications inline only the fast path
    #[inline(never)]
    fn process_out_of_line<'c, 'i>(
        &'c mut self,
        incoming_tls: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        self.process(incoming_tls)
    }
}

impl UnbufferedConnectionCommon<ServerConnectionData> {
    /// Processes the TLS records in `incoming_tls`, which were received from the client, and
    /// returns the next action for the application.
    ///
    /// See [`UnbufferedStatus`] and [`ConnectionState`].
    #[inline]
    pub fn process_tls_records<'c, 'i>(
        &'c mut self,
        incoming_tls: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        // fast path: writers poll with no input
        if incoming_tls.is_empty() && self.is_ready_to_write() {
            return UnbufferedStatus::ready_to_write(self);
        }
        self.process_out_of_line(incoming_tls)
    }

    // a separate function, so that applications inline only the fast path
    #[inline(never)]
    fn process_out_of_line<'c, 'i>(
        &'c mut self,
        incoming_tls: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        self.process(incoming_tls)
    }
}

impl<Data> UnbufferedConnectionCommon<Data> {
    pub(crate) fn new(driver: Driver<Data>) -> Self {
        Self {
            driver,
            progress: Progress::default(),
            pending: PendingPayload::default(),
        }
    }

    pub(crate) fn data(&self) -> &Data {
        &self.driver.data
    }

    /// Lets the handshake wait for asynchronous operations. See [`CommonState::set_async`].
    pub fn set_async(&mut self, is_async: bool) {
        self.driver.common.set_async(is_async);
    }

    /// Polls the operation that the handshake is waiting for, and continues the handshake with its
    /// result. Returns `Ready` if the handshake is not waiting for an operation. Otherwise, the
    /// task of `cx` is woken when it is worth polling again.
    ///
    /// Call it after [`ConnectionState::WaitingForOperation`]. Dropping the connection drops the
    /// operation.
    ///
    /// # Errors
    ///
    /// An error ends the connection. `process_tls_records` then returns the alert to send, if any.
    pub fn poll_operation(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Error>> {
        fail_on_panic(&mut self.driver, |driver| driver.poll_operation(cx))
    }

    #[inline]
    fn process<'c, 'i>(&'c mut self, incoming_tls: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Data> {
        if !self.is_ready_to_write() {
            return self.process_all(incoming_tls, None);
        }
        // fast path: readers mostly receive application data
        // not `fail_on_panic`, because the closure would not be inlined
        let guard = PanicGuard(&mut self.driver);
        let processed = guard.0.process_record(incoming_tls);
        guard.disarm();
        match processed {
            Ok(Some(record)) if !record.plaintext.is_empty() => {
                self.pending.announce();
                UnbufferedStatus {
                    discard: record.record_len,
                    state: Ok(ReadTraffic::new(self, &incoming_tls[record.plaintext]).into()),
                }
            }
            other => self.process_all(incoming_tls, Some(other)),
        }
    }

    /// Returns unread data again, or processes records until the application must act. `first` is
    /// the result of the first record if that has already been processed.
    #[inline(never)]
    fn process_all<'c, 'i>(
        &'c mut self,
        incoming_tls: &'i mut [u8],
        mut first: Option<Result<Option<Processed>, Error>>,
    ) -> UnbufferedStatus<'c, 'i, Data> {
        if !self.pending.is_empty() {
            if let Err(error) = self.check_unread() {
                return UnbufferedStatus {
                    discard: 0,
                    state: Err(error),
                };
            }
            if self.pending.is_pending() {
                return UnbufferedStatus {
                    discard: 0,
                    state: Ok(self.read_state(&[])),
                };
            }
        }
        let mut discard = 0;
        let next = loop {
            let processed = match first.take() {
                Some(processed) => processed,
                None => {
                    if let Some(next) = self.before_next_record() {
                        break next;
                    }
                    let failed = fail_on_panic(&mut self.driver, Driver::check_failed);
                    if let Err(error) = failed {
                        if self.progress.wants_transmit {
                            break Next::Idle;
                        }
                        return UnbufferedStatus {
                            // RFC 9846 §6: discard all input after a failure
                            discard: incoming_tls.len(),
                            state: Err(error),
                        };
                    }
                    if self.driver.must_wait(&incoming_tls[discard..]) {
                        break Next::Waiting;
                    }
                    fail_on_panic(&mut self.driver, |driver| {
                        driver.process_rare_record(&mut incoming_tls[discard..])
                    })
                }
            };
            match processed {
                Ok(None) => break Next::Idle,
                Ok(Some(record)) if record.plaintext.is_empty() => discard += record.record_len,
                Ok(Some(record)) => {
                    let (record_len, plaintext) = (record.record_len, record.plaintext);
                    self.pending.announce();
                    return UnbufferedStatus {
                        discard: discard + record_len,
                        state: Ok(self.read_state(&incoming_tls[discard..][plaintext])),
                    };
                }
                Err(error) => {
                    return UnbufferedStatus {
                        discard: discard + self.driver.take_refused_len(),
                        state: Err(error),
                    };
                }
            }
        };
        self.driver.end_work();
        UnbufferedStatus {
            discard,
            state: Ok(self.connection_state(next)),
        }
    }

    /// Checks that the application data in the previous state was taken, or is still available.
    #[cold]
    fn check_unread(&mut self) -> Result<(), Error> {
        self.pending.drop_copy_if_taken();
        if !self.pending.is_lost() {
            return Ok(());
        }
        self.pending = PendingPayload::default();
        fail_on_panic(&mut self.driver, |driver| {
            driver.check_failed()?;
            let error = "received data was discarded, and next_record was not called for it";
            Err(driver.fail(Error::General(error.into()).into()))
        })
    }

    /// Returns the state that holds `payload` or the copy of it.
    #[inline]
    fn read_state<'c, 'i>(&'c mut self, payload: &'i [u8]) -> ConnectionState<'c, 'i, Data> {
        if self.receives_early_data() {
            ReadEarlyData::new(self, payload).into()
        } else {
            ReadTraffic::new(self, payload).into()
        }
    }

    /// True if application data can be sent and nothing else is pending.
    #[inline]
    fn is_ready_to_write(&self) -> bool {
        let records = &self.driver.common.records;
        // after a failure `sending` is never `Traffic`
        records.sending == Sending::Traffic
            && records.receiving == Receiving::Traffic
            && records.outgoing.is_empty()
            && !self.progress.wants_transmit
            && self.pending.is_empty()
    }

    /// Returns the next step if there is one before the next incoming record.
    #[inline]
    fn before_next_record(&self) -> Option<Next> {
        if self.driver.common.wants_write() {
            Some(Next::Encode)
        } else if self.driver.common.records.receiving == Receiving::Closed {
            Some(Next::Closing)
        } else {
            None
        }
    }

    /// True while received application data is early data.
    #[inline]
    fn receives_early_data(&self) -> bool {
        matches!(
            self.driver.common.records.receiving,
            Receiving::EarlyData { .. }
        )
    }

    #[inline]
    fn connection_state<'c, 'i>(&'c mut self, next: Next) -> ConnectionState<'c, 'i, Data> {
        let records = &self.driver.common.records;
        match next {
            Next::Encode => EncodeTlsData {
                conn: self,
                encoded: false,
            }
            .into(),
            Next::Closing | Next::Waiting | Next::Idle if self.progress.wants_transmit => {
                TransmitTlsData { conn: self }.into()
            }
            Next::Waiting => {
                self.driver.common.records.unpolled.report_wait();
                ConnectionState::WaitingForOperation
            }
            Next::Closing if !self.progress.reported_peer_closed => {
                self.progress.reported_peer_closed = true;
                ConnectionState::PeerClosed
            }
            Next::Closing if records.is_sending_over() => ConnectionState::Closed,
            Next::Closing | Next::Idle => {
                if records.sending == Sending::Traffic || !records.is_handshaking() {
                    ConnectionState::WriteTraffic(WriteTraffic::new(self))
                } else {
                    ConnectionState::BlockedHandshake
                }
            }
        }
    }

    /// Derives keying material from the connection (RFC 9846 §7.5, RFC 5705) and returns it in
    /// `output`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::HandshakeNotComplete`] before the handshake is complete, and the error that
    /// ended the connection if it has failed. Returns [`Error::General`] if `output` is empty; in
    /// TLS 1.3, if `output` is too long or `label` is longer than 249 bytes; in TLS 1.2, if
    /// `context` is longer than 65 535 bytes, or the peer does not support the extended master
    /// secret.
    pub fn export_keying_material<T: AsMut<[u8]>>(
        &self,
        output: T,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<T, Error> {
        self.driver
            .common
            .export_keying_material(output, label, context)
    }
}

impl<Data> UnbufferedConnectionCommon<Data> {
    /// Checks [`CommonState::check_splittable`], and that no application data is unread.
    pub(crate) fn check_splittable(&self) -> Result<(), Error> {
        self.driver.common.check_splittable()?;
        if self.pending.is_pending() {
            return Err(Error::General(
                "received data was not read before the split".into(),
            ));
        }
        Ok(())
    }

    /// Splits a connection that passed [`Self::check_splittable`] into its halves.
    pub(crate) fn split(self) -> (Sender, Receiver<Data>) {
        split(self.driver)
    }

    /// Returns the keys for both directions, for an external record layer such as the Linux
    /// kernel's (kernel TLS).
    ///
    /// This is dangerous: anyone who has the keys can read and forge all data.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if one of these holds:
    ///
    /// - the configuration does not set `enable_secret_extraction`;
    /// - output is queued, or a KeyUpdate that the peer requested has not been sent yet (call
    ///   `refresh_traffic_keys`);
    /// - received data was not taken, or part of a handshake message has been received;
    /// - the crypto provider does not export keys.
    ///
    /// Returns [`Error::HandshakeNotComplete`] before the handshake is complete, and the error that
    /// ended the connection if it has failed.
    pub fn dangerous_extract_secrets(self) -> Result<ExtractedSecrets, Error> {
        self.into_kernel_connection().map(|(secrets, _)| secrets)
    }

    /// Returns the keys, and a connection that manages them.
    pub(crate) fn into_kernel_connection(
        self,
    ) -> Result<(ExtractedSecrets, KernelConnection<Data>), Error> {
        let (secrets, mut kernel) = KernelConnection::new(self.driver)?;
        if self.pending.is_pending() {
            return Err(received_would_be_lost());
        }
        kernel.report_extraction();
        Ok((secrets, kernel))
    }
}

impl<T> Deref for UnbufferedConnectionCommon<T> {
    type Target = CommonState;

    fn deref(&self) -> &Self::Target {
        &self.driver.common
    }
}

impl<Data> fmt::Debug for UnbufferedConnectionCommon<Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.driver.common.fmt(f)
    }
}

/// The next step that [`UnbufferedConnectionCommon::process`] found.
enum Next {
    Encode,
    Closing,
    Waiting,
    Idle,
}

/// The result of [`UnbufferedConnectionCommon::process_tls_records`].
#[must_use]
#[derive(Debug)]
pub struct UnbufferedStatus<'c, 'i, Data> {
    /// The number of bytes of `incoming_tls` that have been processed, including the record whose
    /// data is in `state`. Remove them from the front of `incoming_tls` after handling `state` and
    /// before the next call.
    ///
    /// If the content of a record caused an error, that record is usually included. A record that
    /// could not be opened is not.
    pub discard: usize,

    /// The next action for the application, or the error that ended the connection. After an error,
    /// further calls return the alert to send, if any, and then the error again. Discard all bytes
    /// passed to them.
    ///
    /// After the peer's close_notify, errors in sending are returned by the call that sends, and
    /// not in this field: [`PeerClosed`](ConnectionState::PeerClosed) and
    /// [`Closed`](ConnectionState::Closed) still follow.
    pub state: Result<ConnectionState<'c, 'i, Data>, Error>,
}

impl<'c, Data> UnbufferedStatus<'c, '_, Data> {
    /// Reports that nothing was processed, and that application data can be sent.
    #[inline]
    fn ready_to_write(conn: &'c mut UnbufferedConnectionCommon<Data>) -> Self {
        Self {
            discard: 0,
            state: Ok(ConnectionState::WriteTraffic(WriteTraffic::new(conn))),
        }
    }
}

/// The next action that an unbuffered connection needs from the application.
#[non_exhaustive]
pub enum ConnectionState<'c, 'i, Data> {
    /// Early data was received; take it with [`ReadEarlyData::next_record`].
    ReadEarlyData(ReadEarlyData<'c, 'i, Data>),

    /// Application data was received; take it with [`ReadTraffic::next_record`].
    ReadTraffic(ReadTraffic<'c, 'i, Data>),

    /// The peer has closed its side, so no more application data will arrive. This side may still
    /// send, unless it has closed too. [`WriteTraffic`] then follows once nothing else is pending.
    /// To send now, call [`UnbufferedConnectionCommon::write_traffic`].
    PeerClosed,

    /// Both sides have closed, or the peer has closed and this side can no longer send because of a
    /// failure.
    Closed,

    /// A record is queued; get it with [`EncodeTlsData::encode`].
    EncodeTlsData(EncodeTlsData<'c, Data>),

    /// Send all bytes that [`EncodeTlsData::encode`] wrote, then call [`TransmitTlsData::done`].
    TransmitTlsData(TransmitTlsData<'c, Data>),

    /// The handshake needs more bytes from the peer.
    BlockedHandshake,

    /// The handshake is waiting for an application operation. Call
    /// [`UnbufferedConnectionCommon::poll_operation`] until it is ready; then process the incoming
    /// bytes again. You may pass in bytes that arrive in the meantime, so that an alert is noticed.
    /// A server that may already send gets its writer from
    /// [`UnbufferedConnectionCommon::write_traffic`].
    ///
    /// Only returned by connections on which [`UnbufferedConnectionCommon::set_async`] was called.
    WaitingForOperation,

    /// The handshake is complete, or this is a server that already [may
    /// send](crate::ServerConfig::send_half_rtt_data). Send application data, unless this side has
    /// closed, or receive more bytes.
    WriteTraffic(WriteTraffic<'c, Data>),
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
            Self::ReadEarlyData(..) => "ReadEarlyData",
            Self::ReadTraffic(..) => "ReadTraffic",
            Self::PeerClosed => "PeerClosed",
            Self::Closed => "Closed",
            Self::EncodeTlsData(..) => "EncodeTlsData",
            Self::TransmitTlsData(..) => "TransmitTlsData",
            Self::BlockedHandshake => "BlockedHandshake",
            Self::WaitingForOperation => "WaitingForOperation",
            Self::WriteTraffic(..) => "WriteTraffic",
        })
    }
}

/// A record is queued to be sent.
pub struct EncodeTlsData<'c, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    encoded: bool,
}

impl<Data> EncodeTlsData<'_, Data> {
    /// Writes the record to the front of `outgoing_tls` and returns its length in bytes. If more
    /// records are queued, the next state holds the next one.
    ///
    /// # Errors
    ///
    /// - [`EncodeError::InsufficientSize`] if `outgoing_tls` is too short. The error holds the size
    ///   needed, and nothing is lost.
    /// - [`EncodeError::AlreadyEncoded`] if an earlier call succeeded.
    pub fn encode(&mut self, outgoing_tls: &mut [u8]) -> Result<usize, EncodeError> {
        if self.encoded {
            return Err(EncodeError::AlreadyEncoded);
        }
        let written = self.conn.driver.common.take_record(outgoing_tls)?;
        self.conn.progress.wants_transmit = true;
        self.encoded = true;
        Ok(written)
    }

    /// Encodes like [`Self::encode`], but after the first `used` bytes of a `Vec` that grows as
    /// needed. Returns the number of bytes written there. See [`WriteTraffic::encrypt_to_vec`] for
    /// `used`.
    ///
    /// ```
    /// # #[cfg(any(feature = "aws_lc_rs", feature = "ring"))] {
    /// use std::sync::Arc;
    ///
    /// use rustls::client::UnbufferedClientConnection;
    /// use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
    /// use rustls::{ClientConfig, RootCertStore};
    ///
    /// # #[cfg(feature = "aws_lc_rs")]
    /// # let provider = rustls::crypto::aws_lc_rs::default_provider();
    /// # #[cfg(not(feature = "aws_lc_rs"))]
    /// # let provider = rustls::crypto::ring::default_provider();
    /// let config = ClientConfig::builder_with_provider(provider.into())
    ///     .with_safe_default_protocol_versions()?
    ///     .with_root_certificates(RootCertStore::empty())
    ///     .with_no_client_auth();
    /// let mut conn = UnbufferedClientConnection::new(Arc::new(config), "localhost".try_into()?)?;
    ///
    /// let (mut outgoing, mut used) = (Vec::new(), 0);
    /// let UnbufferedStatus { state, .. } = conn.process_tls_records(&mut []);
    /// if let ConnectionState::EncodeTlsData(mut state) = state? {
    ///     used += state.encode_to_vec(&mut outgoing, used)?;
    /// }
    /// // a record with the ClientHello, ready to send
    /// assert_eq!(outgoing[..used][0], 22);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::encode`], but [`EncodeError::InsufficientSize`] only if memory
    /// cannot be allocated. The length of `outgoing_tls` and its first `used` bytes are then
    /// unchanged.
    pub fn encode_to_vec(
        &mut self,
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, EncodeError> {
        write_to_vec(outgoing_tls, used, |out| self.encode(out))
    }
}

/// The encoded bytes must be sent.
pub struct TransmitTlsData<'c, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
}

impl<Data> TransmitTlsData<'_, Data> {
    /// Reports that all encoded bytes were sent.
    pub fn done(self) {
        self.conn.progress.wants_transmit = false;
    }

    /// Returns a writer for application data to send with the encoded bytes, if that is already
    /// allowed.
    pub fn may_encrypt_app_data(&mut self) -> Option<WriteTraffic<'_, Data>> {
        if self.conn.driver.common.records.sending == Sending::Traffic {
            Some(WriteTraffic::new(self.conn))
        } else {
            None
        }
    }
}

impl TransmitTlsData<'_, ClientConnectionData> {
    /// Returns a writer for early data to send with the encoded bytes. Returns `None` if early data
    /// cannot be sent: the client offers no session that allows it, the server has rejected it or
    /// sent its Finished, or the connection has closed or failed.
    pub fn may_encrypt_early_data(&mut self) -> Option<MayEncryptEarlyData<'_>> {
        MayEncryptEarlyData::new(self.conn.driver.write_access())
    }
}

/// The errors of [`EncodeTlsData::encode`].
#[derive(Debug)]
pub enum EncodeError {
    /// The output buffer is too short. Nothing has changed.
    InsufficientSize(InsufficientSizeError),

    /// The record has already been encoded.
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
            Self::InsufficientSize(InsufficientSizeError { required_size }) => write!(
                f,
                "cannot encode due to insufficient size, {required_size} bytes are required"
            ),
            Self::AlreadyEncoded => f.write_str("cannot encode, data has already been encoded"),
        }
    }
}

impl core::error::Error for EncodeError {}

impl TooShort for EncodeError {
    fn required_size(&self) -> Option<usize> {
        match self {
            Self::InsufficientSize(error) => Some(error.required_size),
            Self::AlreadyEncoded => None,
        }
    }
}
