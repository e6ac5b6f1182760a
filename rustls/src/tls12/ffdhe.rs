//! What finite-field groups (RFC 7919) ask of both sides, whatever the provider checks.

use crate::enums::AlertDescription;
use crate::error::PeerMisbehaved;
use crate::ffdhe_groups::FfdheGroup;
use crate::handshake::Failure;

/// Checks a public value that the peer has sent.
///
/// # Errors
///
/// [`PeerMisbehaved::InvalidKeyShare`] with handshake_failure.
pub(crate) fn check_public_value(group: &FfdheGroup<'_>, public: &[u8]) -> Result<(), Failure> {
    // RFC 7919 §5.1: 1 < Y < p - 1, as all others make the secret one that anybody can guess
    let public = without_leading_zeros(public);
    let is_above_one = !matches!(public, [] | [1]);
    // p is odd, so p - 1 differs from it in the last bit
    let is_below = match group.p.split_last() {
        Some((last, front)) => is_less(public, front, last & !1),
        None => false,
    };
    if is_above_one && is_below {
        Ok(())
    } else {
        // RFC 7919 §3, §4: the alert
        Err(Failure::new(
            PeerMisbehaved::InvalidKeyShare,
            AlertDescription::HandshakeFailure,
        ))
    }
}

/// Whether the big-endian number `a`, without leading zeros, is less than `front` with `last` behind it.
fn is_less(a: &[u8], front: &[u8], last: u8) -> bool {
    let len = front.len() + 1;
    if a.len() != len {
        return a.len() < len;
    }
    a.iter().lt(front.iter().chain([&last]))
}

fn without_leading_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::ffdhe_groups::FFDHE2048;

    /// p with `less` taken off, and leading zeros.
    fn below_p(less: u8) -> Vec<u8> {
        let mut number = [&[0, 0], FFDHE2048.p].concat();
        let last = number.last_mut().unwrap();
        *last -= less;
        number
    }

    #[test]
    fn public_values_that_give_the_secret_away_are_refused() {
        for refused in [
            &b""[..],
            &[0],
            &[1],
            &[0, 1],
            &below_p(1),
            &below_p(0),
            &[FFDHE2048.p, &[0]].concat(),
            &[0xff; 256],
        ] {
            let failure = check_public_value(&FFDHE2048, refused).unwrap_err();
            assert_eq!(failure.error, PeerMisbehaved::InvalidKeyShare.into());
            assert_eq!(failure.alert, Some(AlertDescription::HandshakeFailure));
        }
        for accepted in [&b"\x02"[..], &[0, 2], &[1, 0], &below_p(2), &[0x7f; 256]] {
            check_public_value(&FFDHE2048, accepted).unwrap();
        }
    }
}
