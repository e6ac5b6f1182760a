//! The inputs of an AEAD for records of TLS, besides key and plaintext.
//!
//! Nonce and additional data are always zeros: only their lengths take time.

use crate::choices::{Cipher, Version};
use crate::suites::Suite;

pub(super) const TAG_LEN: usize = 16;

pub(super) const NONCE: [u8; 12] = [0; 12];

/// The bytes that a version and its cipher add to the plaintext of a record, except for the header.
#[derive(Clone, Copy)]
pub(super) struct Framing {
    /// The length of the additional data: the record header in TLS 1.3, and in TLS 1.2 the sequence
    /// number, too (RFC 5246 §6.2.3.3).
    aad_len: usize,
    /// The length of the part of the nonce that precedes the ciphertext: eight with GCM in TLS 1.2
    /// (RFC 5288), otherwise none (RFC 7905, RFC 9846).
    pub(super) explicit_nonce: usize,
    /// The bytes encrypted after the plaintext: the content type in TLS 1.3 (RFC 9846 §5.2).
    pub(super) trailer: &'static [u8],
}

impl Framing {
    /// Bytes without a content type.
    pub(super) const BARE: Self = Self {
        aad_len: 5,
        explicit_nonce: 0,
        trailer: &[],
    };

    pub(super) fn of(suite: &Suite) -> Self {
        match (suite.version, suite.cipher) {
            (Version::Tls13, _) => Self {
                trailer: &[23],
                ..Self::BARE
            },
            (Version::Tls12, cipher) => Self {
                aad_len: 13,
                explicit_nonce: 8 * usize::from(cipher != Cipher::Chacha20Poly1305),
                trailer: &[],
            },
        }
    }

    /// The number of bytes after the plaintext.
    pub(super) fn tail(&self) -> usize {
        self.trailer.len() + TAG_LEN
    }

    pub(super) fn aad(&self) -> &'static [u8] {
        &[0; 13][..self.aad_len]
    }
}
