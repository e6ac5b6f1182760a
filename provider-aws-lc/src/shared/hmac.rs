//! HMAC, on which `core` builds the PRF of TLS 1.2, and HKDF from it.

use alloc::boxed::Box;

use rustls_core::crypto::hmac::{Hmac, Key, Tag};
use rustls_core::crypto::tls13::{Hkdf, HkdfExpander, HkdfExpanderUsingHmac, OkmBlock};

use crate::backend::{self, hmac};

/// HMAC-SHA-256.
pub(crate) static HMAC_SHA256: LibraryHmac = LibraryHmac(&hmac::HMAC_SHA256);

/// HMAC-SHA-384.
pub(crate) static HMAC_SHA384: LibraryHmac = LibraryHmac(&hmac::HMAC_SHA384);

/// HMAC with one of the library's hash functions.
pub(crate) struct LibraryHmac(&'static hmac::Algorithm);

impl LibraryHmac {
    fn key(&self, key: &[u8]) -> HmacKey {
        HmacKey(hmac::Key::new(*self.0, key))
    }
}

impl Hmac for LibraryHmac {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        Box::new(self.key(key))
    }

    fn hash_output_len(&self) -> usize {
        self.0.digest_algorithm().output_len()
    }

    fn fips(&self) -> bool {
        backend::fips()
    }
}

/// As `core`'s `HkdfUsingHmac`, but that a key which is used once stays on the stack, and an expander is one
/// allocation instead of two. A handshake does this some ten times.
impl Hkdf for LibraryHmac {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.extract_from_secret(salt, self.zeros())
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        let salt = salt.unwrap_or_else(|| self.zeros());
        let prk = self.key(salt).sign(&[secret]);
        self.expander(prk.as_ref())
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        self.expander(okm.as_ref())
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        self.key(key.as_ref()).sign(&[message])
    }

    fn fips(&self) -> bool {
        backend::fips()
    }
}

impl LibraryHmac {
    fn expander(&self, prk: &[u8]) -> Box<dyn HkdfExpander> {
        Box::new(HkdfExpanderUsingHmac::new(self.key(prk)))
    }

    /// `HashLen` zero bytes: RFC 5869 §2.2, RFC 9846 §7.1.
    fn zeros(&self) -> &'static [u8] {
        &[0; Tag::MAX_LEN][..self.hash_output_len()]
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
