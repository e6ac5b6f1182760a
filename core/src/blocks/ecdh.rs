//! Key exchange over elliptic curves: X25519 (RFC 7748) and the NIST curves (RFC 8422).

use alloc::boxed::Box;
use alloc::format;
use core::fmt;

use subtle::ConstantTimeEq;

use crate::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup,
};
use crate::enums::NamedGroup;
use crate::error::{Error, PeerMisbehaved};

/// Diffie-Hellman over one curve, implemented with a crypto library.
pub trait Ecdh: Copy + Send + Sync + 'static {
    /// An ephemeral private key.
    type PrivateKey: Send + Sync + 'static;

    /// A public key in wire format (RFC 9846 §4.3.8.2): an uncompressed point, or the 32 bytes of
    /// X25519.
    type PublicKey: AsRef<[u8]> + Send + Sync + 'static;

    /// Returns the curve of this implementation.
    fn curve(&self) -> Curve;

    /// Generates a private key and its public key.
    ///
    /// # Errors
    ///
    /// Returns [`GetRandomFailed`] if the library has no randomness.
    fn generate(&self) -> Result<(Self::PrivateKey, Self::PublicKey), GetRandomFailed>;

    /// Returns the shared secret: the x-coordinate of the shared point. Returns `None` if `peer` is
    /// not a point on the curve, or if the library fails.
    ///
    /// The length and format of `peer` have already been checked. For X25519, an all-zero secret
    /// may be returned; the caller rejects it.
    fn agree(&self, private_key: Self::PrivateKey, peer: &[u8]) -> Option<SharedSecret>;

    /// True if the library is FIPS-approved, regardless of the curve: [`EcdhGroup`] itself reports
    /// X25519 as not approved (SP 800-56A).
    fn fips(&self) -> bool {
        false
    }
}

/// An elliptic curve used in TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Curve {
    /// X25519 (RFC 7748).
    X25519,
    /// The NIST curve P-256.
    Secp256r1,
    /// The NIST curve P-384.
    Secp384r1,
    /// The NIST curve P-521.
    Secp521r1,
}

impl Curve {
    /// Returns the code point for key exchange over this curve.
    pub const fn group(self) -> NamedGroup {
        match self {
            Self::X25519 => NamedGroup::X25519,
            Self::Secp256r1 => NamedGroup::secp256r1,
            Self::Secp384r1 => NamedGroup::secp384r1,
            Self::Secp521r1 => NamedGroup::secp521r1,
        }
    }

    /// Returns the length in bytes of either side's share.
    pub const fn share_len(self) -> usize {
        match self {
            Self::X25519 => 32,
            _ => 1 + 2 * self.coordinate_len(),
        }
    }

    /// Returns the length in bytes of a shared secret and of a private key.
    pub(super) const fn coordinate_len(self) -> usize {
        match self {
            Self::X25519 | Self::Secp256r1 => 32,
            Self::Secp384r1 => 48,
            Self::Secp521r1 => 66,
        }
    }

    /// True if `share` has the length and format that TLS requires. The library checks whether the
    /// point is on the curve.
    pub(super) fn encodes(self, share: &[u8]) -> bool {
        // RFC 9846 §4.3.8.2: points on NIST curves are uncompressed
        const UNCOMPRESSED: u8 = 0x04;
        share.len() == self.share_len()
            && (self == Self::X25519 || share.first() == Some(&UNCOMPRESSED))
    }

    /// Returns an error if the length of a library's secret is wrong.
    pub(super) fn check_secret(self, secret: &SharedSecret) -> Result<(), Error> {
        let secret = secret.secret_bytes();
        check_len(self.group(), "secret", secret, self.coordinate_len())
    }
}

/// A [`SupportedKxGroup`] for a curve that a library implements.
#[derive(Clone, Copy)]
pub struct EcdhGroup<E>(pub E);

impl<E: Ecdh> EcdhGroup<E> {
    fn start_exchange(&self) -> Result<EcdhExchange<E>, Error> {
        let (private_key, public_key) = self.0.generate()?;
        let curve = self.0.curve();
        check_len(
            curve.group(),
            "share",
            public_key.as_ref(),
            curve.share_len(),
        )?;
        Ok(EcdhExchange {
            ecdh: self.0,
            private_key,
            public_key,
        })
    }
}

impl<E: Ecdh> SupportedKxGroup for EcdhGroup<E> {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(self.start_exchange()?))
    }

    fn start_and_complete(&self, peer_pub_key: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let exchange = self.start_exchange()?;
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: exchange.public_key.as_ref().to_vec(),
            secret: exchange.agree(peer_pub_key)?,
        })
    }

    fn name(&self) -> NamedGroup {
        self.0.curve().group()
    }

    fn fips(&self) -> bool {
        self.0.curve() != Curve::X25519 && self.0.fips()
    }
}

impl<E: Ecdh> fmt::Debug for EcdhGroup<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

/// Checks that `bytes`, which a library returned as `output` for `group`, has the `expected`
/// length. Without this check, a hybrid could be split in the wrong place, and an all-zero X25519
/// secret could be missed.
pub(super) fn check_len(
    group: NamedGroup,
    output: &str,
    bytes: &[u8],
    expected: usize,
) -> Result<(), Error> {
    match bytes.len() {
        len if len == expected => Ok(()),
        len => Err(Error::General(format!(
            "the library made a {output} of {len} bytes for {group:?}, which takes {expected}"
        ))),
    }
}

struct EcdhExchange<E: Ecdh> {
    ecdh: E,
    private_key: E::PrivateKey,
    public_key: E::PublicKey,
}

impl<E: Ecdh> EcdhExchange<E> {
    fn agree(self, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        let curve = self.ecdh.curve();
        if !curve.encodes(peer_pub_key) {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        let secret = self
            .ecdh
            .agree(self.private_key, peer_pub_key)
            .ok_or(PeerMisbehaved::InvalidKeyShare)?;
        curve.check_secret(&secret)?;
        // RFC 9846 §7.4.2: reject an all-zero result of X25519
        if curve == Curve::X25519 && bool::from(secret.secret_bytes().ct_eq(&[0; 32])) {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        Ok(secret)
    }
}

impl<E: Ecdh> ActiveKeyExchange for EcdhExchange<E> {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        self.agree(peer_pub_key)
    }

    fn pub_key(&self) -> &[u8] {
        self.public_key.as_ref()
    }

    fn group(&self) -> NamedGroup {
        self.ecdh.curve().group()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use alloc::{format, vec};

    use super::*;

    /// A curve that contains every point except those that end in 0xbb. Its secrets are the last
    /// `secret_len` bytes of the peer's share.
    #[derive(Clone, Copy)]
    struct ToyCurve {
        curve: Curve,
        public_key_len: usize,
        secret_len: usize,
    }

    impl ToyCurve {
        fn new(curve: Curve) -> Self {
            Self {
                curve,
                public_key_len: curve.share_len(),
                secret_len: curve.coordinate_len(),
            }
        }
    }

    impl Ecdh for ToyCurve {
        type PrivateKey = ();
        type PublicKey = Vec<u8>;

        fn curve(&self) -> Curve {
            self.curve
        }

        fn generate(&self) -> Result<((), Vec<u8>), GetRandomFailed> {
            Ok(((), vec![6; self.public_key_len]))
        }

        fn agree(&self, (): (), peer: &[u8]) -> Option<SharedSecret> {
            let on_the_curve = peer.last() != Some(&0xbb);
            on_the_curve.then(|| peer[peer.len() - self.secret_len..].into())
        }

        fn fips(&self) -> bool {
            true
        }
    }

    const CURVES: [Curve; 4] = [
        Curve::X25519,
        Curve::Secp256r1,
        Curve::Secp384r1,
        Curve::Secp521r1,
    ];

    fn share(curve: Curve, last: u8) -> Vec<u8> {
        let mut share = vec![7; curve.share_len()];
        share[0] = 4;
        *share.last_mut().unwrap() = last;
        share
    }

    fn complete(curve: Curve, share: &[u8]) -> Result<Vec<u8>, Error> {
        let group = EcdhGroup(ToyCurve::new(curve));
        let by_server = group.start_and_complete(share);
        let by_client = group.start().unwrap().complete(share);
        let by_server = by_server.map(|done| done.secret.secret_bytes().to_vec());
        let by_client = by_client.map(|secret| secret.secret_bytes().to_vec());
        assert_eq!(by_server, by_client);
        by_client
    }

    #[test]
    fn a_group_returns_the_shares_and_secrets_of_the_library() {
        for curve in CURVES {
            let group = EcdhGroup(ToyCurve::new(curve));
            let (share, own) = (share(curve, 1), vec![6; curve.share_len()]);
            assert_eq!(group.start().unwrap().pub_key(), own);
            assert_eq!(group.start().unwrap().group(), curve.group());
            let done = group.start_and_complete(&share).unwrap();
            assert_eq!((done.group, done.pub_key), (curve.group(), own));
            let secret = &share[share.len() - curve.coordinate_len()..];
            assert_eq!(complete(curve, &share).unwrap(), secret);
            assert_eq!(group.fips(), curve != Curve::X25519);
            assert_eq!(format!("{group:?}"), format!("{:?}", curve.group()));
        }
    }

    #[test]
    fn keys_and_secrets_of_the_wrong_length_from_the_library_are_errors() {
        for curve in CURVES {
            let good = ToyCurve::new(curve);
            let share = share(curve, 0);
            for public_key_len in [0, curve.share_len() - 1, curve.share_len() + 1] {
                let group = EcdhGroup(ToyCurve {
                    public_key_len,
                    ..good
                });
                assert!(matches!(group.start(), Err(Error::General(_))));
                let done = group.start_and_complete(&share);
                assert!(matches!(done, Err(Error::General(_))));
            }
            for secret_len in [0, curve.coordinate_len() - 1] {
                let group = EcdhGroup(ToyCurve { secret_len, ..good });
                let done = group.start().unwrap().complete(&share);
                assert!(matches!(done, Err(Error::General(_))));
                let done = group.start_and_complete(&share);
                assert!(matches!(done, Err(Error::General(_))));
            }
        }
        let group = EcdhGroup(ToyCurve {
            secret_len: 31,
            ..ToyCurve::new(Curve::X25519)
        });
        let text = group.start_and_complete(&[0; 32]).err().unwrap();
        let expected = "the library made a secret of 31 bytes for X25519, which takes 32";
        assert_eq!(format!("{text}"), format!("unexpected error: {expected}"));
    }

    #[test]
    fn shares_of_the_wrong_length_or_form_or_off_the_curve_are_rejected() {
        let refused = Err(PeerMisbehaved::InvalidKeyShare.into());
        for curve in CURVES {
            let good = share(curve, 1);
            assert!(complete(curve, &good).is_ok());
            assert_eq!(complete(curve, &share(curve, 0xbb)), refused);
            for len in [0, 1, good.len() - 1, good.len() + 1, 2 * good.len()] {
                let mut other = good.clone();
                other.resize(len, 4);
                assert_eq!(complete(curve, &other), refused, "{curve:?}, {len} bytes");
            }
            for form in (0..=255)
                .filter(|form| *form != 4)
                .step_by(if cfg!(miri) { 85 } else { 1 })
            {
                let mut other = good.clone();
                other[0] = form;
                let is_x25519 = curve == Curve::X25519;
                assert_eq!(complete(curve, &other).is_ok(), is_x25519, "{curve:?}");
            }
        }
    }

    #[test]
    fn an_all_zero_secret_of_x25519_is_rejected() {
        let refused = Err(PeerMisbehaved::InvalidKeyShare.into());
        assert_eq!(complete(Curve::X25519, &[0; 32]), refused);
        for at in 0..32 {
            let mut share = [0; 32];
            share[at] = 1;
            assert!(complete(Curve::X25519, &share).is_ok());
        }
        // zero is a valid x-coordinate on a NIST curve
        let mut share = share(Curve::Secp256r1, 0);
        share[1..].fill(0);
        assert!(complete(Curve::Secp256r1, &share).is_ok());
    }
}
