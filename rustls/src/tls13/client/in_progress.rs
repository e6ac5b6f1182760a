//! What the states between the ServerHello and the end of the handshake share.

use alloc::boxed::Box;

use crate::client::Tls13ClientSessionValue;
use crate::conn::transport::{Level, Transport};
use crate::crypto::tls13::OkmBlock;
use crate::error::PeerMisbehaved;
use crate::handshake::client::offer::Offer;
use crate::handshake::client::offered::OfferedExtensions;
use crate::handshake::transcript::Transcript;
use crate::suites::Tls13CipherSuite;
use crate::tls13::key_schedule::{HandshakeSecret, TrafficSecret};

/// A handshake under way.
pub(super) struct Handshake {
    pub(super) offer: Box<Offer>,
    pub(super) offered: OfferedExtensions,
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) transcript: Transcript,
    pub(super) secret: HandshakeSecret,
    /// The session that is resumed.
    pub(super) session: Option<Tls13ClientSessionValue>,
    pub(super) early_data: EarlyData,
    /// The client's handshake traffic secret.
    pub(super) client_secret: OkmBlock,
    pub(super) finished_keys: FinishedKeys,
}

/// The keys of both sides' Finished (RFC 9846 §4.5.3).
pub(super) struct FinishedKeys {
    pub(super) client: OkmBlock,
    pub(super) server: OkmBlock,
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

impl FinishedKeys {
    /// Installs the keys of both directions' handshake traffic secrets: `client`'s wait for EndOfEarlyData, where early
    /// data may be sent that ends with it.
    pub(super) fn install(
        suite: &'static Tls13CipherSuite,
        client: &OkmBlock,
        server: &OkmBlock,
        early_data: EarlyData,
        transport: &mut dyn Transport,
    ) -> Result<Self, PeerMisbehaved> {
        let server = TrafficSecret::with(suite, server, |secret| {
            transport.set_receiving_secret(Level::Handshake, secret)?;
            Ok(secret.finished_key())
        })?;
        if early_data == EarlyData::No {
            // if any was sent, the server has not resumed its session
            transport.end_early_data();
        }
        let client = TrafficSecret::with(suite, client, |secret| {
            if early_data == EarlyData::No || !transport.carrier().has_end_of_early_data() {
                // RFC 9846 §A.1: at once, so that an alert goes out protected
                transport.set_sending_secret(Level::Handshake, secret);
            }
            secret.finished_key()
        });
        Ok(Self { client, server })
    }
}

impl Handshake {
    /// Ends early data, for which the keys of the handshake have waited.
    pub(super) fn end_early_data(&self, transport: &mut dyn Transport) {
        transport.end_early_data();
        if transport.carrier().has_end_of_early_data() {
            TrafficSecret::with(self.suite, &self.client_secret, |secret| {
                transport.set_sending_secret(Level::Handshake, secret);
            });
        }
    }
}
