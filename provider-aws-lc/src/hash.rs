//! Hash functions and HMAC.

use alloc::boxed::Box;

use aws_lc_rs::digest;
#[cfg(feature = "fips")]
use aws_lc_rs::hmac;
#[cfg(any(test, feature = "fips"))]
use aws_lc_rs::{hkdf, tls_prf};
use once_cell::race::OnceBox;
use rustls_core::blocks::{Computation, HashFunction};
use rustls_core::crypto::hash::{HashAlgorithm, Output};
#[cfg(feature = "fips")]
use rustls_core::crypto::tls12::Prf;
#[cfg(not(feature = "fips"))]
use rustls_core::crypto::tls12::{PreparedHmac, PreparedSecret};
#[cfg(feature = "fips")]
use rustls_core::crypto::tls13::Hkdf;

#[cfg(not(feature = "fips"))]
use crate::hmac::{HalfPreparedKey, PreparedKey, UnpreparedKey};
#[cfg(any(test, feature = "fips"))]
use crate::key_derivation::Derivation;
#[cfg(feature = "fips")]
use crate::key_derivation::{LibraryHkdf, LibraryHmac, LibraryPrf};

pub(crate) struct Sha256;

impl HashFunction for Sha256 {
    type Context = Context;
    #[cfg(feature = "fips")]
    type HmacKey = LibraryHmac;
    #[cfg(not(feature = "fips"))]
    type HmacKey = UnpreparedKey;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA256;

    #[cfg(feature = "fips")]
    const HKDF: &'static dyn Hkdf = &LibraryHkdf::<Self>::NEW;

    #[cfg(feature = "fips")]
    const PRF: &'static dyn Prf = &LibraryPrf::<Self>::NEW;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA256))
    }

    fn hmac(key: &[u8]) -> Self::HmacKey {
        #[cfg(feature = "fips")]
        return LibraryHmac::new(hmac::HMAC_SHA256, key);
        #[cfg(not(feature = "fips"))]
        UnpreparedKey::new(key)
    }

    // otherwise a key is not prepared, so there is nothing to cache
    #[cfg(feature = "fips")]
    fn hmac_of_zeros() -> Option<&'static Self::HmacKey> {
        static KEY: OnceBox<<Sha256 as HashFunction>::HmacKey> = OnceBox::new();
        Some(KEY.get_or_init(|| Box::new(Self::hmac(&[0; 32]))))
    }

    #[cfg(not(feature = "fips"))]
    fn prepare_prf(secret: &[u8]) -> Box<dyn PreparedSecret> {
        Box::new(PreparedHmac(HalfPreparedKey::new(secret)))
    }

    fn fips() -> bool {
        crate::is_fips_module()
    }
}

#[cfg(any(test, feature = "fips"))]
impl Derivation for Sha256 {
    const HKDF_ALGORITHM: hkdf::Algorithm = hkdf::HKDF_SHA256;
    const PRF_ALGORITHM: &'static tls_prf::Algorithm = &tls_prf::P_SHA256;
}

pub(crate) struct Sha384;

impl HashFunction for Sha384 {
    type Context = Context;
    #[cfg(feature = "fips")]
    type HmacKey = LibraryHmac;
    #[cfg(not(feature = "fips"))]
    type HmacKey = PreparedKey;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA384;

    #[cfg(feature = "fips")]
    const HKDF: &'static dyn Hkdf = &LibraryHkdf::<Self>::NEW;

    #[cfg(feature = "fips")]
    const PRF: &'static dyn Prf = &LibraryPrf::<Self>::NEW;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA384))
    }

    fn hmac(key: &[u8]) -> Self::HmacKey {
        #[cfg(feature = "fips")]
        return LibraryHmac::new(hmac::HMAC_SHA384, key);
        #[cfg(not(feature = "fips"))]
        PreparedKey::new(&digest::SHA384, key)
    }

    fn hmac_of_zeros() -> Option<&'static Self::HmacKey> {
        static KEY: OnceBox<<Sha384 as HashFunction>::HmacKey> = OnceBox::new();
        Some(KEY.get_or_init(|| Box::new(Self::hmac(&[0; 48]))))
    }

    fn fips() -> bool {
        crate::is_fips_module()
    }
}

#[cfg(any(test, feature = "fips"))]
impl Derivation for Sha384 {
    const HKDF_ALGORITHM: hkdf::Algorithm = hkdf::HKDF_SHA384;
    const PRF_ALGORITHM: &'static tls_prf::Algorithm = &tls_prf::P_SHA384;
}

/// SHA-512, for HPKE only: no cipher suite uses it.
pub(crate) struct Sha512;

impl HashFunction for Sha512 {
    type Context = Context;
    #[cfg(feature = "fips")]
    type HmacKey = LibraryHmac;
    #[cfg(not(feature = "fips"))]
    type HmacKey = PreparedKey;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA512;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA512))
    }

    fn hmac(key: &[u8]) -> Self::HmacKey {
        #[cfg(feature = "fips")]
        return LibraryHmac::new(hmac::HMAC_SHA512, key);
        #[cfg(not(feature = "fips"))]
        PreparedKey::new(&digest::SHA512, key)
    }

    fn fips() -> bool {
        crate::is_fips_module()
    }
}

#[derive(Clone)]
pub(crate) struct Context(digest::Context);

impl Computation for Context {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finish(self) -> Output {
        Output::new(self.0.finish().as_ref())
    }
}
