//! What became of reloads.

use alloc::sync::Arc;

use pki_types::UnixTime;

use super::ReloadError;

/// What a reload that did not fail led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reload {
    /// What was read is the same as what is in force, which stays, as do sessions that were made under it.
    Unchanged,
    /// What was read is in force now, for handshakes that start from now on.
    Replaced,
    /// Another reload, which began later and so saw newer files, finished first: what it brought stays.
    Overtaken,
}

/// How reloading has gone so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReloadStatus {
    /// How often what is in force was replaced.
    pub reloads: u64,
    /// How often it was read anew and found to be the same.
    pub unchanged: u64,
    /// How often it could not be replaced.
    pub failures: u64,
    /// When what is in force came into force. `None` when the clock did not know.
    pub in_force_since: Option<UnixTime>,
    /// Why what is in force could not be replaced; `None` when the last reload did not fail.
    pub failing: Option<ReloadFailure>,
}

/// Reloads that have failed since the last one that did not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReloadFailure {
    /// Why the last one failed.
    pub error: Arc<ReloadError>,
    /// When the last one failed. `None` when the clock did not know.
    pub at: Option<UnixTime>,
    /// When the first one failed. `None` when the clock did not know.
    pub since: Option<UnixTime>,
    /// How many there were.
    pub attempts: u64,
}
