//! HPKE in base mode (RFC 9180) with Diffie-Hellman over the NIST curves and X25519.
//!
//! Contains the suites, under the names that rustls 0.23 uses, and Diffie-Hellman with serialisable
//! keys over aws-lc-rs. [`HpkeBase`] does everything else.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::encoding::{AsBigEndian, Curve25519SeedBin, EcPrivateKeyBin};
use rustls_core::blocks::{
    Aes128Gcm, Aes256Gcm, Chacha20Poly1305, Curve, HashFunction, HpkeBase, HpkeDh,
};
use rustls_core::crypto::hpke::{
    EncapsulatedSecret, Hpke, HpkeOpener, HpkePrivateKey, HpkePublicKey, HpkeSealer, HpkeSuite,
};
use rustls_core::crypto::{GetRandomFailed, SharedSecret};
use rustls_core::enums::{HpkeAead, HpkeKem};
use rustls_core::error::Error;

use crate::aead::AwsLc;
/// AES-GCM. A context's nonces increase as in TLS 1.3, so the FIPS keys for records also work here.
#[cfg(not(feature = "fips"))]
use crate::aead::AwsLc as Gcm;
#[cfg(feature = "fips")]
use crate::fips::Tls13Gcm as Gcm;
use crate::hash::{Sha256, Sha384, Sha512};

/// All suites in this module, ordered by the code points of their KEMs.
pub static ALL_SUPPORTED_SUITES: &[&dyn Hpke] = &[
    DH_KEM_P256_HKDF_SHA256_AES_128,
    DH_KEM_P256_HKDF_SHA256_AES_256,
    DH_KEM_P256_HKDF_SHA256_CHACHA20_POLY1305,
    DH_KEM_P384_HKDF_SHA384_AES_128,
    DH_KEM_P384_HKDF_SHA384_AES_256,
    DH_KEM_P384_HKDF_SHA384_CHACHA20_POLY1305,
    DH_KEM_P521_HKDF_SHA512_AES_128,
    DH_KEM_P521_HKDF_SHA512_AES_256,
    DH_KEM_P521_HKDF_SHA512_CHACHA20_POLY1305,
    DH_KEM_X25519_HKDF_SHA256_AES_128,
    DH_KEM_X25519_HKDF_SHA256_AES_256,
    DH_KEM_X25519_HKDF_SHA256_CHACHA20_POLY1305,
];

/// DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
pub static DH_KEM_P256_HKDF_SHA256_AES_128: &HpkeAwsLcRs<AES_128_KEY_LEN, SHA256_OUTPUT_LEN> =
    &HpkeAwsLcRs(&HpkeBase::<P256, Sha256, Gcm<Aes128Gcm>>::NEW);

/// DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-256-GCM.
pub static DH_KEM_P256_HKDF_SHA256_AES_256: &HpkeAwsLcRs<AES_256_KEY_LEN, SHA256_OUTPUT_LEN> =
    &HpkeAwsLcRs(&HpkeBase::<P256, Sha256, Gcm<Aes256Gcm>>::NEW);

/// DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305.
pub static DH_KEM_P256_HKDF_SHA256_CHACHA20_POLY1305: &HpkeAwsLcRs<
    CHACHA_KEY_LEN,
    SHA256_OUTPUT_LEN,
> = &HpkeAwsLcRs(&HpkeBase::<P256, Sha256, AwsLc<Chacha20Poly1305>>::NEW);

/// DHKEM(P-384, HKDF-SHA384), HKDF-SHA384, AES-128-GCM.
pub static DH_KEM_P384_HKDF_SHA384_AES_128: &HpkeAwsLcRs<AES_128_KEY_LEN, SHA384_OUTPUT_LEN> =
    &HpkeAwsLcRs(&HpkeBase::<P384, Sha384, Gcm<Aes128Gcm>>::NEW);

/// DHKEM(P-384, HKDF-SHA384), HKDF-SHA384, AES-256-GCM.
pub static DH_KEM_P384_HKDF_SHA384_AES_256: &HpkeAwsLcRs<AES_256_KEY_LEN, SHA384_OUTPUT_LEN> =
    &HpkeAwsLcRs(&HpkeBase::<P384, Sha384, Gcm<Aes256Gcm>>::NEW);

/// DHKEM(P-384, HKDF-SHA384), HKDF-SHA384, ChaCha20Poly1305.
pub static DH_KEM_P384_HKDF_SHA384_CHACHA20_POLY1305: &HpkeAwsLcRs<
    CHACHA_KEY_LEN,
    SHA384_OUTPUT_LEN,
> = &HpkeAwsLcRs(&HpkeBase::<P384, Sha384, AwsLc<Chacha20Poly1305>>::NEW);

/// DHKEM(P-521, HKDF-SHA512), HKDF-SHA512, AES-128-GCM.
pub static DH_KEM_P521_HKDF_SHA512_AES_128: &HpkeAwsLcRs<AES_128_KEY_LEN, SHA512_OUTPUT_LEN> =
    &HpkeAwsLcRs(&HpkeBase::<P521, Sha512, Gcm<Aes128Gcm>>::NEW);

/// DHKEM(P-521, HKDF-SHA512), HKDF-SHA512, AES-256-GCM.
pub static DH_KEM_P521_HKDF_SHA512_AES_256: &HpkeAwsLcRs<AES_256_KEY_LEN, SHA512_OUTPUT_LEN> =
    &HpkeAwsLcRs(&HpkeBase::<P521, Sha512, Gcm<Aes256Gcm>>::NEW);

/// DHKEM(P-521, HKDF-SHA512), HKDF-SHA512, ChaCha20Poly1305.
pub static DH_KEM_P521_HKDF_SHA512_CHACHA20_POLY1305: &HpkeAwsLcRs<
    CHACHA_KEY_LEN,
    SHA512_OUTPUT_LEN,
> = &HpkeAwsLcRs(&HpkeBase::<P521, Sha512, AwsLc<Chacha20Poly1305>>::NEW);

/// DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
pub static DH_KEM_X25519_HKDF_SHA256_AES_128: &HpkeAwsLcRs<AES_128_KEY_LEN, SHA256_OUTPUT_LEN> =
    &HpkeAwsLcRs(&HpkeBase::<X25519, Sha256, Gcm<Aes128Gcm>>::NEW);

/// DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM.
pub static DH_KEM_X25519_HKDF_SHA256_AES_256: &HpkeAwsLcRs<AES_256_KEY_LEN, SHA256_OUTPUT_LEN> =
    &HpkeAwsLcRs(&HpkeBase::<X25519, Sha256, Gcm<Aes256Gcm>>::NEW);

/// DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305.
pub static DH_KEM_X25519_HKDF_SHA256_CHACHA20_POLY1305: &HpkeAwsLcRs<
    CHACHA_KEY_LEN,
    SHA256_OUTPUT_LEN,
> = &HpkeAwsLcRs(&HpkeBase::<X25519, Sha256, AwsLc<Chacha20Poly1305>>::NEW);

const AES_128_KEY_LEN: usize = 16;
const AES_256_KEY_LEN: usize = 32;
const CHACHA_KEY_LEN: usize = 32;
const SHA256_OUTPUT_LEN: usize = 32;
const SHA384_OUTPUT_LEN: usize = 48;
const SHA512_OUTPUT_LEN: usize = 64;

/// HPKE over aws-lc-rs with one suite. Its AEAD takes keys of `KEY_SIZE` bytes, and the hash
/// function of its KDF returns outputs of `KDF_SIZE` bytes. The statics in this module are the only
/// values.
///
/// A failure is an [`Error::Other`] with an [`HpkeError`](rustls_core::blocks::HpkeError) inside,
/// or [`Error::FailedToGetRandomBytes`].
pub struct HpkeAwsLcRs<const KEY_SIZE: usize, const KDF_SIZE: usize>(&'static dyn Hpke);

impl<const KEY_SIZE: usize, const KDF_SIZE: usize> Hpke for HpkeAwsLcRs<KEY_SIZE, KDF_SIZE> {
    fn seal(
        &self,
        info: &[u8],
        aad: &[u8],
        plaintext: &[u8],
        pub_key: &HpkePublicKey,
    ) -> Result<(EncapsulatedSecret, Vec<u8>), Error> {
        self.0.seal(info, aad, plaintext, pub_key)
    }

    fn setup_sealer(
        &self,
        info: &[u8],
        pub_key: &HpkePublicKey,
    ) -> Result<(EncapsulatedSecret, Box<dyn HpkeSealer + 'static>), Error> {
        self.0.setup_sealer(info, pub_key)
    }

    fn open(
        &self,
        enc: &EncapsulatedSecret,
        info: &[u8],
        aad: &[u8],
        ciphertext: &[u8],
        secret_key: &HpkePrivateKey,
    ) -> Result<Vec<u8>, Error> {
        self.0.open(enc, info, aad, ciphertext, secret_key)
    }

    fn setup_opener(
        &self,
        enc: &EncapsulatedSecret,
        info: &[u8],
        secret_key: &HpkePrivateKey,
    ) -> Result<Box<dyn HpkeOpener + 'static>, Error> {
        self.0.setup_opener(enc, info, secret_key)
    }

    fn generate_key_pair(&self) -> Result<(HpkePublicKey, HpkePrivateKey), Error> {
        self.0.generate_key_pair()
    }

    /// True unless this suite uses X25519 or ChaCha20-Poly1305, which FIPS does not approve.
    ///
    /// This does not say that the library is the FIPS module, which
    /// [`CryptoProvider::fips`](rustls_core::provider::CryptoProvider::fips) reports.
    fn fips(&self) -> bool {
        let suite = self.suite();
        suite.kem != HpkeKem::DHKEM_X25519_HKDF_SHA256
            && suite.sym.aead_id != HpkeAead::CHACHA20_POLY_1305
    }

    fn suite(&self) -> HpkeSuite {
        self.0.suite()
    }
}

impl<const KEY_SIZE: usize, const KDF_SIZE: usize> fmt::Debug for HpkeAwsLcRs<KEY_SIZE, KDF_SIZE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.suite().fmt(f)
    }
}

/// Diffie-Hellman over `G` with serialisable keys.
pub(crate) struct Dh<G>(PhantomData<G>);

/// An aws-lc-rs curve, as a type.
pub(crate) trait Group: Send + Sync + 'static {
    /// The hash function of the KEM over this curve.
    type Hash: HashFunction;

    const CURVE: Curve;
    const ALGORITHM: &'static agreement::Algorithm;
}

impl<G: Group> HpkeDh for Dh<G> {
    type Hash = G::Hash;
    type PrivateKey = PrivateKey;

    const CURVE: Curve = G::CURVE;

    fn generate() -> Result<PrivateKey, GetRandomFailed> {
        PrivateKey::generate(G::ALGORITHM).map_err(|_| GetRandomFailed)
    }

    /// Reads a key. The library checks its range.
    fn from_bytes(bytes: &[u8]) -> Option<PrivateKey> {
        PrivateKey::from_private_key(G::ALGORITHM, bytes).ok()
    }

    fn to_bytes(key: &PrivateKey) -> Option<HpkePrivateKey> {
        // the library zeroizes its copy
        if G::CURVE == Curve::X25519 {
            let seed: Curve25519SeedBin<'_> = key.as_be_bytes().ok()?;
            return Some(seed.as_ref().to_vec().into());
        }
        let number: EcPrivateKeyBin<'_> = key.as_be_bytes().ok()?;
        Some(number.as_ref().to_vec().into())
    }

    fn public_key(key: &PrivateKey) -> Option<Vec<u8>> {
        Some(key.compute_public_key().ok()?.as_ref().to_vec())
    }

    /// RFC 9180 §7.1.4: the library validates the point.
    fn agree(key: &PrivateKey, peer: &[u8]) -> Option<SharedSecret> {
        let peer = UnparsedPublicKey::new(G::ALGORITHM, peer);
        agreement::agree(key, peer, (), |secret| Ok(secret.into())).ok()
    }

    fn fips() -> bool {
        crate::is_fips_module()
    }
}

pub(crate) type P256 = Dh<Secp256r1>;
pub(crate) type P384 = Dh<Secp384r1>;
pub(crate) type P521 = Dh<Secp521r1>;
pub(crate) type X25519 = Dh<Curve25519>;

pub(crate) struct Secp256r1;

impl Group for Secp256r1 {
    type Hash = Sha256;

    const CURVE: Curve = Curve::Secp256r1;
    const ALGORITHM: &'static agreement::Algorithm = &agreement::ECDH_P256;
}

pub(crate) struct Secp384r1;

impl Group for Secp384r1 {
    type Hash = Sha384;

    const CURVE: Curve = Curve::Secp384r1;
    const ALGORITHM: &'static agreement::Algorithm = &agreement::ECDH_P384;
}

pub(crate) struct Secp521r1;

impl Group for Secp521r1 {
    type Hash = Sha512;

    const CURVE: Curve = Curve::Secp521r1;
    const ALGORITHM: &'static agreement::Algorithm = &agreement::ECDH_P521;
}

pub(crate) struct Curve25519;

impl Group for Curve25519 {
    type Hash = Sha256;

    const CURVE: Curve = Curve::X25519;
    const ALGORITHM: &'static agreement::Algorithm = &agreement::X25519;
}
