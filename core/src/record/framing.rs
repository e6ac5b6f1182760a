//! Record framing: nonce, additional data, inner content type, explicit nonce.
//!
//! This file implements them for providers, on top of their [`SealingKey`] and [`OpeningKey`], as
//! TLS 1.3 (RFC 9846 §5.2) and the AEAD suites of TLS 1.2 (RFC 5246 §6.2.3.3, RFC 5288, RFC 7905)
//! require. The state of a direction (sequence number, limits) is in [`super::sender`] and
//! [`super::receiver`].

use alloc::boxed::Box;
use core::marker::PhantomData;

use zeroize::Zeroizing;

use super::MAX_FRAGMENT_LEN;
use crate::crypto::aead::{AeadAlgorithm, OpeningKey, SealingKey, TAG_LEN};
use crate::crypto::cipher::{
    AeadKey, ConnectionTrafficSecrets, EncryptError, FromThisCrate, InboundOpaqueMessage,
    InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter, MessageEncrypter, NONCE_LEN, Nonce,
    OutboundPlainMessage, Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError,
    make_tls12_aad, make_tls13_aad, split_inner_plaintext,
};
use crate::enums::{ContentType, ProtocolVersion};
use crate::error::Error;

#[cfg(test)]
mod tests;

/// TLS 1.3 record protection (RFC 9846 §5.2) over a provider's AEAD algorithm `A`.
pub struct Tls13Framing<A>(PhantomData<A>);

impl<A: AeadAlgorithm> Tls13Framing<A> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);
}

impl<A: AeadAlgorithm> Tls13AeadAlgorithm for Tls13Framing<A> {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        let key = A::sealing_key(&key);
        Box::new(Tls13Record { key, iv })
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        let key = A::opening_key(&key);
        Box::new(Tls13Record { key, iv })
    }

    fn key_len(&self) -> usize {
        A::CIPHER.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(A::CIPHER.traffic_secrets(key, iv))
    }

    fn fips(&self) -> bool {
        A::fips()
    }
}

/// One direction of a TLS 1.3 connection.
struct Tls13Record<K> {
    key: K,
    iv: Iv,
}

/// The bytes that a TLS 1.3 record adds to its payload: content type and tag.
pub(super) const TLS13_OVERHEAD: usize = 1 + TAG_LEN;

impl<K: SealingKey> MessageEncrypter for Tls13Record<K> {
    #[inline]
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let len = msg.payload.len();
        let out = EncryptError::check_size(out, len + TLS13_OVERHEAD)?;
        let Some(plain) = msg.payload.as_single() else {
            msg.payload.copy_to_slice(out);
            return self.encrypt_in_place(msg.typ, msg.version, len, seq, out);
        };
        self.key.seal(
            Nonce::new(&self.iv, seq),
            &make_tls13_aad(out.len()),
            plain,
            &msg.typ.to_array(),
            out,
        )?;
        Ok(out.len())
    }

    #[inline]
    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        _version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let out = EncryptError::check_size(out, payload_len + TLS13_OVERHEAD)?;
        self.key.seal_in_place(
            Nonce::new(&self.iv, seq),
            &make_tls13_aad(out.len()),
            payload_len,
            &typ.to_array(),
            out,
        )?;
        Ok(out.len())
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + TLS13_OVERHEAD
    }

    fn payload_offset(&self) -> usize {
        0
    }

    fn overwrites_output(&self, _: FromThisCrate) -> bool {
        K::OVERWRITES_OUTPUT
    }
}

impl<K: OpeningKey> MessageDecrypter for Tls13Record<K> {
    #[inline]
    fn decrypt<'a>(
        &mut self,
        msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let is_usual = matches!(msg.typ, ContentType::ApplicationData)
            && matches!(msg.version, ProtocolVersion::TLSv1_2);
        if !is_usual {
            return self.decrypt_unusual(msg, seq);
        }
        let aad = make_tls13_aad(msg.payload.len());
        self.open(msg, seq, &aad)?.into_tls13_unpadded_message()
    }

    fn max_content_len(&self, payload_len: usize) -> usize {
        payload_len.saturating_sub(TLS13_OVERHEAD)
    }

    #[inline]
    fn decrypt_into(
        &mut self,
        payload: &[u8],
        seq: u64,
        out: &mut [u8],
        _: FromThisCrate,
    ) -> Option<Result<(ContentType, usize), Error>> {
        let aad = make_tls13_aad(payload.len());
        let nonce = Nonce::new(&self.iv, seq);
        open_into(
            &mut self.key,
            nonce,
            &aad,
            payload,
            out,
            split_inner_plaintext,
        )
    }
}

impl<K: OpeningKey> Tls13Record<K> {
    /// Opens `msg` in place, and truncates it to the `TLSInnerPlaintext`.
    #[inline]
    fn open<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
        aad: &[u8],
    ) -> Result<InboundOpaqueMessage<'a>, Error> {
        if msg.payload.len() < TAG_LEN {
            return Err(Error::DecryptError);
        }
        let len = self
            .key
            .open(Nonce::new(&self.iv, seq), aad, &mut msg.payload)
            .map_err(|_| Error::DecryptError)?;
        msg.payload.truncate(len);
        Ok(msg)
    }

    /// Decrypts a record whose outer type or version is unusual.
    #[cold]
    fn decrypt_unusual<'a>(
        &mut self,
        msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        // RFC 9846 §5.2: authenticate the header as received, so that tampering is detected
        let mut aad = make_tls13_aad(msg.payload.len());
        aad[0] = msg.typ.into();
        aad[1..3].copy_from_slice(&msg.version.to_array());
        let msg = self.open(msg, seq, &aad)?;
        // RFC 9846 §5.2: the outer type of a protected record is always application_data. §5: an
        // unexpected record type is an unexpected_message
        if msg.typ != ContentType::ApplicationData {
            return Err(Error::InappropriateMessage {
                expect_types: [ContentType::ApplicationData].into(),
                got_type: msg.typ,
            });
        }
        msg.into_tls13_unpadded_message()
    }
}

/// TLS 1.2 record protection for AES-GCM (RFC 5288 §3). Each record carries eight bytes of its
/// nonce.
pub struct Tls12GcmFraming<A>(PhantomData<A>);

impl<A: AeadAlgorithm> Tls12GcmFraming<A> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);

    /// Returns `salt ‖ explicit`. RFC 5288 §3 leaves the explicit part to the sender. Encrypters
    /// XOR the sequence number into it, so no two records under one key share a nonce.
    fn iv(salt: &[u8], explicit: &[u8]) -> Iv {
        let mut iv = [0u8; NONCE_LEN];
        iv[..GCM_SALT_LEN].copy_from_slice(salt);
        iv[GCM_SALT_LEN..].copy_from_slice(explicit);
        Iv::new(iv)
    }
}

/// The length of the fixed part of a TLS 1.2 GCM nonce: the `salt` of RFC 5288 §3.
const GCM_SALT_LEN: usize = 4;

/// The length of the part of a TLS 1.2 GCM nonce that each record carries.
const GCM_EXPLICIT_NONCE_LEN: usize = NONCE_LEN - GCM_SALT_LEN;

impl<A: AeadAlgorithm> Tls12AeadAlgorithm for Tls12GcmFraming<A> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        let explicit = if A::NONCES_GROW {
            // the explicit nonce of a record is its sequence number
            &[0; GCM_EXPLICIT_NONCE_LEN]
        } else {
            extra
        };
        Box::new(Tls12GcmEncrypter {
            key: A::sealing_key(&key),
            iv: Self::iv(iv, explicit),
        })
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        let mut salt = Zeroizing::new([0u8; GCM_SALT_LEN]);
        salt.copy_from_slice(iv);
        Box::new(Tls12GcmDecrypter {
            key: A::opening_key(&key),
            salt,
        })
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape {
            enc_key_len: A::CIPHER.key_len(),
            fixed_iv_len: GCM_SALT_LEN,
            explicit_nonce_len: GCM_EXPLICIT_NONCE_LEN,
        }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        let explicit = if A::NONCES_GROW {
            // RFC 5288 §3: other implementations count up from here; keep clear of our sequence
            // numbers
            &[0x80, 0, 0, 0, 0, 0, 0, 0]
        } else {
            explicit
        };
        Ok(A::CIPHER.traffic_secrets(key, Self::iv(iv, explicit)))
    }

    fn fips(&self) -> bool {
        A::fips()
    }
}

/// The bytes that a TLS 1.2 GCM record adds to its payload: explicit nonce and tag.
const TLS12_GCM_OVERHEAD: usize = GCM_EXPLICIT_NONCE_LEN + TAG_LEN;

struct Tls12GcmEncrypter<K> {
    key: K,
    iv: Iv,
}

impl<K> Tls12GcmEncrypter<K> {
    /// Writes the explicit nonce. Returns the whole nonce and the rest of `out`.
    fn write_nonce<'a>(&self, seq: u64, out: &'a mut [u8]) -> (Nonce, &'a mut [u8]) {
        let nonce = Nonce::new(&self.iv, seq);
        let (explicit, rest) = out.split_at_mut(GCM_EXPLICIT_NONCE_LEN);
        explicit.copy_from_slice(&nonce.0[GCM_SALT_LEN..]);
        (nonce, rest)
    }
}

impl<K: SealingKey> MessageEncrypter for Tls12GcmEncrypter<K> {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let len = msg.payload.len();
        let out = EncryptError::check_size(out, len + TLS12_GCM_OVERHEAD)?;
        let Some(plain) = msg.payload.as_single() else {
            msg.payload
                .copy_to_slice(&mut out[GCM_EXPLICIT_NONCE_LEN..]);
            return self.encrypt_in_place(msg.typ, msg.version, len, seq, out);
        };
        let aad = make_tls12_aad(seq, msg.typ, msg.version, len);
        let (nonce, sealed) = self.write_nonce(seq, out);
        self.key.seal(nonce, &aad, plain, &[], sealed)?;
        Ok(out.len())
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let out = EncryptError::check_size(out, payload_len + TLS12_GCM_OVERHEAD)?;
        let aad = make_tls12_aad(seq, typ, version, payload_len);
        let (nonce, sealed) = self.write_nonce(seq, out);
        self.key
            .seal_in_place(nonce, &aad, payload_len, &[], sealed)?;
        Ok(out.len())
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + TLS12_GCM_OVERHEAD
    }

    fn payload_offset(&self) -> usize {
        GCM_EXPLICIT_NONCE_LEN
    }

    fn overwrites_output(&self, _: FromThisCrate) -> bool {
        K::OVERWRITES_OUTPUT
    }
}

struct Tls12GcmDecrypter<K> {
    key: K,
    salt: Zeroizing<[u8; GCM_SALT_LEN]>,
}

impl<K: OpeningKey> MessageDecrypter for Tls12GcmDecrypter<K> {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let plain_len = tls12_plain_len(&msg, TLS12_GCM_OVERHEAD)?;
        let aad = make_tls12_aad(seq, msg.typ, msg.version, plain_len);
        let (explicit, sealed) = msg.payload.split_at_mut(GCM_EXPLICIT_NONCE_LEN);
        let nonce = self.nonce(explicit);
        self.key
            .open(nonce, &aad, sealed)
            .map_err(|_| Error::DecryptError)?;
        let payload = GCM_EXPLICIT_NONCE_LEN..GCM_EXPLICIT_NONCE_LEN + plain_len;
        check_tls12_fragment(msg.into_plain_message_range(payload))
    }

    fn max_content_len(&self, payload_len: usize) -> usize {
        payload_len.saturating_sub(TLS12_GCM_OVERHEAD)
    }

    fn decrypt_into(
        &mut self,
        payload: &[u8],
        seq: u64,
        out: &mut [u8],
        _: FromThisCrate,
    ) -> Option<Result<(ContentType, usize), Error>> {
        let (explicit, sealed) = payload.split_at_checked(GCM_EXPLICIT_NONCE_LEN)?;
        let aad = tls12_application_aad(seq, sealed)?;
        let nonce = self.nonce(explicit);
        open_into(&mut self.key, nonce, &aad, sealed, out, tls12_content)
    }
}

impl<K> Tls12GcmDecrypter<K> {
    /// Returns the nonce of a record whose explicit part is `explicit`.
    fn nonce(&self, explicit: &[u8]) -> Nonce {
        let mut nonce = [0u8; NONCE_LEN];
        nonce[..GCM_SALT_LEN].copy_from_slice(&*self.salt);
        nonce[GCM_SALT_LEN..].copy_from_slice(explicit);
        Nonce(nonce)
    }
}

/// TLS 1.2 record protection for ChaCha20-Poly1305 (RFC 7905 §2). Its nonce is built as in TLS 1.3.
pub struct Tls12Chacha20Framing<A>(PhantomData<A>);

impl<A: AeadAlgorithm> Tls12Chacha20Framing<A> {
    /// The only value of this type.
    pub const NEW: Self = Self(PhantomData);
}

impl<A: AeadAlgorithm> Tls12AeadAlgorithm for Tls12Chacha20Framing<A> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], _extra: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(Tls12Chacha20Record {
            key: A::sealing_key(&key),
            iv: Iv::copy(iv),
        })
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        Box::new(Tls12Chacha20Record {
            key: A::opening_key(&key),
            iv: Iv::copy(iv),
        })
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape {
            enc_key_len: A::CIPHER.key_len(),
            fixed_iv_len: NONCE_LEN,
            explicit_nonce_len: 0,
        }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        _explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(A::CIPHER.traffic_secrets(key, Iv::copy(iv)))
    }

    fn fips(&self) -> bool {
        A::fips()
    }
}

/// One direction of a TLS 1.2 ChaCha20-Poly1305 connection.
struct Tls12Chacha20Record<K> {
    key: K,
    iv: Iv,
}

impl<K: SealingKey> MessageEncrypter for Tls12Chacha20Record<K> {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let len = msg.payload.len();
        let out = EncryptError::check_size(out, len + TAG_LEN)?;
        let Some(plain) = msg.payload.as_single() else {
            msg.payload.copy_to_slice(out);
            return self.encrypt_in_place(msg.typ, msg.version, len, seq, out);
        };
        let aad = make_tls12_aad(seq, msg.typ, msg.version, len);
        let nonce = Nonce::new(&self.iv, seq);
        self.key.seal(nonce, &aad, plain, &[], out)?;
        Ok(out.len())
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let out = EncryptError::check_size(out, payload_len + TAG_LEN)?;
        let aad = make_tls12_aad(seq, typ, version, payload_len);
        let nonce = Nonce::new(&self.iv, seq);
        self.key.seal_in_place(nonce, &aad, payload_len, &[], out)?;
        Ok(out.len())
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + TAG_LEN
    }

    fn payload_offset(&self) -> usize {
        0
    }

    fn overwrites_output(&self, _: FromThisCrate) -> bool {
        K::OVERWRITES_OUTPUT
    }
}

impl<K: OpeningKey> MessageDecrypter for Tls12Chacha20Record<K> {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let plain_len = tls12_plain_len(&msg, TAG_LEN)?;
        let aad = make_tls12_aad(seq, msg.typ, msg.version, plain_len);
        self.key
            .open(Nonce::new(&self.iv, seq), &aad, &mut msg.payload)
            .map_err(|_| Error::DecryptError)?;
        check_tls12_fragment(msg.into_plain_message_range(0..plain_len))
    }

    fn max_content_len(&self, payload_len: usize) -> usize {
        payload_len.saturating_sub(TAG_LEN)
    }

    fn decrypt_into(
        &mut self,
        payload: &[u8],
        seq: u64,
        out: &mut [u8],
        _: FromThisCrate,
    ) -> Option<Result<(ContentType, usize), Error>> {
        let aad = tls12_application_aad(seq, payload)?;
        let nonce = Nonce::new(&self.iv, seq);
        open_into(&mut self.key, nonce, &aad, payload, out, tls12_content)
    }
}

/// Opens `sealed` to the front of `out`, and finds its content there. Returns `None`, and leaves
/// `out` unchanged, if `sealed` is shorter than a tag, if the plaintext does not fit, or if the
/// library only opens in place.
///
/// After an error, `out` holds no byte of the record.
#[inline]
fn open_into<K: OpeningKey>(
    key: &mut K,
    nonce: Nonce,
    aad: &[u8],
    sealed: &[u8],
    out: &mut [u8],
    content: impl FnOnce(&[u8]) -> Result<(ContentType, usize), Error>,
) -> Option<Result<(ContentType, usize), Error>> {
    let (ciphertext, tag) = sealed.split_last_chunk::<TAG_LEN>()?;
    let out = out.get_mut(..ciphertext.len())?;
    let opened = key.open_into(nonce, aad, ciphertext, tag, out)?;
    let found = opened
        .map_err(|_| Error::DecryptError)
        .and_then(|()| content(out));
    if found.is_err() {
        out.fill(0);
    }
    Some(found)
}

/// Returns the additional data of a TLS 1.2 record whose application data is sealed in `sealed`.
/// Returns `None` if `sealed` is shorter than a tag.
fn tls12_application_aad(seq: u64, sealed: &[u8]) -> Option<[u8; 13]> {
    let plain_len = sealed.len().checked_sub(TAG_LEN)?;
    let (typ, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
    Some(make_tls12_aad(seq, typ, version, plain_len))
}

/// Returns the type and the length of `plain`, the content of a TLS 1.2 record with application
/// data. Fails if it is too long.
fn tls12_content(plain: &[u8]) -> Result<(ContentType, usize), Error> {
    check_tls12_len(plain.len())?;
    Ok((ContentType::ApplicationData, plain.len()))
}

/// Returns the plaintext length of a TLS 1.2 record, which is part of its additional data. Fails if
/// the record is shorter than its overhead.
fn tls12_plain_len(msg: &InboundOpaqueMessage<'_>, overhead: usize) -> Result<usize, Error> {
    msg.payload
        .len()
        .checked_sub(overhead)
        .ok_or(Error::DecryptError)
}

/// Checks that the fragment is not longer than 2^14 bytes (RFC 5246 §6.2.1).
fn check_tls12_fragment(msg: InboundPlainMessage<'_>) -> Result<InboundPlainMessage<'_>, Error> {
    check_tls12_len(msg.payload.len())?;
    Ok(msg)
}

fn check_tls12_len(len: usize) -> Result<(), Error> {
    if len > MAX_FRAGMENT_LEN {
        return Err(Error::PeerSentOversizedRecord);
    }
    Ok(())
}
