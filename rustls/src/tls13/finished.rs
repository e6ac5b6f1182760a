//! The peer's Finished (RFC 9846 §4.5.3), checked the same way by both sides.

use subtle::ConstantTimeEq;

use super::key_schedule;
use crate::crypto::hash;
use crate::crypto::tls13::OkmBlock;
use crate::enums::AlertDescription;
use crate::error::{Error, InvalidMessage};
use crate::handshake::Failure;
use crate::msgs::Finished;
use crate::suites::Tls13CipherSuite;

/// Checks the message that came, given the handshake traffic secret of its sender and the transcript hash
/// before it.
///
/// # Errors
///
/// [`Error::DecryptError`] with decrypt_error; [`InvalidMessage`] when it is shorter or longer than the hash.
pub(crate) fn check_finished(
    suite: &'static Tls13CipherSuite,
    base_key: &OkmBlock,
    transcript: &hash::Output,
    finished: &Finished<'_>,
) -> Result<(), Failure> {
    let expected = key_schedule::finished_verify_data(suite, base_key, transcript);
    let (expected, received) = (expected.as_ref(), finished.0);
    // RFC 9846 §4.5.3: verify_data is as long as the hash. §6.2: another length is a decode_error
    if received.len() < expected.len() {
        return Err(InvalidMessage::MissingData("Finished").into());
    }
    if received.len() > expected.len() {
        return Err(InvalidMessage::TrailingData("Finished").into());
    }
    if !bool::from(expected.ct_eq(received)) {
        // RFC 9846 §4.5.3: the alert is decrypt_error. The error is 0.23's, which it uses for records too,
        // where another alert is due
        return Err(Failure::new(
            Error::DecryptError,
            AlertDescription::DecryptError,
        ));
    }
    Ok(())
}
