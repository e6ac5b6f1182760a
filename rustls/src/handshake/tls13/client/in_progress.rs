//! The data shared by all states between the ServerHello and the end of the handshake.

use alloc::boxed::Box;

use rustls_core::crypto::tls13::OkmBlock;

use crate::config::session::client::Tls13ClientSessionValue;
use crate::enums::AlertDescription;
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::client::offer::Offer;
use crate::handshake::client::offered::OfferedExtensions;
use crate::handshake::transcript::Transcript;
use crate::handshake::transport::{Level, Transport};
use crate::keys::tls13::{HandshakeSecret, TrafficSecret};
use crate::suites::Tls13CipherSuite;

pub(super) struct Handshake {
    pub(super) offer: Box<Offer>,
    pub(super) offered: OfferedExtensions,
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) transcript: Transcript,
    pub(super) secret: HandshakeSecret,
    /// The session that is resumed.
    pub(super) session: Option<Tls13ClientSessionValue>,
    pub(super) early_data: EarlyDataState,
    /// The client's handshake traffic secret.
    pub(super) client_secret: OkmBlock,
    pub(super) finished_keys: FinishedKeys,
    /// True if the ServerHello contained the ClientHello's session ID.
    pub(super) is_session_id_echoed: bool,
}

impl AsRef<Offer> for Handshake {
    fn as_ref(&self) -> &Offer {
        &self.offer
    }
}

/// The keys for both sides' Finished messages (RFC 9846 §4.5.3).
pub(super) struct FinishedKeys {
    pub(super) client: OkmBlock,
    pub(super) server: OkmBlock,
}

/// The state of early data (RFC 9846 §4.3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyDataState {
    /// Early data was not offered, or can no longer be accepted.
    No,
    /// Early data was offered, and the server may still accept it.
    Offered,
    /// The server has accepted early data. It ends after the server's Finished.
    Accepted,
}

impl FinishedKeys {
    /// Creates the struct with empty keys. [`Handshake::install_keys`] derives them in place.
    pub(super) fn empty() -> Self {
        Self {
            client: OkmBlock::new(&[]),
            server: OkmBlock::new(&[]),
        }
    }
}

impl Handshake {
    /// Derives the handshake traffic secrets of the client and the server in place. The transcript
    /// ends with the ServerHello.
    pub(super) fn derive_traffic_secrets(&mut self, server_secret: &mut OkmBlock) {
        let Self {
            secret,
            client_secret,
            ..
        } = self;
        let hellos = self.transcript.current();
        secret.handshake_traffic_secrets(hellos, client_secret, server_secret);
        let log = |label, secret: &OkmBlock| self.offer.log_secret(label, secret.as_ref());
        log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", client_secret);
        log("SERVER_HANDSHAKE_TRAFFIC_SECRET", server_secret);
    }

    /// Installs the keys from both handshake traffic secrets, and derives the Finished keys. The
    /// client's keys are installed later if it may still send EndOfEarlyData.
    pub(super) fn install_keys(
        &mut self,
        server_secret: &OkmBlock,
        transport: &mut dyn Transport,
    ) -> Result<(), PeerMisbehaved> {
        let Self {
            suite,
            early_data,
            finished_keys,
            ..
        } = self;
        TrafficSecret::with(suite, server_secret, |secret| {
            secret.finished_key(&mut finished_keys.server);
            transport.set_receiving_secret(Level::Handshake, secret)
        })?;
        if *early_data == EarlyDataState::No {
            // the server can no longer accept early data, if any was sent
            transport.end_early_data();
        }
        TrafficSecret::with(suite, &self.client_secret, |secret| {
            secret.finished_key(&mut finished_keys.client);
            if *early_data == EarlyDataState::No || !transport.carrier().has_end_of_early_data() {
                // RFC 9846 §A.1: install them now, so that alerts are protected
                transport.set_sending_secret(Level::Handshake, secret);
            }
        });
        Ok(())
    }

    /// Checks that the server has echoed the session ID.
    ///
    /// This check comes only after the server's Finished has been verified: rustls 0.23 ignores the
    /// echo, and programs that replay a recorded server flight expect the client to reject it for
    /// another reason. Nothing depends on the echo, and the transcript covers it.
    pub(super) fn check_session_id_echo(&self) -> Result<(), Failure> {
        // RFC 9846 §4.2.3: abort with illegal_parameter. No variant of `PeerMisbehaved` fits
        if self.is_session_id_echoed {
            return Ok(());
        }
        Err(Failure::new(
            Error::General("the ServerHello does not echo the legacy_session_id".into()),
            AlertDescription::IllegalParameter,
        ))
    }

    /// Ends early data, and installs the handshake keys that were delayed by it.
    pub(super) fn end_early_data(&self, transport: &mut dyn Transport) {
        transport.end_early_data();
        if transport.carrier().has_end_of_early_data() {
            TrafficSecret::with(self.suite, &self.client_secret, |secret| {
                transport.set_sending_secret(Level::Handshake, secret);
            });
        }
    }
}
