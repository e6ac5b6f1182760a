//! What finite-field groups (RFC 7919) ask of both sides, whatever the provider checks.

#[cfg(feature = "tls12")]
use super::Failure;
#[cfg(feature = "tls12")]
use crate::enums::AlertDescription;
use crate::error::PeerMisbehaved;
use crate::ffdhe_groups::FfdheGroup;

/// Checks the peer's share of TLS 1.3, which is of no finite-field group where `group` is `None`.
///
/// # Errors
///
/// [`PeerMisbehaved::InvalidKeyShare`].
pub(crate) fn check_share(
    group: Option<FfdheGroup<'_>>,
    share: &[u8],
) -> Result<(), PeerMisbehaved> {
    // RFC 9846 §4.3.8.1: as long as p, and within its bounds
    match group {
        Some(group) if share.len() != group.p.len() || !is_within_bounds(&group, share) => {
            Err(PeerMisbehaved::InvalidKeyShare)
        }
        _ => Ok(()),
    }
}

/// Checks a public value that the peer has sent in TLS 1.2.
///
/// # Errors
///
/// [`PeerMisbehaved::InvalidKeyShare`] with handshake_failure.
#[cfg(feature = "tls12")]
pub(crate) fn check_public_value(group: &FfdheGroup<'_>, public: &[u8]) -> Result<(), Failure> {
    if is_within_bounds(group, public) {
        Ok(())
    } else {
        // RFC 7919 §3, §4: the alert
        Err(Failure::new(
            PeerMisbehaved::InvalidKeyShare,
            AlertDescription::HandshakeFailure,
        ))
    }
}

/// RFC 7919 §5.1: 1 < Y < p - 1, as all others make the secret one that anybody can guess.
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
            assert!(!is_within_bounds(&FFDHE2048, refused));
        }
        for accepted in [&b"\x02"[..], &[0, 2], &[1, 0], &below_p(2), &[0x7f; 256]] {
            assert!(is_within_bounds(&FFDHE2048, accepted));
        }
    }

    #[test]
    fn shares_are_as_long_as_the_prime() {
        let check = |share: &[u8]| check_share(Some(FFDHE2048), share);
        check(&[0x7f; 256]).unwrap();
        check(&below_p(2)[2..]).unwrap();
        check_share(None, &[1]).unwrap();
        for refused in [&[0x7f; 255][..], &[2], &[], &below_p(2), &below_p(1)[2..]] {
            assert_eq!(check(refused), Err(PeerMisbehaved::InvalidKeyShare));
        }
    }
}
