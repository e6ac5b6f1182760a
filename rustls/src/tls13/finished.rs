//! The peer's Finished (RFC 9846 §4.5.3), checked alike by both sides.

use subtle::ConstantTimeEq;

use super::key_schedule;
use crate::conn::CommonState;
use crate::crypto::hash;
use crate::crypto::tls13::OkmBlock;
use crate::enums::AlertDescription;
use crate::error::Error;
use crate::suites::Tls13CipherSuite;

/// Checks the `verify_data` that came, given the handshake traffic secret of its sender and the
/// transcript hash before the message.
///
/// # Errors
///
/// [`Error::DecryptError`], with its own alert queued.
pub(crate) fn check_finished(
    suite: &'static Tls13CipherSuite,
    base_key: &OkmBlock,
    transcript: &hash::Output,
    verify_data: &[u8],
    common: &mut CommonState,
) -> Result<(), Error> {
    let expected = key_schedule::finished_verify_data(suite, base_key, transcript);
    if bool::from(expected.as_ref().ct_eq(verify_data)) {
        return Ok(());
    }
    // RFC 9846 §4.5.3: the alert is decrypt_error, while the error is 0.23's for records, too, which
    // are answered by another alert
    common.send_fatal_alert(AlertDescription::DecryptError);
    Err(Error::DecryptError)
}
