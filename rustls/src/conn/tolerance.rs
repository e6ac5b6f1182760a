//! How much useless work a peer may make.

use crate::error::PeerMisbehaved;

/// How many warning alerts are taken. One is all that an honest peer has use for.
const MAX_WARNINGS: u8 = 4;

/// How many attempts to renegotiate are refused. Whoever tries again has not listened.
#[cfg(feature = "tls12")]
const MAX_RENEGOTIATIONS: u8 = 1;

/// How many KeyUpdates are taken between two pieces of application data.
const MAX_KEY_UPDATES: u8 = 32;

/// What has come of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tolerance {
    warnings: u8,
    key_updates: u8,
    #[cfg(feature = "tls12")]
    renegotiations: u8,
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

    /// Counts a KeyUpdate that this side did not ask for, or has to answer.
    pub(crate) fn count_key_update(&mut self) -> Result<(), PeerMisbehaved> {
        if self.key_updates >= MAX_KEY_UPDATES {
            return Err(PeerMisbehaved::TooManyKeyUpdateRequests);
        }
        self.key_updates += 1;
        Ok(())
    }

    /// Counts an attempt to renegotiate.
    #[cfg(feature = "tls12")]
    pub(crate) fn count_renegotiation(&mut self) -> Result<(), PeerMisbehaved> {
        if self.renegotiations >= MAX_RENEGOTIATIONS {
            return Err(PeerMisbehaved::TooManyRenegotiationRequests);
        }
        self.renegotiations += 1;
        Ok(())
    }

    /// Application data has come.
    #[inline]
    pub(crate) fn forget_key_updates(&mut self) {
        self.key_updates = 0;
    }
}
