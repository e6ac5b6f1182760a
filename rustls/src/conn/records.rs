//! TLS over records: the record layer of a connection, its buffers, and the state of each
//! direction.
//!
//! ```text
//!   handshake ──► Transport ──┐                     ┌──► joiner ──► handshake
//!                             ├─► sender   receiver ┤
//!   plaintext ────────────────┘     │         ▲     └──► plaintext, where it was received
//!                                   ▼         │
//!                               outgoing   received
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
#[cfg(feature = "std")]
use std::io;

use rustls_core::crypto::cipher::{MessageEncrypter, OutboundChunks};
use rustls_core::crypto::tls13::OkmBlock;

#[cfg(feature = "std")]
use super::received_early_data::ReceivedEarlyData;
use super::unpolled::Unpolled;
use super::unsent_plaintext::UnsentPlaintext;
use crate::config::carrier::HandshakeCarrier;
#[cfg(feature = "tls12")]
use crate::enums::Side;
use crate::enums::{AlertDescription, AlertLevel, ContentType, ProtocolVersion};
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::Link;
use crate::handshake::transport::{Level, Transport};
#[cfg(feature = "tls12")]
use crate::keys::tls12::KeyBlock;
use crate::keys::tls13::TrafficSecret;
use crate::logging::{debug, warn};
use crate::msgs::transport_parameters::TransportParameters;
use crate::record::buffer::{OutgoingBuffer, Owner, ReceiveBuffer};
use crate::record::joiner::HandshakeJoiner;
use crate::record::receiver::RecordReceiver;
use crate::record::sender::{RecordSender, SealError};
use crate::record::traffic::Traffic;
use crate::suites::Tls13CipherSuite;

/// The number of unread plaintext bytes above which `read_tls` refuses to read more.
#[cfg(feature = "std")]
const RECEIVED_PLAINTEXT_LIMIT: usize = 16 * 1024;

/// The maximum number of application data bytes that [`Records::seal_pieces`] seals at a time.
#[cfg(feature = "std")]
const PIECE_LEN: usize = 64 * 1024;

/// The records of one connection.
pub(crate) struct Records {
    pub(crate) sender: RecordSender,
    pub(crate) receiver: RecordReceiver,
    pub(crate) sending: Sending,
    pub(crate) receiving: Receiving,

    /// Records to be written.
    pub(crate) outgoing: OutgoingBuffer,
    /// Bytes that `read_tls` received from the peer.
    pub(crate) received: ReceiveBuffer,
    /// Assembles handshake messages.
    pub(crate) joiner: HandshakeJoiner,
    /// Application data written before it may be sent.
    pub(crate) unsent_plaintext: UnsentPlaintext,
    /// Counts the calls that leave an operation unpolled; also used with QUIC.
    pub(super) unpolled: Unpolled,
    /// The link to the other half of a split connection.
    pub(super) other_half: Option<Arc<Link>>,
    /// Unread early data; only buffered servers that accept it have any.
    #[cfg(feature = "std")]
    pub(super) early_data: Option<Box<ReceivedEarlyData>>,
    /// True once the underlying stream has ended.
    #[cfg(feature = "std")]
    pub(crate) seen_eof: bool,
    /// True if plaintext leaves the receive buffer immediately: records are opened into the
    /// application's memory, which not every provider supports, or passed on in place.
    #[cfg(feature = "std")]
    pub(super) drains_immediately: bool,
}

/// The messages that this side may send, besides alerts and change_cipher_spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// Handshake messages. Application data is buffered.
    Handshake,
    /// A client's early data, up to `left` more bytes. Application data is buffered.
    EarlyData { left: usize },
    /// Handshake messages, then buffered application data and a close_notify. No more data is
    /// buffered.
    HandshakeThenClose,
    /// Application data, and handshake messages such as KeyUpdates.
    Traffic,
    /// Buffered application data, and then a close_notify.
    TrafficThenClose,
    /// Nothing more: a close_notify has been sent, or the connection has failed. After a
    /// close_notify, the rest of the handshake is still sent, because the peer may ignore the
    /// close_notify and wait for the handshake to end.
    Closed,
    /// Nothing, because the other half of a split connection does the sending.
    Elsewhere,
}

/// The messages that the peer may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiving {
    /// Handshake messages, alerts, change_cipher_spec, and early data that is skipped.
    Handshake,
    /// A client's early data, up to `left` more bytes, then EndOfEarlyData; and alerts and
    /// change_cipher_spec.
    EarlyData { left: u32 },
    /// Application data, alerts, and handshake messages such as KeyUpdates.
    Traffic,
    /// Nothing: the peer has sent a close_notify, or the other half of a split connection does the
    /// receiving.
    Closed,
}

impl Records {
    pub(crate) fn new() -> Self {
        let owner = Owner::new();
        Self {
            sender: RecordSender::new(),
            receiver: RecordReceiver::new(),
            sending: Sending::Handshake,
            receiving: Receiving::Handshake,
            outgoing: OutgoingBuffer::new(owner),
            received: ReceiveBuffer::new(owner),
            joiner: HandshakeJoiner::default(),
            unsent_plaintext: UnsentPlaintext::default(),
            unpolled: Unpolled::default(),
            other_half: None,
            #[cfg(feature = "std")]
            early_data: None,
            #[cfg(feature = "std")]
            seen_eof: false,
            #[cfg(feature = "std")]
            drains_immediately: false,
        }
    }

    /// Protects further records with `encrypter`. If the encrypter reports impossible lengths,
    /// sealing fails.
    fn set_encrypter(
        &mut self,
        encrypter: Box<dyn MessageEncrypter>,
        version: ProtocolVersion,
        confidentiality_limit: u64,
    ) {
        if !self
            .sender
            .set_encrypter(encrypter, version, confidentiality_limit)
        {
            warn!(
                "the crypto provider's encrypter adds more bytes to a record than {version:?} allows"
            );
        }
    }

    /// Seals a message from the connection itself, and appends it to [`Self::outgoing`].
    pub(crate) fn seal(
        &mut self,
        typ: ContentType,
        payload: OutboundChunks<'_>,
    ) -> Result<(), SealError> {
        let room = self.outgoing.room(self.sender.sealed_len(payload.len()));
        let sealed = self.sender.seal_cold(typ, payload, room);
        self.outgoing.commit(*sealed.as_ref().unwrap_or(&0));
        sealed.map(|_| ())
    }

    /// Seals application data and appends it to [`Self::outgoing`], in pieces of up to
    /// [`PIECE_LEN`] bytes. Returns the number of bytes sealed, which is less than all of
    /// `payload`, and possibly 0, if memory runs out.
    #[cfg(feature = "std")]
    pub(super) fn seal_pieces(&mut self, payload: OutboundChunks<'_>) -> Result<usize, SealError> {
        let (mut sealed, mut rest) = (0, payload);
        // pieces end at record boundaries, so they do not change the records
        let most = PIECE_LEN - PIECE_LEN % self.sender.max_fragment_len();
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(most);
            let piece_len = piece.len();
            let Ok(room) = self.outgoing.try_room(self.sender.sealed_len(piece_len)) else {
                break;
            };
            let len = self
                .sender
                .seal_cold(ContentType::ApplicationData, piece, room);
            self.outgoing.commit(*len.as_ref().unwrap_or(&0));
            len?;
            sealed += piece_len;
            rest = later;
        }
        Ok(sealed)
    }

    /// True until the peer may send application data other than early data.
    pub(crate) fn is_handshaking(&self) -> bool {
        matches!(
            self.receiving,
            Receiving::Handshake | Receiving::EarlyData { .. }
        )
    }

    /// True if received data is unread or unopened, or handshake bytes are buffered.
    pub(crate) fn has_received(&self) -> bool {
        #[cfg(feature = "std")]
        let has_early_data = self.early_data.is_some();
        #[cfg(not(feature = "std"))]
        let has_early_data = false;
        let has_unopened = !self.received.all_opened();
        self.received.unread() != 0 || has_unopened || has_early_data || !self.joiner.is_empty()
    }

    /// True if this side has failed, or a close_notify was sent or is scheduled.
    pub(crate) fn is_sending_over(&self) -> bool {
        matches!(
            self.sending,
            Sending::HandshakeThenClose | Sending::TrafficThenClose | Sending::Closed
        )
    }

    /// Reads into [`Self::received`] with at most one call to `rd.read`. For `len`, see
    /// [`super::ConnectionCommon::read_tls_for`].
    #[cfg(feature = "std")]
    #[inline]
    pub(super) fn read_tls_for(
        &mut self,
        rd: &mut dyn io::Read,
        len: usize,
    ) -> Result<usize, io::Error> {
        if self.received.unread() > RECEIVED_PLAINTEXT_LIMIT {
            return Err(io::Error::other("received plaintext buffer full"));
        }
        // RFC 9846 §6.1: data received after a closure alert is ignored
        if self.receiving == Receiving::Closed {
            return Ok(0);
        }
        if self.received.is_full() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "message buffer full",
            ));
        }
        let len = if self.drains_immediately { len } else { 0 };
        self.received.read_for(len);
        let result = self.received.receive(|room| match rd.read(room) {
            Ok(len) if len > room.len() => Err(impossible_read()),
            result => result,
        });
        if !matches!(result, Ok(1..)) {
            self.seen_eof |= result.is_ok();
            self.unpolled.called();
        }
        result
    }

    /// Queues a close_notify. Only the rest of a handshake may follow it.
    pub(crate) fn close(&mut self) -> Result<(), SealError> {
        self.end_sending();
        self.send_warning_alert(AlertDescription::CloseNotify)
    }

    /// Ends both directions, and drops keys, handshake bytes and unsent plaintext. First queues
    /// `alert`, unless sending has ended or the other half sends. Returns true if the alert was
    /// queued.
    pub(crate) fn fail(&mut self, alert: Option<AlertDescription>) -> bool {
        // RFC 9846 §6.1, §6.2: nothing follows a close_notify or a fatal alert
        let can_send = !matches!(self.sending, Sending::Closed | Sending::Elsewhere);
        let mut is_queued = false;
        if let Some(description) = alert.filter(|_| can_send) {
            // if the cipher fails, no alert can be sent; the caller still logs it with the failure
            let alert = [u8::from(AlertLevel::Fatal), u8::from(description)];
            is_queued = self
                .seal(ContentType::Alert, alert.as_slice().into())
                .is_ok();
        }
        self.end_sending();
        // RFC 9846 §6: after a failure no key is kept
        self.sender.close();
        self.receiver.close();
        self.joiner = HandshakeJoiner::default();
        self.unsent_plaintext = UnsentPlaintext::default();
        is_queued
    }

    /// True if this is the receiving half of a split connection, and the sending half will send the
    /// alert of the failure.
    pub(super) fn is_alert_requested(&self) -> bool {
        let link = match self.sending {
            Sending::Elsewhere => self.other_half.as_ref(),
            _ => None,
        };
        link.is_some_and(|link| link.wants_sender(|failure| failure.alert.is_some()))
    }

    /// Ends sending. In a split connection, the sending half also sets the link's flag, so that the
    /// other half does not wake it needlessly.
    fn end_sending(&mut self) {
        if self.sending == Sending::Elsewhere {
            return;
        }
        self.sending = Sending::Closed;
        if let Some(link) = &self.other_half {
            link.sender_is_done();
        }
    }

    fn send_warning_alert(&mut self, description: AlertDescription) -> Result<(), SealError> {
        debug!("sending Warning alert {description:?}");
        let alert = [u8::from(AlertLevel::Warning), u8::from(description)];
        self.seal(ContentType::Alert, alert.as_slice().into())
    }
}

#[cfg(feature = "std")]
impl Records {
    /// Buffers early data until it is read. The caller has checked the limit.
    pub(super) fn keep_early_data(&mut self, bytes: &[u8]) {
        let may_follow = match self.receiving {
            Receiving::EarlyData { left } => usize::try_from(left).unwrap_or(usize::MAX),
            _ => 0,
        };
        self.early_data
            .get_or_insert_default()
            .push(bytes, may_follow);
    }

    /// Copies early data to the front of `out` until either runs out. Returns the number of bytes
    /// copied. Frees the buffer once it is empty.
    pub(crate) fn read_early_data(&mut self, out: &mut [u8]) -> usize {
        let Some(waiting) = &mut self.early_data else {
            return 0;
        };
        let len = waiting.read(out);
        if waiting.is_empty() {
            self.early_data = None;
        }
        len
    }

    /// Drops unread early data, and rejects any more.
    pub(crate) fn drop_early_data(&mut self) {
        self.early_data = None;
        if let Receiving::EarlyData { left } = &mut self.receiving {
            *left = 0;
        }
    }
}

// a separate function, because its caller is inlined
#[cfg(feature = "std")]
#[cold]
#[inline(never)]
pub(super) fn impossible_read() -> io::Error {
    io::Error::other("read has returned more than fits its buffer")
}

impl Transport for Records {
    fn carrier(&self) -> HandshakeCarrier {
        HandshakeCarrier::Records
    }

    fn parameters(&self) -> Option<&[u8]> {
        None
    }

    fn peer_parameters(&self) -> Option<&[u8]> {
        None
    }

    fn remember_peer_parameters(&mut self, _: &[u8]) {}

    fn set_peer_parameters(&mut self, received: &TransportParameters<'_>) -> Result<(), Failure> {
        self.carrier().check_peer_parameters(received)
    }

    fn send_handshake(&mut self, messages: &[u8]) -> Result<(), Error> {
        Ok(self.seal(ContentType::Handshake, messages.into())?)
    }

    fn send_first_client_hello(&mut self, message: &[u8]) -> Result<(), Error> {
        self.sender.set_plaintext_version(ProtocolVersion::TLSv1_0);
        let sent = self.send_handshake(message);
        self.sender.set_plaintext_version(ProtocolVersion::TLSv1_2);
        sent
    }

    fn send_change_cipher_spec(&mut self) {
        const RECORD: [u8; 6] = [0x14, 0x03, 0x03, 0x00, 0x01, 0x01];
        self.outgoing.append(&RECORD);
        self.sender.count_others(Traffic::of(1, RECORD.len()));
    }

    fn set_sending_secret(&mut self, _: Level, secret: &TrafficSecret<'_>) {
        let suite = secret.suite;
        self.set_encrypter(
            secret.with_key(|key, iv| suite.aead_alg.encrypter(key, iv)),
            ProtocolVersion::TLSv1_3,
            suite.common.confidentiality_limit,
        );
    }

    fn start_early_data(
        &mut self,
        suite: &'static Tls13CipherSuite,
        secret: &OkmBlock,
        limit: usize,
    ) {
        TrafficSecret::with(suite, secret, |secret| {
            self.set_sending_secret(Level::Handshake, secret);
        });
        self.sending = Sending::EarlyData { left: limit };
    }

    fn end_early_data(&mut self) {
        if let Sending::EarlyData { .. } = self.sending {
            self.sending = Sending::Handshake;
        }
    }

    fn drop_sending_secret(&mut self) {
        self.end_early_data();
        self.sender.clear_encrypter();
    }

    fn set_receiving_secret(
        &mut self,
        level: Level,
        secret: &TrafficSecret<'_>,
    ) -> Result<(), PeerMisbehaved> {
        self.check_aligned()?;
        let suite = secret.suite;
        let decrypter = secret.with_key(|key, iv| suite.aead_alg.decrypter(key, iv));
        self.receiver
            .set_decrypter(decrypter, ProtocolVersion::TLSv1_3);
        self.receiving = match level {
            Level::Handshake => Receiving::Handshake,
            Level::Application => Receiving::Traffic,
        };
        Ok(())
    }

    fn receive_early_data(
        &mut self,
        suite: &'static Tls13CipherSuite,
        secret: &OkmBlock,
        limit: u32,
    ) -> Result<(), PeerMisbehaved> {
        TrafficSecret::with(suite, secret, |secret| {
            self.set_receiving_secret(Level::Handshake, secret)
        })?;
        self.receiving = Receiving::EarlyData { left: limit };
        Ok(())
    }

    #[cfg(feature = "tls12")]
    fn change_sending_cipher(&mut self, keys: &KeyBlock, side: Side) {
        self.send_change_cipher_spec();
        self.set_encrypter(
            keys.encrypter(side),
            ProtocolVersion::TLSv1_2,
            keys.confidentiality_limit(),
        );
    }

    #[cfg(feature = "tls12")]
    fn change_receiving_cipher(
        &mut self,
        keys: &KeyBlock,
        peer: Side,
    ) -> Result<(), PeerMisbehaved> {
        self.check_aligned()?;
        self.receiver
            .set_decrypter(keys.decrypter(peer), ProtocolVersion::TLSv1_2);
        Ok(())
    }

    #[cfg(feature = "tls12")]
    fn start_receiving(&mut self) {
        self.receiving = Receiving::Traffic;
    }

    #[cfg(feature = "tls12")]
    fn send_warning(&mut self, description: AlertDescription) -> Result<(), Error> {
        if self.sending == Sending::Elsewhere {
            if let Some(link) = &self.other_half {
                // the only warning sent in reply to received messages
                debug_assert_eq!(description, AlertDescription::NoRenegotiation);
                link.owe_refusal();
                return Ok(());
            }
        }
        // RFC 5246 §7.2.1: nothing follows a close_notify
        if self.is_closed() {
            return Ok(());
        }
        Ok(self.send_warning_alert(description)?)
    }

    fn check_aligned(&self) -> Result<(), PeerMisbehaved> {
        if self.joiner.is_empty() {
            Ok(())
        } else {
            Err(PeerMisbehaved::KeyEpochWithPendingFragment)
        }
    }

    fn skip_early_data(&mut self, limit: Option<usize>) {
        self.receiver.skip_early_data(limit);
    }

    fn start_sending(&mut self) {
        self.sending = match self.sending {
            Sending::Handshake => Sending::Traffic,
            Sending::HandshakeThenClose => Sending::TrafficThenClose,
            others => others,
        };
    }

    fn retire_sending_key(&mut self) {
        self.sender.retire_key();
    }

    fn has_used_sending_key(&self) -> bool {
        self.sender.sequence() != 0
    }

    fn can_protect(&self, len: usize) -> bool {
        self.sender.can_protect(len)
    }

    fn is_closed(&self) -> bool {
        self.sending == Sending::Closed
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use rustls_core::crypto::cipher::{EncryptError, MessageEncrypter, OutboundPlainMessage};

    use super::*;

    /// Copies the plaintext, and fails at the record with number `fails_at`.
    struct FailsAt {
        fails_at: u64,
    }

    impl MessageEncrypter for FailsAt {
        fn encrypt(
            &mut self,
            msg: OutboundPlainMessage<'_>,
            seq: u64,
            out: &mut [u8],
        ) -> Result<usize, EncryptError> {
            msg.payload.copy_to_slice(out);
            self.encrypt_in_place(msg.typ, msg.version, msg.payload.len(), seq, out)
        }

        fn encrypt_in_place(
            &mut self,
            _: ContentType,
            _: ProtocolVersion,
            payload_len: usize,
            seq: u64,
            _: &mut [u8],
        ) -> Result<usize, EncryptError> {
            if seq == self.fails_at {
                return Err(EncryptError::Failed);
            }
            Ok(payload_len)
        }

        fn encrypted_payload_len(&self, payload_len: usize) -> usize {
            payload_len
        }

        fn payload_offset(&self) -> usize {
            0
        }
    }

    /// No payload after the failure is sent, and none is reported as sealed.
    #[test]
    fn a_record_that_cannot_be_sealed_ends_the_write() {
        let payload = [7; 200_000];
        let whole_records = payload.len().div_ceil(16384) as u64;
        for fails_at in 0..=whole_records {
            let mut records = Records::new();
            let encrypter = Box::new(FailsAt { fails_at });
            let version = ProtocolVersion::TLSv1_3;
            records.sender.set_encrypter(encrypter, version, u64::MAX);
            let sealed = records.seal_pieces((&payload[..]).into());
            if fails_at == whole_records {
                assert_eq!(sealed, Ok(payload.len()));
                continue;
            }
            assert_eq!(sealed, Err(SealError::Failed), "record {fails_at}");
            // the pieces before, each of four records
            let whole_pieces = fails_at as usize / 4;
            let expected = whole_pieces * 4 * (5 + 16384);
            assert_eq!(records.outgoing.len(), expected, "record {fails_at}");
        }
    }
}
