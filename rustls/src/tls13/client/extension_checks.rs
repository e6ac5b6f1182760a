//! Which extensions a server may send without an offer.

use crate::enums::ExtensionType;
use crate::error::PeerMisbehaved;
use crate::msgs::extensions::{ExtensionContext, allowed_in};

/// Checks the extensions of a message that may carry some that the client did not offer.
///
/// # Errors
///
/// [`PeerMisbehaved::DisallowedEncryptedExtension`].
pub(super) fn check_extensions(
    received: &[ExtensionType],
    message: ExtensionContext,
) -> Result<(), PeerMisbehaved> {
    // RFC 9846 §4.3: an extension known to belong in another message is an illegal_parameter
    if received.iter().all(|typ| allowed_in(*typ, message)) {
        Ok(())
    } else {
        Err(PeerMisbehaved::DisallowedEncryptedExtension)
    }
}
