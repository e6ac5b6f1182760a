//! HMAC, on which `core` builds HKDF and the PRF of TLS 1.2.

use alloc::boxed::Box;

use rustls_core::crypto::hmac::{Hmac, Key, Tag};

use crate::backend::{self, hmac};

/// HMAC-SHA-256.
pub(crate) static HMAC_SHA256: LibraryHmac = LibraryHmac(&hmac::HMAC_SHA256);

/// HMAC-SHA-384.
pub(crate) static HMAC_SHA384: LibraryHmac = LibraryHmac(&hmac::HMAC_SHA384);

/// HMAC with one of the library's hash functions.
pub(crate) struct LibraryHmac(&'static hmac::Algorithm);

impl Hmac for LibraryHmac {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        Box::new(HmacKey(hmac::Key::new(*self.0, key)))
    }

    fn hash_output_len(&self) -> usize {
        self.0.digest_algorithm().output_len()
    }

    fn fips(&self) -> bool {
        backend::fips()
    }
}

struct HmacKey(hmac::Key);

impl Key for HmacKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(first);
        for piece in middle {
            context.update(piece);
        }
        context.update(last);
        Tag::new(context.sign().as_ref())
    }

    fn tag_len(&self) -> usize {
        self.0.algorithm().digest_algorithm().output_len()
    }
}

#[cfg(test)]
mod tests;
