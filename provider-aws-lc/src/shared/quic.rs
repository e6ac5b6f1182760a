//! The QUIC part of the cipher suites (RFC 9001 §5): packet keys over the AEADs, header protection
//! over the library's ciphers for it.

use alloc::boxed::Box;
use core::marker::PhantomData;

use rustls_core::crypto::aead::{AeadAlgorithm, AeadError};
use rustls_core::crypto::cipher::{AeadKey, Iv};
use rustls_core::crypto::quic::{
    AeadPacketKey, Algorithm, HeaderMask, HeaderProtectionKey, MASK_LEN, MaskHeaderKey, PacketKey,
    SAMPLE_LEN,
};

use super::aead::Chacha20Poly1305;
use crate::backend::aead::quic;
use crate::backend::records::tls13::{Aes128Gcm, Aes256Gcm};

pub(crate) static AES_128_GCM: QuicAlgorithm<Aes128Gcm> = QuicAlgorithm {
    aead: PhantomData,
    header_cipher: &quic::AES_128,
    confidentiality_limit: AES_GCM_CONFIDENTIALITY_LIMIT,
    integrity_limit: AES_GCM_INTEGRITY_LIMIT,
};

pub(crate) static AES_256_GCM: QuicAlgorithm<Aes256Gcm> = QuicAlgorithm {
    aead: PhantomData,
    header_cipher: &quic::AES_256,
    confidentiality_limit: AES_GCM_CONFIDENTIALITY_LIMIT,
    integrity_limit: AES_GCM_INTEGRITY_LIMIT,
};

pub(crate) static CHACHA20_POLY1305: QuicAlgorithm<Chacha20Poly1305> = QuicAlgorithm {
    aead: PhantomData,
    header_cipher: &quic::CHACHA20,
    // RFC 9001 §6.6: greater than the number of possible packets (2^62), so there is none
    confidentiality_limit: u64::MAX,
    integrity_limit: 1 << 36,
};

/// RFC 9001 §6.6: packets encrypted under one key.
const AES_GCM_CONFIDENTIALITY_LIMIT: u64 = 1 << 23;

/// RFC 9001 §6.6: packets that failed to authenticate, over all keys of a connection.
const AES_GCM_INTEGRITY_LIMIT: u64 = 1 << 52;

/// QUIC packet protection with the AEAD `A` and its companion for headers.
pub(crate) struct QuicAlgorithm<A> {
    aead: PhantomData<A>,
    header_cipher: &'static quic::Algorithm,
    confidentiality_limit: u64,
    integrity_limit: u64,
}

impl<A: AeadAlgorithm> Algorithm for QuicAlgorithm<A> {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        Box::new(AeadPacketKey::new(
            A::key(&key),
            iv,
            self.confidentiality_limit,
            self.integrity_limit,
        ))
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        let cipher = quic::HeaderProtectionKey::new(self.header_cipher, key.as_ref())
            .expect("the key is as long as aead_key_len says");
        Box::new(MaskHeaderKey::new(HeaderCipher(cipher)))
    }

    fn aead_key_len(&self) -> usize {
        A::CIPHER.key_len()
    }

    fn fips(&self) -> bool {
        A::fips()
    }
}

struct HeaderCipher(quic::HeaderProtectionKey);

impl HeaderMask for HeaderCipher {
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError> {
        self.0.new_mask(sample).map_err(|_| AeadError)
    }
}

#[cfg(test)]
mod tests;
