//! Transcript hash, HMAC and HKDF over a library's hash function.

use alloc::boxed::Box;
use core::marker::PhantomData;

use crate::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use crate::crypto::hmac::{Hmac, Key, Tag};
use crate::crypto::tls12::{PreparedHmac, PreparedSecret, Prf, p_hash};
use crate::crypto::tls13::{Hkdf, HkdfExpander, HkdfExpanderUsingHmac, OkmBlock};

/// A library's hash function, and HMAC with it.
pub trait HashFunction: Sized + Send + Sync + 'static {
    /// A running hash computation.
    type Context: Computation;

    /// HMAC under one key.
    type HmacKey: Key + 'static;

    /// The hash function: SHA-256, SHA-384 or SHA-512.
    const ALGORITHM: HashAlgorithm;

    /// The TLS 1.3 key derivation. The default builds it from HMAC; override it if the library
    /// implements HKDF itself.
    const HKDF: &'static dyn Hkdf = &Hashing::<Self>::NEW;

    /// The TLS 1.2 key derivation. The default builds it from HMAC; override it if the library
    /// implements the PRF itself.
    const PRF: &'static dyn Prf = &Hashing::<Self>::NEW;

    /// Starts hashing.
    fn hash() -> Self::Context;

    /// Prepares `key`, of any length (RFC 2104 §2), for HMAC.
    fn hmac(key: &[u8]) -> Self::HmacKey;

    /// Returns [`Self::hmac`] of `HashLen` zero bytes, if that key is cached. The default
    /// [`Self::HKDF`] extracts with it if there is no salt, as in each resumption (RFC 9846 §7.1).
    /// It is not secret.
    ///
    /// Cache it if preparing a key is slow in the library.
    fn hmac_of_zeros() -> Option<&'static Self::HmacKey> {
        None
    }

    /// Prepares `secret`, a master secret, for the default [`Self::PRF`]. A handshake computes
    /// eight to ten HMACs with it. The default is [`Self::hmac`].
    ///
    /// Override it if the keys from [`Self::hmac`] are fast for only one or two messages.
    fn prepare_prf(secret: &[u8]) -> Box<dyn PreparedSecret> {
        Box::new(PreparedHmac(Self::hmac(secret)))
    }

    /// True if this implementation is FIPS-approved.
    fn fips() -> bool {
        false
    }
}

/// A hash computation whose input arrives in pieces. A clone continues independently.
pub trait Computation: Clone + Send + Sync + 'static {
    /// Adds `data` to the input.
    fn update(&mut self, data: &[u8]);

    /// Returns the hash of all the input.
    fn finish(self) -> Output;
}

/// [`Hash`], [`Hmac`], [`Hkdf`] and [`Prf`] over a library's hash function `H`.
///
/// Like [`HkdfUsingHmac`](crate::crypto::tls13::HkdfUsingHmac) and
/// [`PrfUsingHmac`](crate::crypto::tls12::PrfUsingHmac), but a key used only once stays on the
/// stack. An expander takes one allocation instead of two, and [`Hkdf::with_expander`] takes none.
/// This saves allocations in each handshake.
pub struct Hashing<H>(PhantomData<H>);

impl<H: HashFunction> Hashing<H> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);

    /// The length in bytes of the hash function's output.
    const OUTPUT_LEN: usize = match H::ALGORITHM {
        HashAlgorithm::SHA256 => 32,
        HashAlgorithm::SHA384 => 48,
        HashAlgorithm::SHA512 => 64,
        _ => panic!("no hash function of TLS 1.2 or TLS 1.3"),
    };

    /// `HashLen` zero bytes: RFC 5869 §2.2, RFC 9846 §7.1.
    const ZEROS: &'static [u8] = [0; Tag::MAX_LEN].split_at(Self::OUTPUT_LEN).0;
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

impl<C: Computation> Context for HashContext<C> {
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
        Box::new(H::hmac(key))
    }

    fn hash_output_len(&self) -> usize {
        Self::OUTPUT_LEN
    }

    fn fips(&self) -> bool {
        H::fips()
    }
}

impl<H: HashFunction> Hkdf for Hashing<H> {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.extract_from_secret(salt, Self::ZEROS)
    }

    /// RFC 5869 §2.2: `PRK = HMAC(salt, IKM)`.
    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        let prk = match (salt, H::hmac_of_zeros()) {
            (None, Some(key)) => key.sign(&[secret]),
            _ => H::hmac(salt.unwrap_or(Self::ZEROS)).sign(&[secret]),
        };
        Box::new(HkdfExpanderUsingHmac::new(H::hmac(prk.as_ref())))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(HkdfExpanderUsingHmac::new(H::hmac(okm.as_ref())))
    }

    fn with_expander(&self, okm: &OkmBlock, expand: &mut dyn FnMut(&dyn HkdfExpander)) {
        expand(&HkdfExpanderUsingHmac::new(H::hmac(okm.as_ref())));
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        H::hmac(key.as_ref()).sign(&[message])
    }

    fn fips(&self) -> bool {
        H::fips()
    }
}

impl<H: HashFunction> Prf for Hashing<H> {
    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
        p_hash(&H::hmac(secret), output, label, seed);
    }

    fn prepare(&self, secret: &[u8]) -> Option<Box<dyn PreparedSecret>> {
        Some(H::prepare_prf(secret))
    }

    fn fips(&self) -> bool {
        H::fips()
    }
}
