//! Deterministic stand-ins for cryptography, for unit tests of what is built on it. Not secure.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::aead::{Aead, AeadAlgorithm, AeadError, BulkCipher, TAG_LEN};
use super::cipher::{AeadKey, Nonce};
use super::hmac::{Hmac, Key, Tag};

/// A keyed checksum in the place of HMAC.
pub(crate) struct ToyHmac;

impl ToyHmac {
    pub(crate) const LEN: usize = 16;
}

impl Hmac for ToyHmac {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        Box::new(ToyKey(key.to_vec()))
    }

    fn hash_output_len(&self) -> usize {
        Self::LEN
    }
}

struct ToyKey(Vec<u8>);

impl Key for ToyKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut pieces = alloc::vec![&self.0[..], &[0xff], first];
        pieces.extend(middle);
        pieces.push(last);
        Tag::new(&checksum(&pieces))
    }

    fn tag_len(&self) -> usize {
        ToyHmac::LEN
    }
}

/// XOR with one byte, and a checksum for a tag.
pub(crate) struct ToyAead(pub(crate) u8);

impl ToyAead {
    fn tag(&self, nonce: &Nonce, aad: &[u8], ciphertext: &[u8]) -> [u8; TAG_LEN] {
        checksum(&[&[self.0], &nonce.0, aad, &[0xff], ciphertext])
    }

    fn xor(&self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| *byte ^= self.0);
    }
}

impl Aead for ToyAead {
    fn seal(
        &self,
        nonce: Nonce,
        aad: &[u8],
        plain: &[u8],
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        out.get_mut(..plain.len())
            .ok_or(AeadError)?
            .copy_from_slice(plain);
        self.seal_in_place(nonce, aad, plain.len(), trailer, out)
    }

    fn seal_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        plain_len: usize,
        trailer: &[u8],
        out: &mut [u8],
    ) -> Result<(), AeadError> {
        let sealed_len = plain_len + trailer.len();
        if out.len() != sealed_len + TAG_LEN {
            return Err(AeadError);
        }
        let (text, tag) = out.split_at_mut(sealed_len);
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
        self.xor(in_out);
        Ok(self.tag(&nonce, aad, in_out))
    }

    fn open_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<usize, AeadError> {
        let (text, tag) = in_out.split_last_chunk_mut::<TAG_LEN>().ok_or(AeadError)?;
        if *tag != self.tag(&nonce, aad, text) {
            return Err(AeadError);
        }
        self.xor(text);
        Ok(text.len())
    }
}

/// [`ToyAead`] under the first byte of the key, in the place of AES-256-GCM.
pub(crate) struct ToyAlgorithm;

impl AeadAlgorithm for ToyAlgorithm {
    type Key = ToyAead;

    const CIPHER: BulkCipher = BulkCipher::Aes256Gcm;

    fn key(key: &AeadKey) -> ToyAead {
        ToyAead(key.as_ref()[0])
    }
}

/// Two FNV-1a hashes side by side.
fn checksum(pieces: &[&[u8]]) -> [u8; 16] {
    let mut state = [0xcbf2_9ce4_8422_2325_u64, 0x9e37_79b9_7f4a_7c15];
    for byte in pieces.iter().copied().flatten() {
        for half in &mut state {
            *half = (*half ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    let mut out = [0; 16];
    out[..8].copy_from_slice(&state[0].to_be_bytes());
    out[8..].copy_from_slice(&state[1].to_be_bytes());
    out
}
