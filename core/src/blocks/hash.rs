//! Transcript hash, HMAC and HKDF over a library's hash function.

use alloc::boxed::Box;
use core::marker::PhantomData;

use crate::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use crate::crypto::hmac::{Hmac, Key, Tag};
use crate::crypto::tls13::{Hkdf, HkdfExpander, HkdfExpanderUsingHmac, OkmBlock};

/// A library's hash function, and HMAC with it.
pub trait HashFunction: Send + Sync + 'static {
    /// A hash computation under way.
    type Context: Computation<Output>;

    /// An HMAC computation under way.
    type Hmac: Computation<Tag>;

    /// Which hash function this is: SHA-256, SHA-384 or SHA-512.
    const ALGORITHM: HashAlgorithm;

    /// Starts hashing.
    fn hash() -> Self::Context;

    /// Starts HMAC under `key`, which may have any length (RFC 2104 §2).
    fn hmac(key: &[u8]) -> Self::Hmac;

    /// True when this is a FIPS-approved implementation.
    fn fips() -> bool {
        false
    }
}

/// A computation over input that comes in pieces. A clone continues independently.
pub trait Computation<T>: Clone + Send + Sync + 'static {
    /// Adds `data` to the input.
    fn update(&mut self, data: &[u8]);

    /// The result over all the input.
    fn finish(self) -> T;
}

/// [`Hash`], [`Hmac`] and [`Hkdf`] over the hash function `H` of a library.
///
/// Like [`HkdfUsingHmac`](crate::crypto::tls13::HkdfUsingHmac), except that a key used only once stays on the
/// stack and an expander takes one allocation instead of two, or none where it is used
/// at once. That saves more than twenty allocations in a handshake.
pub struct Hashing<H>(PhantomData<H>);

impl<H: HashFunction> Hashing<H> {
    /// The one value of this type.
    pub const NEW: Self = Self(PhantomData);

    /// Length in bytes of the hash function's output.
    const OUTPUT_LEN: usize = match H::ALGORITHM {
        HashAlgorithm::SHA256 => 32,
        HashAlgorithm::SHA384 => 48,
        HashAlgorithm::SHA512 => 64,
        _ => panic!("no hash function of TLS 1.2 or TLS 1.3"),
    };

    /// `HashLen` zero bytes: RFC 5869 §2.2, RFC 9846 §7.1.
    const ZEROS: &'static [u8] = [0; Tag::MAX_LEN].split_at(Self::OUTPUT_LEN).0;

    fn key(key: &[u8]) -> HmacKey<H> {
        HmacKey(H::hmac(key))
    }
}

impl<H: HashFunction> Hash for Hashing<H> {
    fn start(&self) -> Box<dyn Context> {
        Box::new(HashContext(H::hash()))
    }

    fn hash(&self, data: &[u8]) -> Output {
        let mut context = H::hash();
        context.update(data);
        context.finish()
    }

    fn output_len(&self) -> usize {
        Self::OUTPUT_LEN
    }

    fn algorithm(&self) -> HashAlgorithm {
        H::ALGORITHM
    }

    fn fips(&self) -> bool {
        H::fips()
    }
}

struct HashContext<C>(C);

impl<C: Computation<Output>> Context for HashContext<C> {
    fn fork_finish(&self) -> Output {
        self.0.clone().finish()
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Output {
        self.0.finish()
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}

impl<H: HashFunction> Hmac for Hashing<H> {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        Box::new(Self::key(key))
    }

    fn hash_output_len(&self) -> usize {
        Self::OUTPUT_LEN
    }

    fn fips(&self) -> bool {
        H::fips()
    }
}

/// A [`Key`] of HMAC with the hash function `H`.
pub struct HmacKey<H: HashFunction>(H::Hmac);

impl<H: HashFunction> Key for HmacKey<H> {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut hmac = self.0.clone();
        let pieces = [first]
            .into_iter()
            .chain(middle.iter().copied())
            .chain([last]);
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            hmac.update(piece);
        }
        hmac.finish()
    }

    fn tag_len(&self) -> usize {
        Hashing::<H>::OUTPUT_LEN
    }
}

impl<H: HashFunction> Hkdf for Hashing<H> {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.extract_from_secret(salt, Self::ZEROS)
    }

    /// RFC 5869 §2.2: `PRK = HMAC(salt, IKM)`.
    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        let mut hmac = H::hmac(salt.unwrap_or(Self::ZEROS));
        hmac.update(secret);
        let prk = hmac.finish();
        Box::new(HkdfExpanderUsingHmac::new(Self::key(prk.as_ref())))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(HkdfExpanderUsingHmac::new(Self::key(okm.as_ref())))
    }

    fn with_expander(&self, okm: &OkmBlock, expand: &mut dyn FnMut(&dyn HkdfExpander)) {
        expand(&HkdfExpanderUsingHmac::new(Self::key(okm.as_ref())));
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        let mut hmac = H::hmac(key.as_ref());
        hmac.update(message);
        hmac.finish()
    }

    fn fips(&self) -> bool {
        H::fips()
    }
}
