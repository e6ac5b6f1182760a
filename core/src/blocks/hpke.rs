//! HPKE in base mode (RFC 9180 §5.1.1) over a library's Diffie-Hellman, hash function and AEAD.
//!
//! ```text
//!   sender                                         receiver
//!   skE, pkR ──► DH(skE, pkR)    the same bytes    DH(skR, pkE) ◄── enc = pkE, skR
//!                     │                                 │
//!                     └───────► ExtractAndExpand ◄──────┘   (§4.1)
//!                                      │
//!                                shared_secret, info
//!                                      │
//!                                 KeySchedule (§5.1)
//!                                      │
//!                               key, base_nonce ──► ContextS, ContextR (§5.2)
//! ```
//!
//! [`Hpke`] excludes the secret export interface (§5.3), so `exporter_secret` is never derived.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use subtle::ConstantTimeEq;

use super::ecdh::{Curve, check_len};
use super::hash::HashFunction;
use crate::crypto::aead::{AeadAlgorithm, OpeningKey, SealingKey, TAG_LEN};
use crate::crypto::cipher::{AeadKey, Iv, NONCE_LEN, Nonce};
use crate::crypto::hash::HashAlgorithm;
use crate::crypto::hmac::{Key, Tag};
use crate::crypto::hpke::{
    EncapsulatedSecret, Hpke, HpkeOpener, HpkePrivateKey, HpkePublicKey, HpkeSealer, HpkeSuite,
};
use crate::crypto::tls13::{HkdfExpander, HkdfExpanderUsingHmac, OkmBlock, expand};
use crate::crypto::{GetRandomFailed, SharedSecret, with_deep_stack_erased};
use crate::ech_config::HpkeSymmetricCipherSuite;
use crate::enums::{HpkeAead, HpkeKdf, HpkeKem};
use crate::error::{Error, OtherError};

/// Diffie-Hellman over one curve with serialisable keys, implemented with a crypto library.
///
/// Unlike the keys of [`Ecdh`](super::Ecdh), these can be serialised and reused.
pub trait HpkeDh: Send + Sync + 'static {
    /// The hash function of the KEM (RFC 9180 §7.1): SHA-256 for X25519 and P-256, SHA-384 for
    /// P-384, SHA-512 for P-521.
    type Hash: HashFunction;

    /// A private key. It is zeroized on drop.
    type PrivateKey;

    /// The curve of this implementation.
    const CURVE: Curve;

    /// Generates a private key.
    ///
    /// # Errors
    ///
    /// Returns [`GetRandomFailed`] if the library has no randomness.
    fn generate() -> Result<Self::PrivateKey, GetRandomFailed>;

    /// Reads a private key (RFC 9180 §7.1.2): the big-endian number, or the 32 bytes of X25519,
    /// clamped or not. Returns `None` if the number is zero or not below the order of the curve, or
    /// if the library fails.
    ///
    /// The length has already been checked.
    fn from_bytes(bytes: &[u8]) -> Option<Self::PrivateKey>;

    /// Returns the bytes of `key`, with the length that [`Self::from_bytes`] takes; `None` if the
    /// library fails. The caller clamps X25519 keys.
    fn to_bytes(key: &Self::PrivateKey) -> Option<HpkePrivateKey>;

    /// Returns the public key of `key`: an uncompressed point, or the 32 bytes of X25519. Returns
    /// `None` if the library fails.
    fn public_key(key: &Self::PrivateKey) -> Option<Vec<u8>>;

    /// Returns the shared secret: the x-coordinate of the shared point. Returns `None` if `peer` is
    /// not a point on the curve, if the shared point is the point at infinity, or if the library
    /// fails.
    ///
    /// The length and format of `peer` have already been checked. For X25519, an all-zero secret
    /// may be returned; the caller rejects it.
    fn agree(key: &Self::PrivateKey, peer: &[u8]) -> Option<SharedSecret>;

    /// True if the library is FIPS-approved, regardless of the curve.
    fn fips() -> bool {
        false
    }
}

/// An [`Hpke`] suite: a KEM over `D`, HKDF with the hash function `H`, and the AEAD `A`.
///
/// A failure is an [`Error::Other`] with an [`HpkeError`] inside, or
/// [`Error::FailedToGetRandomBytes`]. If the library returns a key or a secret with the wrong
/// length, the failure is an [`Error::General`].
pub struct HpkeBase<D, H, A>(PhantomData<(D, H, A)>);

impl<D: HpkeDh, H: HashFunction, A: AeadAlgorithm> HpkeBase<D, H, A> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);

    const KEM: HpkeKem = match (D::CURVE, D::Hash::ALGORITHM) {
        (Curve::Secp256r1, HashAlgorithm::SHA256) => HpkeKem::DHKEM_P256_HKDF_SHA256,
        (Curve::Secp384r1, HashAlgorithm::SHA384) => HpkeKem::DHKEM_P384_HKDF_SHA384,
        (Curve::Secp521r1, HashAlgorithm::SHA512) => HpkeKem::DHKEM_P521_HKDF_SHA512,
        (Curve::X25519, HashAlgorithm::SHA256) => HpkeKem::DHKEM_X25519_HKDF_SHA256,
        _ => panic!("no KEM of RFC 9180 §7.1"),
    };

    const KDF: HpkeKdf = match H::ALGORITHM {
        HashAlgorithm::SHA256 => HpkeKdf::HKDF_SHA256,
        HashAlgorithm::SHA384 => HpkeKdf::HKDF_SHA384,
        HashAlgorithm::SHA512 => HpkeKdf::HKDF_SHA512,
        _ => panic!("no KDF of RFC 9180 §7.2"),
    };

    const AEAD: HpkeAead = A::CIPHER
        .properties()
        .hpke
        .expect("no AEAD of RFC 9180 §7.3");

    /// `Nsk` of RFC 9180 §7.1: the length of a private key in bytes.
    const PRIVATE_KEY_LEN: usize = D::CURVE.coordinate_len();

    /// Runs `SetupBaseS` with the key pair `ephemeral`. Returns the encapsulated key for the
    /// receiver, and the sender's context.
    fn sender(
        info: &[u8],
        receiver: &HpkePublicKey,
        ephemeral: &D::PrivateKey,
    ) -> Result<(EncapsulatedSecret, Sealer<A>), Error> {
        let enc = Self::public_key(ephemeral)?;
        // RFC 9180 §4.1, Encap
        let dh = Self::diffie_hellman(ephemeral, &receiver.0)?;
        let shared_secret = Self::extract_and_expand(&dh, &enc, &receiver.0);
        let (key, sequence) = Self::key_schedule(&shared_secret, info);
        let sealer = Sealer {
            key: A::sealing_key(&key),
            sequence,
        };
        Ok((EncapsulatedSecret(enc), sealer))
    }

    /// Runs `SetupBaseR`.
    fn receiver(
        enc: &EncapsulatedSecret,
        info: &[u8],
        secret_key: &HpkePrivateKey,
    ) -> Result<Opener<A>, Error> {
        let secret_key = Self::deserialize_private_key(secret_key)?;
        let public_key = Self::public_key(&secret_key)?;
        // RFC 9180 §4.1, Decap
        let dh = Self::diffie_hellman(&secret_key, &enc.0)?;
        let shared_secret = Self::extract_and_expand(&dh, &enc.0, &public_key);
        let (key, sequence) = Self::key_schedule(&shared_secret, info);
        Ok(Opener {
            key: A::opening_key(&key),
            sequence,
        })
    }

    /// Runs `DeserializePrivateKey` (RFC 9180 §7.1.2).
    fn deserialize_private_key(key: &HpkePrivateKey) -> Result<D::PrivateKey, HpkeError> {
        let bytes = key.secret_bytes();
        if bytes.len() != Self::PRIVATE_KEY_LEN {
            return Err(HpkeError::InvalidPrivateKey);
        }
        D::from_bytes(bytes).ok_or(HpkeError::InvalidPrivateKey)
    }

    /// Returns the public key of `key`: `SerializePublicKey` of RFC 9180 §7.1.1.
    fn public_key(key: &D::PrivateKey) -> Result<Vec<u8>, Error> {
        let public_key = D::public_key(key).ok_or(HpkeError::InvalidPrivateKey)?;
        let group = D::CURVE.group();
        check_len(group, "public key", &public_key, D::CURVE.share_len())?;
        Ok(public_key)
    }

    /// Runs `DH`, with the validation that RFC 9180 §7.1.4 requires.
    fn diffie_hellman(key: &D::PrivateKey, peer: &[u8]) -> Result<SharedSecret, Error> {
        if !D::CURVE.encodes(peer) {
            return Err(HpkeError::InvalidPublicKey.into());
        }
        let secret = D::agree(key, peer).ok_or(HpkeError::InvalidPublicKey)?;
        D::CURVE.check_secret(&secret)?;
        // RFC 9180 §7.1.4: reject an all-zero result of X25519
        if D::CURVE == Curve::X25519 && bool::from(secret.secret_bytes().ct_eq(&[0; 32])) {
            return Err(HpkeError::InvalidPublicKey.into());
        }
        Ok(secret)
    }

    /// Runs `ExtractAndExpand` (RFC 9180 §4.1). `Nsecret` is the length of the KEM's hash.
    fn extract_and_expand(dh: &SharedSecret, enc: &[u8], receiver: &[u8]) -> OkmBlock {
        let [k0, k1] = Self::KEM.to_array();
        let suite_id = [b'K', b'E', b'M', k0, k1];
        let kdf = Labeled::<D::Hash>::new(&suite_id);
        kdf.extract(&[], b"eae_prk", dh.secret_bytes())
            .expand_block(b"shared_secret", &[enc, receiver])
    }

    /// Runs `KeySchedule` for `mode_base` (RFC 9180 §5.1), in which `psk` and `psk_id` are empty.
    fn key_schedule(shared_secret: &OkmBlock, info: &[u8]) -> (AeadKey, Sequence) {
        const MODE_BASE: u8 = 0;
        let [k0, k1] = Self::KEM.to_array();
        let [d0, d1] = Self::KDF.to_array();
        let [a0, a1] = Self::AEAD.to_array();
        let suite_id = [b'H', b'P', b'K', b'E', k0, k1, d0, d1, a0, a1];
        let kdf = Labeled::<H>::new(&suite_id);

        let psk_id_hash = kdf.extract(&[], b"psk_id_hash", b"").prk;
        let info_hash = kdf.extract(&[], b"info_hash", info).prk;
        let context = [&[MODE_BASE], psk_id_hash.as_ref(), info_hash.as_ref()];

        let secret = kdf.extract(shared_secret.as_ref(), b"secret", b"");
        let key_len = A::CIPHER.key_len();
        // expanding more and truncating yields the same key: only the length in the label matters
        let key = secret
            .expand::<AeadKey, { AeadKey::MAX_LEN }>(b"key", &context, key_len)
            .with_length(key_len);
        let base_nonce = secret.expand::<Iv, NONCE_LEN>(b"base_nonce", &context, NONCE_LEN);
        (key, Sequence::new(base_nonce))
    }
}

impl<D: HpkeDh, H: HashFunction, A: AeadAlgorithm> Hpke for HpkeBase<D, H, A> {
    fn seal(
        &self,
        info: &[u8],
        aad: &[u8],
        plaintext: &[u8],
        pub_key: &HpkePublicKey,
    ) -> Result<(EncapsulatedSecret, Vec<u8>), Error> {
        with_deep_stack_erased(|| -> Result<_, Error> {
            let (enc, mut sealer) = Self::sender(info, pub_key, &D::generate()?)?;
            Ok((enc, sealer.seal(aad, plaintext)?))
        })
    }

    fn setup_sealer(
        &self,
        info: &[u8],
        pub_key: &HpkePublicKey,
    ) -> Result<(EncapsulatedSecret, Box<dyn HpkeSealer + 'static>), Error> {
        with_deep_stack_erased(|| -> Result<(_, Box<dyn HpkeSealer>), Error> {
            let (enc, sealer) = Self::sender(info, pub_key, &D::generate()?)?;
            Ok((enc, Box::new(sealer)))
        })
    }

    fn open(
        &self,
        enc: &EncapsulatedSecret,
        info: &[u8],
        aad: &[u8],
        ciphertext: &[u8],
        secret_key: &HpkePrivateKey,
    ) -> Result<Vec<u8>, Error> {
        with_deep_stack_erased(|| Self::receiver(enc, info, secret_key)?.open(aad, ciphertext))
    }

    fn setup_opener(
        &self,
        enc: &EncapsulatedSecret,
        info: &[u8],
        secret_key: &HpkePrivateKey,
    ) -> Result<Box<dyn HpkeOpener + 'static>, Error> {
        with_deep_stack_erased(|| -> Result<Box<dyn HpkeOpener>, Error> {
            Ok(Box::new(Self::receiver(enc, info, secret_key)?))
        })
    }

    fn generate_key_pair(&self) -> Result<(HpkePublicKey, HpkePrivateKey), Error> {
        let key = D::generate()?;
        let public_key = Self::public_key(&key)?;
        let mut private_key = D::to_bytes(&key).ok_or(HpkeError::InvalidPrivateKey)?;
        let secret = private_key.secret_bytes();
        check_len(
            D::CURVE.group(),
            "private key",
            secret,
            Self::PRIVATE_KEY_LEN,
        )?;
        if D::CURVE == Curve::X25519 {
            private_key.clamp_x25519();
        }
        Ok((HpkePublicKey(public_key), private_key))
    }

    fn fips(&self) -> bool {
        D::CURVE != Curve::X25519 && D::fips() && D::Hash::fips() && H::fips() && A::fips()
    }

    fn suite(&self) -> HpkeSuite {
        HpkeSuite {
            kem: Self::KEM,
            sym: HpkeSymmetricCipherSuite {
                kdf_id: Self::KDF,
                aead_id: Self::AEAD,
            },
        }
    }
}

impl<D: HpkeDh, H: HashFunction, A: AeadAlgorithm> fmt::Debug for HpkeBase<D, H, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.suite().fmt(f)
    }
}

/// `LabeledExtract` and `LabeledExpand` (RFC 9180 §4) with the hash function `H`.
struct Labeled<'a, H> {
    suite_id: &'a [u8],
    hash: PhantomData<H>,
}

impl<'a, H: HashFunction> Labeled<'a, H> {
    const VERSION: &'static [u8] = b"HPKE-v1";

    fn new(suite_id: &'a [u8]) -> Self {
        Self {
            suite_id,
            hash: PhantomData,
        }
    }

    /// Returns `LabeledExtract(salt, label, ikm)`.
    fn extract(&self, salt: &[u8], label: &[u8], ikm: &[u8]) -> LabeledPrk<'_, H> {
        // RFC 5869 §2.2: an absent salt is HashLen zeros, which HMAC pads to the same key as an
        // empty salt
        const ZEROS: &[u8] = &[0; 32];
        let salt = if salt.is_empty() { ZEROS } else { salt };
        let prk = H::hmac(salt).sign(&[Self::VERSION, self.suite_id, label, ikm]);
        LabeledPrk { kdf: self, prk }
    }
}

/// The pseudorandom key that [`Labeled::extract`] returns.
struct LabeledPrk<'a, H> {
    kdf: &'a Labeled<'a, H>,
    prk: Tag,
}

impl<H: HashFunction> LabeledPrk<'_, H> {
    /// Returns `LabeledExpand(prk, label, info, len)` as a `T` of `N` bytes. Only the first `len`
    /// are valid.
    fn expand<T, const N: usize>(&self, label: &[u8], info: &[&[u8]; 3], len: usize) -> T
    where
        T: From<[u8; N]>,
    {
        let len = (len as u16).to_be_bytes();
        let [mode, psk_id_hash, info_hash] = *info;
        let info = [
            &len,
            Labeled::<H>::VERSION,
            self.kdf.suite_id,
            label,
            mode,
            psk_id_hash,
            info_hash,
        ];
        expand::<T, N>(&self.expander(), &info)
    }

    /// Returns `LabeledExpand(prk, label, info, HashLen)`.
    fn expand_block(&self, label: &[u8], info: &[&[u8]; 2]) -> OkmBlock {
        let expander = self.expander();
        let len = (expander.hash_len() as u16).to_be_bytes();
        let [enc, receiver] = *info;
        expander.expand_block(&[
            &len,
            Labeled::<H>::VERSION,
            self.kdf.suite_id,
            label,
            enc,
            receiver,
        ])
    }

    fn expander(&self) -> HkdfExpanderUsingHmac<H::HmacKey> {
        HkdfExpanderUsingHmac::new(H::hmac(self.prk.as_ref()))
    }
}

/// `base_nonce`, and the sequence number of the next message (RFC 9180 §5.2).
struct Sequence {
    base_nonce: Iv,
    next: u64,
}

impl Sequence {
    fn new(base_nonce: Iv) -> Self {
        Self {
            base_nonce,
            next: 0,
        }
    }

    /// Returns the nonce for the next message. The last number is never used, so the counter cannot
    /// wrap.
    fn nonce(&self) -> Result<Nonce, HpkeError> {
        // RFC 9180 §5.2: fail before the sequence number overflows; ours is shorter than the nonce
        if self.next == u64::MAX {
            return Err(HpkeError::MessageLimitReached);
        }
        Ok(Nonce::new(&self.base_nonce, self.next))
    }

    /// Advances to the next message. Call this only after [`Self::nonce`] has succeeded.
    fn advance(&mut self) {
        self.next += 1;
    }
}

/// `ContextS` of RFC 9180 §5.2.
struct Sealer<A: AeadAlgorithm> {
    key: A::SealingKey,
    sequence: Sequence,
}

impl<A: AeadAlgorithm> HpkeSealer for Sealer<A> {
    fn seal(&mut self, aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, Error> {
        let nonce = self.sequence.nonce()?;
        let mut out = vec![0; plaintext.len() + TAG_LEN];
        self.key
            .seal(nonce, aad, plaintext, &[], &mut out)
            .map_err(|_| HpkeError::Seal)?;
        self.sequence.advance();
        Ok(out)
    }
}

impl<A: AeadAlgorithm> fmt::Debug for Sealer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer")
    }
}

/// `ContextR` of RFC 9180 §5.2.
struct Opener<A: AeadAlgorithm> {
    key: A::OpeningKey,
    sequence: Sequence,
}

impl<A: AeadAlgorithm> HpkeOpener for Opener<A> {
    /// A rejected message leaves the context unchanged.
    fn open(&mut self, aad: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Error> {
        let nonce = self.sequence.nonce()?;
        let mut text = ciphertext.to_vec();
        let len = self
            .key
            .open(nonce, aad, &mut text)
            .map_err(|_| HpkeError::Open)?;
        text.truncate(len);
        self.sequence.advance();
        Ok(text)
    }
}

impl<A: AeadAlgorithm> fmt::Debug for Opener<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

/// The reason for an HPKE failure (RFC 9180 §8.2), as the source of an [`Error::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HpkeError {
    /// A public or encapsulated key does not have the format or length that the KEM requires, is
    /// not a point on the curve, or yields a shared secret of zeros.
    InvalidPublicKey,
    /// A private key does not have the length that the KEM requires, or on a NIST curve, is not
    /// between 1 and the order minus 1. Or the library failed to encode it or its public key.
    InvalidPrivateKey,
    /// The library failed to encrypt the message.
    Seal,
    /// The message is not authentic, or not the next one in its context: the message, its `aad`,
    /// `info`, the encapsulated key or the private key is wrong.
    Open,
    /// The context has used up its message numbers; set up a new one.
    MessageLimitReached,
}

impl fmt::Display for HpkeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidPublicKey => "HPKE: the public or encapsulated key is not valid",
            Self::InvalidPrivateKey => "HPKE: the private key is not valid",
            Self::Seal => "HPKE: the message could not be encrypted",
            Self::Open => "HPKE: the message is not authentic, or not the next one",
            Self::MessageLimitReached => {
                "HPKE: the context has reached its number of messages; set up a new one"
            }
        })
    }
}

impl core::error::Error for HpkeError {}

impl From<HpkeError> for Error {
    fn from(error: HpkeError) -> Self {
        Self::Other(OtherError(Arc::new(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Computation;
    use crate::crypto::aead::InPlace;
    use crate::crypto::bulk_cipher::BulkCipher;
    use crate::crypto::hash::Output;
    use crate::crypto::hmac::Hmac;
    use crate::crypto::toy::{ToyAead, ToyHmac};

    struct ToyAlgorithm;

    impl AeadAlgorithm for ToyAlgorithm {
        type SealingKey = InPlace<ToyAead>;
        type OpeningKey = InPlace<ToyAead>;

        const CIPHER: BulkCipher = BulkCipher::Aes128Gcm;

        fn sealing_key(_: &AeadKey) -> Self::SealingKey {
            InPlace(ToyAead(1))
        }

        fn opening_key(_: &AeadKey) -> Self::OpeningKey {
            InPlace(ToyAead(1))
        }
    }

    fn contexts(next: u64) -> (Sealer<ToyAlgorithm>, Opener<ToyAlgorithm>) {
        let key = AeadKey::new(&[0; 16]);
        let sequence = || Sequence {
            base_nonce: Iv::new([7; NONCE_LEN]),
            next,
        };
        let sealer = Sealer {
            key: ToyAlgorithm::sealing_key(&key),
            sequence: sequence(),
        };
        let opener = Opener {
            key: ToyAlgorithm::opening_key(&key),
            sequence: sequence(),
        };
        (sealer, opener)
    }

    fn cause(error: Error) -> HpkeError {
        let Error::Other(OtherError(cause)) = error else {
            panic!("{error:?}");
        };
        *cause.downcast_ref().unwrap()
    }

    #[test]
    fn a_context_ends_before_its_sequence_number_wraps() {
        let (mut sealer, mut opener) = contexts(u64::MAX - 1);
        let sealed = sealer.seal(b"aad", b"the last").unwrap();
        assert_eq!(opener.open(b"aad", &sealed).unwrap(), b"the last");
        for _ in 0..2 {
            let refused = sealer.seal(b"aad", b"one more").unwrap_err();
            assert_eq!(cause(refused), HpkeError::MessageLimitReached);
            let refused = opener.open(b"aad", &sealed).unwrap_err();
            assert_eq!(cause(refused), HpkeError::MessageLimitReached);
        }
    }

    #[test]
    fn errors_name_their_cause() {
        let messages = [
            HpkeError::InvalidPublicKey,
            HpkeError::InvalidPrivateKey,
            HpkeError::Seal,
            HpkeError::Open,
            HpkeError::MessageLimitReached,
        ]
        .map(|error| alloc::format!("{}", Error::from(error)));
        for (i, message) in messages.iter().enumerate() {
            assert!(message.contains("HPKE: "), "{message}");
            assert!(!messages[..i].contains(message), "{message}");
        }
    }

    #[derive(Clone)]
    struct ToySha256;

    impl Computation for ToySha256 {
        fn update(&mut self, _: &[u8]) {}

        fn finish(self) -> Output {
            Output::new(&[0; 32])
        }
    }

    impl HashFunction for ToySha256 {
        type Context = Self;
        type HmacKey = Box<dyn Key>;

        const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA256;

        fn hash() -> Self {
            Self
        }

        fn hmac(key: &[u8]) -> Box<dyn Key> {
            ToyHmac.with_key(key)
        }
    }

    /// X25519 whose outputs have these lengths in bytes.
    struct ToyX25519<const PUBLIC_KEY: usize, const PRIVATE_KEY: usize, const SECRET: usize>;

    impl<const PUBLIC_KEY: usize, const PRIVATE_KEY: usize, const SECRET: usize> HpkeDh
        for ToyX25519<PUBLIC_KEY, PRIVATE_KEY, SECRET>
    {
        type Hash = ToySha256;
        type PrivateKey = ();

        const CURVE: Curve = Curve::X25519;

        fn generate() -> Result<(), GetRandomFailed> {
            Ok(())
        }

        fn from_bytes(_: &[u8]) -> Option<()> {
            Some(())
        }

        fn to_bytes((): &()) -> Option<HpkePrivateKey> {
            Some(vec![1; PRIVATE_KEY].into())
        }

        fn public_key((): &()) -> Option<Vec<u8>> {
            Some(vec![1; PUBLIC_KEY])
        }

        fn agree((): &(), _: &[u8]) -> Option<SharedSecret> {
            Some([1; SECRET][..].into())
        }
    }

    #[test]
    fn keys_and_secrets_of_the_wrong_length_from_the_library_are_errors() {
        /// Returns true for each call that fails: `setup_sealer`, `setup_opener`,
        /// `generate_key_pair`.
        fn failures<D: HpkeDh>() -> [bool; 3] {
            let hpke = HpkeBase::<D, ToySha256, ToyAlgorithm>::NEW;
            let (own, peer) = (HpkePrivateKey::from(vec![1; 32]), vec![1; 32]);
            let sender = hpke.setup_sealer(b"", &HpkePublicKey(peer.clone()));
            let receiver = hpke.setup_opener(&EncapsulatedSecret(peer), b"", &own);
            let errors = [sender.err(), receiver.err(), hpke.generate_key_pair().err()];
            errors.map(|error| matches!(error, Some(Error::General(_))))
        }

        assert_eq!(failures::<ToyX25519<32, 32, 32>>(), [false; 3]);
        assert_eq!(failures::<ToyX25519<31, 32, 32>>(), [true; 3]);
        assert_eq!(failures::<ToyX25519<33, 32, 32>>(), [true; 3]);
        assert_eq!(failures::<ToyX25519<32, 31, 32>>(), [false, false, true]);
        assert_eq!(failures::<ToyX25519<32, 33, 32>>(), [false, false, true]);
        assert_eq!(failures::<ToyX25519<32, 32, 31>>(), [true, true, false]);
        assert_eq!(failures::<ToyX25519<32, 32, 33>>(), [true, true, false]);
    }
}
