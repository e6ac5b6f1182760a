//! The results of reloads.

use std::sync::Arc;

use pki_types::UnixTime;

use super::ReloadError;

/// The result of a successful reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reload {
    /// Nothing has changed. The current value stays, and so do its sessions.
    Unchanged,
    /// The current value was replaced. Handshakes that already use the old one keep it.
    Replaced,
    /// A reload that began later finished first. The current value stays, because that reload may
    /// have read newer files.
    Overtaken,
}

/// The results of reloads so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReloadStatus {
    /// The number of replacements. A partial replacement also counts as a failure.
    pub reloads: u64,
    /// The number of reloads that read the sources and found neither a change nor a problem.
    pub unchanged: u64,
    /// The number of reloads that returned an error.
    pub failures: u64,
    /// The time at which the current value became active. `None` if the clock did not return one.
    pub in_force_since: Option<UnixTime>,
    /// The failures of the most recent reloads, or `None` if the last reload succeeded.
    pub failing: Option<ReloadFailure>,
    /// The flaws of the current value that did not prevent it from becoming active, as found by the
    /// last successful reload or by the first load. For certificates, these are for example an OCSP
    /// response that is not stapled, dates of other certificates in the chain, or a wrong clock.
    pub flaws: Vec<ReloadError>,
}

/// The failures since the last successful reload.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReloadFailure {
    /// The error from the last failure.
    pub error: Arc<ReloadError>,
    /// The time of the last failure. `None` if the clock did not return a time.
    pub at: Option<UnixTime>,
    /// The time of the first failure. `None` if the clock did not return a time.
    pub since: Option<UnixTime>,
    /// The number of failed attempts.
    pub attempts: u64,
}
