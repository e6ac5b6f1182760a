//! What a crypto provider implements to protect records, and the keys, nonces and additional data it works
//! with. The messages that cross that interface are in `message`.
//!
//! [`MessageEncrypter`] and [`MessageDecrypter`] know nothing of sockets, buffers or sequence-number
//! state: the record layer ([`crate::record`]) calls them with the sequence number to use and the
//! memory to write to. Providers usually do not implement them: they implement
//! [`AeadAlgorithm`](super::aead::AeadAlgorithm) and take the framing from [`crate::record::framing`].

use alloc::boxed::Box;
use core::fmt;

pub use message::{
    BorrowedPayload, InboundOpaqueMessage, InboundPlainMessage, OutboundChunks,
    OutboundPlainMessage, PlainMessage,
};
pub(crate) use sealed::FromThisCrate;
use zeroize::Zeroize;

use super::secret_bytes::SecretBytes;
use crate::enums::{ContentType, ProtocolVersion};
use crate::error::Error;

mod message;
#[cfg(test)]
mod tests;

mod sealed {
    /// Proves that the caller is in this crate: nobody else can name the type.
    pub struct FromThisCrate(());

    impl FromThisCrate {
        pub(crate) fn new() -> Self {
            Self(())
        }
    }
}

/// Length in bytes of the nonce of every AEAD used here.
pub const NONCE_LEN: usize = 12;

/// The most plaintext bytes that one record carries: 2^14 (RFC 9846 §5.1).
pub(crate) const MAX_FRAGMENT_LEN: usize = 1 << 14;

/// Protects outgoing records by writing them into memory that the caller provides.
///
/// It writes what follows the record header, the *encrypted payload*:
///
/// ```text
///   TLS 1.3 (RFC 9846 §5.2)
///   ┌──────────────────────────────┬──────┬─────────┐
///   │ payload, n bytes             │ type │ tag     │   n + 1 + 16
///   └──────────────────────────────┴──────┴─────────┘
///   TLS 1.2, AES-GCM (RFC 5288 §3)
///   ┌────────────────┬──────────────────────────────┬─────────┐
///   │ explicit nonce │ payload, n bytes             │ tag     │   8 + n + 16
///   └────────────────┴──────────────────────────────┴─────────┘
///   ▲                ▲                                        ▲
///   out[0]           out[payload_offset()]                    out[encrypted_payload_len(n)]
/// ```
///
/// There is no way to get an owned record. The record layer asks [`Self::encrypted_payload_len`]
/// first, so a well-behaved caller never sees [`EncryptError::InsufficientSize`].
///
/// # What an implementer must do
///
/// - Use `seq` (XORed into the IV, RFC 9846 §5.3) and nothing else for the nonce: the record layer never
///   passes the same `seq` twice to one encrypter, not even after an error.
/// - Return [`EncryptError::InsufficientSize`] before touching `out` when `out` is shorter than
///   `encrypted_payload_len(payload)`. More room than that is allowed; bytes beyond stay as they are.
/// - Return exactly `encrypted_payload_len(payload)` on success.
/// - Write `out[..len]` completely: its old content is arbitrary.
///
/// # What an implementer must not do
///
/// - Write the record header: that is the record layer's.
/// - Split or pad the payload: it has been cut to size before.
/// - Read `out` in [`Self::encrypt`].
///
/// # Example
///
/// A provider that has an AEAD implements [`AeadAlgorithm`](super::aead::AeadAlgorithm) and is done
/// ([`Tls13Framing`](crate::record::framing::Tls13Framing)). One that has a record engine of its own
/// implements this trait; here one that "encrypts" by XOR, to show the shape:
///
/// ```
/// use rustls_core::crypto::cipher::{
///     EncryptError, MessageEncrypter, OutboundPlainMessage,
/// };
/// use rustls_core::enums::{ContentType, ProtocolVersion};
///
/// struct Xor(u8);
///
/// impl Xor {
///     /// The payload lies in `out[..n]`: append the type, "encrypt", append the "tag".
///     fn seal(&self, typ: ContentType, n: usize, seq: u64, out: &mut [u8]) {
///         out[n] = typ.into();
///         for byte in &mut out[..n + 1] {
///             *byte ^= self.0 ^ seq as u8;
///         }
///         out[n + 1..n + 17].fill(0xaa);
///     }
/// }
///
/// impl MessageEncrypter for Xor {
///     fn encrypt(
///         &mut self,
///         msg: OutboundPlainMessage<'_>,
///         seq: u64,
///         out: &mut [u8],
///     ) -> Result<usize, EncryptError> {
///         let n = msg.payload.len();
///         let out = EncryptError::check_size(out, self.encrypted_payload_len(n))?;
///         msg.payload.copy_to_slice(&mut out[..n]);
///         self.seal(msg.typ, n, seq, out);
///         Ok(out.len())
///     }
///
///     fn encrypt_in_place(
///         &mut self,
///         typ: ContentType,
///         _version: ProtocolVersion,
///         payload_len: usize,
///         seq: u64,
///         out: &mut [u8],
///     ) -> Result<usize, EncryptError> {
///         let out = EncryptError::check_size(out, self.encrypted_payload_len(payload_len))?;
///         self.seal(typ, payload_len, seq, out);
///         Ok(out.len())
///     }
///
///     fn encrypted_payload_len(&self, payload_len: usize) -> usize {
///         payload_len + 1 + 16
///     }
///
///     fn payload_offset(&self) -> usize {
///         0
///     }
/// }
///
/// let mut record = [0u8; 64];
/// let msg = OutboundPlainMessage {
///     typ: ContentType::ApplicationData,
///     version: ProtocolVersion::TLSv1_2,
///     payload: b"hello"[..].into(),
/// };
/// let len = Xor(0x20).encrypt(msg, 0, &mut record).unwrap();
/// assert_eq!((len, &record[..5]), (5 + 1 + 16, &b"HELLO"[..]));
/// ```
pub trait MessageEncrypter: Send + Sync {
    /// Encrypts `msg` under sequence number `seq` into the front of `out`; returns how many bytes it
    /// wrote.
    ///
    /// # Errors
    ///
    /// [`EncryptError::InsufficientSize`] when `out` is too short: nothing was written and `seq` is
    /// unused. [`EncryptError::Failed`] when the cipher refuses: `out` is unspecified.
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError>;

    /// Encrypts the payload that already lies in `out[payload_offset()..][..payload_len]`; afterwards
    /// `out` starts with what [`Self::encrypt`] would have written.
    ///
    /// Errors as for [`Self::encrypt`].
    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError>;

    /// Length in bytes of the encrypted payload (without record header) of a payload of
    /// `payload_len` bytes.
    ///
    /// It grows by exactly one for each byte of `payload_len`: the expansion is the same for all.
    fn encrypted_payload_len(&self, payload_len: usize) -> usize;

    /// How many bytes of the encrypted payload stand before the payload proper: 8 for TLS 1.2
    /// AES-GCM, whose explicit nonce is there, otherwise 0.
    fn payload_offset(&self) -> usize;

    /// True when `Ok` from [`Self::encrypt`] guarantees that all of the output was written.
    ///
    /// The output may be memory that another connection used, so the record layer clears it for any other
    /// encrypter. Only the framing of this crate can answer true, for keys that promise it
    /// ([`SealingKey::OVERWRITES_OUTPUT`](super::aead::SealingKey::OVERWRITES_OUTPUT)): the argument's type
    /// cannot be named elsewhere.
    #[doc(hidden)]
    fn overwrites_output(&self, _: FromThisCrate) -> bool {
        false
    }
}

/// Opens received records in the memory they were received in.
pub trait MessageDecrypter: Send + Sync {
    /// Decrypts `msg`, received as the record with sequence number `seq`, in place, and returns its
    /// content: type and payload, a slice of the input.
    ///
    /// The record layer does not check the outer type of a protected TLS 1.3 record. A decrypter should refuse any type
    /// but `application_data` (RFC 9846 §5.2).
    ///
    /// # Errors
    ///
    /// [`Error::DecryptError`] when the record is not authentic or too short to be,
    /// [`Error::InappropriateMessage`] for its outer type,
    /// [`Error::PeerSentOversizedRecord`] when its plaintext exceeds 2^14 bytes,
    /// [`IllegalTlsInnerPlaintext`](crate::error::PeerMisbehaved::IllegalTlsInnerPlaintext) when it has no content type (RFC 9846 §5.4). The
    /// content of the buffer is unspecified then.
    fn decrypt<'a>(
        &mut self,
        msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error>;

    /// The most bytes of content that [`Self::decrypt`] can make of `payload_len` encrypted ones, padding of TLS 1.3
    /// (RFC 9846 §5.4) not counted off. It may be more than there can really be; `payload_len` unless implemented.
    fn max_content_len(&self, payload_len: usize) -> usize {
        payload_len
    }
}

/// Makes record protection for the AEADs of TLS 1.3.
pub trait Tls13AeadAlgorithm: Send + Sync {
    /// Makes an encrypter for a key of [`Self::key_len`] bytes.
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter>;

    /// Makes a decrypter for a key of [`Self::key_len`] bytes.
    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter>;

    /// Length of the key in bytes.
    fn key_len(&self) -> usize;

    /// The key material in the form that secret extraction hands out.
    ///
    /// # Errors
    ///
    /// [`UnsupportedOperationError`] when the algorithm's keys may not leave it.
    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError>;

    /// True when this is a FIPS-approved implementation.
    fn fips(&self) -> bool {
        false
    }
}

/// Makes record protection for the AEADs of TLS 1.2.
pub trait Tls12AeadAlgorithm: Send + Sync + 'static {
    /// Makes an encrypter.
    ///
    /// `key`, `iv` and `extra` have the lengths of [`Self::key_block_shape`]: `iv` is the fixed part
    /// of the nonce, `extra` the initial value of its explicit part (random bytes from the key
    /// block), empty for ciphers that have none.
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter>;

    /// Makes a decrypter. `key` and `iv` as for [`Self::encrypter`].
    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter>;

    /// How the key block of RFC 5246 §6.3 is cut for this algorithm.
    fn key_block_shape(&self) -> KeyBlockShape;

    /// The key material in the form that secret extraction hands out. `explicit` is the explicit part
    /// of the nonce, as `extra` of [`Self::encrypter`].
    ///
    /// # Errors
    ///
    /// [`UnsupportedOperationError`] when the algorithm's keys may not leave it.
    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError>;

    /// True when this is a FIPS-approved implementation.
    fn fips(&self) -> bool {
        false
    }
}

/// The key material of one direction of a connection.
///
/// For AES-GCM in TLS 1.2 the IV is the 4 implicit bytes and 8 to make the explicit nonces of records from
/// (RFC 5288 §3), counting up from them, or by exclusive or with the sequence number: what a connection hands
/// out for sending leads to none that it has used.
#[non_exhaustive]
pub enum ConnectionTrafficSecrets {
    /// For AES-128-GCM.
    Aes128Gcm {
        /// The key, 16 bytes.
        key: AeadKey,
        /// The initialization vector.
        iv: Iv,
    },

    /// For AES-256-GCM.
    Aes256Gcm {
        /// The key, 32 bytes.
        key: AeadKey,
        /// The initialization vector.
        iv: Iv,
    },

    /// For ChaCha20-Poly1305.
    Chacha20Poly1305 {
        /// The key, 32 bytes.
        key: AeadKey,
        /// The initialization vector.
        iv: Iv,
    },
}

/// The key block of a TLS 1.2 cipher suite (RFC 5246 §6.3), in bytes for each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBlockShape {
    /// Length of the encryption key.
    pub enc_key_len: usize,

    /// Length of the fixed part of the nonce.
    pub fixed_iv_len: usize,

    /// Length of the explicit part of the nonce, which each record carries; zero for ciphers without.
    pub explicit_nonce_len: usize,
}

/// The operation is not offered by this implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedOperationError;

impl From<UnsupportedOperationError> for Error {
    fn from(error: UnsupportedOperationError) -> Self {
        Self::General(alloc::format!("{error}"))
    }
}

impl fmt::Display for UnsupportedOperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("operation not supported")
    }
}

impl core::error::Error for UnsupportedOperationError {}

/// The caller's output buffer is too short; nothing was written and nothing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsufficientSizeError {
    /// How many bytes the output buffer must have at the least.
    pub required_size: usize,
}

impl fmt::Display for InsufficientSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "output buffer too short: {} bytes are needed",
            self.required_size
        )
    }
}

impl core::error::Error for InsufficientSizeError {}

/// Why a [`MessageEncrypter`] wrote no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptError {
    /// The output is too short for the encrypted payload. Nothing was written, the sequence number is
    /// unused: the same call with more room succeeds.
    InsufficientSize(InsufficientSizeError),

    /// The cipher refused.
    Failed,
}

impl EncryptError {
    /// `out[..required]`, or [`EncryptError::InsufficientSize`] when `out` is shorter.
    pub fn check_size(out: &mut [u8], required: usize) -> Result<&mut [u8], Self> {
        out.get_mut(..required)
            .ok_or(Self::InsufficientSize(InsufficientSizeError {
                required_size: required,
            }))
    }
}

impl From<EncryptError> for Error {
    fn from(_: EncryptError) -> Self {
        Self::EncryptError
    }
}

impl fmt::Display for EncryptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InsufficientSize(error) => error.fmt(f),
            Self::Failed => f.write_str("encryption failed"),
        }
    }
}

impl core::error::Error for EncryptError {}

/// The static part of a nonce, derived with the key (RFC 9846 §7.3). Zeroized on drop.
#[derive(Clone, Default)]
pub struct Iv([u8; NONCE_LEN]);

impl Iv {
    /// An IV of these bytes.
    pub fn new(value: [u8; NONCE_LEN]) -> Self {
        Self(value)
    }

    /// An IV of the bytes of `value`.
    ///
    /// `value` has [`NONCE_LEN`] bytes; this is for providers, which know their lengths.
    ///
    /// # Panics
    ///
    /// When `value` has any other length.
    pub fn copy(value: &[u8]) -> Self {
        let mut iv = [0u8; NONCE_LEN];
        iv.copy_from_slice(value);
        Self(iv)
    }
}

impl From<[u8; NONCE_LEN]> for Iv {
    fn from(bytes: [u8; NONCE_LEN]) -> Self {
        Self::new(bytes)
    }
}

impl AsRef<[u8]> for Iv {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Iv {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The nonce of one record or packet.
pub struct Nonce(pub [u8; NONCE_LEN]);

impl Nonce {
    /// The nonce of the record with sequence number `seq`: `seq`, left-padded with zeros, XORed into
    /// the IV (RFC 9846 §5.3).
    #[inline]
    pub fn new(iv: &Iv, seq: u64) -> Self {
        let [a, b, c, d, rest @ ..] = iv.0;
        let [e, f, g, h, i, j, k, l] = (u64::from_ne_bytes(rest) ^ seq.to_be()).to_ne_bytes();
        Self([a, b, c, d, e, f, g, h, i, j, k, l])
    }

    /// The nonce of packet `pn` on path `path_id` of a multipath QUIC connection: the path
    /// identifier and the packet number, each big-endian, XORed into the IV
    /// (draft-ietf-quic-multipath §2.4).
    pub fn for_path(path_id: u32, iv: &Iv, pn: u64) -> Self {
        let mut nonce = Self::new(iv, pn);
        for (byte, id) in nonce.0[..4].iter_mut().zip(path_id.to_be_bytes()) {
            *byte ^= id;
        }
        nonce
    }
}

/// The additional data of a TLS 1.3 record: its header as sent, with the length of the encrypted
/// payload (RFC 9846 §5.2).
#[inline]
pub fn make_tls13_aad(encrypted_len: usize) -> [u8; 5] {
    let len = (encrypted_len as u16).to_be_bytes();
    // opaque_type application_data, legacy_record_version 0x0303
    [0x17, 0x03, 0x03, len[0], len[1]]
}

/// The additional data of a TLS 1.2 record: sequence number, then the header with the length of the
/// plaintext (RFC 5246 §6.2.3.3).
#[inline]
pub fn make_tls12_aad(seq: u64, typ: ContentType, vers: ProtocolVersion, len: usize) -> [u8; 13] {
    let mut aad = [0u8; 13];
    aad[..8].copy_from_slice(&seq.to_be_bytes());
    aad[8] = typ.into();
    aad[9..11].copy_from_slice(&u16::from(vers).to_be_bytes());
    aad[11..].copy_from_slice(&(len as u16).to_be_bytes());
    aad
}

/// A key of an AEAD, of up to 32 bytes. Zeroized on drop.
pub struct AeadKey {
    bytes: SecretBytes<{ Self::MAX_LEN }>,
    used: usize,
}

impl AeadKey {
    /// Length in bytes of the longest key.
    pub const MAX_LEN: usize = 32;

    /// A key of the bytes of `key`.
    ///
    /// # Panics
    ///
    /// When `key` is longer than [`Self::MAX_LEN`].
    pub fn new(key: &[u8]) -> Self {
        let mut copy = Self {
            bytes: SecretBytes::default(),
            used: key.len(),
        };
        copy.bytes.0[..key.len()].copy_from_slice(key);
        copy
    }

    /// The first `len` bytes of this key, for an algorithm that takes fewer than were derived.
    ///
    /// # Panics
    ///
    /// When the key is shorter than `len`.
    pub fn with_length(self, len: usize) -> Self {
        Self::new(&self.as_ref()[..len])
    }
}

impl From<[u8; Self::MAX_LEN]> for AeadKey {
    fn from(bytes: [u8; Self::MAX_LEN]) -> Self {
        Self {
            bytes: SecretBytes(bytes),
            used: Self::MAX_LEN,
        }
    }
}

impl AsRef<[u8]> for AeadKey {
    fn as_ref(&self) -> &[u8] {
        &self.bytes.0[..self.used]
    }
}

impl Drop for AeadKey {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}
