//! The hook through which a connection reveals its secrets, for debugging.

use core::fmt::Debug;

/// Receives the secrets of connections as they are made.
///
/// With them anybody can decrypt the recorded traffic of these connections, so a key log is for
/// debugging only. Labels and meaning follow RFC 9850, the `SSLKEYLOGFILE` format.
pub trait KeyLog: Debug + Send + Sync {
    /// Takes note of one secret.
    ///
    /// `label` says which, `client_random` is the random of the ClientHello and tells connections
    /// apart. The labels of TLS 1.3 are
    ///
    /// - `CLIENT_EARLY_TRAFFIC_SECRET`
    /// - `EARLY_EXPORTER_SECRET`
    /// - `CLIENT_HANDSHAKE_TRAFFIC_SECRET`
    /// - `SERVER_HANDSHAKE_TRAFFIC_SECRET`
    /// - `CLIENT_TRAFFIC_SECRET_0`
    /// - `SERVER_TRAFFIC_SECRET_0`
    /// - `EXPORTER_SECRET`
    ///
    /// Those after a KeyUpdate follow from these and are not logged. That of TLS 1.2 is `CLIENT_RANDOM`, with
    /// the master secret.
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]);

    /// Whether [`log`](Self::log) does anything with secrets of this `label`.
    ///
    /// If not, a connection need not compute a secret that it has no other use for. True unless
    /// overridden.
    fn will_log(&self, _label: &str) -> bool {
        true
    }
}

/// A [`KeyLog`] that forgets everything at once.
#[derive(Debug)]
pub struct NoKeyLog;

impl KeyLog for NoKeyLog {
    fn log(&self, _label: &str, _client_random: &[u8], _secret: &[u8]) {}

    fn will_log(&self, _label: &str) -> bool {
        false
    }
}
