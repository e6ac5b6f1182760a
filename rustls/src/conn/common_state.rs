//! The state that all connections share, buffered or not, client or server: for example the
//! records, the negotiated properties, the secrets that outlive the handshake, and the error that
//! ended the connection.
//!
//! It depends neither on the states of the handshake nor on [`super::driver`], which calls them.
//! [`super::sending`] encrypts application data.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use rustls_core::quic::KeyChange;

use super::failure_line::log_failure;
use super::quic::Quic;
use super::records::{Receiving, Records, Sending};
use super::unwinding::{Abandon, fail_on_panic};
use crate::callbacks::Callbacks;
use crate::config::carrier::HandshakeCarrier;
use crate::config::observer::events::Direction;
use crate::enums::{AlertDescription, Side};
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::established::Established;
use crate::handshake::negotiated::{Negotiated, negotiated_accessors};
use crate::handshake::observation::{Observation, Recorder};
use crate::handshake::transport::Transport;
use crate::handshake::wait::Wait;
use crate::record::joiner::HandshakeJoiner;
use crate::suites::ExtractedSecrets;

/// The default of `set_buffer_limit`, in bytes.
#[cfg(feature = "std")]
const DEFAULT_BUFFER_LIMIT: usize = 64 * 1024;

/// Connection state that clients and servers have in common.
pub struct CommonState {
    pub(crate) side: Side,
    pub(crate) records: Records,
    /// The state of a connection over QUIC, which replaces the record layer in `records`.
    pub(crate) quic: Option<Box<Quic>>,
    pub(crate) negotiated: Negotiated,
    pub(crate) established: Option<Established>,
    /// The limit on queued output, and on plaintext that is waiting for the handshake, in bytes.
    #[cfg(feature = "std")]
    pub(crate) buffer_limit: Option<usize>,
    /// True if the configuration is in FIPS-approved mode.
    #[cfg(feature = "std")]
    pub(crate) is_fips: bool,
    /// True if the configuration allows secrets to be extracted.
    pub(crate) is_extractable: bool,
    /// The application callbacks that the handshake may call.
    pub(super) callbacks: Callbacks,
    /// The asynchronous application callback that the handshake is waiting for, if any. It is a
    /// copy, because the methods of this public type cannot access the machine. The driver updates
    /// it after each handshake message and each poll. A failure resets it.
    pub(super) wait: Option<Wait>,
    /// The error that ended the connection. Boxed because few connections have one.
    failed: Option<Box<Error>>,
    /// The facts for the observer, if there is or may be one.
    pub(super) observation: Option<Box<Observation>>,
}

negotiated_accessors!(CommonState);

impl CommonState {
    pub(crate) fn new(side: Side) -> Self {
        Self {
            side,
            records: Records::new(),
            quic: None,
            negotiated: Negotiated::default(),
            established: None,
            #[cfg(feature = "std")]
            buffer_limit: Some(DEFAULT_BUFFER_LIMIT),
            #[cfg(feature = "std")]
            is_fips: false,
            is_extractable: false,
            callbacks: Callbacks::Sync,
            wait: None,
            failed: None,
            observation: None,
        }
    }

    /// Creates the state for a QUIC connection.
    pub(crate) fn over_quic(side: Side, quic: Quic) -> Self {
        let mut common = Self::new(side);
        common.quic = Some(Box::new(quic));
        common
    }

    /// Returns the carrier of the handshake.
    pub(crate) fn carrier(&self) -> HandshakeCarrier {
        match &self.quic {
            Some(quic) => quic.carrier(),
            None => HandshakeCarrier::Records,
        }
    }

    /// Applies the settings of a configuration that do not depend on the handshake.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadMaxFragmentSize`] if `max_fragment_size` is out of range.
    pub(crate) fn configure(
        &mut self,
        max_fragment_size: Option<usize>,
        is_extractable: bool,
        is_fips: bool,
    ) -> Result<(), Error> {
        self.records
            .sender
            .set_max_fragment_size(max_fragment_size)?;
        self.is_extractable = is_extractable;
        #[cfg(feature = "std")]
        {
            self.is_fips = is_fips;
        }
        let _ = is_fips;
        Ok(())
    }

    /// Borrows the transport of the handshake, and the parts of the state that the handshake fills
    /// in.
    pub(crate) fn parts(
        &mut self,
    ) -> (
        &mut dyn Transport,
        &mut Negotiated,
        &mut Option<Established>,
        Recorder<'_>,
    ) {
        let transport: &mut dyn Transport = match &mut self.quic {
            Some(quic) => &mut **quic,
            None => &mut self.records,
        };
        let recorder = Recorder(self.observation.as_deref_mut());
        (
            transport,
            &mut self.negotiated,
            &mut self.established,
            recorder,
        )
    }

    /// Returns the number of received bytes that have not been processed.
    #[cfg(feature = "std")]
    pub(super) fn unprocessed_len(&self) -> usize {
        self.records.received.unopened_len() + self.records.joiner.len()
    }

    /// Returns the buffer in which handshake messages are assembled.
    pub(super) fn joiner(&mut self) -> &mut HandshakeJoiner {
        match &mut self.quic {
            Some(quic) => &mut quic.joiner,
            None => &mut self.records.joiner,
        }
    }

    /// Lets the handshake wait for the application's asynchronous operations, instead of blocking
    /// in them. The code that does the I/O must then call `poll_operation` while the connection [is
    /// waiting](Self::is_waiting), as `complete_io` does. The published tokio-rustls, quinn and
    /// other event loops for rustls 0.23 do not do this, so such a handshake hangs with them. A
    /// connection that is driven without ever being polled logs one warning, after several calls or
    /// when it ends.
    ///
    /// Signers, verifiers, resolvers, ticketers and session storages have methods that return
    /// futures, such as [`Signer::sign_async`](crate::sign::Signer::sign_async). Only connections
    /// with this setting call them. Other connections call the synchronous methods and never wait.
    /// The setting affects messages that have not been processed yet.
    ///
    /// With this setting, a server has to copy a ClientHello that offers a session, unless
    /// `may_wait` is false for its ticketer, its session storage and its client verifier. If it is
    /// false for all three, the server may look up the session with their synchronous methods only.
    pub fn set_async(&mut self, is_async: bool) {
        self.callbacks = match is_async {
            true => Callbacks::Async,
            false => Callbacks::Sync,
        };
    }

    /// True if the handshake is waiting for an application operation: call the connection's
    /// `poll_operation`.
    ///
    /// Always false unless [`set_async`](Self::set_async) was called.
    pub fn is_waiting(&self) -> bool {
        self.wait.is_some()
    }

    /// True if bytes are queued for `write_tls`.
    pub fn wants_write(&self) -> bool {
        !self.records.outgoing.is_empty()
    }

    /// True if `read_tls` should be called as soon as possible.
    ///
    /// False if plaintext other than early data is unread, after the peer's close_notify, and
    /// during the handshake while output is queued, unless application data may already be sent.
    /// While the handshake [is waiting](Self::is_waiting), this is true only until the next record
    /// is complete, so that the end of the stream is seen and buffers stay short.
    pub fn wants_read(&self) -> bool {
        let records = &self.records;
        records.received.unread() == 0
            && !(self.is_waiting() && records.received.has_record())
            && records.receiving != Receiving::Closed
            && (records.outgoing.is_empty()
                || records.sending == Sending::Traffic
                || !records.is_handshaking())
    }

    /// True until the handshake is complete. Before that, records carry no application data, except
    /// early data, and data of a server with
    /// [`send_half_rtt_data`](crate::ServerConfig::send_half_rtt_data).
    pub fn is_handshaking(&self) -> bool {
        match &self.quic {
            Some(quic) => quic.is_handshaking(),
            None => self.records.is_handshaking(),
        }
    }

    /// Queues a close_notify: nothing more is sent on this connection (RFC 9846 §6.1). A handshake
    /// still completes, because a peer that ignores the close_notify would otherwise wait forever.
    ///
    /// Application data that has already been written is sent first. Until such data may be sent,
    /// the close_notify waits for the end of the handshake if data is buffered, if early data has
    /// not ended, or if the handshake [is waiting](Self::is_waiting) for an operation. Does nothing
    /// if a close_notify has already been requested, or if the connection has failed.
    ///
    /// A QUIC implementation closes connections itself: the close_notify becomes the
    /// [alert](crate::quic::ConnectionCommon::alert) that is returned.
    pub fn send_close_notify(&mut self) {
        if let Some(quic) = &mut self.quic {
            // a failed connection already has an alert
            if self.failed.is_none() {
                quic.alert = Some(AlertDescription::CloseNotify);
            }
            return;
        }
        let records = &mut self.records;
        if records.is_sending_over() {
            return;
        }
        let waits = match records.sending {
            // RFC 9846 §6.1: nothing follows a close_notify, and a flight that is waiting for an
            // operation has not been sent yet
            Sending::Handshake => !records.unsent_plaintext.is_empty() || self.wait.is_some(),
            // RFC 9846 §4.6: EndOfEarlyData follows early data, and nothing can be sent before it
            Sending::EarlyData { .. } => true,
            _ => false,
        };
        if waits {
            records.sending = Sending::HandshakeThenClose;
            return;
        }
        fail_on_panic(self, |common| {
            if let Err(error) = common.close() {
                common.fail(error.into());
            }
        });
    }

    fn close(&mut self) -> Result<(), Error> {
        if let Some(established) = &mut self.established {
            if established.send_owed_update(&mut self.records)? {
                self.report_keys(Direction::Sending);
            }
        }
        Ok(self.records.close()?)
    }

    /// Appends the handshake messages of the current encryption level to `buf`. Returns the keys
    /// for the next level once they are available.
    pub(crate) fn write_crypto(&mut self, buf: &mut Vec<u8>) -> Option<KeyChange> {
        self.records.unpolled.called();
        let quic = self.quic.as_deref_mut()?;
        let change = quic.write(buf, self.side, self.established.as_ref());
        // drop the traffic secrets: QUIC updates its keys itself (RFC 9001 §6.1), and if these
        // secrets leaked later, they would reveal all earlier traffic
        if let Some(established) = &mut self.established {
            if quic.has_returned_all_keys() {
                established.keep_exporter_secret();
            }
        }
        change
    }

    /// True once an error has ended the connection.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Returns the error that ended the connection, if it has failed.
    pub(super) fn failed(&self) -> Option<&Error> {
        self.failed.as_deref()
    }

    /// Returns `Err` with the error that ended the connection, if it has failed.
    #[inline]
    pub(crate) fn check_failed(&self) -> Result<(), Error> {
        match &self.failed {
            Some(error) => Err((**error).clone()),
            None => Ok(()),
        }
    }

    /// Ends the connection: sends the alert if possible, drops the keys and secrets in this struct,
    /// and stores the error for later calls.
    #[cold]
    pub(crate) fn fail(&mut self, failure: Failure) -> Error {
        self.fail_at(failure, None)
    }

    /// Like [`Self::fail`]. On a server, `server_name` is the name that the client requested.
    #[cold]
    pub(super) fn fail_at(&mut self, failure: Failure, server_name: Option<&str>) -> Error {
        // logging and the observer come last, because they may panic
        let first = self.failed.is_none();
        let alert = failure.alert;
        if first {
            self.prepare_failure(server_name);
        }
        let (error, is_alert_sent) = self.end(failure);
        if first {
            log_failure(&error, alert, server_name);
            self.report_failure(&error, alert.filter(|_| is_alert_sent));
        }
        error
    }

    /// Ends the connection because the other half has failed. That half reports the error.
    #[cold]
    pub(super) fn adopt(&mut self, failure: Failure) {
        self.prepare_failure(None);
        if let Some(observation) = &mut self.observation {
            observation.leave_failure_to_other_half();
        }
        self.end(failure);
    }

    /// Ends the connection. Returns the error, and true if the alert, if any, will be sent,
    /// possibly by the other half.
    #[cold]
    fn end(&mut self, failure: Failure) -> (Error, bool) {
        self.failed = Some(Box::new(failure.error.clone()));
        if let Some(link) = &self.records.other_half {
            link.fail(failure.clone());
        }
        let is_alert_sent = match &mut self.quic {
            Some(quic) => {
                quic.fail(failure.alert);
                true
            }
            None => self.records.fail(failure.alert) || self.records.is_alert_requested(),
        };
        self.established = None;
        self.wait = None;
        self.records.unpolled.end();
        (failure.error, is_alert_sent)
    }

    /// Ends the connection after a panic and drops the keys and secrets in this struct. Queues no
    /// alert over records, but passes the alert to QUIC or to the other half of a split connection.
    /// Does not call application code, except the destructors of a provider's keys.
    #[cold]
    pub(super) fn fail_after_panic(&mut self) {
        let panicked = Failure::from(Error::General(
            "the connection is over: a call of the application's code has panicked".into(),
        ));
        let failed_before = self.failed.is_some();
        if !failed_before {
            self.prepare_failure(None);
            if let Some(observation) = &mut self.observation {
                observation.has_panicked = true;
                // the failure is reported when the connection is dropped
                observation.times.finish();
            }
        }
        match &mut self.quic {
            Some(quic) if failed_before => quic.fail(quic.alert),
            Some(quic) => quic.fail(panicked.alert),
            None => {
                self.records.fail(None);
            }
        }
        self.established = None;
        self.wait = None;
        let error = self
            .failed
            .get_or_insert_with(|| Box::new(panicked.error.clone()));
        if let Some(link) = &self.records.other_half {
            link.fail(Failure {
                error: (**error).clone(),
                alert: panicked.alert,
            });
        }
    }

    /// Replaces the sending key, and usually requests a new receiving key.
    pub(crate) fn refresh_traffic_keys(&mut self) -> Result<(), Error> {
        self.check_failed()?;
        let is_handshaking = self.records.is_handshaking();
        let established = self.established.as_mut().filter(|_| !is_handshaking);
        match established.and_then(Established::refreshable) {
            Some(secrets) => match secrets.refresh(&mut self.records) {
                Ok(is_updated) => {
                    if is_updated {
                        self.report_keys(Direction::Sending);
                    }
                    Ok(())
                }
                Err(error) => Err(self.fail(error.into())),
            },
            // TLS 1.2 cannot replace keys; callers of rustls 0.23 expect this error
            None => Err(Error::HandshakeNotComplete),
        }
    }

    /// Returns the keys for both directions and their sequence numbers, for a record layer outside
    /// this library.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if the configuration does not allow extraction, output is queued,
    /// a requested KeyUpdate has not been sent, received data is unread or incomplete, or the
    /// crypto provider does not export keys. Returns [`Error::HandshakeNotComplete`] before the
    /// handshake is complete, and the error that ended the connection if it has failed.
    pub(crate) fn extract_secrets(&self) -> Result<ExtractedSecrets, Error> {
        if !self.is_extractable {
            return Err(Error::General("Secret extraction is disabled".into()));
        }
        self.check_failed()?;
        let established = match &self.established {
            Some(established) if !self.is_handshaking() => established,
            _ => return Err(Error::HandshakeNotComplete),
        };
        let records = &self.records;
        if established.owes_update() {
            return Err(Error::General(
                "secrets cannot be extracted before the peer's KeyUpdate is answered: call refresh_traffic_keys".into(),
            ));
        }
        if !records.outgoing.is_empty() {
            return Err(Error::General(
                "cannot convert into an KernelConnection while there are still buffered TLS records to send".into(),
            ));
        }
        if records.has_received() {
            return Err(received_would_be_lost());
        }
        let (sending, receiving) = established.extract(self.side)?;
        Ok(ExtractedSecrets {
            tx: (records.sender.sequence(), sending),
            rx: (records.receiver.sequence(), receiving),
        })
    }

    /// Derives keying material into `output` (RFC 9846 §7.5, RFC 5705).
    pub(crate) fn export_keying_material<T: AsMut<[u8]>>(
        &self,
        mut output: T,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<T, Error> {
        self.check_failed()?;
        match &self.established {
            Some(established) if !self.is_handshaking() => {
                established.export_keying_material(output.as_mut(), label, context)?;
                Ok(output)
            }
            _ => Err(Error::HandshakeNotComplete),
        }
    }
}

impl Abandon for CommonState {
    fn abandon(&mut self) {
        self.fail_after_panic();
    }
}

/// Returns the error for extracting secrets while data is unread. Extraction consumes the
/// connection, so unread data would be silently lost.
pub(super) fn received_would_be_lost() -> Error {
    Error::General("secrets cannot be extracted while received data is unread".into())
}

impl fmt::Debug for CommonState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("CommonState");
        fields
            .field("side", &self.side)
            .field("version", &self.negotiated.version)
            .field("suite", &self.negotiated.suite)
            .field("handshaking", &self.is_handshaking());
        if let Some(wait) = self.wait {
            fields.field("waits_for", &wait.call);
        }
        fields.finish_non_exhaustive()
    }
}
