//! Record protection as the FIPS validation of aws-lc wants it.
//!
//! AES-GCM is approved for sealing only where the module itself sees to it that no nonce comes twice.
//! For TLS that is a key that knows the nonces of the protocol and refuses one that is not greater
//! than the last. With feature `fips` the cipher suites take the AEADs and the framing of this module
//! in place of those they have otherwise; the bytes of records are the same but for the explicit
//! nonces of TLS 1.2. QUIC builds its nonces as TLS 1.3 does (RFC 9001 §5.3), and uses the same keys;
//! the paths of a multipath connection share packet numbers, which the module refuses.
//!
//! Tickets are not covered: their nonces are drawn outside the module. `CryptoProvider::fips` does
//! not speak of them.

use core::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::aead::{Aad, TlsProtocolId, TlsRecordOpeningKey, TlsRecordSealingKey};
use rustls_core::crypto::aead::{Aead, AeadAlgorithm, AeadError, BulkCipher, TAG_LEN};
use rustls_core::crypto::cipher::{AeadKey, Nonce};

use crate::backend::{self, aead};
use crate::shared::aead::to_library;

#[cfg(feature = "tls12")]
pub(crate) mod tls12;

/// AES-GCM for the records of TLS 1.3, and for the packets of QUIC.
pub(crate) mod tls13 {
    pub(crate) type Aes128Gcm = super::Aes128Gcm<super::Tls13>;
    pub(crate) type Aes256Gcm = super::Aes256Gcm<super::Tls13>;
}

/// A protocol version, by which the order of nonces differs.
pub(crate) trait Protocol: Send + Sync + 'static {
    const ID: TlsProtocolId;
}

pub(crate) struct Tls13;

impl Protocol for Tls13 {
    const ID: TlsProtocolId = TlsProtocolId::TLS13;
}

/// AES-128-GCM for the records of version `P`.
pub(crate) struct Aes128Gcm<P>(PhantomData<P>);

impl<P: Protocol> AeadAlgorithm for Aes128Gcm<P> {
    type Key = RecordKey;

    const CIPHER: BulkCipher = BulkCipher::Aes128Gcm;

    fn key(key: &AeadKey) -> RecordKey {
        RecordKey::new(&aead::AES_128_GCM, P::ID, key)
    }

    fn fips() -> bool {
        backend::fips()
    }
}

/// AES-256-GCM for the records of version `P`.
pub(crate) struct Aes256Gcm<P>(PhantomData<P>);

impl<P: Protocol> AeadAlgorithm for Aes256Gcm<P> {
    type Key = RecordKey;

    const CIPHER: BulkCipher = BulkCipher::Aes256Gcm;

    fn key(key: &AeadKey) -> RecordKey {
        RecordKey::new(&aead::AES_256_GCM, P::ID, key)
    }

    fn fips() -> bool {
        backend::fips()
    }
}

/// A key for the records of one direction.
///
/// Sealing advances the module's counter, so it wants the key for itself. A direction has one sender
/// only: the lock is always free.
pub(crate) struct RecordKey {
    sealing: Mutex<TlsRecordSealingKey>,
    opening: TlsRecordOpeningKey,
}

impl RecordKey {
    fn new(algorithm: &'static aead::Algorithm, protocol: TlsProtocolId, key: &AeadKey) -> Self {
        const KEY_LEN: &str = "the key is as long as BulkCipher::key_len says";
        let sealing = TlsRecordSealingKey::new(algorithm, protocol, key.as_ref()).expect(KEY_LEN);
        let opening = TlsRecordOpeningKey::new(algorithm, protocol, key.as_ref()).expect(KEY_LEN);
        Self {
            sealing: Mutex::new(sealing),
            opening,
        }
    }

    fn sealing(&self) -> MutexGuard<'_, TlsRecordSealingKey> {
        self.sealing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Aead for RecordKey {
    fn seal(
        &self,
        nonce: Nonce,
        aad: &[u8],
        plain: &[u8],
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        let (ciphertext, trailer_and_tag) =
            out.split_at_mut_checked(plain.len()).ok_or(AeadError)?;
        self.sealing()
            .seal_out_of_place_scatter(
                to_library(nonce),
                Aad::from(aad),
                plain,
                ciphertext,
                trailer,
                trailer_and_tag,
            )
            .map_err(|_| AeadError)
    }

    fn seal_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        plain_len: usize,
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        let text_len = plain_len + trailer.len();
        if out.len() != text_len + TAG_LEN {
            return Err(AeadError);
        }
        let (text, tag) = out.split_at_mut(text_len);
        text[plain_len..].copy_from_slice(trailer);
        tag.copy_from_slice(&self.seal_in_place_separate_tag(nonce, aad, text)?);
        Ok(())
    }

    fn seal_in_place_separate_tag(
        &self,
        nonce: Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<[u8; TAG_LEN], AeadError> {
        let tag = self
            .sealing()
            .seal_in_place_separate_tag(to_library(nonce), Aad::from(aad), in_out)
            .map_err(|_| AeadError)?;
        tag.as_ref().try_into().map_err(|_| AeadError)
    }

    fn open_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<usize, AeadError> {
        self.opening
            .open_in_place(to_library(nonce), Aad::from(aad), in_out)
            .map(|plain| plain.len())
            .map_err(|_| AeadError)
    }
}
