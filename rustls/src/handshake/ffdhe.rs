//! Checks for finite-field groups (RFC 7919) that do not depend on the provider.

#[cfg(feature = "tls12")]
use crate::enums::AlertDescription;
use crate::error::PeerMisbehaved;
#[cfg(feature = "tls12")]
use crate::failure::Failure;
use crate::ffdhe_groups::FfdheGroup;

/// Checks the peer's share in TLS 1.3. `group` is `None` if the group is not a finite-field group.
///
/// # Errors
///
/// Returns [`PeerMisbehaved::InvalidKeyShare`] if the share is out of bounds, or not as long as the
/// group's prime.
pub(crate) fn check_share(
    group: Option<FfdheGroup<'_>>,
    share: &[u8],
) -> Result<(), PeerMisbehaved> {
    // RFC 9846 §4.3.8.1: exactly as long as p, and within its bounds
    match group {
        Some(group) if share.len() != group.p.len() || !is_within_bounds(&group, share) => {
            Err(PeerMisbehaved::InvalidKeyShare)
        }
        _ => Ok(()),
    }
}

/// Checks the peer's public value in TLS 1.2.
///
/// # Errors
///
/// Returns [`PeerMisbehaved::InvalidKeyShare`] with handshake_failure if the value is out of
/// bounds.
#[cfg(feature = "tls12")]
pub(crate) fn check_public_value(group: &FfdheGroup<'_>, public: &[u8]) -> Result<(), Failure> {
    if is_within_bounds(group, public) {
        Ok(())
    } else {
        // RFC 7919 §3, §4 require this alert
        Err(Failure::new(
            PeerMisbehaved::InvalidKeyShare,
            AlertDescription::HandshakeFailure,
        ))
    }
}

/// True if 1 < Y < p - 1 (RFC 7919 §5.1). Other values can make the secret guessable.
fn is_within_bounds(group: &FfdheGroup<'_>, public: &[u8]) -> bool {
    let public = without_leading_zeros(public);
    let is_above_one = !matches!(public, [] | [1]);
    // p is odd, so p - 1 differs from it in the last bit
    let is_below = match group.p.split_last() {
        Some((last, front)) => is_less(public, front, last & !1),
        None => false,
    };
    is_above_one && is_below
}

/// True if the big-endian number `a`, without leading zeros, is less than `front` followed by
/// `last`.
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

    /// Returns p - `less`, with two leading zeros.
    fn below_p(less: u8) -> Vec<u8> {
        let mut number = [&[0, 0], FFDHE2048.p].concat();
        let last = number.last_mut().unwrap();
        *last -= less;
        number
    }

    #[test]
    fn public_values_that_reveal_the_secret_are_rejected() {
        for rejected in [
            &b""[..],
            &[0],
            &[1],
            &[0, 1],
            &below_p(1),
            &below_p(0),
            &[FFDHE2048.p, &[0]].concat(),
            &[0xff; 256],
        ] {
            assert!(!is_within_bounds(&FFDHE2048, rejected));
        }
        for accepted in [&b"\x02"[..], &[0, 2], &[1, 0], &below_p(2), &[0x7f; 256]] {
            assert!(is_within_bounds(&FFDHE2048, accepted));
        }
    }

    #[test]
    fn shares_must_be_as_long_as_the_prime() {
        let check = |share: &[u8]| check_share(Some(FFDHE2048), share);
        check(&[0x7f; 256]).unwrap();
        check(&below_p(2)[2..]).unwrap();
        check_share(None, &[1]).unwrap();
        for rejected in [&[0x7f; 255][..], &[2], &[], &below_p(2), &below_p(1)[2..]] {
            assert_eq!(check(rejected), Err(PeerMisbehaved::InvalidKeyShare));
        }
    }
}
