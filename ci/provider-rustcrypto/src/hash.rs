//! Hash functions, and HMAC with them.

use std::marker::PhantomData;

use hmac::{EagerHash, Hmac, KeyInit, Mac};
use rustls::crypto::blocks::{Computation, HashFunction};
use rustls::crypto::hash::{HashAlgorithm, Output};
use rustls::crypto::hmac::Tag;
use sha2::Digest;
use sha2::digest::typenum::Unsigned;

/// The library's hash function `D`.
pub(crate) struct Sha<D>(PhantomData<D>);

impl<D> HashFunction for Sha<D>
where
    D: Digest + EagerHash + Clone + Send + Sync + 'static,
    Hmac<D>: Mac + KeyInit + Clone + Send + Sync,
{
    type Context = Hashing<D>;
    type Hmac = Signing<D>;

    const ALGORITHM: HashAlgorithm = match <D as sha2::digest::OutputSizeUser>::OutputSize::USIZE {
        32 => HashAlgorithm::SHA256,
        48 => HashAlgorithm::SHA384,
        _ => HashAlgorithm::SHA512,
    };

    fn hash() -> Hashing<D> {
        Hashing(D::new())
    }

    fn hmac(key: &[u8]) -> Signing<D> {
        Signing(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }
}

#[derive(Clone)]
pub(crate) struct Hashing<D>(D);

impl<D: Digest + Clone + Send + Sync + 'static> Computation<Output> for Hashing<D> {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finish(self) -> Output {
        Output::new(&self.0.finalize())
    }
}

#[derive(Clone)]
pub(crate) struct Signing<D: EagerHash>(Hmac<D>);

impl<D> Computation<Tag> for Signing<D>
where
    D: EagerHash + Clone + 'static,
    Hmac<D>: Mac + Clone + Send + Sync,
{
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finish(self) -> Tag {
        Tag::new(&self.0.finalize().into_bytes())
    }
}
