//! ML-KEM (FIPS 203).

use alloc::vec::Vec;

use aws_lc_rs::kem::{self, Ciphertext, EncapsulationKey, SharedSecret};
use rustls_core::blocks::{Kem, KemParameters};
use rustls_core::crypto::GetRandomFailed;

/// ML-KEM over aws-lc-rs.
#[derive(Clone, Copy)]
pub(super) struct AwsLcKem(
    pub(super) KemParameters,
    pub(super) &'static kem::Algorithm<kem::AlgorithmId>,
);

impl Kem for AwsLcKem {
    type DecapsulationKey = kem::DecapsulationKey<kem::AlgorithmId>;
    type Ciphertext = Ciphertext<'static>;
    type Secret = SharedSecret;

    fn parameters(&self) -> KemParameters {
        self.0
    }

    fn generate(&self) -> Result<(Self::DecapsulationKey, Vec<u8>), GetRandomFailed> {
        let key = kem::DecapsulationKey::generate(self.1).map_err(|_| GetRandomFailed)?;
        let public_key = key
            .encapsulation_key()
            .and_then(|key| Ok(key.key_bytes()?.as_ref().to_vec()))
            .map_err(|_| GetRandomFailed)?;
        Ok((key, public_key))
    }

    /// The library checks the key's coefficients when it encapsulates.
    fn encapsulate(&self, peer: &[u8]) -> Option<(Ciphertext<'static>, SharedSecret)> {
        EncapsulationKey::new(self.1, peer).ok()?.encapsulate().ok()
    }

    fn decapsulate(&self, key: Self::DecapsulationKey, ciphertext: &[u8]) -> Option<SharedSecret> {
        key.decapsulate(Ciphertext::from(ciphertext)).ok()
    }

    fn fips(&self) -> bool {
        crate::is_fips_module()
    }
}
