//! AES-GCM for the records of TLS 1.2.

use alloc::boxed::Box;
use core::marker::PhantomData;

use aws_lc_rs::aead::TlsProtocolId;
use rustls_core::crypto::aead::AeadAlgorithm;
use rustls_core::crypto::cipher::{
    AeadKey, KeyBlockShape, MessageDecrypter, MessageEncrypter, Tls12AeadAlgorithm,
    UnsupportedOperationError,
};
use rustls_core::record::framing::Tls12GcmFraming;
use rustls_core::suites::ConnectionTrafficSecrets;

pub(crate) type Aes128Gcm = super::Aes128Gcm<Tls12>;
pub(crate) type Aes256Gcm = super::Aes256Gcm<Tls12>;

pub(crate) struct Tls12;

impl super::Protocol for Tls12 {
    const ID: TlsProtocolId = TlsProtocolId::TLS12;
}

/// TLS 1.2 record protection for AES-GCM with the sequence number as the explicit nonce.
///
/// RFC 5288 §3 leaves the explicit nonce to the sender, and other framing starts it at a value from
/// the key block. The module wants it to grow.
pub(crate) struct GcmFraming<A>(PhantomData<A>);

impl<A: AeadAlgorithm> GcmFraming<A> {
    pub(crate) const NEW: Self = Self(PhantomData);

    const FRAMING: Tls12GcmFraming<A> = Tls12GcmFraming::NEW;

    /// What the sequence number is XORed into.
    const EXPLICIT_NONCE: &[u8] = &[0; 8];
}

impl<A: AeadAlgorithm> Tls12AeadAlgorithm for GcmFraming<A> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], _extra: &[u8]) -> Box<dyn MessageEncrypter> {
        Self::FRAMING.encrypter(key, iv, Self::EXPLICIT_NONCE)
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        Self::FRAMING.decrypter(key, iv)
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        Self::FRAMING.key_block_shape()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        _explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Self::FRAMING.extract_keys(key, iv, Self::EXPLICIT_NONCE)
    }

    fn fips(&self) -> bool {
        Self::FRAMING.fips()
    }
}
