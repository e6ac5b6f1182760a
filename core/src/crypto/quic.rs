//! QUIC packet protection (RFC 9001 §5.3, §5.4): the provider interface, and the parts that are the
//! same for every AEAD and header cipher.
//!
//! [`crate::quic`] derives the keys.

use alloc::boxed::Box;

pub use protection::{
    AeadPacketKey, HeaderMask, MASK_LEN, MaskHeaderKey, PacketAlgorithm, QuicPackets, SAMPLE_LEN,
};

use super::aead::TAG_LEN;
use super::cipher::{AeadKey, Iv};
use crate::error::Error;

mod protection;
#[cfg(test)]
mod tests;

/// The packet protection of one cipher suite, implemented by a provider.
pub trait Algorithm: Send + Sync {
    /// Creates the key that protects packet payloads.
    ///
    /// `key` is [`aead_key_len`](Self::aead_key_len) bytes long.
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey>;

    /// Creates the key that protects packet headers.
    ///
    /// `key` is [`aead_key_len`](Self::aead_key_len) bytes long.
    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey>;

    /// Returns the length in bytes of the AEAD's key and of the header protection key (RFC 9001
    /// §5.1), at most [`AeadKey::MAX_LEN`].
    fn aead_key_len(&self) -> usize;

    /// True if this implementation is FIPS-approved. The default is false.
    fn fips(&self) -> bool {
        false
    }
}

/// Protects packet payloads in one direction (RFC 9001 §5.3).
pub trait PacketKey: Send + Sync {
    /// Encrypts `payload` in place. The packet is then header ‖ payload ‖ the returned tag.
    ///
    /// `header` is the header before header protection.
    ///
    /// # Errors
    ///
    /// Returns [`Error::EncryptError`] if the AEAD fails, for example because of its limits.
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error>;

    /// Like [`encrypt_in_place`](Self::encrypt_in_place), with the nonce for a path of a multipath
    /// connection (draft-ietf-quic-multipath).
    ///
    /// # Errors
    ///
    /// Returns [`Error::EncryptError`] if the AEAD fails. The default always fails.
    fn encrypt_in_place_for_path(
        &self,
        _path_id: u32,
        _packet_number: u64,
        _header: &[u8],
        _payload: &mut [u8],
    ) -> Result<Tag, Error> {
        Err(Error::EncryptError)
    }

    /// Decrypts `payload`, which ends with the tag, in place. Returns the part that is plaintext.
    ///
    /// `header` is the header after removing header protection.
    ///
    /// # Errors
    ///
    /// Returns [`Error::DecryptError`] if the packet is not authentic or too short. The caller must
    /// drop the packet and count it against [`integrity_limit`](Self::integrity_limit).
    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error>;

    /// Like [`decrypt_in_place`](Self::decrypt_in_place), with the nonce for a path of a multipath
    /// connection (draft-ietf-quic-multipath).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`decrypt_in_place`](Self::decrypt_in_place). The default always
    /// fails.
    fn decrypt_in_place_for_path<'a>(
        &self,
        _path_id: u32,
        _packet_number: u64,
        _header: &[u8],
        _payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        Err(Error::DecryptError)
    }

    /// Returns the length in bytes of the tag.
    fn tag_len(&self) -> usize;

    /// Returns the number of packets that may be encrypted before the key must be updated (RFC 9001
    /// §6.6).
    fn confidentiality_limit(&self) -> u64;

    /// Returns the number of packets that may fail to decrypt, over all keys of a connection,
    /// before the connection must be closed (RFC 9001 §6.6).
    fn integrity_limit(&self) -> u64;
}

/// Protects packet headers in one direction (RFC 9001 §5.4).
pub trait HeaderProtectionKey: Send + Sync {
    /// Adds header protection.
    ///
    /// `sample` is [`sample_len`](Self::sample_len) bytes of ciphertext, starting 4 bytes after the
    /// start of the packet number, regardless of the number's length (RFC 9001 §5.4.2). `first` is
    /// the header's first byte, and `packet_number` the encoded packet number. Up to 4 bytes may be
    /// passed: the bytes beyond the length in `first` stay unchanged.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if `sample` has the wrong length, if `packet_number` is longer
    /// than 4 bytes, or if the cipher fails. The header is then unchanged.
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error>;

    /// Removes header protection.
    ///
    /// The length of the packet number is only known after `first` is unmasked, so pass the 4 bytes
    /// at its position. Only the bytes that belong to the packet number are unmasked.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`encrypt_in_place`](Self::encrypt_in_place).
    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error>;

    /// Returns the length in bytes of the sample.
    fn sample_len(&self) -> usize;
}

/// The authentication tag of a packet.
pub struct Tag([u8; TAG_LEN]);

impl From<&[u8]> for Tag {
    /// Copies a tag.
    ///
    /// # Panics
    ///
    /// Panics if `tag` is not 16 bytes long.
    fn from(tag: &[u8]) -> Self {
        let mut bytes = [0; TAG_LEN];
        bytes.copy_from_slice(tag);
        Self(bytes)
    }
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
