//! Diffie-Hellman over an elliptic curve.

use aws_lc_rs::agreement::{self, EphemeralPrivateKey, PublicKey, UnparsedPublicKey};
use aws_lc_rs::rand::SystemRandom;
use rustls_core::blocks::{Curve, Ecdh};
use rustls_core::crypto::{GetRandomFailed, SharedSecret};

/// A curve over aws-lc-rs.
#[derive(Clone, Copy)]
pub(super) struct AwsLcCurve(pub(super) Curve, pub(super) &'static agreement::Algorithm);

impl Ecdh for AwsLcCurve {
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
        agreement::agree_ephemeral(private_key, peer, (), |secret| Ok(secret.into())).ok()
    }

    fn fips(&self) -> bool {
        crate::is_fips_module()
    }
}
