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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::vectors::hex;

    #[test]
    fn hash_of_abc_is_that_of_fips_180() {
        let sha256 = "ba7816bf8f01cfea414140de5dae2223 b00361a396177a9cb410ff61f20015ad";
        let sha384 = "cb00753f45a35e8bb5a03d699ac65007 272c32ab0eded1631a8b605a43ff5bed
                      8086072ba1e7cc2358baeca134c825a7";
        for (hash, expected) in [(&SHA256, sha256), (&SHA384, sha384)] {
            let expected = hex(expected);
            assert_eq!(hash.hash(b"abc").as_ref(), expected);
            assert_eq!(hash.output_len(), expected.len());

            let mut context = hash.start();
            context.update(b"a");
            context.update(b"bc");
            assert_eq!(context.finish().as_ref(), expected);
        }
        assert_eq!(SHA256.algorithm(), HashAlgorithm::SHA256);
        assert_eq!(SHA384.algorithm(), HashAlgorithm::SHA384);
    }

    #[test]
    fn forks_go_their_own_ways() {
        let mut context = SHA256.start();
        context.update(b"one");
        let mut fork = context.fork();
        fork.update(b"two");
        context.update(b"three");
        assert_eq!(
            context.fork_finish().as_ref(),
            SHA256.hash(b"onethree").as_ref()
        );
        context.update(b"four");
        assert_eq!(fork.finish().as_ref(), SHA256.hash(b"onetwo").as_ref());
        assert_eq!(
            context.finish().as_ref(),
            SHA256.hash(b"onethreefour").as_ref()
        );
    }
}
