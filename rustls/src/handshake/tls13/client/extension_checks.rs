//! Checks extensions in messages where the server may send extensions that were not offered.

use crate::enums::ExtensionType;
use crate::error::PeerMisbehaved;
use crate::msgs::extensions::{ExtensionContext, allowed_in};

/// Checks the extensions of a message that may carry extensions that the client did not offer.
///
/// # Errors
///
/// Returns [`PeerMisbehaved::DisallowedEncryptedExtension`] if one belongs in another message.
pub(super) fn check_extensions(
    received: &[ExtensionType],
    message: ExtensionContext,
) -> Result<(), PeerMisbehaved> {
    // RFC 9846 §4.3: a known extension that belongs in another message is an illegal_parameter
    if received.iter().all(|typ| allowed_in(*typ, message)) {
        Ok(())
    } else {
        Err(PeerMisbehaved::DisallowedEncryptedExtension)
    }
}
