//! Hash functions and HMAC.

use std::marker::PhantomData;

use hmac::{EagerHash, Hmac, KeyInit, Mac};
use rustls::crypto::blocks::{Computation, HashFunction};
use rustls::crypto::hash::{HashAlgorithm, Output};
use rustls::crypto::hmac::{Key, Tag};
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
    type HmacKey = Signing<D>;

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

impl<D: Digest + Clone + Send + Sync + 'static> Computation for Hashing<D> {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finish(self) -> Output {
        Output::new(&self.0.finalize())
    }
}

pub(crate) struct Signing<D: EagerHash>(Hmac<D>);

impl<D> Key for Signing<D>
where
    D: Digest + EagerHash + 'static,
    Hmac<D>: Mac + Clone + Send + Sync,
{
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut mac = self.0.clone();
        mac.update(first);
        middle.iter().for_each(|piece| mac.update(piece));
        mac.update(last);
        Tag::new(&mac.finalize().into_bytes())
    }

    fn tag_len(&self) -> usize {
        <D as sha2::digest::OutputSizeUser>::OutputSize::USIZE
    }
}
