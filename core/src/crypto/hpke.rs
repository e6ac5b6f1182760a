//! Hybrid Public Key Encryption (RFC 9180), base mode, as a provider offers it.
//!
//! Encrypted Client Hello uses it. A provider without HPKE simply offers no [`Hpke`]; others have it ready-made in
//! [`HpkeBase`](crate::blocks::HpkeBase).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;

use zeroize::Zeroize;

use crate::ech_config::HpkeSymmetricCipherSuite;
use crate::enums::HpkeKem;
use crate::error::Error;

/// A KEM, a KDF and an AEAD that work together (RFC 9180 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpkeSuite {
    /// The key encapsulation mechanism.
    pub kem: HpkeKem,

    /// The KDF and the AEAD.
    pub sym: HpkeSymmetricCipherSuite,
}

/// HPKE in base mode (RFC 9180 §5.1.1) with one suite.
pub trait Hpke: Debug + Send + Sync {
    /// Encrypts one message to `pub_key` (RFC 9180 §6.1, `SealBase`).
    ///
    /// `info` and `aad` must be known to the receiver too. Returned are the encapsulated key and
    /// ciphertext ‖ tag.
    ///
    /// # Errors
    ///
    /// `pub_key` is not valid for the KEM, or the cryptography failed.
    fn seal(
        &self,
        info: &[u8],
        aad: &[u8],
        plaintext: &[u8],
        pub_key: &HpkePublicKey,
    ) -> Result<(EncapsulatedSecret, Vec<u8>), Error>;

    /// Starts a context that encrypts several messages to `pub_key` (`SetupBaseS`).
    ///
    /// # Errors
    ///
    /// `pub_key` is not valid for the KEM, or the cryptography failed.
    fn setup_sealer(
        &self,
        info: &[u8],
        pub_key: &HpkePublicKey,
    ) -> Result<(EncapsulatedSecret, Box<dyn HpkeSealer + 'static>), Error>;

    /// Decrypts one message (RFC 9180 §6.1, `OpenBase`).
    ///
    /// # Errors
    ///
    /// A key is not valid for the KEM, or the message is not authentic under `info` and `aad`.
    fn open(
        &self,
        enc: &EncapsulatedSecret,
        info: &[u8],
        aad: &[u8],
        ciphertext: &[u8],
        secret_key: &HpkePrivateKey,
    ) -> Result<Vec<u8>, Error>;

    /// Starts a context that decrypts the messages of one sealing context (`SetupBaseR`).
    ///
    /// # Errors
    ///
    /// A key is not valid for the KEM.
    fn setup_opener(
        &self,
        enc: &EncapsulatedSecret,
        info: &[u8],
        secret_key: &HpkePrivateKey,
    ) -> Result<Box<dyn HpkeOpener + 'static>, Error>;

    /// Makes a fresh key pair for the KEM.
    ///
    /// # Errors
    ///
    /// Key generation failed.
    fn generate_key_pair(&self) -> Result<(HpkePublicKey, HpkePrivateKey), Error>;

    /// True when this implementation is FIPS-approved. False unless overridden.
    fn fips(&self) -> bool {
        false
    }

    /// The suite that this implements.
    fn suite(&self) -> HpkeSuite;
}

/// A sender's context: it numbers the messages (RFC 9180 §5.2).
pub trait HpkeSealer: Debug + Send + Sync + 'static {
    /// Encrypts the next message and returns ciphertext ‖ tag.
    ///
    /// # Errors
    ///
    /// The cryptography failed, or the message counter is used up.
    fn seal(&mut self, aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, Error>;
}

/// A receiver's context: it expects the messages in the order of their sealing (RFC 9180 §5.2).
pub trait HpkeOpener: Debug + Send + Sync + 'static {
    /// Decrypts the next message.
    ///
    /// # Errors
    ///
    /// The message is not authentic, not the next one, or the message counter is used up.
    fn open(&mut self, aad: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Error>;
}

/// A serialized public key (RFC 9180 §4, `SerializePublicKey`).
#[derive(Clone, Debug)]
pub struct HpkePublicKey(pub Vec<u8>);

/// A serialized private key (RFC 9180 §4, `SerializePrivateKey`). Zeroized on drop.
pub struct HpkePrivateKey(Vec<u8>);

impl HpkePrivateKey {
    /// The key itself.
    pub fn secret_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Clamps the 32 bytes of an X25519 key, as `SerializePrivateKey` must (RFC 9180 §7.1.2, RFC 7748 §5).
    pub(crate) fn clamp_x25519(&mut self) {
        if let [first, .., last] = &mut self.0[..] {
            *first &= 0b1111_1000;
            *last = *last & 0b0111_1111 | 0b0100_0000;
        }
    }
}

impl Drop for HpkePrivateKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl From<Vec<u8>> for HpkePrivateKey {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

/// Both halves of a key.
pub struct HpkeKeyPair {
    /// The half to publish.
    pub public_key: HpkePublicKey,

    /// The half to keep.
    pub private_key: HpkePrivateKey,
}

/// The encapsulated key that a sender transmits (`enc` in RFC 9180 §4). It is public.
#[derive(Debug)]
pub struct EncapsulatedSecret(pub Vec<u8>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_key_is_what_it_was_made_of() {
        assert_eq!(
            HpkePrivateKey::from(alloc::vec![1, 2]).secret_bytes(),
            [1, 2]
        );
    }
}
