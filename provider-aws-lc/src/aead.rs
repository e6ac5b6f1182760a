//! The AEADs, and the ciphers for QUIC headers.

use core::marker::PhantomData;

use aws_lc_rs::aead::quic::{self, HeaderProtectionKey};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, UnboundKey};
use rustls_core::blocks::{
    Aead, AeadAlgorithm, AeadError, Aes128Gcm, Aes256Gcm, BulkCipher, Chacha20Poly1305, Cipher,
    HeaderMask, InPlace, MASK_LEN, OpeningKey, PacketAlgorithm, SAMPLE_LEN, SealingKey, Tag,
};
use rustls_core::crypto::cipher::{AeadKey, Iv, Nonce};

/// A cipher, with aws-lc-rs's algorithms for it.
pub(crate) trait LibraryCipher: Cipher {
    const AEAD: &'static aead::Algorithm;
    /// The cipher that protects QUIC headers.
    const HEADER: &'static quic::Algorithm;

    /// The maximum plaintext length in bytes that [`RecordKey`] copies to seal it together with the
    /// trailer; `None` if the library seals a separate trailer at no cost.
    const COPIED: Option<usize> = None;
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

    /// A separate trailer costs 120 ns, as much as copying 8 KiB: sealing 64 bytes takes 290 ns
    /// with a separate trailer, and 165 ns without.
    const COPIED: Option<usize> = Some(8192);
}

/// The cipher `C` over aws-lc-rs.
pub(crate) struct AwsLc<C>(PhantomData<C>);

impl<C: LibraryCipher> AeadAlgorithm for AwsLc<C> {
    type SealingKey = RecordKey<C>;
    type OpeningKey = Key;

    const CIPHER: BulkCipher = C::CIPHER;

    fn sealing_key(key: &AeadKey) -> RecordKey<C> {
        RecordKey(InPlace(Key::new::<C>(key)), PhantomData)
    }

    fn opening_key(key: &AeadKey) -> Key {
        Key::new::<C>(key)
    }

    fn fips() -> bool {
        C::CIPHER.is_nist_approved() && crate::is_fips_module()
    }
}

impl<C: LibraryCipher> PacketAlgorithm for AwsLc<C> {
    type PacketKey = Key;
    type HeaderKey = HeaderKey;

    fn packet_key(key: &AeadKey, _: &Iv) -> Key {
        Key::new::<C>(key)
    }

    fn header_key(key: &AeadKey) -> HeaderKey {
        HeaderKey::new::<C>(key)
    }
}

pub(crate) const KEY_LEN: &str = "the key has the length BulkCipher::key_len";

pub(crate) struct Key(LessSafeKey);

impl Key {
    pub(crate) fn new<C: LibraryCipher>(key: &AeadKey) -> Self {
        let key = UnboundKey::new(C::AEAD, key.as_ref()).expect(KEY_LEN);
        Self(LessSafeKey::new(key))
    }
}

/// Converts `nonce` to the library's type.
#[inline]
pub(crate) fn to_library(nonce: Nonce) -> aead::Nonce {
    aead::Nonce::assume_unique_for_key(nonce.0)
}

/// A key of the cipher `C` that seals records and HPKE messages.
pub(crate) struct RecordKey<C>(InPlace<Key>, PhantomData<C>);

impl<C: LibraryCipher> SealingKey for RecordKey<C> {
    const OVERWRITES_OUTPUT: bool = true;

    #[inline]
    fn seal(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain: &[u8],
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        if C::COPIED.is_some_and(|longest| plain.len() <= longest) {
            return self.0.seal(nonce, aad, plain, trailer, out);
        }
        let (ciphertext, trailer_and_tag) =
            out.split_at_mut_checked(plain.len()).ok_or(AeadError)?;
        let (nonce, aad) = (to_library(nonce), Aad::from(aad));
        let InPlace(Key(key)) = &self.0;
        key.seal_out_of_place_scatter(nonce, aad, plain, ciphertext, trailer, trailer_and_tag)
            .map_err(|_| AeadError)
    }

    #[inline]
    fn seal_in_place(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        plain_len: usize,
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        if C::COPIED.is_some() {
            return SealingKey::seal_in_place(&mut self.0, nonce, aad, plain_len, trailer, out);
        }
        let (text, trailer_and_tag) = out.split_at_mut_checked(plain_len).ok_or(AeadError)?;
        let (nonce, aad) = (to_library(nonce), Aad::from(aad));
        let InPlace(Key(key)) = &self.0;
        key.seal_in_place_scatter(nonce, aad, text, trailer, trailer_and_tag)
            .map_err(|_| AeadError)
    }
}

impl OpeningKey for Key {
    #[inline]
    fn open(&mut self, nonce: Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, AeadError> {
        self.0
            .open_in_place(to_library(nonce), Aad::from(aad), in_out)
            .map(|plain| plain.len())
            .map_err(|_| AeadError)
    }

    #[inline]
    fn open_into(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        ciphertext: &[u8],
        tag: &Tag,
        out: &mut [u8],
    ) -> Option<Result<(), AeadError>> {
        let (nonce, aad) = (to_library(nonce), Aad::from(aad));
        let opened = self
            .0
            .open_separate_gather(nonce, aad, ciphertext, tag, out);
        Some(opened.map_err(|_| AeadError))
    }
}

impl Aead for Key {
    fn seal_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<Tag, AeadError> {
        let tag = self
            .0
            .seal_in_place_separate_tag(to_library(nonce), Aad::from(aad), text)
            .map_err(|_| AeadError)?;
        tag.as_ref().try_into().map_err(|_| AeadError)
    }

    fn open_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<usize, AeadError> {
        self.0
            .open_in_place(to_library(nonce), Aad::from(aad), text)
            .map(|plain| plain.len())
            .map_err(|_| AeadError)
    }
}

/// The header protection cipher under one key.
pub(crate) struct HeaderKey(HeaderProtectionKey);

impl HeaderKey {
    pub(crate) fn new<C: LibraryCipher>(key: &AeadKey) -> Self {
        Self(HeaderProtectionKey::new(C::HEADER, key.as_ref()).expect(KEY_LEN))
    }
}

impl HeaderMask for HeaderKey {
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError> {
        self.0.new_mask(sample).map_err(|_| AeadError)
    }
}
