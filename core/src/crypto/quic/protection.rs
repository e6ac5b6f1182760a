//! Packet and header protection over a provider's AEAD and mask (RFC 9001 §5.3, §5.4).

use alloc::boxed::Box;
use core::marker::PhantomData;

use super::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use crate::crypto::aead::{Aead, AeadAlgorithm, AeadError, TAG_LEN};
use crate::crypto::cipher::{AeadKey, Iv, Nonce};
use crate::error::Error;

/// A provider's AEAD that can protect packets, together with the cipher for their headers.
pub trait PacketAlgorithm: AeadAlgorithm {
    /// The key that protects payloads. It is used behind a shared reference.
    type PacketKey: Aead + 'static;

    /// The key that masks headers.
    type HeaderKey: HeaderMask + 'static;

    /// Creates a packet key from the [`key_len`] bytes of `key`. Its nonces are derived from `iv`.
    ///
    /// [`key_len`]: crate::crypto::bulk_cipher::BulkCipher::key_len
    fn packet_key(key: &AeadKey, iv: &Iv) -> Self::PacketKey;

    /// Creates a header key, for AES or ChaCha20 without authentication (RFC 9001 §5.4.3, §5.4.4),
    /// from the [`key_len`] bytes of `key`.
    ///
    /// [`key_len`]: crate::crypto::bulk_cipher::BulkCipher::key_len
    fn header_key(key: &AeadKey) -> Self::HeaderKey;
}

/// QUIC packet protection (RFC 9001 §5) over a provider's algorithm `A`.
pub struct QuicPackets<A>(PhantomData<A>);

impl<A: PacketAlgorithm> QuicPackets<A> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);
}

impl<A: PacketAlgorithm> Algorithm for QuicPackets<A> {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        let limits = A::CIPHER.properties().limits;
        Box::new(AeadPacketKey::new(
            A::packet_key(&key, &iv),
            iv,
            limits.packets,
            limits.forged_packets,
        ))
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(MaskHeaderKey::new(A::header_key(&key)))
    }

    fn aead_key_len(&self) -> usize {
        A::CIPHER.key_len()
    }

    fn fips(&self) -> bool {
        A::fips()
    }
}

/// A [`PacketKey`] (RFC 9001 §5.3) over an AEAD.
///
/// The nonce is the IV XORed with the packet number, and with the path identifier if there is one.
/// The additional data is the header.
pub struct AeadPacketKey<A> {
    aead: A,
    iv: Iv,
    confidentiality_limit: u64,
    integrity_limit: u64,
}

impl<A: Aead> AeadPacketKey<A> {
    /// Creates a packet key from an AEAD under its key, the IV, and the AEAD's limits in packets
    /// (RFC 9001 §6.6: 2²³ and 2⁵² for AES-GCM, no limit and 2³⁶ for ChaCha20-Poly1305).
    pub fn new(aead: A, iv: Iv, confidentiality_limit: u64, integrity_limit: u64) -> Self {
        Self {
            aead,
            iv,
            confidentiality_limit,
            integrity_limit,
        }
    }

    fn seal(&self, nonce: Nonce, header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        self.aead
            .seal_in_place(nonce, header, payload)
            .map(Tag)
            .map_err(|AeadError| Error::EncryptError)
    }

    fn open<'a>(
        &self,
        nonce: Nonce,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let plain_len = self
            .aead
            .open_in_place(nonce, header, payload)
            .map_err(|AeadError| Error::DecryptError)?;
        payload.get(..plain_len).ok_or(Error::DecryptError)
    }
}

impl<A: Aead> PacketKey for AeadPacketKey<A> {
    fn encrypt_in_place(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        self.seal(Nonce::new(&self.iv, packet_number), header, payload)
    }

    fn encrypt_in_place_for_path(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<Tag, Error> {
        let nonce = Nonce::for_path(path_id, &self.iv, packet_number);
        self.seal(nonce, header, payload)
    }

    fn decrypt_in_place<'a>(
        &self,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        self.open(Nonce::new(&self.iv, packet_number), header, payload)
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        path_id: u32,
        packet_number: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        let nonce = Nonce::for_path(path_id, &self.iv, packet_number);
        self.open(nonce, header, payload)
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }

    fn confidentiality_limit(&self) -> u64 {
        self.confidentiality_limit
    }

    fn integrity_limit(&self) -> u64 {
        self.integrity_limit
    }
}

/// The length in bytes of the sample for header protection (RFC 9001 §5.4.3, §5.4.4).
pub const SAMPLE_LEN: usize = 16;

/// The length in bytes of a header protection mask (RFC 9001 §5.4.1).
pub const MASK_LEN: usize = 5;

/// The header protection cipher under one key.
pub trait HeaderMask: Send + Sync {
    /// Returns the mask for `sample`: AES-ECB or ChaCha20 as in RFC 9001 §5.4.3 and §5.4.4.
    ///
    /// # Errors
    ///
    /// Returns [`AeadError`] if the cipher fails.
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Result<[u8; MASK_LEN], AeadError>;
}

/// A [`HeaderProtectionKey`] (RFC 9001 §5.4.1) over a [`HeaderMask`].
pub struct MaskHeaderKey<M>(M);

impl<M: HeaderMask> MaskHeaderKey<M> {
    /// Creates a header protection key from a cipher under its key.
    pub fn new(cipher: M) -> Self {
        Self(cipher)
    }

    /// Masks or unmasks the header. `plain_first` returns the unmasked one of two values of the
    /// first byte: before and after this call.
    fn apply(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
        plain_first: fn(before: u8, after: u8) -> u8,
    ) -> Result<(), Error> {
        let sample = sample
            .try_into()
            .map_err(|_| Error::General("sample of invalid length".into()))?;
        if packet_number.len() > MASK_LEN - 1 {
            return Err(Error::General("packet number too long".into()));
        }
        let [first_mask, number_mask @ ..] = self
            .0
            .mask(sample)
            .map_err(|AeadError| Error::General("header protection failed".into()))?;

        const LONG_HEADER: u8 = 0x80;
        let masked_bits = match *first & LONG_HEADER {
            0 => 0x1f,
            _ => 0x0f,
        };
        let after = *first ^ (first_mask & masked_bits);
        let number_len = usize::from(plain_first(*first, after) & 0x03) + 1;
        *first = after;
        packet_number
            .iter_mut()
            .zip(number_mask)
            .take(number_len)
            .for_each(|(byte, mask)| *byte ^= mask);
        Ok(())
    }
}

impl<M: HeaderMask> HeaderProtectionKey for MaskHeaderKey<M> {
    fn encrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        self.apply(sample, first, packet_number, |before, _| before)
    }

    fn decrypt_in_place(
        &self,
        sample: &[u8],
        first: &mut u8,
        packet_number: &mut [u8],
    ) -> Result<(), Error> {
        self.apply(sample, first, packet_number, |_, after| after)
    }

    fn sample_len(&self) -> usize {
        SAMPLE_LEN
    }
}
