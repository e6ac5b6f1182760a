//! What a crypto provider implements to protect records, and the message types that cross that
//! interface.
//!
//! [`MessageEncrypter`] and [`MessageDecrypter`] know nothing of sockets, buffers or sequence-number
//! state: the record layer ([`crate::record`]) calls them with the sequence number to use and the
//! memory to write to. Providers usually do not implement them: they implement
//! [`Aead`](super::aead::Aead) and take the framing from [`crate::record::framing`].

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut, Range};

use zeroize::Zeroize;

use crate::enums::{ContentType, ProtocolVersion};
use crate::error::{Error, PeerMisbehaved};
use crate::suites::ConnectionTrafficSecrets;

/// Length in bytes of the nonce of every AEAD used here.
pub const NONCE_LEN: usize = 12;

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
/// - Use `seq` (XORed into the IV, RFC 9846 §5.3) and nothing else for the nonce: the record layer
///   never passes the same `seq` twice to one encrypter, after an error neither.
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
/// A provider that has an AEAD implements [`Aead`](super::aead::Aead) and is done
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
}

/// Opens received records in the memory they were received in.
pub trait MessageDecrypter: Send + Sync {
    /// Decrypts `msg`, received as the record with sequence number `seq`, in place, and returns its
    /// content: type and payload, a slice of the input.
    ///
    /// # Errors
    ///
    /// [`Error::DecryptError`] when the record is not authentic or too short to be,
    /// [`Error::PeerSentOversizedRecord`] when its plaintext exceeds 2^14 bytes,
    /// [`PeerMisbehaved::IllegalTlsInnerPlaintext`] when it has no content type (RFC 9846 §5.4). The
    /// content of the buffer is unspecified then.
    fn decrypt<'a>(
        &mut self,
        msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error>;
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

impl From<super::aead::AeadError> for EncryptError {
    fn from(_: super::aead::AeadError) -> Self {
        Self::Failed
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
#[derive(Clone)]
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
        let mut nonce = iv.0;
        for (byte, seq) in nonce[4..].iter_mut().zip(seq.to_be_bytes()) {
            *byte ^= seq;
        }
        Self(nonce)
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
    bytes: [u8; Self::MAX_LEN],
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
        let mut bytes = [0u8; Self::MAX_LEN];
        bytes[..key.len()].copy_from_slice(key);
        Self {
            bytes,
            used: key.len(),
        }
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
            bytes,
            used: Self::MAX_LEN,
        }
    }
}

impl AsRef<[u8]> for AeadKey {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

impl Drop for AeadKey {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

/// A message to be sent, not yet encrypted.
#[derive(Debug)]
pub struct OutboundPlainMessage<'a> {
    /// Its content type.
    pub typ: ContentType,

    /// The version that stands in the record header.
    pub version: ProtocolVersion,

    /// Its content, at most one record's worth.
    pub payload: OutboundChunks<'a>,
}

/// Bytes to be sent, in one piece or several, borrowed from the application.
#[derive(Clone, Debug)]
pub enum OutboundChunks<'a> {
    /// One contiguous piece.
    Single(&'a [u8]),

    /// The bytes `start..end` of the concatenation of `chunks`.
    Multiple {
        /// The pieces.
        chunks: &'a [&'a [u8]],
        /// Where in their concatenation the bytes begin.
        start: usize,
        /// Where in their concatenation the bytes end.
        end: usize,
    },
}

impl<'a> OutboundChunks<'a> {
    /// All bytes of `chunks`, in order.
    pub fn new(chunks: &'a [&'a [u8]]) -> Self {
        match chunks {
            [] => Self::new_empty(),
            [one] => Self::Single(one),
            _ => Self::Multiple {
                chunks,
                start: 0,
                end: chunks.iter().map(|chunk| chunk.len()).sum(),
            },
        }
    }

    /// No bytes.
    pub fn new_empty() -> Self {
        Self::Single(&[])
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Single(chunk) => chunk.len(),
            Self::Multiple { start, end, .. } => end - start,
        }
    }

    /// True when there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes before `mid`, and those from `mid` on; all and none when there are fewer.
    pub fn split_at(&self, mid: usize) -> (Self, Self) {
        let mid = Ord::min(mid, self.len());
        match *self {
            Self::Single(chunk) => {
                let (front, back) = chunk.split_at(mid);
                (Self::Single(front), Self::Single(back))
            }
            Self::Multiple { chunks, start, end } => {
                let part = |start, end| Self::Multiple { chunks, start, end };
                (part(start, start + mid), part(start + mid, end))
            }
        }
    }

    /// The bytes as one piece, when they lie in one.
    ///
    /// The cipher reads a single piece where it lies; several are gathered into the output first.
    #[inline]
    pub fn as_single(&self) -> Option<&'a [u8]> {
        match self {
            Self::Single(chunk) => Some(chunk),
            Self::Multiple { .. } => {
                let mut pieces = self.pieces();
                let first = pieces.next().unwrap_or(&[]);
                pieces.next().is_none().then_some(first)
            }
        }
    }

    /// Copies the bytes to the front of `out`.
    ///
    /// # Panics
    ///
    /// When `out` is shorter than [`Self::len`].
    pub fn copy_to_slice(&self, out: &mut [u8]) {
        let mut used = 0;
        for piece in self.pieces() {
            out[used..used + piece.len()].copy_from_slice(piece);
            used += piece.len();
        }
    }

    /// Appends the bytes to `vec`.
    pub fn copy_to_vec(&self, vec: &mut Vec<u8>) {
        vec.reserve(self.len());
        for piece in self.pieces() {
            vec.extend_from_slice(piece);
        }
    }

    /// A copy of the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut vec = Vec::new();
        self.copy_to_vec(&mut vec);
        vec
    }

    /// The non-empty pieces that the bytes consist of.
    fn pieces(&self) -> impl Iterator<Item = &'a [u8]> {
        let (single, chunks, start, end) = match *self {
            Self::Single(chunk) => (Some(chunk), &[][..], 0, 0),
            Self::Multiple { chunks, start, end } => (None, chunks, start, end),
        };
        let mut offset = 0;
        let multiple = chunks.iter().map(move |chunk| {
            let from = start.clamp(offset, offset + chunk.len()) - offset;
            let to = end.clamp(offset, offset + chunk.len()) - offset;
            offset += chunk.len();
            &chunk[from..to]
        });
        single
            .into_iter()
            .chain(multiple)
            .filter(|piece| !piece.is_empty())
    }
}

impl<'a> From<&'a [u8]> for OutboundChunks<'a> {
    fn from(payload: &'a [u8]) -> Self {
        Self::Single(payload)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for OutboundChunks<'a> {
    fn from(payload: &'a [u8; N]) -> Self {
        Self::Single(payload)
    }
}

/// A received record, still encrypted, in the buffer it arrived in.
pub struct InboundOpaqueMessage<'a> {
    /// The content type in its header.
    pub typ: ContentType,

    /// The version in its header.
    pub version: ProtocolVersion,

    /// What follows its header.
    pub payload: BorrowedPayload<'a>,
}

impl<'a> InboundOpaqueMessage<'a> {
    /// A record of these parts.
    pub fn new(typ: ContentType, version: ProtocolVersion, payload: &'a mut [u8]) -> Self {
        let payload = BorrowedPayload(payload);
        Self {
            typ,
            version,
            payload,
        }
    }

    /// The record's content, which is the whole payload.
    ///
    /// For records that are not encrypted, and for decrypters that have left just the plaintext in
    /// the payload.
    pub fn into_plain_message(self) -> InboundPlainMessage<'a> {
        let all = 0..self.payload.len();
        self.into_plain_message_range(all)
    }

    /// The record's content, which lies in `range` of the payload.
    ///
    /// # Panics
    ///
    /// When the payload has no such range.
    pub fn into_plain_message_range(self, range: Range<usize>) -> InboundPlainMessage<'a> {
        let Self {
            typ,
            version,
            payload,
        } = self;
        InboundPlainMessage {
            payload: &payload.into_inner()[range],
            typ,
            version,
        }
    }

    /// The content of a TLS 1.3 record whose payload is a decrypted `TLSInnerPlaintext`: takes off
    /// padding and content type (RFC 9846 §5.4).
    ///
    /// # Errors
    ///
    /// [`Error::PeerSentOversizedRecord`] when the `TLSInnerPlaintext` is longer than 2^14 + 1 bytes;
    /// [`PeerMisbehaved::IllegalTlsInnerPlaintext`] when it is nothing but padding.
    pub fn into_tls13_unpadded_message(self) -> Result<InboundPlainMessage<'a>, Error> {
        let inner = self.payload.into_inner();
        // RFC 9846 §5.4: the full encoded TLSInnerPlaintext must not exceed 2^14 + 1 octets
        if inner.len() > crate::record::MAX_FRAGMENT_LEN + 1 {
            return Err(Error::PeerSentOversizedRecord);
        }
        // RFC 9846 §5.4: a record without any non-zero octet is terminated by unexpected_message
        let type_at = inner
            .iter()
            .rposition(|&byte| byte != 0)
            .ok_or(PeerMisbehaved::IllegalTlsInnerPlaintext)?;
        Ok(InboundPlainMessage {
            typ: ContentType::from(inner[type_at]),
            version: self.version,
            payload: &inner[..type_at],
        })
    }
}

/// The payload of a received record: a mutable slice that can be shortened but not outlived.
pub struct BorrowedPayload<'a>(&'a mut [u8]);

impl<'a> BorrowedPayload<'a> {
    /// Drops all bytes from `len` on; without effect when there are no more than `len`.
    pub fn truncate(&mut self, len: usize) {
        if len < self.0.len() {
            self.0 = core::mem::take(&mut self.0).split_at_mut(len).0;
        }
    }

    fn into_inner(self) -> &'a mut [u8] {
        self.0
    }
}

impl Deref for BorrowedPayload<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

impl DerefMut for BorrowedPayload<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0
    }
}

/// The content of a received record.
#[derive(Debug)]
pub struct InboundPlainMessage<'a> {
    /// Its content type; for an encrypted TLS 1.3 record the inner one.
    pub typ: ContentType,

    /// The version in its header.
    pub version: ProtocolVersion,

    /// Its content.
    pub payload: &'a [u8],
}
