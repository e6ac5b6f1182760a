//! The unbuffered connection: all buffers are the caller's.
//!
//! [`UnbufferedConnectionCommon::process_tls_records`] opens records where the caller received them and says,
//! by a [`ConnectionState`], what to do next; application data is encrypted from the caller's slice into the
//! caller's slice. The connection itself stores only handshake messages and alerts that wait to be sent.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use super::common_state::{CommonState, received_would_be_lost};
use super::driver::{Driver, Processed};
use super::kernel::KernelConnection;
use super::records::{Receiving, Sending};
use super::split::{Receiver, Sender, split};
use crate::client::{ClientConnectionData, MayEncryptEarlyData};
use crate::crypto::cipher::InsufficientSizeError;
use crate::error::Error;
use crate::server::ServerConnectionData;
use crate::suites::ExtractedSecrets;

mod read_early_data;
mod read_traffic;
mod shown;
pub(crate) mod to_vec;
mod waiting;
mod write_traffic;

pub use read_early_data::ReadEarlyData;
pub use read_traffic::{AppDataRecord, ReadTraffic};
use shown::Shown;
use to_vec::write_to_vec;
pub use write_traffic::{EncryptError, WriteTraffic};

/// What unbuffered client and server connections have in common.
pub struct UnbufferedConnectionCommon<Data> {
    driver: Driver<Data>,
    progress: Progress,
    /// The application data of the last state.
    shown: Shown,
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
    pub(crate) fn new(driver: Driver<Data>) -> Self {
        Self {
            driver,
            progress: Progress::default(),
            shown: Shown::default(),
        }
    }

    pub(crate) fn data(&self) -> &Data {
        &self.driver.data
    }

    fn process<'c, 'i>(&'c mut self, incoming_tls: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Data> {
        // a fast path: an application writes, which it does with no input, or receives application data
        if self.is_ready_to_write() {
            if incoming_tls.is_empty() {
                return UnbufferedStatus {
                    discard: 0,
                    state: Ok(ConnectionState::WriteTraffic(WriteTraffic::new(self))),
                };
            }
            return match self.driver.process_record(incoming_tls) {
                Ok(Some(record)) if !record.plaintext.is_empty() => {
                    self.shown.show();
                    UnbufferedStatus {
                        discard: record.record_len,
                        state: Ok(ReadTraffic::new(self, &incoming_tls[record.plaintext]).into()),
                    }
                }
                other => self.process_all(incoming_tls, Some(other)),
            };
        }
        self.process_all(incoming_tls, None)
    }

    /// Shows again what was left, or processes records up to what the application has to know. `first` is what came of
    /// the first one, if that was processed before.
    #[inline(never)]
    fn process_all<'c, 'i>(
        &'c mut self,
        incoming_tls: &'i mut [u8],
        mut first: Option<Result<Option<Processed>, Error>>,
    ) -> UnbufferedStatus<'c, 'i, Data> {
        if !self.shown.is_done() {
            if let Err(error) = self.check_unread() {
                return UnbufferedStatus {
                    discard: 0,
                    state: Err(error),
                };
            }
            if self.shown.waits() {
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
                    if let Err(error) = self.driver.check_failed() {
                        if self.progress.wants_transmit {
                            break Next::Idle;
                        }
                        return UnbufferedStatus {
                            // RFC 9846 §6: nothing is received after a failure
                            discard: incoming_tls.len(),
                            state: Err(error),
                        };
                    }
                    self.driver
                        .process_rare_record(&mut incoming_tls[discard..])
                }
            };
            match processed {
                Ok(None) => break Next::Idle,
                Ok(Some(record)) if record.plaintext.is_empty() => discard += record.record_len,
                Ok(Some(record)) => {
                    let (record_len, plaintext) = (record.record_len, record.plaintext);
                    self.shown.show();
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
        UnbufferedStatus {
            discard,
            state: Ok(self.connection_state(next)),
        }
    }

    /// Makes sure that the application data of the last state was handed out, or can still be.
    #[cold]
    fn check_unread(&mut self) -> Result<(), Error> {
        self.shown.drop_copy_if_taken();
        if !self.shown.is_lost() {
            return Ok(());
        }
        self.shown = Shown::default();
        self.driver.check_failed()?;
        let error = "received data was discarded, and next_record was not called for it";
        Err(self.driver.fail(Error::General(error.into()).into()))
    }

    /// The state that hands out `payload`, or the copy of it.
    #[inline]
    fn read_state<'c, 'i>(&'c mut self, payload: &'i [u8]) -> ConnectionState<'c, 'i, Data> {
        if self.receives_early_data() {
            ReadEarlyData::new(self, payload).into()
        } else {
            ReadTraffic::new(self, payload).into()
        }
    }

    /// True when application data can be sent and nothing else has to be done.
    #[inline]
    fn is_ready_to_write(&self) -> bool {
        let records = &self.driver.common.records;
        // after a failure `sending` is never `Traffic`
        records.sending == Sending::Traffic
            && records.receiving == Receiving::Traffic
            && records.outgoing.is_empty()
            && !self.progress.wants_transmit
            && self.shown.is_done()
    }

    /// What has to be done before the next incoming record is processed.
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

    /// True when application data that was received last is early.
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
            Next::Closing | Next::Idle if self.progress.wants_transmit => {
                TransmitTlsData { conn: self }.into()
            }
            Next::Closing if !self.progress.told_peer_closed => {
                self.progress.told_peer_closed = true;
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
    /// [`Error::HandshakeNotComplete`] before the handshake is complete; [`Error::General`] when
    /// `output` is empty or too long.
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
    /// Checks [`CommonState::check_splittable`], and that no application data is left that a state has shown.
    pub(crate) fn check_splittable(&self) -> Result<(), Error> {
        self.driver.common.check_splittable()?;
        if self.shown.waits() {
            return Err(Error::General(
                "received data was not read before the split".into(),
            ));
        }
        Ok(())
    }

    /// The halves of a connection that [can be split](Self::check_splittable).
    pub(crate) fn split(self) -> (Sender, Receiver<Data>) {
        split(self.driver)
    }

    /// The keys of both directions, to be used by another record layer, the Linux kernel's for example (kernel
    /// TLS).
    ///
    /// It is dangerous: whoever has the keys can read and forge everything.
    ///
    /// # Errors
    ///
    /// [`Error::General`] unless `enable_secret_extraction` of the configuration is set, while something waits
    /// to be sent or the peer's request for a KeyUpdate has not been answered (`refresh_traffic_keys` does), while something that was received
    /// has not been read, part of a record or of a message included, and when the crypto provider
    /// does not hand out keys; [`Error::HandshakeNotComplete`]; the error that ended the connection.
    pub fn dangerous_extract_secrets(self) -> Result<ExtractedSecrets, Error> {
        self.into_kernel_connection().map(|(secrets, _)| secrets)
    }

    /// The same, with what is left of the connection.
    pub(crate) fn into_kernel_connection(
        self,
    ) -> Result<(ExtractedSecrets, KernelConnection<Data>), Error> {
        let kernel = KernelConnection::new(self.driver)?;
        if self.shown.waits() {
            return Err(received_would_be_lost());
        }
        Ok(kernel)
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

/// What [`UnbufferedConnectionCommon::process`] found to be next.
enum Next {
    Encode,
    Closing,
    Idle,
}

/// What came of [`UnbufferedConnectionCommon::process_tls_records`].
#[must_use]
#[derive(Debug)]
pub struct UnbufferedStatus<'c, 'i, Data> {
    /// The number of bytes of `incoming_tls` that have been processed, including the record of
    /// [`ConnectionState::ReadTraffic`].
    /// Drop them from its front once `state` was handled, before the next call.
    ///
    /// After an error that the content of a record has caused, that record is included, too. One that could not be
    /// opened is not.
    pub discard: usize,

    /// What to do next, or why the connection is over. After an error, further calls give the alert
    /// to be sent, and then the error again; all bytes they are given are to be discarded.
    /// After the peer's close_notify, a failure to send is told by the call that sends and by no state: there is
    /// still [`PeerClosed`](ConnectionState::PeerClosed), and then [`Closed`](ConnectionState::Closed).
    pub state: Result<ConnectionState<'c, 'i, Data>, Error>,
}

/// What an unbuffered connection needs its user to do next.
#[non_exhaustive]
pub enum ConnectionState<'c, 'i, Data> {
    /// Early data was received; [`ReadEarlyData::next_record`] hands it out.
    ReadEarlyData(ReadEarlyData<'c, 'i, Data>),

    /// Application data was received; [`ReadTraffic::next_record`] hands it out.
    ReadTraffic(ReadTraffic<'c, 'i, Data>),

    /// The peer has closed its side: no more application data will come. More may still be sent, with the
    /// [`WriteTraffic`] that follows whenever nothing else has to be done, or that of
    /// [`UnbufferedConnectionCommon::write_traffic`], which can be had here and at once.
    PeerClosed,

    /// Both sides have closed, or the peer has and this side can send no more because that has failed.
    Closed,

    /// A record waits to be sent; [`EncodeTlsData::encode`] hands it out.
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
            Self::WriteTraffic(..) => "WriteTraffic",
        })
    }
}

/// A record waits to be sent.
pub struct EncodeTlsData<'c, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    encoded: bool,
}

impl<Data> EncodeTlsData<'_, Data> {
    /// Writes the record to the front of `outgoing_tls`; returns its length in bytes. If more records wait, the next
    /// state is for the next of them.
    ///
    /// # Errors
    ///
    /// [`EncodeError::InsufficientSize`] when `outgoing_tls` is too short: it says how much is
    /// needed, and nothing is lost. [`EncodeError::AlreadyEncoded`] at the second success.
    pub fn encode(&mut self, outgoing_tls: &mut [u8]) -> Result<usize, EncodeError> {
        if self.encoded {
            return Err(EncodeError::AlreadyEncoded);
        }
        let written = self.conn.driver.common.take_record(outgoing_tls)?;
        self.conn.progress.wants_transmit = true;
        self.encoded = true;
        Ok(written)
    }

    /// As [`Self::encode`], behind the first `used` bytes of a `Vec` that grows as needed; returns how many bytes were
    /// written there. [`WriteTraffic::encrypt_to_vec`] says more about `used`.
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
    /// // a record with a handshake message: the ClientHello, to be sent now
    /// assert_eq!(outgoing[..used][0], 22);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Self::encode`]; [`EncodeError::InsufficientSize`] only where the memory cannot be had. The length of
    /// `outgoing_tls` and its first `used` bytes are as before then.
    pub fn encode_to_vec(
        &mut self,
        outgoing_tls: &mut Vec<u8>,
        used: usize,
    ) -> Result<usize, EncodeError> {
        write_to_vec(outgoing_tls, used, |out| self.encode(out))
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
        if self.conn.driver.common.records.sending == Sending::Traffic {
            Some(WriteTraffic::new(self.conn))
        } else {
            None
        }
    }
}

impl TransmitTlsData<'_, ClientConnectionData> {
    /// A way to add early data to the bytes that are about to be sent, while it is allowed: from the ClientHello
    /// to the server's answer, if the session that is offered allows any.
    pub fn may_encrypt_early_data(&mut self) -> Option<MayEncryptEarlyData<'_>> {
        MayEncryptEarlyData::new(&mut self.conn.driver.common)
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
            Self::InsufficientSize(InsufficientSizeError { required_size }) => write!(
                f,
                "cannot encode due to insufficient size, {required_size} bytes are required"
            ),
            Self::AlreadyEncoded => f.write_str("cannot encode, data has already been encoded"),
        }
    }
}

impl core::error::Error for EncodeError {}
