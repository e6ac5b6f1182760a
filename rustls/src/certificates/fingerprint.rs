//! The SHA-256 of certificates, raw public keys and revocation lists, and the choice of a hash
//! function from a crypto provider's cipher suites.

use rustls_core::crypto::hash::{Hash, HashAlgorithm};
use rustls_core::provider::CryptoProvider;

use super::once::Once;
use crate::error::Error;

/// The SHA-256 of immutable bytes, computed on first use.
#[derive(Default)]
pub(super) struct Fingerprint(Once<[u8; 32]>);

impl Fingerprint {
    /// Returns the SHA-256 of `bytes`. If it is not known yet, computes it with the function that
    /// `hash` returns.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if it is not known yet, and `hash` returns `None`, or a function
    /// that is not SHA-256 or has wrong results.
    pub(super) fn of(
        &self,
        bytes: &[u8],
        hash: impl FnOnce() -> Option<&'static dyn Hash>,
    ) -> Result<&[u8; 32], Error> {
        if let Some(fingerprint) = self.0.get() {
            return Ok(fingerprint);
        }
        let hash = hash().ok_or_else(|| {
            Error::General("no cipher suite of the crypto provider uses SHA-256".into())
        })?;
        // do this outside the cell, because other threads must not wait for the provider's code
        let fingerprint = <[u8; 32]>::try_from(hash.hash(bytes).as_ref())
            .ok()
            // check the hash, because the result is kept for users of all providers
            .filter(|_| is_sha256(hash))
            .ok_or_else(|| {
                Error::General("the crypto provider's SHA-256 returns wrong results".into())
            })?;
        Ok(self.0.get_or_init(|| fingerprint))
    }
}

/// True if `hash` is SHA-256, and hashes a test message correctly.
fn is_sha256(hash: &dyn Hash) -> bool {
    hash.algorithm() == HashAlgorithm::SHA256 && is_correct(hash)
}

/// True if `hash` is SHA-256, SHA-384 or SHA-512, and hashes a test message correctly.
pub(crate) fn is_correct(hash: &dyn Hash) -> bool {
    // FIPS 180, two blocks each
    let (message, digest): ([&[u8]; 2], &[u8]) = match hash.algorithm() {
        HashAlgorithm::SHA256 => (
            [
                b"abcdbcdecdefdefgefghfghighijhijk",
                b"ijkljklmklmnlmnomnopnopq",
            ],
            b"\x24\x8d\x6a\x61\xd2\x06\x38\xb8\xe5\xc0\x26\x93\x0c\x3e\x60\x39\
              \xa3\x3c\xe4\x59\x64\xff\x21\x67\xf6\xec\xed\xd4\x19\xdb\x06\xc1",
        ),
        HashAlgorithm::SHA384 => (
            LONG_MESSAGE,
            b"\x09\x33\x0c\x33\xf7\x11\x47\xe8\x3d\x19\x2f\xc7\x82\xcd\x1b\x47\
              \x53\x11\x1b\x17\x3b\x3b\x05\xd2\x2f\xa0\x80\x86\xe3\xb0\xf7\x12\
              \xfc\xc7\xc7\x1a\x55\x7e\x2d\xb9\x66\xc3\xe9\xfa\x91\x74\x60\x39",
        ),
        HashAlgorithm::SHA512 => (
            LONG_MESSAGE,
            b"\x8e\x95\x9b\x75\xda\xe3\x13\xda\x8c\xf4\xf7\x28\x14\xfc\x14\x3f\
              \x8f\x77\x79\xc6\xeb\x9f\x7f\xa1\x72\x99\xae\xad\xb6\x88\x90\x18\
              \x50\x1d\x28\x9e\x49\x00\xf7\xe4\x33\x1b\x99\xde\xc4\xb5\x43\x3a\
              \xc7\xd3\x29\xee\xb6\xdd\x26\x54\x5e\x96\xe5\x5b\x87\x4b\xe9\x09",
        ),
        _ => return false,
    };
    let mut context = hash.start();
    for part in message {
        context.update(part);
    }
    context.finish().as_ref() == digest
}

/// The two-block message for hash functions with 128-byte blocks.
const LONG_MESSAGE: [&[u8]; 2] = [
    b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn",
    b"hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
];

/// Returns SHA-256 from the cipher suites of `provider`.
pub(crate) fn sha256(provider: &CryptoProvider) -> Option<&'static dyn Hash> {
    find(provider, HashAlgorithm::SHA256)
}

/// Returns a collision-resistant hash from the cipher suites of `provider`: SHA-256 if possible,
/// otherwise SHA-384 or SHA-512, in this order of preference. The order of the suites does not
/// matter.
#[cfg(feature = "std")]
pub(crate) fn any_sha2(provider: &CryptoProvider) -> Option<&'static dyn Hash> {
    [
        HashAlgorithm::SHA256,
        HashAlgorithm::SHA384,
        HashAlgorithm::SHA512,
    ]
    .into_iter()
    .find_map(|algorithm| find(provider, algorithm))
}

fn find(provider: &CryptoProvider, algorithm: HashAlgorithm) -> Option<&'static dyn Hash> {
    let suites = provider.cipher_suites.iter();
    suites
        .map(|suite| suite.common().hash_provider)
        .find(|hash| hash.algorithm() == algorithm)
}

#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
pub(super) mod tests {
    use alloc::boxed::Box;

    use rustls_core::crypto::hash::{Context, Output};

    use super::*;
    use crate::providers::any_provider;

    /// A stub that returns the same hash for each input, as in fuzzers.
    #[derive(Clone)]
    pub(crate) struct Stub;

    impl Hash for Stub {
        fn start(&self) -> Box<dyn Context> {
            Box::new(self.clone())
        }

        fn hash(&self, _: &[u8]) -> Output {
            Output::new(&[7; 32])
        }

        fn output_len(&self) -> usize {
            32
        }

        fn algorithm(&self) -> HashAlgorithm {
            HashAlgorithm::SHA256
        }
    }

    impl Context for Stub {
        fn fork_finish(&self) -> Output {
            self.hash(&[])
        }

        fn fork(&self) -> Box<dyn Context> {
            self.start()
        }

        fn finish(self: Box<Self>) -> Output {
            self.fork_finish()
        }

        fn update(&mut self, _: &[u8]) {}
    }

    /// Fingerprints are shared across the process, like the certificates and lists that they belong
    /// to.
    #[test]
    fn a_rejected_hash_function_leaves_no_fingerprint() {
        let provider = any_provider();
        let fingerprint = Fingerprint::default();
        fingerprint.of(b"bytes", || Some(&Stub)).unwrap_err();
        let found = fingerprint.of(b"bytes", || sha256(&provider)).copied();
        let expected = Fingerprint::default();
        let expected = expected.of(b"bytes", || sha256(&provider)).unwrap();
        assert_eq!(found, Ok(*expected));
        assert_ne!(*expected, [7; 32]);
    }
}
