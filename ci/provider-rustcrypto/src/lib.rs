//! A crypto provider over [RustCrypto], which is pure Rust. It is made of the building blocks in
//! [`rustls::crypto::blocks`].
//!
//! It shows how little code another library needs, and its tests show that the blocks are
//! sufficient. It has no RSA. Do not use it for anything else.
//!
//! [RustCrypto]: https://github.com/RustCrypto

use rustls::SupportedCipherSuite;
use rustls::crypto::blocks::{
    Aes128Gcm, Aes256Gcm, Chacha20Poly1305, Curve, EcdhGroup, KeyLoader, Tls12Suite, Tls13Suite,
};
use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom, SupportedKxGroup};

use self::aead::{AesMask, ChaCha20Mask, RustCrypto};
use self::hash::Sha;
use self::kx::{NistCurve, X25519};

mod aead;
mod hash;
mod kx;
mod sign;
#[cfg(test)]
mod tests;
mod verify;

/// Returns a provider of everything in this crate.
pub fn default_provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: ALL_CIPHER_SUITES.to_vec(),
        kx_groups: ALL_KX_GROUPS.to_vec(),
        signature_verification_algorithms: verify::SUPPORTED_SIG_ALGS,
        secure_random: &Random,
        key_provider: &KeyLoader::<sign::KeyPair>::NEW,
    }
}

type Aes128 = RustCrypto<Aes128Gcm, aes_gcm::Aes128Gcm, AesMask<aes::Aes128>>;
type Aes256 = RustCrypto<Aes256Gcm, aes_gcm::Aes256Gcm, AesMask<aes::Aes256>>;
type Chacha20 = RustCrypto<Chacha20Poly1305, chacha20poly1305::ChaCha20Poly1305, ChaCha20Mask>;
type Sha256 = Sha<sha2::Sha256>;
type Sha384 = Sha<sha2::Sha384>;

/// All cipher suites, most preferred first.
pub static ALL_CIPHER_SUITES: &[SupportedCipherSuite] = &[
    Tls13Suite::<Aes256, Sha384>::WITH_QUIC,
    Tls13Suite::<Aes128, Sha256>::WITH_QUIC,
    Tls13Suite::<Chacha20, Sha256>::WITH_QUIC,
    Tls12Suite::<Aes256, Sha384>::ECDHE_ECDSA,
    Tls12Suite::<Aes128, Sha256>::ECDHE_ECDSA,
    Tls12Suite::<Chacha20, Sha256>::ECDHE_ECDSA,
];

/// All key exchange groups, most preferred first.
pub static ALL_KX_GROUPS: &[&dyn SupportedKxGroup] = &[
    &EcdhGroup(X25519),
    &EcdhGroup(NistCurve::<p256::NistP256>::new(Curve::Secp256r1)),
    &EcdhGroup(NistCurve::<p384::NistP384>::new(Curve::Secp384r1)),
];

/// The operating system's randomness.
#[derive(Debug)]
struct Random;

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        getrandom::fill(buf).map_err(|_| GetRandomFailed)
    }
}
