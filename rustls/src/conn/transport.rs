//! Where a handshake's bytes and keys go.
//!
//! Handshakes know neither records nor QUIC: they see this trait. [`Records`](super::records::Records) implements it
//! for TLS over a stream, [`Quic`](super::quic::Quic) for the handshake of QUIC. Where their messages differ,
//! a handshake asks the [`Carrier`].

use super::carrier::Carrier;
use crate::crypto::tls13::OkmBlock;
#[cfg(feature = "tls12")]
use crate::enums::{AlertDescription, Side};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::Failure;
use crate::msgs::transport_parameters::TransportParameters;
use crate::suites::Tls13CipherSuite;
#[cfg(feature = "tls12")]
use crate::tls12::key_schedule::KeyBlock;
use crate::tls13::key_schedule::TrafficSecret;

/// What a handshake needs of whatever carries it.
pub(crate) trait Transport {
    /// What it asks of the handshake's messages.
    fn carrier(&self) -> Carrier;

    /// What the peer is to know of this side, if there is a [`Carrier::parameters_extension`].
    fn parameters(&self) -> Option<&[u8]>;

    /// What the peer has sent in its place, or is remembered to have sent.
    fn peer_parameters(&self) -> Option<&[u8]>;

    /// Takes the parameters that the peer has sent.
    ///
    /// # Errors
    ///
    /// RFC 9001 §8.2: [`PeerMisbehaved::MissingQuicTransportParameters`] over QUIC, if there are none.
    fn set_peer_parameters(&mut self, received: &TransportParameters<'_>) -> Result<(), Failure>;

    /// Sends handshake messages, one or a flight of them, under the present keys.
    ///
    /// # Errors
    ///
    /// [`Error::EncryptError`] when they cannot be sealed: the connection is over then.
    fn send_handshake(&mut self, messages: &[u8]) -> Result<(), Error>;

    /// Sends the first ClientHello of a connection, which says 0x0301 where all that follows says 0x0303
    /// (RFC 9846 §5.1).
    ///
    /// # Errors
    ///
    /// As for [`Self::send_handshake`].
    fn send_first_client_hello(&mut self, message: &[u8]) -> Result<(), Error>;

    /// Sends the change_cipher_spec of middlebox compatibility mode (RFC 9846 §E.4). It is never
    /// protected.
    fn send_change_cipher_spec(&mut self);

    /// Protects all that the handshake sends from now on with the keys of `secret`.
    fn set_sending_secret(&mut self, level: Level, secret: &TrafficSecret<'_>);

    /// From now on early data is sent, up to `limit` bytes of it, protected with the keys of `secret`, until
    /// [`Self::end_early_data`]. `parameters` are the peer's, as remembered with the session.
    fn start_early_data(
        &mut self,
        suite: &'static Tls13CipherSuite,
        secret: &OkmBlock,
        limit: usize,
        parameters: &[u8],
    );

    /// No more early data is sent.
    fn end_early_data(&mut self);

    /// Protects nothing any more, as a HelloRetryRequest demands. It ends early data.
    fn drop_sending_secret(&mut self);

    /// Opens all that is received from now on with the keys of `secret`; those of
    /// [`Level::Application`] end the handshake in this direction.
    ///
    /// # Errors
    ///
    /// As for [`Self::check_aligned`].
    fn set_receiving_secret(
        &mut self,
        level: Level,
        secret: &TrafficSecret<'_>,
    ) -> Result<(), PeerMisbehaved>;

    /// Opens all that is received from now on with the keys of `secret`, the client's early traffic secret:
    /// up to `limit` bytes of early data (RFC 9846 §4.3.10) until EndOfEarlyData, after which
    /// [`Self::set_receiving_secret`] goes on. Without [`Carrier::has_end_of_early_data`] it is received beside
    /// all else.
    ///
    /// # Errors
    ///
    /// As for [`Self::check_aligned`].
    fn receive_early_data(
        &mut self,
        suite: &'static Tls13CipherSuite,
        secret: &OkmBlock,
        limit: u32,
    ) -> Result<(), PeerMisbehaved>;

    /// Sends the change_cipher_spec of TLS 1.2 (RFC 5246 §7.1), and protects all that follows with this
    /// `side`'s keys.
    #[cfg(feature = "tls12")]
    fn change_sending_cipher(&mut self, keys: &KeyBlock, side: Side);

    /// The change_cipher_spec of `peer` has come: opens all that follows with its keys. What follows first is
    /// its Finished, and [`Self::start_receiving`] ends the handshake in this direction.
    ///
    /// # Errors
    ///
    /// As for [`Self::check_aligned`].
    #[cfg(feature = "tls12")]
    fn change_receiving_cipher(
        &mut self,
        keys: &KeyBlock,
        peer: Side,
    ) -> Result<(), PeerMisbehaved>;

    /// From now on application data is received (TLS 1.2).
    #[cfg(feature = "tls12")]
    fn start_receiving(&mut self);

    /// Sends an alert that does not end the connection (TLS 1.2); none after close_notify.
    ///
    /// # Errors
    ///
    /// As for [`Self::send_handshake`].
    #[cfg(feature = "tls12")]
    fn send_warning(&mut self, description: AlertDescription) -> Result<(), Error>;

    /// Makes sure that nothing follows the message that is being handled.
    ///
    /// # Errors
    ///
    /// RFC 9846 §5.1, handshake messages must not span key changes:
    /// [`PeerMisbehaved::KeyEpochWithPendingFragment`] when handshake bytes wait that came under the
    /// present keys.
    fn check_aligned(&self) -> Result<(), PeerMisbehaved>;

    /// Skips a client's early data of up to `limit` bytes (RFC 9846 §4.3.10); `None` skips none.
    fn skip_early_data(&mut self, limit: Option<usize>);

    /// From now on application data is sent; what was written before goes first.
    fn start_sending(&mut self);

    /// Makes the present sending key count as worn out, so that the next application data needs another.
    fn retire_sending_key(&mut self);

    /// True when something was sent under the present sending key.
    fn has_used_sending_key(&self) -> bool;

    /// True when the present sending key may protect `len` more bytes before it is worn out (RFC 9846 §5.5).
    fn can_protect(&self, len: usize) -> bool;

    /// True when nothing may be sent any more.
    fn is_closed(&self) -> bool;
}

/// What a key protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The handshake, from EncryptedExtensions to Finished.
    Handshake,
    /// Application data, and what comes after the handshake.
    Application,
}
