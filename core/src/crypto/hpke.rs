//! Hybrid Public Key Encryption (RFC 9180), base mode, implemented by a provider.
//!
//! Encrypted Client Hello uses it. A provider need not support it. Providers that do can implement
//! [`Hpke`] with [`HpkeBase`](crate::blocks::HpkeBase).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;

use zeroize::Zeroize;

use crate::ech_config::HpkeSymmetricCipherSuite;
use crate::enums::HpkeKem;
use crate::error::Error;

/// A combination of a KEM, a KDF and an AEAD (RFC 9180 §7).
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
    /// The receiver must also know `info` and `aad`. Returns the encapsulated key, and ciphertext ‖
    /// tag.
    ///
    /// # Errors
    ///
    /// Fails if `pub_key` is not valid for the KEM, or if the cryptography fails.
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
    /// Fails if `pub_key` is not valid for the KEM, or if the cryptography fails.
    fn setup_sealer(
        &self,
        info: &[u8],
        pub_key: &HpkePublicKey,
    ) -> Result<(EncapsulatedSecret, Box<dyn HpkeSealer + 'static>), Error>;

    /// Decrypts one message (RFC 9180 §6.1, `OpenBase`).
    ///
    /// # Errors
    ///
    /// Fails if a key is not valid for the KEM, if the message is not authentic under `info` and
    /// `aad`, or if the cryptography fails.
    fn open(
        &self,
        enc: &EncapsulatedSecret,
        info: &[u8],
        aad: &[u8],
        ciphertext: &[u8],
        secret_key: &HpkePrivateKey,
    ) -> Result<Vec<u8>, Error>;

    /// Starts a context that decrypts the messages from one sealing context (`SetupBaseR`).
    ///
    /// # Errors
    ///
    /// Fails if a key is not valid for the KEM, or if the cryptography fails.
    fn setup_opener(
        &self,
        enc: &EncapsulatedSecret,
        info: &[u8],
        secret_key: &HpkePrivateKey,
    ) -> Result<Box<dyn HpkeOpener + 'static>, Error>;

    /// Generates a key pair for the KEM.
    ///
    /// # Errors
    ///
    /// Fails if there is no randomness, or if the cryptography fails.
    fn generate_key_pair(&self) -> Result<(HpkePublicKey, HpkePrivateKey), Error>;

    /// True if this implementation is FIPS-approved. The default is false.
    fn fips(&self) -> bool {
        false
    }

    /// Returns the suite of this implementation.
    fn suite(&self) -> HpkeSuite;
}

/// The context of a sender, which numbers the messages (RFC 9180 §5.2).
pub trait HpkeSealer: Debug + Send + Sync + 'static {
    /// Encrypts the next message. Returns ciphertext ‖ tag.
    ///
    /// # Errors
    ///
    /// Fails if the cryptography fails, or if the message counter is used up.
    fn seal(&mut self, aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, Error>;
}

/// The context of a receiver. Messages must come in the order in which they were sealed (RFC 9180
/// §5.2).
pub trait HpkeOpener: Debug + Send + Sync + 'static {
    /// Decrypts the next message.
    ///
    /// # Errors
    ///
    /// Fails if the message is not authentic or not the next one, or if the message counter is used
    /// up.
    fn open(&mut self, aad: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Error>;
}

/// A serialized public key (RFC 9180 §4, `SerializePublicKey`).
#[derive(Clone, Debug)]
pub struct HpkePublicKey(pub Vec<u8>);

/// A serialized private key (RFC 9180 §4, `SerializePrivateKey`). Zeroized on drop.
pub struct HpkePrivateKey(Vec<u8>);

impl HpkePrivateKey {
    /// Returns the bytes of the key.
    pub fn secret_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Clamps the 32 bytes of an X25519 key, as `SerializePrivateKey` must (RFC 9180 §7.1.2, RFC
    /// 7748 §5).
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

/// A key pair of the KEM.
pub struct HpkeKeyPair {
    /// The public half.
    pub public_key: HpkePublicKey,

    /// The secret half.
    pub private_key: HpkePrivateKey,
}

/// The encapsulated key that a sender transmits (`enc` in RFC 9180 §4). It is public.
#[derive(Debug)]
pub struct EncapsulatedSecret(pub Vec<u8>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_keeps_its_bytes() {
        assert_eq!(
            HpkePrivateKey::from(alloc::vec![1, 2]).secret_bytes(),
            [1, 2]
        );
    }
}
