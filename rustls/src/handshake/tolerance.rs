//! Limits on the useless messages that a peer may send.

use crate::error::PeerMisbehaved;

/// The maximum number of warning alerts. Honest peers rarely need more than one.
const MAX_WARNINGS: u8 = 4;

/// The maximum number of rejected attempts to renegotiate. A second attempt is an error.
#[cfg(feature = "tls12")]
const MAX_RENEGOTIATIONS: u8 = 1;

/// The maximum number of KeyUpdates without application data between them. Only those count that
/// this side did not request, or must reply to.
const MAX_KEY_UPDATES: u8 = 32;

/// The useless messages counted so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tolerance {
    warnings: u8,
    key_updates: u8,
    #[cfg(feature = "tls12")]
    renegotiations: u8,
}

impl Tolerance {
    pub(crate) fn count_warning(&mut self) -> Result<(), PeerMisbehaved> {
        if self.warnings >= MAX_WARNINGS {
            return Err(PeerMisbehaved::TooManyWarningAlertsReceived);
        }
        self.warnings += 1;
        Ok(())
    }

    /// Counts a KeyUpdate that this side did not request, or must reply to.
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

    /// Resets the count of KeyUpdates, because application data was received.
    #[inline]
    pub(crate) fn reset_key_updates(&mut self) {
        self.key_updates = 0;
    }
}
