//! How much useless work a peer may cause between two pieces of application data.

use crate::error::PeerMisbehaved;

/// How many warning alerts are taken in a row.
const MAX_WARNINGS: u8 = 4;

/// How many KeyUpdates are taken in a row.
const MAX_KEY_UPDATES: u8 = 32;

/// What has come since the last application data.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tolerance {
    warnings: u8,
    key_updates: u8,
}

impl Tolerance {
    /// Counts a warning alert.
    pub(crate) fn count_warning(&mut self) -> Result<(), PeerMisbehaved> {
        if self.warnings >= MAX_WARNINGS {
            return Err(PeerMisbehaved::TooManyWarningAlertsReceived);
        }
        self.warnings += 1;
        Ok(())
    }

    /// Handshake messages have come: the peer went on after its warnings.
    pub(crate) fn forget_warnings(&mut self) {
        self.warnings = 0;
    }

    /// Counts a KeyUpdate that this side did not ask for, or has to answer.
    pub(crate) fn count_key_update(&mut self) -> Result<(), PeerMisbehaved> {
        if self.key_updates >= MAX_KEY_UPDATES {
            return Err(PeerMisbehaved::TooManyKeyUpdateRequests);
        }
        self.key_updates += 1;
        Ok(())
    }
}
