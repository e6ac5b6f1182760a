//! The interface through which a handshake sends bytes and installs keys.
//!
//! Handshakes use this trait instead of records or QUIC. `conn::records` implements it for TLS over
//! a stream, and `conn::quic` for QUIC. The [`HandshakeCarrier`] describes how their messages
//! differ.

use rustls_core::crypto::tls13::OkmBlock;

use crate::config::carrier::HandshakeCarrier;
#[cfg(feature = "tls12")]
use crate::enums::{AlertDescription, Side};
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
#[cfg(feature = "tls12")]
use crate::keys::tls12::KeyBlock;
use crate::keys::tls13::TrafficSecret;
use crate::msgs::transport_parameters::TransportParameters;
use crate::suites::Tls13CipherSuite;

/// The operations that a handshake needs from its transport. QUIC handles keys, early data and
/// application data itself, so some operations do nothing over QUIC.
pub(crate) trait Transport {
    /// Returns the carrier, which determines how messages differ.
    fn carrier(&self) -> HandshakeCarrier;

    /// Returns this side's transport parameters, if there is a
    /// [`HandshakeCarrier::parameters_extension`].
    fn parameters(&self) -> Option<&[u8]>;

    /// Returns the peer's transport parameters: received, or remembered with the session.
    fn peer_parameters(&self) -> Option<&[u8]>;

    /// Stores the transport parameters that the offered session remembers, until the peer sends its
    /// own. Does nothing over records.
    fn remember_peer_parameters(&mut self, remembered: &[u8]);

    /// Stores the transport parameters that the peer sent.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`HandshakeCarrier::check_peer_parameters`].
    fn set_peer_parameters(&mut self, received: &TransportParameters<'_>) -> Result<(), Failure>;

    /// Sends one or more handshake messages under the current keys.
    ///
    /// # Errors
    ///
    /// Returns [`Error::EncryptError`] if they cannot be sealed, which ends the connection.
    fn send_handshake(&mut self, messages: &[u8]) -> Result<(), Error>;

    /// Sends the first ClientHello of a connection. Its records have version 0x0301, and all later
    /// ones have 0x0303 (RFC 9846 §5.1).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::send_handshake`].
    fn send_first_client_hello(&mut self, message: &[u8]) -> Result<(), Error>;

    /// Sends the change_cipher_spec of middlebox compatibility mode (RFC 9846 §E.4), which is never
    /// protected.
    fn send_change_cipher_spec(&mut self);

    /// Switches later output to `level`, which has keys derived from `secret`.
    fn set_sending_secret(&mut self, level: Level, secret: &TrafficSecret<'_>);

    /// Starts sending early data, up to `limit` bytes protected with keys derived from `secret`,
    /// until [`Self::end_early_data`]. QUIC enforces the limit itself.
    fn start_early_data(
        &mut self,
        suite: &'static Tls13CipherSuite,
        secret: &OkmBlock,
        limit: usize,
    );

    /// Stops sending early data.
    fn end_early_data(&mut self);

    /// Stops protecting messages, as a HelloRetryRequest requires. Also ends early data.
    fn drop_sending_secret(&mut self);

    /// Switches later input to `level`, which has keys derived from `secret`.
    /// [`Level::Application`] ends the handshake in this direction.
    ///
    /// # Errors
    ///
    /// Returns the error of [`Self::check_aligned`].
    fn set_receiving_secret(
        &mut self,
        level: Level,
        secret: &TrafficSecret<'_>,
    ) -> Result<(), PeerMisbehaved>;

    /// Opens early data with keys derived from `secret`, the client's early traffic secret. Accepts
    /// up to `limit` bytes of early data (RFC 9846 §4.3.10) until EndOfEarlyData;
    /// [`Self::set_receiving_secret`] is called after that. If the carrier [has no
    /// EndOfEarlyData](HandshakeCarrier::has_end_of_early_data), early data may arrive in parallel
    /// with other messages, and QUIC enforces the limit itself.
    ///
    /// # Errors
    ///
    /// Returns the error of [`Self::check_aligned`].
    fn receive_early_data(
        &mut self,
        suite: &'static Tls13CipherSuite,
        secret: &OkmBlock,
        limit: u32,
    ) -> Result<(), PeerMisbehaved>;

    /// Sends the TLS 1.2 change_cipher_spec (RFC 5246 §7.1), and protects all later messages with
    /// the keys for this `side`.
    #[cfg(feature = "tls12")]
    fn change_sending_cipher(&mut self, keys: &KeyBlock, side: Side);

    /// Opens all later input with the keys for `peer`, after its change_cipher_spec. Its Finished
    /// follows, and then [`Self::start_receiving`] ends the handshake in this direction.
    ///
    /// # Errors
    ///
    /// Returns the error of [`Self::check_aligned`].
    #[cfg(feature = "tls12")]
    fn change_receiving_cipher(
        &mut self,
        keys: &KeyBlock,
        peer: Side,
    ) -> Result<(), PeerMisbehaved>;

    /// Starts receiving application data (TLS 1.2).
    #[cfg(feature = "tls12")]
    fn start_receiving(&mut self);

    /// Sends an alert that does not end the connection (TLS 1.2). Sends nothing after a
    /// close_notify. The receiving half of a split connection passes it to the sending half.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::send_handshake`].
    #[cfg(feature = "tls12")]
    fn send_warning(&mut self, description: AlertDescription) -> Result<(), Error>;

    /// Checks that no handshake bytes follow the current message.
    ///
    /// # Errors
    ///
    /// Returns [`PeerMisbehaved::KeyEpochWithPendingFragment`] if bytes received under the current
    /// keys are pending, because handshake messages must not span key changes (RFC 9846 §5.1).
    fn check_aligned(&self) -> Result<(), PeerMisbehaved>;

    /// Skips a client's early data of up to `limit` bytes (RFC 9846 §4.3.10); `None` skips none.
    fn skip_early_data(&mut self, limit: Option<usize>);

    /// Starts sending application data. Buffered data is sent first.
    fn start_sending(&mut self);

    /// Marks the current sending key as worn out, so that the next application data needs a new
    /// one.
    fn retire_sending_key(&mut self);

    /// True if something has, or may have, been sent under the current key.
    fn has_used_sending_key(&self) -> bool;

    /// True if the current sending key may protect `len` more bytes (RFC 9846 §5.5).
    fn can_protect(&self, len: usize) -> bool;

    /// True if nothing more may be sent over records: after a close_notify or a failure.
    fn is_closed(&self) -> bool;
}

/// The messages that a key protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Handshake messages from EncryptedExtensions to Finished.
    Handshake,
    /// Application data, and messages after the handshake.
    Application,
}
