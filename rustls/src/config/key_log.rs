//! The hook that exports a connection's secrets, for debugging.

use core::fmt::Debug;

/// Receives the secrets of connections as they are derived.
///
/// Anybody with these secrets can decrypt recorded traffic, so use a key log for debugging only.
/// Labels and meaning follow RFC 9850, the `SSLKEYLOGFILE` format.
pub trait KeyLog: Debug + Send + Sync {
    /// Records one secret.
    ///
    /// `label` names the secret. `client_random`, the random of the ClientHello, identifies the
    /// connection. If ECH is accepted, it is the random of the inner ClientHello. The labels of TLS
    /// 1.3 are
    ///
    /// - `CLIENT_EARLY_TRAFFIC_SECRET`
    /// - `EARLY_EXPORTER_SECRET`
    /// - `CLIENT_HANDSHAKE_TRAFFIC_SECRET`
    /// - `SERVER_HANDSHAKE_TRAFFIC_SECRET`
    /// - `CLIENT_TRAFFIC_SECRET_0`
    /// - `SERVER_TRAFFIC_SECRET_0`
    /// - `EXPORTER_SECRET`
    ///
    /// Secrets after a KeyUpdate are derived from these and are not logged. TLS 1.2 logs the master
    /// secret as `CLIENT_RANDOM`.
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]);

    /// True if [`log`](Self::log) uses secrets with this `label`. True by default.
    ///
    /// If false, a connection may skip the derivation of a secret that it does not need otherwise.
    fn will_log(&self, _label: &str) -> bool {
        true
    }
}

/// A [`KeyLog`] that discards everything.
#[derive(Debug)]
pub struct NoKeyLog;

impl KeyLog for NoKeyLog {
    fn log(&self, _label: &str, _client_random: &[u8], _secret: &[u8]) {}

    fn will_log(&self, _label: &str) -> bool {
        false
    }
}
