//! Packet protection of QUIC (RFC 9001 §5.3, §5.4): the interface to a provider, and the parts of it that are
//! the same for every AEAD and header cipher.
//!
//! Deriving the keys is the job of [`crate::quic`].

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

/// The packet protection of one cipher suite, as a provider offers it.
pub trait Algorithm: Send + Sync {
    /// Makes the key that protects packet payloads.
    ///
    /// `key` is [`aead_key_len`](Self::aead_key_len) bytes long.
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey>;

    /// Makes the key that protects packet headers.
    ///
    /// `key` is [`aead_key_len`](Self::aead_key_len) bytes long.
    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey>;

    /// Length in bytes of the AEAD's key, which is that of the header protection key too
    /// (RFC 9001 §5.1). At most [`AeadKey::MAX_LEN`].
    fn aead_key_len(&self) -> usize;

    /// True when this implementation is FIPS-approved. False unless overridden.
    fn fips(&self) -> bool {
        false
    }
}

/// Protects the payloads of packets in one direction (RFC 9001 §5.3).
pub trait PacketKey: Send + Sync {
    /// Encrypts `payload` in place. The packet is then header ‖ payload ‖ the tag returned.
    ///
    /// `header` is the header as it is before header protection.
    ///
    /// # Errors
    ///
    /// [`Error::EncryptError`] when the AEAD fails, say for a payload beyond its limits.
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error>;

    /// Encrypts like [`encrypt_in_place`](Self::encrypt_in_place), with the nonce for a path of a
    /// multipath connection (draft-ietf-quic-multipath).
    ///
    /// # Errors
    ///
    /// [`Error::EncryptError`] when the AEAD fails; always, unless overridden.
    fn encrypt_in_place_for_path(
        &self,
        _path_id: u32,
        _packet_number: u64,
        _header: &[u8],
        _payload: &mut [u8],
    ) -> Result<Tag, Error> {
        Err(Error::EncryptError)
    }

    /// Decrypts `payload`, which ends in the tag, in place and returns the part that is plaintext.
    ///
    /// `header` is the header after header protection has been removed.
    ///
    /// # Errors
    ///
    /// [`Error::DecryptError`] when the packet is not authentic or too short. The packet is then to be
    /// dropped and counted against [`integrity_limit`](Self::integrity_limit).
    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error>;

    /// Decrypts like [`decrypt_in_place`](Self::decrypt_in_place), with the nonce for a path of a
    /// multipath connection (draft-ietf-quic-multipath).
    ///
    /// # Errors
    ///
    /// [`Error::DecryptError`] when the packet is not authentic; always, unless overridden.
    fn decrypt_in_place_for_path<'a>(
        &self,
        _path_id: u32,
        _packet_number: u64,
        _header: &[u8],
        _payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        Err(Error::DecryptError)
    }

    /// Length in bytes of the tag.
    fn tag_len(&self) -> usize;

    /// How many packets may be encrypted under this key before it must be updated (RFC 9001 §6.6).
    fn confidentiality_limit(&self) -> u64;

    /// How many packets may fail to decrypt, over all keys of a connection, before the connection
    /// must be closed (RFC 9001 §6.6).
    fn integrity_limit(&self) -> u64;
}

/// Protects the headers of packets in one direction (RFC 9001 §5.4).
pub trait HeaderProtectionKey: Send + Sync {
    /// Adds header protection.
    ///
    /// `sample` is [`sample_len`](Self::sample_len) bytes of ciphertext, from 4 bytes after the start of the
    /// packet number, however long that is (RFC 9001 §5.4.2). `first` is the header's first byte, and
    /// `packet_number` the encoded packet number. Up to 4 bytes may be passed: those beyond the length that
    /// `first` tells are left alone.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when `sample` has the wrong length or `packet_number` is longer than
    /// 4 bytes. Nothing has been changed then.
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error>;

    /// Removes header protection.
    ///
    /// The length of the packet number is known only after `first` is unmasked, so pass the 4 bytes at its
    /// place. Only the bytes that belong to it are unmasked.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when `sample` has the wrong length or `packet_number` is longer than
    /// 4 bytes. Nothing has been changed then.
    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error>;

    /// Length in bytes of the sample.
    fn sample_len(&self) -> usize;
}

/// The authentication tag of a packet.
pub struct Tag([u8; TAG_LEN]);

impl From<&[u8]> for Tag {
    /// Copies a tag.
    ///
    /// # Panics
    ///
    /// If `tag` is not 16 bytes long.
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
