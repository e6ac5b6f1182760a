//! The AEADs, and the ciphers for QUIC headers.
//!
//! ring only seals in place, so sealing into other memory copies each payload once.

use core::marker::PhantomData;

use ring::aead::quic::{self, HeaderProtectionKey};
use ring::aead::{self, Aad, LessSafeKey, UnboundKey};
use rustls_core::blocks::{
    Aead, AeadAlgorithm, AeadError, Aes128Gcm, Aes256Gcm, BulkCipher, Chacha20Poly1305, Cipher,
    HeaderMask, InPlace, MASK_LEN, PacketAlgorithm, SAMPLE_LEN, Tag,
};
use rustls_core::crypto::cipher::{AeadKey, Iv, Nonce};

/// A cipher, with ring's algorithms for it.
pub(crate) trait LibraryCipher: Cipher {
    const AEAD: &'static aead::Algorithm;
    /// The cipher that protects QUIC headers.
    const HEADER: &'static quic::Algorithm;
}

impl LibraryCipher for Aes128Gcm {
    const AEAD: &'static aead::Algorithm = &aead::AES_128_GCM;
    const HEADER: &'static quic::Algorithm = &quic::AES_128;
}

impl LibraryCipher for Aes256Gcm {
    const AEAD: &'static aead::Algorithm = &aead::AES_256_GCM;
    const HEADER: &'static quic::Algorithm = &quic::AES_256;
}

impl LibraryCipher for Chacha20Poly1305 {
    const AEAD: &'static aead::Algorithm = &aead::CHACHA20_POLY1305;
    const HEADER: &'static quic::Algorithm = &quic::CHACHA20;
}

/// The cipher `C` over ring.
pub(crate) struct Ring<C>(PhantomData<C>);

impl<C: LibraryCipher> AeadAlgorithm for Ring<C> {
    type SealingKey = InPlace<Key>;
    type OpeningKey = InPlace<Key>;

    const CIPHER: BulkCipher = C::CIPHER;

    fn sealing_key(key: &AeadKey) -> InPlace<Key> {
        InPlace(Key::new::<C>(key))
    }

    fn opening_key(key: &AeadKey) -> InPlace<Key> {
        InPlace(Key::new::<C>(key))
    }
}

impl<C: LibraryCipher> PacketAlgorithm for Ring<C> {
    type PacketKey = Key;
    type HeaderKey = HeaderKey;

    fn packet_key(key: &AeadKey, _: &Iv) -> Key {
        Key::new::<C>(key)
    }

    fn header_key(key: &AeadKey) -> HeaderKey {
        HeaderKey(HeaderProtectionKey::new(C::HEADER, key.as_ref()).expect(KEY_LEN))
    }
}

const KEY_LEN: &str = "the key has the length BulkCipher::key_len";

pub(crate) struct Key(LessSafeKey);

impl Key {
    pub(crate) fn new<C: LibraryCipher>(key: &AeadKey) -> Self {
        let key = UnboundKey::new(C::AEAD, key.as_ref()).expect(KEY_LEN);
        Self(LessSafeKey::new(key))
    }
}

impl Aead for Key {
    #[inline]
    fn seal_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<Tag, AeadError> {
        let nonce = aead::Nonce::assume_unique_for_key(nonce.0);
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce, Aad::from(aad), text)
            .map_err(|_| AeadError)?;
        tag.as_ref().try_into().map_err(|_| AeadError)
    }

    #[inline]
    fn open_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<usize, AeadError> {
        let nonce = aead::Nonce::assume_unique_for_key(nonce.0);
        self.0
            .open_in_place(nonce, Aad::from(aad), text)
            .map(|plain| plain.len())
            .map_err(|_| AeadError)
    }
}

/// The header protection cipher under one key.
pub(crate) struct HeaderKey(HeaderProtectionKey);

impl HeaderMask for HeaderKey {
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError> {
        self.0.new_mask(sample).map_err(|_| AeadError)
    }
}
