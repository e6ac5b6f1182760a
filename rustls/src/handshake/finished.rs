//! The peer's Finished (RFC 9846 §4.5.3, RFC 5246 §7.4.9), checked the same way by both sides in both versions.

use subtle::ConstantTimeEq;

use super::Failure;
use crate::enums::AlertDescription;
use crate::error::{Error, InvalidMessage};
use crate::msgs::Finished;

/// Checks the message that came against the `verify_data` that it should have.
///
/// # Errors
///
/// [`Error::DecryptError`] with decrypt_error; [`InvalidMessage`] when it has another length.
pub(crate) fn check_finished(expected: &[u8], finished: &Finished<'_>) -> Result<(), Failure> {
    let received = finished.0;
    // RFC 9846 §4.5.3: verify_data is as long as the hash; RFC 5246 §7.4.9: 12 bytes. RFC 9846 §6.2 and
    // RFC 5246 §7.2.2: another length is a decode_error
    if received.len() < expected.len() {
        return Err(InvalidMessage::MissingData("Finished").into());
    }
    if received.len() > expected.len() {
        return Err(InvalidMessage::TrailingData("Finished").into());
    }
    if !bool::from(expected.ct_eq(received)) {
        // RFC 9846 §4.5.3, RFC 5246 §7.2.2: the alert is decrypt_error. The error is 0.23's, which it uses for
        // records too, where another alert is due
        return Err(Failure::new(
            Error::DecryptError,
            AlertDescription::DecryptError,
        ));
    }
    Ok(())
}
