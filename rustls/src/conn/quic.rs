//! The transport of a handshake over QUIC (RFC 9001), which replaces the record layer.
//!
//! It sorts handshake bytes by the kind of packet that carries them, and returns keys instead of
//! using them.
//!
//! ```text
//!   read_hs ──► joiner ──► handshake ──► Transport ──► messages of a space ─┐
//!                                                  ──► keys of the next ────┴──► write_hs
//! ```
//!
//! The QUIC implementation handles packets and frames, and encrypts.

use alloc::vec::Vec;
use core::mem;

use rustls_core::copy;
use rustls_core::crypto::tls13::OkmBlock;
use rustls_core::quic::{DirectionalKeys, KeyChange, Keys, Secrets, Suite, Version};

use crate::config::carrier::HandshakeCarrier;
use crate::enums::{AlertDescription, Side};
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::established::Established;
use crate::handshake::transport::{Level, Transport};
#[cfg(feature = "tls12")]
use crate::keys::tls12::KeyBlock;
use crate::keys::tls13::TrafficSecret;
use crate::msgs::transport_parameters::TransportParameters;
use crate::record::joiner::HandshakeJoiner;
use crate::record::traffic::Traffic;
use crate::suites::Tls13CipherSuite;

/// The state of one QUIC connection: for example its handshake bytes, keys and transport
/// parameters.
pub(crate) struct Quic {
    version: Version,
    parameters: Vec<u8>,
    peer_parameters: Option<Vec<u8>>,
    /// Assembles handshake messages from received bytes.
    pub(super) joiner: HandshakeJoiner,

    early: Option<EarlyKeys>,
    /// The keys for Handshake packets, until they are returned.
    handshake_keys: HandshakeKeys,
    /// Messages to be written, in one buffer for each kind of packet.
    waiting: [Vec<u8>; 3],
    /// The kind of packet for the messages that the handshake sends next.
    sending: Space,
    /// The kind of packet for the bytes that are written next. Never later than `sending`.
    writing: Space,
    is_handshaking: bool,
    pub(crate) alert: Option<AlertDescription>,
    /// The bytes of the messages sent and received.
    pub(crate) sent: Traffic,
    pub(crate) received: Traffic,
}

/// The kinds of packets that carry handshake messages, in the order in which the handshake uses
/// them (RFC 9001 §4.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Initial,
    Handshake,
    OneRtt,
}

/// The suite and the secret that protect 0-RTT packets.
struct EarlyKeys {
    suite: Suite,
    secret: OkmBlock,
}

/// The keys for Handshake packets that the handshake has derived so far.
#[derive(Default)]
struct HandshakeKeys {
    local: Option<DirectionalKeys>,
    remote: Option<DirectionalKeys>,
}

impl HandshakeKeys {
    /// Takes the keys for both directions, once both are available.
    fn take(&mut self) -> Option<Keys> {
        match (self.local.take(), self.remote.take()) {
            (Some(local), Some(remote)) => Some(Keys { local, remote }),
            (local, remote) => {
                *self = Self { local, remote };
                None
            }
        }
    }
}

impl Quic {
    /// Creates the transport of a new connection. `parameters` are this side's encoded transport
    /// parameters.
    pub(crate) fn new(version: Version, parameters: Vec<u8>) -> Self {
        Self {
            version,
            parameters,
            peer_parameters: None,
            joiner: HandshakeJoiner::default(),
            early: None,
            handshake_keys: HandshakeKeys::default(),
            waiting: [const { Vec::new() }; 3],
            sending: Space::Initial,
            writing: Space::Initial,
            is_handshaking: true,
            alert: None,
            sent: Traffic::default(),
            received: Traffic::default(),
        }
    }

    /// True until the handshake is complete.
    pub(super) fn is_handshaking(&self) -> bool {
        self.is_handshaking
    }

    /// Returns the keys for 0-RTT packets, if available.
    pub(crate) fn zero_rtt_keys(&self) -> Option<DirectionalKeys> {
        let EarlyKeys { suite, secret } = self.early.as_ref()?;
        Some(DirectionalKeys::new(
            suite.suite,
            suite.quic,
            secret,
            self.version,
        ))
    }

    /// Ends both directions: drops keys and messages, and stores the `alert` for the peer.
    pub(super) fn fail(&mut self, alert: Option<AlertDescription>) {
        self.alert = alert;
        // RFC 9846 §6: after a failure no key is kept
        self.early = None;
        self.handshake_keys = HandshakeKeys::default();
        self.waiting = [const { Vec::new() }; 3];
        self.joiner = HandshakeJoiner::default();
    }

    /// Appends the handshake messages of the current encryption level to `buf`. Returns the keys
    /// for the next level once they are available; later calls append messages of that level.
    pub(super) fn write(
        &mut self,
        buf: &mut Vec<u8>,
        side: Side,
        established: Option<&Established>,
    ) -> Option<KeyChange> {
        let space = self.writing;
        let messages = mem::take(self.waiting(space));
        if buf.capacity() == 0 {
            *buf = messages;
        } else {
            copy::append(buf, &messages);
        }
        match space {
            Space::Initial => {
                let keys = self.handshake_keys.take()?;
                self.writing = Space::Handshake;
                Some(KeyChange::Handshake { keys })
            }
            Space::Handshake if self.sending == Space::OneRtt => {
                let next = established?.quic_secrets(side, self.version)?;
                self.writing = Space::OneRtt;
                Some(KeyChange::OneRtt {
                    keys: Keys::new(&next),
                    next,
                })
            }
            Space::Handshake | Space::OneRtt => None,
        }
    }

    /// True once all keys have been returned and the handshake no longer needs the traffic secrets.
    pub(super) fn has_returned_all_keys(&self) -> bool {
        self.writing == Space::OneRtt && !self.is_handshaking
    }

    /// Returns the keys derived from `secret`. Always `Some`, because only suites with a QUIC part
    /// are negotiated.
    fn keys(&self, secret: &TrafficSecret<'_>) -> Option<DirectionalKeys> {
        let Suite { suite, quic } = secret.suite.quic_suite()?;
        Some(DirectionalKeys::new(suite, quic, secret.okm, self.version))
    }

    /// Returns the messages to be written in the packets of `space`.
    fn waiting(&mut self, space: Space) -> &mut Vec<u8> {
        let [initial, handshake, one_rtt] = &mut self.waiting;
        match space {
            Space::Initial => initial,
            Space::Handshake => handshake,
            Space::OneRtt => one_rtt,
        }
    }

    fn start_early_keys(&mut self, suite: &'static Tls13CipherSuite, secret: &OkmBlock) {
        self.early = suite.quic_suite().map(|suite| EarlyKeys {
            suite,
            secret: OkmBlock::new(&[]),
        });
        if let Some(early) = &mut self.early {
            early.secret.clone_from(secret);
        }
    }
}

impl Established {
    /// Returns the traffic secrets of both sides; `side` is this side.
    fn quic_secrets(&self, side: Side, version: Version) -> Option<Secrets> {
        let secrets = self.tls13()?;
        let (sending, receiving) = (&secrets.sending.secret, &secrets.receiving.secret);
        let (client, server) = match side {
            Side::Client => (sending, receiving),
            Side::Server => (receiving, sending),
        };
        let suite = secrets.sending.suite.quic_suite()?;
        Some(Secrets::new(suite, version, side, client, server))
    }
}

impl Transport for Quic {
    fn carrier(&self) -> HandshakeCarrier {
        HandshakeCarrier::Quic(self.version.into())
    }

    fn parameters(&self) -> Option<&[u8]> {
        Some(&self.parameters)
    }

    fn peer_parameters(&self) -> Option<&[u8]> {
        self.peer_parameters.as_deref()
    }

    fn remember_peer_parameters(&mut self, remembered: &[u8]) {
        self.peer_parameters = Some(remembered.to_vec());
    }

    fn set_peer_parameters(&mut self, received: &TransportParameters<'_>) -> Result<(), Failure> {
        let typ = self.carrier().parameters_extension();
        // received parameters always replace remembered ones
        self.peer_parameters = typ.and_then(|typ| received.get(typ)).map(<[u8]>::to_vec);
        self.carrier().check_peer_parameters(received)
    }

    fn send_handshake(&mut self, messages: &[u8]) -> Result<(), Error> {
        let space = self.sending;
        self.sent.add(0, messages.len());
        copy::append(self.waiting(space), messages);
        Ok(())
    }

    fn send_first_client_hello(&mut self, message: &[u8]) -> Result<(), Error> {
        self.send_handshake(message)
    }

    fn send_change_cipher_spec(&mut self) {
        // RFC 9001 §8.4: QUIC has no middlebox compatibility mode
    }

    fn set_sending_secret(&mut self, level: Level, secret: &TrafficSecret<'_>) {
        match level {
            Level::Handshake => {
                self.handshake_keys.local = self.keys(secret);
                self.sending = Space::Handshake;
            }
            // 1-RTT keys are derived when they are returned, for both directions at once
            Level::Application => self.sending = Space::OneRtt,
        }
    }

    fn start_early_data(
        &mut self,
        suite: &'static Tls13CipherSuite,
        secret: &OkmBlock,
        // RFC 9001 §4.6.1: QUIC limits early data itself
        _: usize,
    ) {
        self.start_early_keys(suite, secret);
    }

    fn end_early_data(&mut self) {
        self.early = None;
    }

    fn drop_sending_secret(&mut self) {
        self.end_early_data();
    }

    fn set_receiving_secret(
        &mut self,
        level: Level,
        secret: &TrafficSecret<'_>,
    ) -> Result<(), PeerMisbehaved> {
        self.check_aligned()?;
        match level {
            Level::Handshake => self.handshake_keys.remote = self.keys(secret),
            Level::Application => {
                self.is_handshaking = false;
                self.end_early_data();
            }
        }
        Ok(())
    }

    fn receive_early_data(
        &mut self,
        suite: &'static Tls13CipherSuite,
        secret: &OkmBlock,
        // RFC 9001 §4.6.1: QUIC limits early data itself
        _: u32,
    ) -> Result<(), PeerMisbehaved> {
        self.check_aligned()?;
        self.start_early_keys(suite, secret);
        Ok(())
    }

    fn check_aligned(&self) -> Result<(), PeerMisbehaved> {
        if self.joiner.is_empty() {
            Ok(())
        } else {
            Err(PeerMisbehaved::KeyEpochWithPendingFragment)
        }
    }

    fn skip_early_data(&mut self, _: Option<usize>) {
        // rejected early data is in packets for which this side has no keys
    }

    fn start_sending(&mut self) {
        // QUIC sends application data itself
    }

    fn retire_sending_key(&mut self) {
        // QUIC replaces keys itself (RFC 9001 §6)
    }

    fn has_used_sending_key(&self) -> bool {
        // unknown here, because QUIC encrypts
        true
    }

    fn can_protect(&self, _: usize) -> bool {
        // QUIC counts its packets itself (RFC 9001 §6.6)
        true
    }

    fn is_closed(&self) -> bool {
        // a failed connection handles no messages, and QUIC closes with its own frames
        false
    }

    // RFC 9001 §4.2: TLS 1.2 is neither offered nor accepted, so the rest is never used

    #[cfg(feature = "tls12")]
    fn change_sending_cipher(&mut self, _: &KeyBlock, _: Side) {}

    #[cfg(feature = "tls12")]
    fn change_receiving_cipher(&mut self, _: &KeyBlock, _: Side) -> Result<(), PeerMisbehaved> {
        self.check_aligned()
    }

    #[cfg(feature = "tls12")]
    fn start_receiving(&mut self) {}

    #[cfg(feature = "tls12")]
    fn send_warning(&mut self, _: AlertDescription) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests {
    use super::*;
    use crate::conn::common_state::CommonState;
    #[cfg(feature = "aws_lc_rs")]
    use crate::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
    #[cfg(not(feature = "aws_lc_rs"))]
    use crate::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    use crate::handshake::established::Tls13Secrets;

    fn secret(byte: u8) -> OkmBlock {
        OkmBlock::new(&[byte; 32])
    }

    /// Returns a connection after this side's Finished; in practice, only a server sends it first.
    fn after_finished(side: Side) -> CommonState {
        let suite = TLS13_AES_128_GCM_SHA256.tls13().unwrap();
        let mut common = CommonState::over_quic(side, Quic::new(Version::V1, Vec::new()));
        let quic = common.quic.as_deref_mut().unwrap();
        TrafficSecret::with(suite, &secret(1), |secret| {
            quic.set_sending_secret(Level::Handshake, secret);
            quic.set_receiving_secret(Level::Handshake, secret).unwrap();
        });
        let secrets = Tls13Secrets::derive(suite, |sending, receiving, exporter| {
            sending.clone_from(&secret(2));
            receiving.clone_from(&secret(3));
            exporter.clone_from(&secret(4));
        });
        secrets.install_sending(quic);
        common.established = Some(Established::Tls13(secrets));
        common
    }

    fn finish(common: &mut CommonState) {
        let quic = common.quic.as_deref_mut().unwrap();
        let secrets = common.established.as_ref().and_then(Established::tls13);
        secrets.unwrap().install_receiving(quic).unwrap();
    }

    fn has_traffic_secrets(common: &CommonState) -> bool {
        common.established.as_ref().unwrap().tls13().is_some()
    }

    #[test]
    fn traffic_secrets_are_dropped_once_returned_and_unneeded() {
        for side in [Side::Client, Side::Server] {
            let mut common = after_finished(side);
            if side == Side::Client {
                finish(&mut common);
            }
            let write = |common: &mut CommonState| common.write_crypto(&mut Vec::new());
            assert!(matches!(
                write(&mut common),
                Some(KeyChange::Handshake { .. })
            ));
            assert!(has_traffic_secrets(&common));
            assert!(matches!(write(&mut common), Some(KeyChange::OneRtt { .. })));
            if side == Side::Server {
                assert!(has_traffic_secrets(&common));
                finish(&mut common);
                assert!(write(&mut common).is_none());
            }
            assert!(!has_traffic_secrets(&common));
            let exported = common.export_keying_material([0; 16], b"label", None);
            assert_ne!(exported.unwrap(), [0; 16]);
        }
    }
}
