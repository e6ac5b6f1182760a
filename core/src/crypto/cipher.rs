//! The interface for record protection that a crypto provider implements, and its keys, nonces and
//! additional data. The messages that cross that interface are in `message`.
//!
//! [`MessageEncrypter`] and [`MessageDecrypter`] do not handle sockets, buffers or sequence-number
//! state. The record layer ([`crate::record`]) passes them the sequence number and the memory to
//! write to. Providers usually do not implement them: they implement
//! [`AeadAlgorithm`](super::aead::AeadAlgorithm) and use the framing of [`crate::record::framing`].

use alloc::boxed::Box;
use core::fmt;

pub(crate) use message::split_inner_plaintext;
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
    /// Proves that the caller is in this crate: no other crate can name the type.
    pub struct FromThisCrate(());

    impl FromThisCrate {
        pub(crate) fn new() -> Self {
            Self(())
        }
    }
}

/// The nonce length in bytes of every AEAD that this library uses.
pub const NONCE_LEN: usize = 12;

/// The maximum number of plaintext bytes in one record: 2^14 (RFC 9846 §5.1).
pub(crate) const MAX_FRAGMENT_LEN: usize = 1 << 14;

/// Protects outgoing records by writing them into memory that the caller provides.
///
/// An encrypter writes everything after the record header, the *encrypted payload*:
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
/// An encrypter never allocates the record. The record layer provides as much memory as
/// [`Self::encrypted_payload_len`] announces, so it never causes
/// [`EncryptError::InsufficientSize`].
///
/// # What an implementer must do
///
/// - Build the nonce only from the IV and `seq` (XORed, RFC 9846 §5.3). The record layer never
///   passes the same `seq` twice to one encrypter, not even after an error.
/// - Return [`EncryptError::InsufficientSize`] before touching `out` if `out` is shorter than
///   `encrypted_payload_len(payload)`. A longer `out` is allowed; leave the bytes beyond unchanged.
/// - Return exactly `encrypted_payload_len(payload)` on success.
/// - Write `out[..len]` completely: its old content is arbitrary.
///
/// # What an implementer must not do
///
/// - Write the record header: the record layer does that.
/// - Split or pad the payload: it has already been split into records.
/// - Read the old content of `out` in [`Self::encrypt`].
///
/// # Example
///
/// A provider that only has an AEAD implements [`AeadAlgorithm`](super::aead::AeadAlgorithm), and
/// [`Tls13Framing`](crate::record::framing::Tls13Framing) does the rest. A provider with its own
/// record engine implements this trait. This example "encrypts" by XOR, to show the shape:
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
    /// Encrypts `msg` under sequence number `seq` into the front of `out`. Returns the number of
    /// bytes written.
    ///
    /// # Errors
    ///
    /// Returns [`EncryptError::InsufficientSize`] if `out` is too short; nothing has then been
    /// written and `seq` is unused. Returns [`EncryptError::Failed`] if the cipher fails; `out` is
    /// then unspecified.
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError>;

    /// Encrypts the payload in `out[payload_offset()..][..payload_len]`. Afterwards `out` starts
    /// with the output of [`Self::encrypt`].
    ///
    /// Returns the errors of [`Self::encrypt`].
    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError>;

    /// Returns the length in bytes of the encrypted payload, excluding the record header, for a
    /// payload of `payload_len` bytes.
    ///
    /// The length grows by exactly one for each byte of `payload_len`: the expansion is constant.
    /// The expansion is at most 256 bytes in TLS 1.3 (RFC 9846 §5.2), and 2048 in TLS 1.2 (RFC 5246
    /// §6.2.3). If an encrypter claims more, the connection fails.
    fn encrypted_payload_len(&self, payload_len: usize) -> usize;

    /// Returns the number of bytes before the payload in the encrypted payload, such as the 8 bytes
    /// of the explicit nonce in TLS 1.2 AES-GCM. These bytes count towards the expansion.
    fn payload_offset(&self) -> usize;

    /// True if `Ok` from [`Self::encrypt`] guarantees that all of the output was written.
    ///
    /// The output may be memory that another connection used, so the record layer clears it for any
    /// other encrypter. Only this crate's framing can return true, for keys that promise it
    /// ([`SealingKey::OVERWRITES_OUTPUT`](super::aead::SealingKey::OVERWRITES_OUTPUT)): no other
    /// crate can name the argument's type.
    #[doc(hidden)]
    fn overwrites_output(&self, _: FromThisCrate) -> bool {
        false
    }
}

/// Opens received records.
pub trait MessageDecrypter: Send + Sync {
    /// Decrypts `msg`, the record with sequence number `seq`, in place. Returns its type and its
    /// payload, a slice of the input.
    ///
    /// The record layer does not check the outer type of a protected TLS 1.3 record. A decrypter
    /// should reject any type except `application_data` (RFC 9846 §5.2).
    ///
    /// # Errors
    ///
    /// Returns [`Error::DecryptError`] if the record is not authentic or too short. Returns
    /// [`Error::InappropriateMessage`] if its outer type is wrong. Returns
    /// [`Error::PeerSentOversizedRecord`] if its plaintext exceeds 2^14 bytes. Returns
    /// [`IllegalTlsInnerPlaintext`](crate::error::PeerMisbehaved::IllegalTlsInnerPlaintext) if it
    /// has no content type (RFC 9846 §5.4). The content of the buffer is then unspecified.
    fn decrypt<'a>(
        &mut self,
        msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error>;

    /// Returns an upper limit for the length of the content that [`Self::decrypt`] returns for
    /// `payload_len` encrypted bytes. A padded TLS 1.3 record has less content (RFC 9846 §5.4). The
    /// default is `payload_len`.
    fn max_content_len(&self, payload_len: usize) -> usize {
        payload_len
    }

    /// Decrypts `payload`, the body of a record whose header has type application_data and version
    /// TLS 1.2, to the front of `out`. Returns the record's type and the length of its content,
    /// after which `out` may hold padding.
    ///
    /// Returns `None` if this decrypter only decrypts in place, or if the record is too short or
    /// does not fit into `out`. Then `out` is unchanged.
    ///
    /// The argument prevents implementations outside this crate, because the record layer relies on
    /// `out` holding no byte of a record after an error.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::decrypt`], and clears what it wrote to `out`.
    #[doc(hidden)]
    fn decrypt_into(
        &mut self,
        _payload: &[u8],
        _seq: u64,
        _out: &mut [u8],
        _: FromThisCrate,
    ) -> Option<Result<(ContentType, usize), Error>> {
        None
    }
}

/// Creates record protection for one TLS 1.3 AEAD.
pub trait Tls13AeadAlgorithm: Send + Sync {
    /// Creates an encrypter for a key of [`Self::key_len`] bytes.
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter>;

    /// Creates a decrypter for a key of [`Self::key_len`] bytes.
    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter>;

    /// Returns the length of the key in bytes.
    fn key_len(&self) -> usize;

    /// Returns the key material in the form that secret extraction uses.
    ///
    /// # Errors
    ///
    /// Returns [`UnsupportedOperationError`] if the algorithm does not export its keys.
    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError>;

    /// True if this implementation is FIPS-approved.
    fn fips(&self) -> bool {
        false
    }
}

/// Creates record protection for one TLS 1.2 AEAD.
pub trait Tls12AeadAlgorithm: Send + Sync + 'static {
    /// Creates an encrypter.
    ///
    /// `key`, `iv` and `extra` have the lengths given by [`Self::key_block_shape`]. `iv` is the
    /// fixed part of the nonce. `extra` is the initial value of the explicit part: random bytes
    /// from the key block, or nothing for ciphers without an explicit part.
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter>;

    /// Creates a decrypter. `key` and `iv` have the same lengths as for [`Self::encrypter`].
    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter>;

    /// Returns the lengths into which the key block (RFC 5246 §6.3) is split for this algorithm.
    fn key_block_shape(&self) -> KeyBlockShape;

    /// Returns the key material in the form that secret extraction uses. `explicit` is `extra` of
    /// [`Self::encrypter`] with its highest bit flipped, so that an external record layer does not
    /// repeat nonces that the connection used.
    ///
    /// # Errors
    ///
    /// Returns [`UnsupportedOperationError`] if the algorithm does not export its keys.
    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError>;

    /// True if this implementation is FIPS-approved.
    fn fips(&self) -> bool {
        false
    }
}

/// The key material for one direction of a connection.
///
/// For AES-GCM in TLS 1.2, the IV is the 4 implicit bytes followed by 8 bytes for the explicit
/// nonces (RFC 5288 §3). Derive each record's nonce by counting up from these 8 bytes, or by XORing
/// the sequence number into them. With the sending IV, neither way repeats a nonce that the
/// connection used.
#[non_exhaustive]
pub enum ConnectionTrafficSecrets {
    /// The key material for AES-128-GCM.
    Aes128Gcm {
        /// The key, 16 bytes.
        key: AeadKey,
        /// The initialization vector.
        iv: Iv,
    },

    /// The key material for AES-256-GCM.
    Aes256Gcm {
        /// The key, 32 bytes.
        key: AeadKey,
        /// The initialization vector.
        iv: Iv,
    },

    /// The key material for ChaCha20-Poly1305.
    Chacha20Poly1305 {
        /// The key, 32 bytes.
        key: AeadKey,
        /// The initialization vector.
        iv: Iv,
    },
}

/// The lengths in bytes of the parts of a TLS 1.2 key block (RFC 5246 §6.3), for one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBlockShape {
    /// The length of the encryption key.
    pub enc_key_len: usize,

    /// The length of the fixed part of the nonce.
    pub fixed_iv_len: usize,

    /// The length of the explicit part of the nonce, which each record carries; zero for ciphers
    /// without an explicit part.
    pub explicit_nonce_len: usize,
}

/// The implementation does not support the operation.
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
    /// The minimum length of the output buffer in bytes.
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

/// The errors of a [`MessageEncrypter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptError {
    /// The output is too short for the encrypted payload. Nothing was written and the sequence
    /// number is unused, so the call can be repeated with more room.
    InsufficientSize(InsufficientSizeError),

    /// The cipher failed.
    Failed,
}

impl EncryptError {
    /// Returns `out[..required]`, or [`EncryptError::InsufficientSize`] if `out` is shorter.
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
    /// Creates an IV from `value`.
    pub fn new(value: [u8; NONCE_LEN]) -> Self {
        Self(value)
    }

    /// Creates an IV from a slice.
    ///
    /// `value` has [`NONCE_LEN`] bytes. Use this in providers, which know the lengths of their IVs.
    ///
    /// # Panics
    ///
    /// Panics if `value` has any other length.
    pub fn copy(value: &[u8]) -> Self {
        let mut iv = [0u8; NONCE_LEN];
        iv.copy_from_slice(value);
        Self(iv)
    }

    /// Creates an IV in place, like [`AeadKey::written_by`].
    pub fn written_by(write: impl FnOnce(&mut [u8; NONCE_LEN])) -> Self {
        let mut iv = Self::default();
        write(&mut iv.0);
        iv
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
    /// Creates the nonce for the record with sequence number `seq`: `seq`, left-padded with zeros,
    /// XORed into the IV (RFC 9846 §5.3).
    #[inline]
    pub fn new(iv: &Iv, seq: u64) -> Self {
        let [a, b, c, d, rest @ ..] = iv.0;
        let [e, f, g, h, i, j, k, l] = (u64::from_ne_bytes(rest) ^ seq.to_be()).to_ne_bytes();
        Self([a, b, c, d, e, f, g, h, i, j, k, l])
    }

    /// Creates the nonce for packet `pn` on path `path_id` of a multipath QUIC connection: the path
    /// identifier and the packet number, each big-endian, XORed into the IV
    /// (draft-ietf-quic-multipath).
    pub fn for_path(path_id: u32, iv: &Iv, pn: u64) -> Self {
        let mut nonce = Self::new(iv, pn);
        for (byte, id) in nonce.0[..4].iter_mut().zip(path_id.to_be_bytes()) {
            *byte ^= id;
        }
        nonce
    }
}

/// Returns the additional data for a TLS 1.3 record: its header as sent, with the length of the
/// encrypted payload (RFC 9846 §5.2).
#[inline]
pub fn make_tls13_aad(encrypted_len: usize) -> [u8; 5] {
    let len = (encrypted_len as u16).to_be_bytes();
    // opaque_type application_data, legacy_record_version 0x0303
    [0x17, 0x03, 0x03, len[0], len[1]]
}

/// Returns the additional data for a TLS 1.2 record: sequence number, then the header with the
/// length of the plaintext (RFC 5246 §6.2.3.3).
#[inline]
pub fn make_tls12_aad(seq: u64, typ: ContentType, vers: ProtocolVersion, len: usize) -> [u8; 13] {
    let mut aad = [0u8; 13];
    aad[..8].copy_from_slice(&seq.to_be_bytes());
    aad[8] = typ.into();
    aad[9..11].copy_from_slice(&u16::from(vers).to_be_bytes());
    aad[11..].copy_from_slice(&(len as u16).to_be_bytes());
    aad
}

/// An AEAD key of up to 32 bytes. Zeroized on drop.
pub struct AeadKey {
    bytes: SecretBytes<{ Self::MAX_LEN }>,
    used: usize,
}

impl AeadKey {
    /// The maximum length of a key in bytes.
    pub const MAX_LEN: usize = 32;

    /// Creates a key from `key`.
    ///
    /// # Panics
    ///
    /// Panics if `key` is longer than [`Self::MAX_LEN`].
    pub fn new(key: &[u8]) -> Self {
        let mut copy = Self {
            bytes: SecretBytes::default(),
            used: key.len(),
        };
        copy.bytes.0[..key.len()].copy_from_slice(key);
        copy
    }

    /// Creates a key of `len` bytes in place: `write` writes the bytes into it, so the caller needs
    /// no copy of them.
    ///
    /// # Panics
    ///
    /// Panics if `len` is more than [`Self::MAX_LEN`].
    pub fn written_by(len: usize, write: impl FnOnce(&mut [u8])) -> Self {
        let mut key = Self {
            bytes: SecretBytes::default(),
            used: len,
        };
        write(&mut key.bytes.0[..len]);
        key
    }

    /// Shortens this key to its first `len` bytes, for an algorithm that needs fewer bytes than
    /// were derived.
    ///
    /// # Panics
    ///
    /// Panics if the key is shorter than `len`.
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
