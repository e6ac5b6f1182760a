//! Key exchange over elliptic curves.

use ring::agreement::{self, EphemeralPrivateKey, PublicKey, UnparsedPublicKey};
use ring::rand::SystemRandom;
use rustls_core::blocks::{Curve, Ecdh, EcdhGroup};
use rustls_core::crypto::{GetRandomFailed, SharedSecret, SupportedKxGroup};

/// X25519 (RFC 7748).
pub static X25519: &dyn SupportedKxGroup = &EcdhGroup(RingCurve(Curve::X25519, &agreement::X25519));

/// The NIST curve P-256.
pub static SECP256R1: &dyn SupportedKxGroup =
    &EcdhGroup(RingCurve(Curve::Secp256r1, &agreement::ECDH_P256));

/// The NIST curve P-384.
pub static SECP384R1: &dyn SupportedKxGroup =
    &EcdhGroup(RingCurve(Curve::Secp384r1, &agreement::ECDH_P384));

/// A curve over ring.
#[derive(Clone, Copy)]
struct RingCurve(Curve, &'static agreement::Algorithm);

impl Ecdh for RingCurve {
    type PrivateKey = EphemeralPrivateKey;
    type PublicKey = PublicKey;

    fn curve(&self) -> Curve {
        self.0
    }

    fn generate(&self) -> Result<(EphemeralPrivateKey, PublicKey), GetRandomFailed> {
        let private_key = EphemeralPrivateKey::generate(self.1, &SystemRandom::new())
            .map_err(|_| GetRandomFailed)?;
        let public_key = private_key
            .compute_public_key()
            .map_err(|_| GetRandomFailed)?;
        Ok((private_key, public_key))
    }

    /// RFC 9846 §4.3.8.2: the library validates the point.
    fn agree(&self, private_key: EphemeralPrivateKey, peer: &[u8]) -> Option<SharedSecret> {
        let peer = UnparsedPublicKey::new(self.1, peer);
        agreement::agree_ephemeral(private_key, &peer, |secret| secret.into()).ok()
    }
}
