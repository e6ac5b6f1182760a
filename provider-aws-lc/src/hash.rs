//! Hash functions and HMAC.

use alloc::boxed::Box;

use aws_lc_rs::{digest, hmac};
#[cfg(any(test, feature = "fips"))]
use aws_lc_rs::{hkdf, tls_prf};
use once_cell::race::OnceBox;
use rustls_core::blocks::{Computation, HashFunction};
use rustls_core::crypto::hash::{HashAlgorithm, Output};
use rustls_core::crypto::hmac::{Key, Tag};
#[cfg(feature = "fips")]
use rustls_core::crypto::tls12::Prf;
#[cfg(feature = "fips")]
use rustls_core::crypto::tls13::Hkdf;

#[cfg(any(test, feature = "fips"))]
use crate::key_derivation::Derivation;
#[cfg(feature = "fips")]
use crate::key_derivation::{LibraryHkdf, LibraryPrf};

pub(crate) struct Sha256;

impl HashFunction for Sha256 {
    type Context = Context;
    type HmacKey = HmacKey;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA256;

    #[cfg(feature = "fips")]
    const HKDF: &'static dyn Hkdf = &LibraryHkdf::<Self>::NEW;

    #[cfg(feature = "fips")]
    const PRF: &'static dyn Prf = &LibraryPrf::<Self>::NEW;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA256))
    }

    fn hmac(key: &[u8]) -> HmacKey {
        HmacKey(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    fn hmac_of_zeros() -> Option<&'static HmacKey> {
        static KEY: OnceBox<HmacKey> = OnceBox::new();
        Some(KEY.get_or_init(|| Box::new(Self::hmac(&[0; 32]))))
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
    type HmacKey = HmacKey;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA384;

    #[cfg(feature = "fips")]
    const HKDF: &'static dyn Hkdf = &LibraryHkdf::<Self>::NEW;

    #[cfg(feature = "fips")]
    const PRF: &'static dyn Prf = &LibraryPrf::<Self>::NEW;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA384))
    }

    fn hmac(key: &[u8]) -> HmacKey {
        HmacKey(hmac::Key::new(hmac::HMAC_SHA384, key))
    }

    fn hmac_of_zeros() -> Option<&'static HmacKey> {
        static KEY: OnceBox<HmacKey> = OnceBox::new();
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
    type HmacKey = HmacKey;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA512;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA512))
    }

    fn hmac(key: &[u8]) -> HmacKey {
        HmacKey(hmac::Key::new(hmac::HMAC_SHA512, key))
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

pub(crate) struct HmacKey(hmac::Key);

/// Room for the info of HKDF with the labels of TLS, and its counter byte.
const INFO_ROOM: usize = 128;

impl Key for HmacKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        match (first, middle, last) {
            ([], [message], []) => self.sign_single(message),
            // the first block of HKDF-Expand: copying its public input is cheaper than another call
            ([], [info], [counter]) if info.len() < INFO_ROOM => {
                let mut message = [0; INFO_ROOM];
                message[..info.len()].copy_from_slice(info);
                message[info.len()] = *counter;
                self.sign_single(&message[..=info.len()])
            }
            _ => self.sign_pieces(first, middle, last),
        }
    }

    fn tag_len(&self) -> usize {
        self.0.algorithm().digest_algorithm().output_len()
    }
}

impl HmacKey {
    fn sign_single(&self, message: &[u8]) -> Tag {
        Tag::written_by(|room| {
            let tag = hmac::sign_to_buffer(&self.0, message, room);
            tag.expect("there is room for the longest tag").len()
        })
    }

    fn sign_pieces(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        // a context is several hundred bytes long, so create, use and finish it in one place
        let mut context = hmac::Context::with_key(&self.0);
        if !first.is_empty() {
            context.update(first);
        }
        for piece in middle {
            context.update(piece);
        }
        if !last.is_empty() {
            context.update(last);
        }
        Tag::new(context.sign().as_ref())
    }
}
