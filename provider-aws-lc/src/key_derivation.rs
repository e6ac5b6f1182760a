//! HMAC, HKDF-Expand and the TLS 1.2 PRF as services of the library, for its FIPS module. Single
//! calls to HMAC would yield the same results, but key derivation is only approved as a service of
//! the module.
//!
//! HKDF-Extract is a single HMAC, which is already a service. The library's own HKDF-Extract leaves
//! a copy of the salt in memory, and the salts of TLS 1.3 are secrets. Of the PRF labels, the
//! module approves only the one for the extended master secret, so configurations must require it.

use alloc::boxed::Box;
use core::marker::PhantomData;

use aws_lc_rs::hkdf::{self, KeyType, Prk};
use aws_lc_rs::hmac;
use aws_lc_rs::tls_prf::{self, Secret};
use rustls_core::blocks::{HashFunction, Hashing};
use rustls_core::crypto::hmac::{Key, Tag};
use rustls_core::crypto::tls12::{Prf, PrfUsingHmac};
use rustls_core::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};

/// A key for the library's HMAC.
pub(crate) struct LibraryHmac(hmac::Key);

impl LibraryHmac {
    pub(crate) fn new(algorithm: hmac::Algorithm, key: &[u8]) -> Self {
        Self(hmac::Key::new(algorithm, key))
    }
}

impl Key for LibraryHmac {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        // a context is several hundred bytes long, so create, use and finish it in one place
        let mut context = hmac::Context::with_key(&self.0);
        context.update(first);
        middle.iter().for_each(|piece| context.update(piece));
        context.update(last);
        Tag::new(context.sign().as_ref())
    }

    fn tag_len(&self) -> usize {
        self.0.algorithm().digest_algorithm().output_len()
    }
}

/// A hash function with which the library can derive keys.
pub(crate) trait Derivation: HashFunction {
    const HKDF_ALGORITHM: hkdf::Algorithm;
    const PRF_ALGORITHM: &'static tls_prf::Algorithm;
}

/// HKDF with `H`: the library's HKDF-Expand, after HKDF-Extract with one HMAC.
pub(crate) struct LibraryHkdf<H>(PhantomData<H>);

impl<H: Derivation> LibraryHkdf<H> {
    pub(crate) const NEW: Self = Self(PhantomData);

    fn zeros() -> &'static [u8] {
        &[0; OkmBlock::MAX_LEN][..H::HKDF_ALGORITHM.len()]
    }
}

impl<H: Derivation> Hkdf for LibraryHkdf<H> {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.extract_from_secret(salt, Self::zeros())
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        let zeros = Self::zeros();
        let extracted = H::hmac(salt.unwrap_or(zeros)).sign(&[secret]);
        Box::new(Expander::of::<H>(extracted.as_ref()))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(Expander::of::<H>(okm.as_ref()))
    }

    fn with_expander(&self, okm: &OkmBlock, expand: &mut dyn FnMut(&dyn HkdfExpander)) {
        expand(&Expander::of::<H>(okm.as_ref()));
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        Hashing::<H>::NEW.hmac_sign(key, message)
    }

    fn fips(&self) -> bool {
        H::fips()
    }
}

struct Expander {
    prk: Prk,
    hash_len: usize,
}

impl Expander {
    fn of<H: Derivation>(prk: &[u8]) -> Self {
        Self {
            prk: Prk::new_less_safe(H::HKDF_ALGORITHM, prk),
            hash_len: H::HKDF_ALGORITHM.len(),
        }
    }
}

impl HkdfExpander for Expander {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        let okm = self
            .prk
            .expand(info, Length(output.len()))
            .map_err(|_| OutputLengthError)?;
        if !output.is_empty() {
            okm.fill(output)
                .expect("HKDF fails only because of lengths");
        }
        Ok(())
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        let block = Tag::written_by(|room| {
            self.expand_slice(info, &mut room[..self.hash_len])
                .expect("one block is within the limit");
            self.hash_len
        });
        OkmBlock::new(block.as_ref())
    }

    fn hash_len(&self) -> usize {
        self.hash_len
    }
}

/// The number of bytes to derive.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// The library's PRF with `H`.
pub(crate) struct LibraryPrf<H>(PhantomData<H>);

impl<H: Derivation> LibraryPrf<H> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<H: Derivation> Prf for LibraryPrf<H> {
    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
        // the library rejects empty inputs, and TLS never has any
        if secret.is_empty() || output.is_empty() {
            return PrfUsingHmac(&Hashing::<H>::NEW).for_secret(output, secret, label, seed);
        }
        let derived = Secret::new(H::PRF_ALGORITHM, secret)
            .and_then(|secret| secret.derive(label, seed, output.len()))
            .expect("the secret and the output are not empty");
        output.copy_from_slice(derived.as_ref());
    }

    fn fips(&self) -> bool {
        H::fips()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::hash::{Sha256, Sha384};

    fn check_hkdf<H: Derivation>() {
        assert!(outputs(&LibraryHkdf::<H>::NEW) == outputs(&Hashing::<H>::NEW));
    }

    fn outputs(hkdf: &dyn Hkdf) -> Vec<Vec<u8>> {
        let long = [9; 300];
        let okm = OkmBlock::new(&[5; 32]);
        let mut expanders = vec![hkdf.expander_for_okm(&okm)];
        for salt in [None, Some(&[][..]), Some(b"salt"), Some(&long)] {
            expanders.push(hkdf.extract_from_zero_ikm(salt));
            for secret in [&[][..], b"secret", &long] {
                expanders.push(hkdf.extract_from_secret(salt, secret));
            }
        }
        let mut outputs = vec![hkdf.hmac_sign(&okm, b"message").as_ref().to_vec()];
        let infos: [&[&[u8]]; 4] = [&[], &[b"info"], &[b"in", b"", b"fo"], &[&long, b"info"]];
        let mut expand = |expander: &dyn HkdfExpander| {
            let hash_len = expander.hash_len();
            for info in infos {
                outputs.push(expander.expand_block(info).as_ref().to_vec());
                for len in [0, 1, 12, hash_len, hash_len + 1, 255 * hash_len] {
                    let mut output = vec![0; len];
                    expander.expand_slice(info, &mut output).unwrap();
                    outputs.push(output);
                }
            }
            let mut too_long = vec![7; 255 * hash_len + 1];
            assert!(expander.expand_slice(&[b"info"], &mut too_long).is_err());
            assert!(too_long.iter().all(|byte| *byte == 7));
        };
        for expander in &expanders {
            expand(&**expander);
        }
        hkdf.with_expander(&okm, &mut expand);
        outputs
    }

    fn check_prf<H: Derivation>() {
        let by_hmac = PrfUsingHmac(&Hashing::<H>::NEW);
        for secret in [&[][..], b"secret", &[9; 300]] {
            for len in [0, 1, 12, 48, 104, 500] {
                let mut outputs = [vec![0; len], vec![1; len]];
                LibraryPrf::<H>::NEW.for_secret(&mut outputs[0], secret, b"label", b"seed");
                by_hmac.for_secret(&mut outputs[1], secret, b"label", b"seed");
                assert_eq!(outputs[0], outputs[1], "{len}");
            }
        }
    }

    #[test]
    fn library_derivation_equals_derivation_with_hmac() {
        check_hkdf::<Sha256>();
        check_hkdf::<Sha384>();
        check_prf::<Sha256>();
        check_prf::<Sha384>();
    }
}
