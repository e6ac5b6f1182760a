//! The check of the peer's Finished (RFC 9846 §4.5.3, RFC 5246 §7.4.9), for both sides and
//! versions.

use subtle::ConstantTimeEq;

use crate::enums::AlertDescription;
use crate::error::{Error, InvalidMessage};
use crate::failure::Failure;
use crate::msgs::Finished;

/// Checks the received Finished against the expected `verify_data`.
///
/// # Errors
///
/// Returns [`Error::DecryptError`] with decrypt_error on a mismatch, and [`InvalidMessage`] if the
/// length is wrong.
pub(crate) fn check_finished(expected: &[u8], finished: &Finished<'_>) -> Result<(), Failure> {
    let received = finished.0;
    // RFC 9846 §4.5.3: verify_data is as long as the hash; RFC 5246 §7.4.9: 12 bytes. RFC 9846 §6.2
    // and RFC 5246 §7.2.2: a wrong length is a decode_error
    if received.len() < expected.len() {
        return Err(InvalidMessage::MissingData("Finished").into());
    }
    if received.len() > expected.len() {
        return Err(InvalidMessage::TrailingData("Finished").into());
    }
    if !bool::from(expected.ct_eq(received)) {
        // RFC 9846 §4.5.3, RFC 5246 §7.2.2: the alert is decrypt_error. It must be named here,
        // because a record that fails to decrypt has the same error but a different alert
        return Err(Failure::new(
            Error::DecryptError,
            AlertDescription::DecryptError,
        ));
    }
    Ok(())
}
