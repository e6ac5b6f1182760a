//! What all connections share, buffered or not, client or server: the records, what was negotiated, the
//! secrets that outlive the handshake, and the error that ended the connection.
//!
//! It knows neither the handshake nor its caller ([`super::driver`]). Application data on its way out is in
//! [`super::sending`].

use alloc::boxed::Box;
use core::fmt;

use pki_types::CertificateDer;

use super::established::Established;
use super::negotiated::{HandshakeKind, Negotiated};
use super::quic::Quic;
use super::records::{Receiving, Records, Sending};
use super::transport::Transport;
use super::unwinding::whole;
use crate::certificates::PeerIdentity;
use crate::crypto::SupportedKxGroup;
use crate::enums::{AlertDescription, ProtocolVersion, Side};
use crate::error::Error;
use crate::handshake::Failure;
use crate::logging::warn;
use crate::record::joiner::HandshakeJoiner;
use crate::suites::{ExtractedSecrets, SupportedCipherSuite};

/// How much may wait in each direction of a buffered connection, in bytes, unless
/// `set_buffer_limit` says otherwise.
#[cfg(feature = "std")]
const DEFAULT_BUFFER_LIMIT: usize = 64 * 1024;

/// Connection state that is the same for clients and servers.
pub struct CommonState {
    pub(crate) side: Side,
    pub(crate) records: Records,
    /// In the place of the records, which are not used then.
    pub(crate) quic: Option<Box<Quic>>,
    pub(crate) negotiated: Negotiated,
    pub(crate) established: Option<Established>,
    /// How long application data may make the output, or the plaintext that waits for the handshake.
    #[cfg(feature = "std")]
    pub(crate) buffer_limit: Option<usize>,
    /// The configuration is for FIPS-approved mode.
    #[cfg(feature = "std")]
    pub(crate) is_fips: bool,
    /// The configuration allows secrets to be extracted.
    pub(crate) is_extractable: bool,
    /// Why the connection is over.
    // in a box, as few connections have one
    failed: Option<Box<Error>>,
}

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
            failed: None,
        }
    }

    /// Of a connection whose handshake QUIC carries.
    pub(crate) fn over_quic(side: Side, quic: Quic) -> Self {
        Self {
            quic: Some(Box::new(quic)),
            ..Self::new(side)
        }
    }

    /// Where the handshake's bytes and keys go, and what it fills in.
    pub(crate) fn parts(
        &mut self,
    ) -> (
        &mut dyn Transport,
        &mut Negotiated,
        &mut Option<Established>,
    ) {
        let transport: &mut dyn Transport = match &mut self.quic {
            Some(quic) => &mut **quic,
            None => &mut self.records,
        };
        (transport, &mut self.negotiated, &mut self.established)
    }

    /// Handshake messages on their way to the handshake.
    pub(super) fn joiner(&mut self) -> &mut HandshakeJoiner {
        match &mut self.quic {
            Some(quic) => &mut quic.joiner,
            None => &mut self.records.joiner,
        }
    }

    /// True when there is something for `write_tls` to write.
    pub fn wants_write(&self) -> bool {
        !self.records.outgoing.is_empty()
    }

    /// True when the connection wants `read_tls` to be called as soon as possible.
    ///
    /// False while plaintext waits to be read, after close_notify, and while a handshake flight that the peer
    /// needs first waits to be written.
    pub fn wants_read(&self) -> bool {
        let records = &self.records;
        records.received.unread() == 0
            && records.receiving != Receiving::Closed
            && (records.outgoing.is_empty()
                || records.sending == Sending::Traffic
                || !records.is_handshaking())
    }

    /// True until the handshake is complete: until then no application data can be sent or received.
    pub fn is_handshaking(&self) -> bool {
        match &self.quic {
            Some(quic) => quic.is_handshaking(),
            None => self.records.is_handshaking(),
        }
    }

    /// The peer's certificate chain, end entity first, once the peer has proven that it is its own: the server's, or the
    /// client's if it sent one.
    ///
    /// In a full handshake that is when the signature with its key was verified. Of a session that is resumed, anybody
    /// can have seen the ticket; so there it is when the peer's Finished was verified, or earlier in TLS 1.3: for a client
    /// when the server's EncryptedExtensions were opened, with keys that come from the session's, and for a server when it
    /// accepts early data.
    pub fn peer_certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.peer_identity().map(PeerIdentity::certificates)
    }

    /// Who the peer is: there as soon as [`peer_certificates`](Self::peer_certificates) are, and with what was read out
    /// of them.
    ///
    /// It may be kept for longer than the connection.
    pub fn peer_identity(&self) -> Option<&PeerIdentity> {
        self.negotiated.proven_peer()
    }

    /// The application protocol that was negotiated (RFC 7301).
    pub fn alpn_protocol(&self) -> Option<&[u8]> {
        self.negotiated.alpn_protocol.as_deref()
    }

    /// The cipher suite that was negotiated.
    pub fn negotiated_cipher_suite(&self) -> Option<SupportedCipherSuite> {
        self.negotiated.suite
    }

    /// The key exchange group that was negotiated.
    pub fn negotiated_key_exchange_group(&self) -> Option<&'static dyn SupportedKxGroup> {
        self.negotiated.handshake_kind?;
        self.negotiated.kx_group
    }

    /// The protocol version that was negotiated.
    pub fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.negotiated.version
    }

    /// Which kind of handshake was made; known as soon as the ServerHello is.
    pub fn handshake_kind(&self) -> Option<HandshakeKind> {
        self.negotiated.handshake_kind
    }

    /// Queues a close_notify: nothing more will be sent on this connection (RFC 9846 §6.1), except for the rest of a
    /// handshake under way, as in 0.23.
    ///
    /// Application data that was written before goes first: during the handshake, both wait for its end.
    /// Does nothing when a close_notify or a fatal alert was queued before. Over QUIC, which closes connections by
    /// itself, it becomes the [alert](crate::quic::ConnectionCommon::alert) that is reported.
    pub fn send_close_notify(&mut self) {
        if let Some(quic) = &mut self.quic {
            // one that has failed says why
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
            Sending::Handshake => !records.unsent_plaintext.is_empty(),
            // RFC 9846 §4.6: behind early data comes EndOfEarlyData, and nothing can be sent before it
            Sending::EarlyData { .. } => true,
            _ => false,
        };
        if waits {
            records.sending = Sending::HandshakeThenClose;
            return;
        }
        whole(self, |common| {
            if let Err(error) = common.close() {
                common.fail(error.into());
            }
        });
    }

    fn close(&mut self) -> Result<(), Error> {
        if let Some(established) = &mut self.established {
            established.settle(&mut self.records)?;
        }
        Ok(self.records.close()?)
    }

    /// True once an error has ended the connection.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The error that ended the connection, if one did.
    #[inline]
    pub(crate) fn check_failed(&self) -> Result<(), Error> {
        match &self.failed {
            Some(error) => Err((**error).clone()),
            None => Ok(()),
        }
    }

    /// Ends the connection: tells the peer why, drops all secrets, and returns the error of every later call.
    #[cold]
    pub(crate) fn fail(&mut self, failure: Failure) -> Error {
        whole(self, |common| common.fail_and_tell(failure))
    }

    fn fail_and_tell(&mut self, failure: Failure) -> Error {
        self.failed = Some(Box::new(failure.error.clone()));
        // other failures are for whoever gets the error to tell; a peer that has lost its place is rare, and hard to
        // find from one end alone
        if let Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } =
            failure.error
        {
            warn!("{}", failure.error);
        }
        match &mut self.quic {
            Some(quic) => quic.fail(failure.alert),
            None => self.records.fail(failure.alert),
        }
        self.established = None;
        if let Some(link) = &self.records.other_half {
            link.fail(failure.clone());
        }
        failure.error
    }

    /// Ends the connection after a panic: drops all secrets, and tells nobody but the other half of a split connection
    /// and QUIC. None of that calls the application.
    #[cold]
    pub(super) fn give_up(&mut self) {
        let panicked = Failure::from(Error::General(
            "the connection is over: a call of the application's code has panicked".into(),
        ));
        let failed_before = self.failed.is_some();
        match &mut self.quic {
            Some(quic) if failed_before => quic.fail(quic.alert),
            Some(quic) => quic.fail(panicked.alert),
            None => self.records.fail(None),
        }
        self.established = None;
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

    /// Replaces the keys of both directions.
    pub(crate) fn refresh_traffic_keys(&mut self) -> Result<(), Error> {
        self.check_failed()?;
        whole(self, |common| {
            let is_handshaking = common.records.is_handshaking();
            let established = common.established.as_mut().filter(|_| !is_handshaking);
            match established.and_then(Established::refreshable) {
                Some(secrets) => secrets
                    .refresh(&mut common.records)
                    .map_err(|error| common.fail(error.into())),
                // 0.23 says so in TLS 1.2 too, which cannot
                None => Err(Error::HandshakeNotComplete),
            }
        })
    }

    /// The keys of both directions and their sequence numbers, for a record layer outside of this library.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when the configuration does not allow it, or something waits to be sent or read first;
    /// [`Error::HandshakeNotComplete`]; the error that ended the connection.
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

    /// Fills `output` with keying material.
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

/// Extraction consumes the connection, so unread data would be silently lost.
pub(super) fn received_would_be_lost() -> Error {
    Error::General("secrets cannot be extracted while received data is unread".into())
}

impl fmt::Debug for CommonState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommonState")
            .field("side", &self.side)
            .field("version", &self.negotiated.version)
            .field("suite", &self.negotiated.suite)
            .field("handshaking", &self.is_handshaking())
            .finish_non_exhaustive()
    }
}
