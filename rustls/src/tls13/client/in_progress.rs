//! What the states between the ServerHello and the end of the handshake share.

use alloc::boxed::Box;

use crate::client::Tls13ClientSessionValue;
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
    /// The session that is resumed.
    pub(super) session: Option<Tls13ClientSessionValue>,
    pub(super) early_data: EarlyData,
    pub(super) client_handshake_traffic_secret: OkmBlock,
    pub(super) server_handshake_traffic_secret: OkmBlock,
}

/// What has become of early data (RFC 9846 §4.3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyData {
    /// It was not offered, or the server cannot accept it any more.
    No,
    /// The server will say so if it accepts it.
    Offered,
    /// EndOfEarlyData ends it.
    Accepted,
}

impl Handshake {
    /// Logs the secrets of both directions and installs the keys: those to send with wait while early data may
    /// be sent.
    pub(super) fn install_keys(&self, transport: &mut dyn Transport) -> Result<(), PeerMisbehaved> {
        let client_secret = &self.client_handshake_traffic_secret;
        let server_secret = &self.server_handshake_traffic_secret;
        self.offer
            .log_secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET", client_secret.as_ref());
        self.offer
            .log_secret("SERVER_HANDSHAKE_TRAFFIC_SECRET", server_secret.as_ref());

        transport.set_receiving_secret(Level::Handshake, self.suite, server_secret)?;
        if self.early_data == EarlyData::No {
            // RFC 9846 §A.1: at once, so that an alert goes out protected
            self.install_sending_keys(transport);
        }
        Ok(())
    }

    /// Ends early data, if any was sent.
    pub(super) fn install_sending_keys(&self, transport: &mut dyn Transport) {
        transport.set_sending_secret(self.suite, &self.client_handshake_traffic_secret);
    }
}
