//! The AEADs, and the ciphers of QUIC's headers.

use std::marker::PhantomData;

use aes::cipher::{BlockCipherEncrypt, BlockSizeUser};
use aes_gcm::aead::consts::{U12, U16};
use aes_gcm::aead::{AeadCore, AeadInOut, KeyInit};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use rustls::crypto::blocks::{
    Aead, AeadAlgorithm, AeadError, BulkCipher, Cipher, HeaderMask, InPlace, MASK_LEN,
    PacketAlgorithm, SAMPLE_LEN, TAG_LEN, Tag,
};
use rustls::crypto::cipher::{AeadKey, Iv, Nonce};

/// The cipher `C`: RustCrypto's AEAD type `A`, with `M` to mask QUIC headers.
pub(crate) struct RustCrypto<C, A, M>(PhantomData<(C, A, M)>);

impl<C, A, M> AeadAlgorithm for RustCrypto<C, A, M>
where
    C: Cipher,
    A: LibraryAead,
    M: Send + Sync + 'static,
{
    type SealingKey = InPlace<Key<A>>;
    type OpeningKey = InPlace<Key<A>>;

    const CIPHER: BulkCipher = C::CIPHER;

    fn sealing_key(key: &AeadKey) -> Self::SealingKey {
        InPlace(Key::new(key))
    }

    fn opening_key(key: &AeadKey) -> Self::OpeningKey {
        InPlace(Key::new(key))
    }
}

impl<C, A, M> PacketAlgorithm for RustCrypto<C, A, M>
where
    C: Cipher,
    A: LibraryAead,
    M: HeaderMask + for<'a> From<&'a AeadKey> + 'static,
{
    type PacketKey = Key<A>;
    type HeaderKey = M;

    fn packet_key(key: &AeadKey, _: &Iv) -> Key<A> {
        Key::new(key)
    }

    fn header_key(key: &AeadKey) -> M {
        M::from(key)
    }
}

/// The shared bounds of the library's AEAD types.
pub(crate) trait LibraryAead:
    AeadInOut + AeadCore<NonceSize = U12, TagSize = U16> + KeyInit + Send + Sync + 'static
{
}

impl<A> LibraryAead for A where
    A: AeadInOut + AeadCore<NonceSize = U12, TagSize = U16> + KeyInit + Send + Sync + 'static
{
}

const KEY_LEN: &str = "the key has the length BulkCipher::key_len";

pub(crate) struct Key<A>(A);

impl<A: KeyInit> Key<A> {
    pub(crate) fn new(key: &AeadKey) -> Self {
        Self(A::new_from_slice(key.as_ref()).expect(KEY_LEN))
    }
}

impl<A: LibraryAead> Aead for Key<A> {
    fn seal_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<Tag, AeadError> {
        self.0
            .encrypt_inout_detached(&nonce.0.into(), aad, text.into())
            .map(Into::into)
            .map_err(|_| AeadError)
    }

    fn open_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<usize, AeadError> {
        let (text, tag) = text.split_last_chunk_mut::<TAG_LEN>().ok_or(AeadError)?;
        let len = text.len();
        self.0
            .decrypt_inout_detached(&nonce.0.into(), aad, text.into(), (&*tag).into())
            .map(|()| len)
            .map_err(|_| AeadError)
    }
}

/// The mask of RFC 9001 §5.4.3: AES with the sample as one block.
pub(crate) struct AesMask<B>(B);

impl<B: KeyInit> From<&AeadKey> for AesMask<B> {
    fn from(key: &AeadKey) -> Self {
        Self(B::new_from_slice(key.as_ref()).expect(KEY_LEN))
    }
}

impl<B> HeaderMask for AesMask<B>
where
    B: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + Send + Sync,
{
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError> {
        let mut block = (*sample).into();
        self.0.encrypt_block(&mut block);
        block.first_chunk().copied().ok_or(AeadError)
    }
}

/// The mask of RFC 9001 §5.4.4: ChaCha20 with the sample as counter and nonce.
pub(crate) struct ChaCha20Mask([u8; 32]);

impl From<&AeadKey> for ChaCha20Mask {
    fn from(key: &AeadKey) -> Self {
        Self(key.as_ref().try_into().expect(KEY_LEN))
    }
}

impl HeaderMask for ChaCha20Mask {
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError> {
        const BLOCK_LEN: u64 = 64;
        let (counter, nonce) = sample.split_first_chunk().ok_or(AeadError)?;
        let mut chacha20 = ChaCha20::new_from_slices(&self.0, nonce).map_err(|_| AeadError)?;
        chacha20.seek(BLOCK_LEN * u64::from(u32::from_le_bytes(*counter)));
        let mut mask = [0; MASK_LEN];
        chacha20.apply_keystream(&mut mask);
        Ok(mask)
    }
}
