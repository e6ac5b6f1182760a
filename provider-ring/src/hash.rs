//! Hash functions and HMAC.

use ring::{digest, hmac};
use rustls_core::blocks::{Computation, HashFunction};
use rustls_core::crypto::hash::{HashAlgorithm, Output};
use rustls_core::crypto::hmac::{Key, Tag};

pub(crate) struct Sha256;

impl HashFunction for Sha256 {
    type Context = Context;
    type HmacKey = HmacKey;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA256;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA256))
    }

    fn hmac(key: &[u8]) -> HmacKey {
        HmacKey(hmac::Key::new(hmac::HMAC_SHA256, key))
    }
}

pub(crate) struct Sha384;

impl HashFunction for Sha384 {
    type Context = Context;
    type HmacKey = HmacKey;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA384;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA384))
    }

    fn hmac(key: &[u8]) -> HmacKey {
        HmacKey(hmac::Key::new(hmac::HMAC_SHA384, key))
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

impl Key for HmacKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
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

    fn tag_len(&self) -> usize {
        self.0.algorithm().digest_algorithm().output_len()
    }
}
