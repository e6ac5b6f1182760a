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

/// A key is kept as it is until there is input: a computation starts with a copy of it in any case.
pub(crate) enum Hmac {
    Key(hmac::Key),
    Started(hmac::Context),
}

impl Hmac {
    fn new(algorithm: hmac::Algorithm, key: &[u8]) -> Self {
        Self::Key(hmac::Key::new(algorithm, key))
    }
}

impl Clone for Hmac {
    /// What is cloned will be computed with.
    fn clone(&self) -> Self {
        Self::Started(match self {
            Self::Key(key) => hmac::Context::with_key(key),
            Self::Started(context) => context.clone(),
        })
    }
}

impl Computation<Tag> for Hmac {
    fn update(&mut self, data: &[u8]) {
        match self {
            Self::Key(key) => {
                let mut context = hmac::Context::with_key(key);
                context.update(data);
                *self = Self::Started(context);
            }
            Self::Started(context) => context.update(data),
        }
    }

    fn finish(self) -> Tag {
        let tag = match self {
            Self::Key(key) => hmac::sign(&key, &[]),
            Self::Started(context) => context.sign(),
        };
        Tag::new(tag.as_ref())
    }
}
