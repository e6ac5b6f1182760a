//! Hash functions, and HMAC with them.

use aws_lc_rs::{digest, hmac};
use rustls_core::blocks::{Computation, HashFunction};
use rustls_core::crypto::hash::{HashAlgorithm, Output};
use rustls_core::crypto::hmac::Tag;

pub(crate) struct Sha256;

impl HashFunction for Sha256 {
    type Context = Context;
    type Hmac = Hmac;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA256;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA256))
    }

    fn hmac(key: &[u8]) -> Hmac {
        Hmac::new(hmac::HMAC_SHA256, key)
    }

    fn fips() -> bool {
        crate::is_fips_module()
    }
}

pub(crate) struct Sha384;

impl HashFunction for Sha384 {
    type Context = Context;
    type Hmac = Hmac;

    const ALGORITHM: HashAlgorithm = HashAlgorithm::SHA384;

    fn hash() -> Context {
        Context(digest::Context::new(&digest::SHA384))
    }

    fn hmac(key: &[u8]) -> Hmac {
        Hmac::new(hmac::HMAC_SHA384, key)
    }

    fn fips() -> bool {
        crate::is_fips_module()
    }
}

#[derive(Clone)]
pub(crate) struct Context(digest::Context);

impl Computation<Output> for Context {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finish(self) -> Output {
        Output::new(self.0.finish().as_ref())
    }
}

#[derive(Clone)]
pub(crate) struct Hmac(hmac::Context);

impl Hmac {
    fn new(algorithm: hmac::Algorithm, key: &[u8]) -> Self {
        Self(hmac::Context::with_key(&hmac::Key::new(algorithm, key)))
    }
}

impl Computation<Tag> for Hmac {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finish(self) -> Tag {
        Tag::new(self.0.sign().as_ref())
    }
}
