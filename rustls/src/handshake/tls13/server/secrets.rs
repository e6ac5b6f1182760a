//! The secrets that the server derives and installs with its flight (RFC 9846 §7.1).

use rustls_core::crypto::hash;
use rustls_core::crypto::tls13::OkmBlock;

use super::finished::WaitFinished;
use super::resumption::Resumed;
use crate::config::key_log::KeyLog;
use crate::config::settings::ServerSettings;
use crate::error::PeerMisbehaved;
use crate::handshake::ServerContext;
use crate::handshake::server::connection_data::EarlyDataDecision;
use crate::handshake::transcript::Transcript;
use crate::handshake::transport::Level;
use crate::keys::tls13::{EarlySecret, HandshakeSecret, TrafficSecret};
use crate::msgs::client_hello::Random;
use crate::suites::Tls13CipherSuite;

/// The traffic secrets of early data and of the handshake, and the keys for both Finished messages.
/// They are derived in place, and never moved.
pub(super) struct FlightSecrets {
    /// The secret of early data; empty unless it is needed.
    early_traffic_secret: OkmBlock,
    pub(super) client_traffic_secret: OkmBlock,
    server_traffic_secret: OkmBlock,
    client_finished_key: OkmBlock,
    server_finished_key: OkmBlock,
}

impl FlightSecrets {
    pub(super) fn empty() -> Self {
        Self {
            early_traffic_secret: OkmBlock::new(&[]),
            client_traffic_secret: OkmBlock::new(&[]),
            server_traffic_secret: OkmBlock::new(&[]),
            client_finished_key: OkmBlock::new(&[]),
            server_finished_key: OkmBlock::new(&[]),
        }
    }

    /// Derives the early traffic secret of the `resumed` session, if early data is accepted or the
    /// key log wants the secret. `transcript` ends with the ClientHello.
    pub(super) fn derive_early(
        &mut self,
        early_secret: &EarlySecret,
        resumed: Option<&Resumed>,
        transcript: &mut Transcript,
        key_log: &ConnectionKeyLog<'_>,
    ) {
        const LABEL: &str = "CLIENT_EARLY_TRAFFIC_SECRET";
        let Some(resumed) = resumed else {
            return;
        };
        // the secret is logged even if the server skips early data, so that a packet analyzer can
        // decrypt it
        let is_accepted = resumed.early_data_limit.is_ok();
        if !is_accepted && !key_log.will_log(LABEL) {
            return;
        }
        let transcript = transcript.current();
        let secret = &mut self.early_traffic_secret;
        early_secret.client_early_traffic_secret(transcript, secret);
        key_log.log(LABEL, secret);
        if is_accepted && key_log.will_log("EARLY_EXPORTER_SECRET") {
            let mut exporter_secret = OkmBlock::new(&[]);
            early_secret.early_exporter_secret(transcript, &mut exporter_secret);
            key_log.log("EARLY_EXPORTER_SECRET", &exporter_secret);
        }
    }

    /// Derives the traffic secrets. `transcript` is the hash of ClientHello…ServerHello.
    pub(super) fn derive(
        &mut self,
        secret: &HandshakeSecret,
        transcript: &hash::Output,
        key_log: &ConnectionKeyLog<'_>,
    ) {
        let (client, server) = (
            &mut self.client_traffic_secret,
            &mut self.server_traffic_secret,
        );
        secret.handshake_traffic_secrets(transcript, client, server);
        key_log.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", client);
        key_log.log("SERVER_HANDSHAKE_TRAFFIC_SECRET", server);
    }

    /// Installs the keys for the next messages, and derives those for both Finished messages. If
    /// early data is accepted, the client's next records are early data, and the keys for its
    /// handshake messages are installed after EndOfEarlyData, unless the carrier has no such
    /// message.
    pub(super) fn install(
        &mut self,
        suite: &'static Tls13CipherSuite,
        early_data_limit: Option<u32>,
        cx: &mut ServerContext<'_>,
    ) -> Result<(), PeerMisbehaved> {
        TrafficSecret::with(suite, &self.server_traffic_secret, |secret| {
            secret.finished_key(&mut self.server_finished_key);
            cx.transport.set_sending_secret(Level::Handshake, secret);
        });
        if let Some(limit) = early_data_limit {
            cx.data.early_data = EarlyDataDecision::Accepted;
            // from here on, a record that cannot be decrypted is an error
            cx.transport.skip_early_data(None);
            let secret = &self.early_traffic_secret;
            cx.transport.receive_early_data(suite, secret, limit)?;
        }
        TrafficSecret::with(suite, &self.client_traffic_secret, |secret| {
            secret.finished_key(&mut self.client_finished_key);
            if early_data_limit.is_none() || !cx.transport.carrier().has_end_of_early_data() {
                cx.transport
                    .set_receiving_secret(Level::Handshake, secret)?;
            }
            Ok(())
        })
    }

    pub(super) fn copy_finished_keys(&self, finished: &mut WaitFinished) {
        let (client, server) = (&self.client_finished_key, &self.server_finished_key);
        finished.client_finished_key.clone_from(client);
        finished.server_finished_key.clone_from(server);
    }
}

/// The application's key log, for one connection.
pub(super) struct ConnectionKeyLog<'a> {
    key_log: &'a dyn KeyLog,
    client_random: &'a Random,
}

impl<'a> ConnectionKeyLog<'a> {
    pub(super) fn new(config: &'a ServerSettings, client_random: &'a Random) -> Self {
        Self {
            key_log: &*config.key_log,
            client_random,
        }
    }

    fn will_log(&self, label: &str) -> bool {
        self.key_log.will_log(label)
    }

    pub(super) fn log(&self, label: &str, secret: &OkmBlock) {
        if self.will_log(label) {
            let random = &self.client_random.0;
            self.key_log.log(label, random, secret.as_ref());
        }
    }
}
