//! What buffered and unbuffered connections of both sides have in common: the record layer, what was
//! negotiated, and which traffic is allowed.
//!
//! It does not know the handshake (that is [`super::machine`]) nor who drives it ([`super::core`]).

use alloc::vec::Vec;
use core::fmt;

use pki_types::CertificateDer;

use crate::crypto::SupportedKxGroup;
use crate::crypto::cipher::OutboundChunks;
use crate::enums::{AlertDescription, AlertLevel, ContentType, ProtocolVersion, Side};
use crate::error::Error;
use crate::record::buffer::{OutgoingBuffer, ReceiveBuffer};
use crate::record::receiver::RecordReceiver;
use crate::record::sender::{RecordSender, SealError};
use crate::suites::SupportedCipherSuite;

/// How much may wait in each direction of a buffered connection, in bytes, unless
/// `set_buffer_limit` says otherwise.
#[cfg(feature = "std")]
pub(crate) const DEFAULT_BUFFER_LIMIT: usize = 64 * 1024;

/// Connection state that is the same for clients and servers.
pub struct CommonState {
    pub(crate) side: Side,
    pub(crate) sender: RecordSender,
    pub(crate) receiver: RecordReceiver,

    /// Records that wait to be written.
    pub(crate) outgoing: OutgoingBuffer,
    /// What was read from the peer; used by buffered connections only.
    pub(crate) received: ReceiveBuffer,
    /// Application data written before there were keys to send it with.
    pub(crate) early_plaintext: Vec<u8>,
    /// The most that each of [`Self::outgoing`] and [`Self::early_plaintext`] may grow to by
    /// application data.
    #[cfg(feature = "std")]
    pub(crate) buffer_limit: Option<usize>,

    pub(crate) negotiated_version: Option<ProtocolVersion>,
    pub(crate) suite: Option<SupportedCipherSuite>,
    pub(crate) kx_group: Option<&'static dyn SupportedKxGroup>,
    pub(crate) handshake_kind: Option<HandshakeKind>,
    pub(crate) alpn_protocol: Option<Vec<u8>>,
    pub(crate) peer_certificates: Option<Vec<CertificateDer<'static>>>,

    pub(crate) may_send_application_data: bool,
    pub(crate) may_receive_application_data: bool,
    /// True from the first ClientHello to the peer's Finished: a change_cipher_spec is dropped then
    /// and illegal otherwise (RFC 9846 §5).
    pub(crate) drops_change_cipher_spec: bool,
    /// A response to the peer's KeyUpdate waits in [`Self::outgoing`]; further requests need no
    /// further response (RFC 9846 §4.7.3).
    pub(crate) key_update_queued: bool,
    /// How many KeyUpdates came since the last application data.
    pub(crate) key_updates_received: u8,

    pub(crate) sent_close_notify: bool,
    pub(crate) sent_fatal_alert: bool,
    pub(crate) received_close_notify: bool,
    #[cfg(feature = "std")]
    pub(crate) seen_eof: bool,
}

impl CommonState {
    pub(crate) fn new(side: Side) -> Self {
        Self {
            side,
            sender: RecordSender::new(),
            receiver: RecordReceiver::new(),
            outgoing: OutgoingBuffer::default(),
            received: ReceiveBuffer::default(),
            early_plaintext: Vec::new(),
            #[cfg(feature = "std")]
            buffer_limit: Some(DEFAULT_BUFFER_LIMIT),
            negotiated_version: None,
            suite: None,
            kx_group: None,
            handshake_kind: None,
            alpn_protocol: None,
            peer_certificates: None,
            may_send_application_data: false,
            may_receive_application_data: false,
            drops_change_cipher_spec: false,
            key_update_queued: false,
            key_updates_received: 0,
            sent_close_notify: false,
            sent_fatal_alert: false,
            received_close_notify: false,
            #[cfg(feature = "std")]
            seen_eof: false,
        }
    }

    /// True when there is something for `write_tls` to write.
    pub fn wants_write(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// True when the connection wants to be fed by `read_tls` as soon as possible.
    ///
    /// It does not while plaintext waits to be read, after close_notify, and while a handshake flight
    /// waits to be written that the peer must have to go on.
    pub fn wants_read(&self) -> bool {
        self.received.unread() == 0
            && !self.received_close_notify
            && (self.may_send_application_data || self.outgoing.is_empty())
    }

    /// True until the handshake is complete: until then no application data can be sent or received.
    pub fn is_handshaking(&self) -> bool {
        !(self.may_send_application_data && self.may_receive_application_data)
    }

    /// The peer's certificate chain, end entity first: the server's, or the client's if it sent one.
    pub fn peer_certificates(&self) -> Option<&[CertificateDer<'static>]> {
        self.peer_certificates.as_deref()
    }

    /// The application protocol that was negotiated (RFC 7301).
    pub fn alpn_protocol(&self) -> Option<&[u8]> {
        self.alpn_protocol.as_deref()
    }

    /// The cipher suite that was negotiated.
    pub fn negotiated_cipher_suite(&self) -> Option<SupportedCipherSuite> {
        self.suite
    }

    /// The key exchange group that was negotiated.
    pub fn negotiated_key_exchange_group(&self) -> Option<&'static dyn SupportedKxGroup> {
        match self.handshake_kind {
            Some(_) => self.kx_group,
            None => None,
        }
    }

    /// The protocol version that was negotiated.
    pub fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.negotiated_version
    }

    /// Which kind of handshake was made; known as soon as the ServerHello is.
    pub fn handshake_kind(&self) -> Option<HandshakeKind> {
        self.handshake_kind
    }

    /// Queues a close_notify: nothing more will be sent on this connection (RFC 9846 §6.1).
    ///
    /// Does nothing when one or a fatal alert was queued before.
    pub fn send_close_notify(&mut self) {
        if self.is_sending_over() {
            return;
        }
        self.sent_close_notify = true;
        self.send_alert(AlertLevel::Warning, AlertDescription::CloseNotify);
    }

    /// Queues the fatal alert that tells the peer why the connection ended.
    pub(crate) fn send_fatal_alert(&mut self, description: AlertDescription) {
        // RFC 9846 §6.1, §6.2: nothing follows close_notify or a fatal alert
        if self.is_sending_over() {
            return;
        }
        self.sent_fatal_alert = true;
        self.send_alert(AlertLevel::Fatal, description);
    }

    /// Queues the alert for a certificate or a signature that a verifier does not take, and hands the
    /// reason on. A verifier may be the application's own: what its error would mean elsewhere is not
    /// what happened here, and 0.23 says handshake_failure.
    pub(crate) fn refused_by_verifier(&mut self, error: Error) -> Error {
        match error {
            Error::InvalidCertificate(_)
            | Error::InvalidMessage(_)
            | Error::PeerMisbehaved(_)
            | Error::PeerIncompatible(_) => {}
            _ => self.send_fatal_alert(AlertDescription::HandshakeFailure),
        }
        error
    }

    fn send_alert(&mut self, level: AlertLevel, description: AlertDescription) {
        self.send(
            ContentType::Alert,
            &[u8::from(level), u8::from(description)],
        );
    }

    /// Queues `messages`, one handshake message or a flight of them.
    pub(crate) fn send_handshake(&mut self, messages: &[u8]) {
        self.send(ContentType::Handshake, messages);
    }

    /// Queues the change_cipher_spec of middlebox compatibility mode (RFC 9846 §E.4). It is never
    /// protected.
    pub(crate) fn send_change_cipher_spec(&mut self) {
        const RECORD: [u8; 6] = [0x14, 0x03, 0x03, 0x00, 0x01, 0x01];
        self.outgoing.append(&RECORD);
    }

    /// Seals `payload` behind what waits in [`Self::outgoing`].
    fn send(&mut self, typ: ContentType, payload: &[u8]) {
        // Room is made to measure and the sequence numbers kept for alerts outlast the rest: what is
        // left is a cipher that refuses, and then there is nothing to send any more.
        let _ = self.seal_to_outgoing(typ, payload.into());
    }

    /// Seals `payload` behind what waits in [`Self::outgoing`].
    pub(crate) fn seal_to_outgoing(
        &mut self,
        typ: ContentType,
        payload: OutboundChunks<'_>,
    ) -> Result<(), SealError> {
        if typ == ContentType::ApplicationData {
            // RFC 9846 §4.7.3: a KeyUpdate request after it is answered before the next
            self.key_update_queued = false;
        }
        let room = self.outgoing.room(self.sender.sealed_len(payload.len()));
        let sealed = self.sender.seal(typ, payload, room);
        self.outgoing.commit(*sealed.as_ref().unwrap_or(&0));
        sealed.map(|_| ())
    }

    /// From now on application data may be sent; sends what was written before.
    pub(crate) fn start_outgoing_traffic(&mut self) {
        self.may_send_application_data = true;
        let early_plaintext = core::mem::take(&mut self.early_plaintext);
        self.send(ContentType::ApplicationData, &early_plaintext);
    }

    /// The handshake is complete: application data may be sent and received.
    pub(crate) fn start_traffic(&mut self) {
        self.may_receive_application_data = true;
        self.drops_change_cipher_spec = false;
        if !self.may_send_application_data {
            self.start_outgoing_traffic();
        }
    }

    /// True when application data can be sent now: after the handshake, before the end.
    pub(crate) fn can_send_application_data(&self) -> bool {
        self.may_send_application_data && !self.is_sending_over()
    }

    /// True when nothing may be sent any more.
    pub(crate) fn is_sending_over(&self) -> bool {
        self.sent_close_notify || self.sent_fatal_alert
    }

    /// How many of `len` bytes of application data may be queued now.
    #[cfg(feature = "std")]
    pub(crate) fn accepted_len(&self, len: usize) -> usize {
        // handshake messages do not count: the application cannot do without them
        let waiting = match self.may_send_application_data {
            true => self.outgoing.len(),
            false => self.early_plaintext.len(),
        };
        match self.buffer_limit {
            Some(limit) => Ord::min(len, limit.saturating_sub(waiting)),
            None => len,
        }
    }

    /// `len` bytes of [`Self::outgoing`] were written.
    pub(crate) fn consume_outgoing(&mut self, len: usize) {
        self.outgoing.consume(len);
        if self.outgoing.is_empty() {
            self.key_update_queued = false;
        }
    }
}

impl fmt::Debug for CommonState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommonState")
            .field("side", &self.side)
            .field("version", &self.negotiated_version)
            .field("suite", &self.suite)
            .field("handshaking", &self.is_handshaking())
            .finish_non_exhaustive()
    }
}

/// The kind of handshake a connection made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HandshakeKind {
    /// A full handshake.
    Full,

    /// A full handshake in which the server asked for another ClientHello (RFC 9846 §4.2.4): one
    /// more round trip.
    FullWithHelloRetryRequest,

    /// A handshake that resumed an earlier session.
    Resumed,
}
