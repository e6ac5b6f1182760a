//! What the states between the ServerHello and the end of the handshake share.

use alloc::boxed::Box;

use crate::conn::transport::{Level, Transport};
use crate::crypto::tls13::OkmBlock;
use crate::error::PeerMisbehaved;
use crate::handshake::client::offer::Offer;
use crate::handshake::client::offered::OfferedExtensions;
use crate::handshake::client::sent_hello::CompatibilityCcs;
use crate::handshake::transcript::Transcript;
use crate::suites::Tls13CipherSuite;
use crate::tls13::key_schedule::HandshakeSecret;

/// A handshake under way.
pub(super) struct Handshake {
    pub(super) offer: Box<Offer>,
    pub(super) offered: OfferedExtensions,
    pub(super) ccs: CompatibilityCcs,
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) transcript: Transcript,
    pub(super) secret: HandshakeSecret,
    pub(super) client_handshake_traffic_secret: OkmBlock,
    pub(super) server_handshake_traffic_secret: OkmBlock,
}

impl Handshake {
    /// Logs and installs the keys of both directions.
    pub(super) fn install_keys(&self, transport: &mut dyn Transport) -> Result<(), PeerMisbehaved> {
        let client_secret = &self.client_handshake_traffic_secret;
        let server_secret = &self.server_handshake_traffic_secret;
        self.offer
            .log_secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", client_secret.as_ref());
        self.offer
            .log_secret("SERVER_HANDSHAKE_TRAFFIC_SECRET", server_secret.as_ref());

        transport.set_receiving_secret(Level::Handshake, self.suite, server_secret)?;
        // RFC 9846 §A.1: at once, so that an alert goes out protected
        transport.set_sending_secret(self.suite, client_secret);
        Ok(())
    }
}
