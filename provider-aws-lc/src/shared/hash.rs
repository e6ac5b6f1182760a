//! Hash functions.

use alloc::boxed::Box;

use rustls_core::crypto::hash::{Context, Hash, HashAlgorithm, Output};

use crate::backend::{self, digest};

/// SHA-256.
pub(crate) static SHA256: Digest = Digest {
    function: &digest::SHA256,
    algorithm: HashAlgorithm::SHA256,
};

/// SHA-384.
pub(crate) static SHA384: Digest = Digest {
    function: &digest::SHA384,
    algorithm: HashAlgorithm::SHA384,
};

/// A hash function of the library.
pub(crate) struct Digest {
    function: &'static digest::Algorithm,
    algorithm: HashAlgorithm,
}

impl Hash for Digest {
    fn start(&self) -> Box<dyn Context> {
        Box::new(DigestContext(digest::Context::new(self.function)))
    }

    fn hash(&self, data: &[u8]) -> Output {
        Output::new(digest::digest(self.function, data).as_ref())
    }

    fn output_len(&self) -> usize {
        self.function.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.algorithm
    }

    fn fips(&self) -> bool {
        backend::fips()
    }
}

struct DigestContext(digest::Context);

impl Context for DigestContext {
    fn fork_finish(&self) -> Output {
        Output::new(self.0.clone().finish().as_ref())
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Output {
        Output::new(self.0.finish().as_ref())
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}
