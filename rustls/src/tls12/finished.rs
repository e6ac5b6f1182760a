//! The peer's Finished (RFC 5246 §7.4.9), checked the same way by both sides.

use subtle::ConstantTimeEq;

use super::key_schedule::VerifyData;
use crate::enums::AlertDescription;
use crate::error::{Error, InvalidMessage};
use crate::handshake::Failure;
use crate::msgs::Finished;

/// Checks the message that came against what it should say.
///
/// # Errors
///
/// [`Error::DecryptError`] with decrypt_error; [`InvalidMessage`] when it is shorter or longer than 12 bytes.
pub(crate) fn check_finished(
    expected: &VerifyData,
    finished: &Finished<'_>,
) -> Result<(), Failure> {
    let received = finished.0;
    // RFC 5246 §7.4.9: verify_data is 12 bytes long in all suites. §7.2.2: another length is a decode_error
    if received.len() < expected.len() {
        return Err(InvalidMessage::MissingData("Finished").into());
    }
    if received.len() > expected.len() {
        return Err(InvalidMessage::TrailingData("Finished").into());
    }
    if !bool::from(expected.ct_eq(received)) {
        // RFC 5246 §7.2.2: the alert is decrypt_error. The error is 0.23's, which it uses for records too,
        // where another alert is due
        return Err(Failure::new(
            Error::DecryptError,
            AlertDescription::DecryptError,
        ));
    }
    Ok(())
}
