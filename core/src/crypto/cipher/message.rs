//! The messages that encrypters and decrypters take and return.
//!
//! ```text
//!   OutboundPlainMessage ─► MessageEncrypter ─► the record, in the caller's memory
//!   InboundOpaqueMessage ─► MessageDecrypter ─► InboundPlainMessage, a slice of the former
//! ```
//!
//! They borrow their content, except [`PlainMessage`], which owns it.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut, Range};

use crate::codec::Payload;
use crate::copy::{append, copy};
use crate::enums::{ContentType, ProtocolVersion};
use crate::error::{Error, PeerMisbehaved};

/// A message to send, not yet encrypted.
#[derive(Debug)]
pub struct OutboundPlainMessage<'a> {
    /// The content type.
    pub typ: ContentType,

    /// The version in the record header.
    pub version: ProtocolVersion,

    /// The content, at most one record's worth.
    pub payload: OutboundChunks<'a>,
}

/// Borrowed bytes to send, in one piece or several.
#[derive(Clone, Debug)]
pub enum OutboundChunks<'a> {
    /// One contiguous piece.
    Single(&'a [u8]),

    /// The bytes `start..end` of the concatenation of `chunks`, which is at least `end` bytes long.
    Multiple {
        /// The pieces that contain the payload.
        chunks: &'a [&'a [u8]],
        /// The start of the payload in the concatenation of `chunks`.
        start: usize,
        /// The end of the payload in the concatenation of `chunks`.
        end: usize,
    },
}

impl<'a> OutboundChunks<'a> {
    /// Wraps all bytes of `chunks`, in order.
    pub fn new(chunks: &'a [&'a [u8]]) -> Self {
        match chunks {
            [] => Self::new_empty(),
            [one] => Self::Single(one),
            _ => Self::Multiple {
                chunks,
                start: 0,
                // overlapping pieces of one buffer may have a total length beyond `usize`
                end: chunks
                    .iter()
                    .fold(0, |end: usize, chunk| end.saturating_add(chunk.len())),
            },
        }
    }

    /// Returns a payload without bytes.
    pub fn new_empty() -> Self {
        Self::Single(&[])
    }

    /// Returns the number of bytes of the payload.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Single(chunk) => chunk.len(),
            Self::Multiple { start, end, .. } => end.saturating_sub(*start),
        }
    }

    /// True if the payload has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Splits the bytes into those before `mid` and the rest, which is empty if there are no more
    /// than `mid` bytes.
    #[inline]
    pub fn split_at(&self, mid: usize) -> (Self, Self) {
        let mid = Ord::min(mid, self.len());
        match *self {
            Self::Single(chunk) => {
                let (front, back) = chunk.split_at(mid);
                (Self::Single(front), Self::Single(back))
            }
            Self::Multiple { chunks, start, end } => {
                let cut = start + mid;
                let mut cut_in_chunk = cut;
                let before = chunks
                    .iter()
                    .map_while(|chunk| {
                        cut_in_chunk = cut_in_chunk.checked_sub(chunk.len())?;
                        Some(())
                    })
                    .count();
                let part = |chunks, start, end| Self::Multiple { chunks, start, end };
                // give each part only its own chunks, so that it need not skip the chunks of the
                // other part
                (
                    part(chunks.get(..=before).unwrap_or(chunks), start, cut),
                    part(
                        &chunks[before..],
                        cut_in_chunk,
                        cut_in_chunk + end.saturating_sub(cut),
                    ),
                )
            }
        }
    }

    /// Returns the bytes as one slice if they are a single piece.
    ///
    /// A single piece is passed to the cipher as it is. Several pieces are first gathered into the
    /// output.
    #[inline]
    pub fn as_single(&self) -> Option<&'a [u8]> {
        match self {
            Self::Single(chunk) => Some(chunk),
            Self::Multiple { .. } => self.only_piece(),
        }
    }

    fn only_piece(&self) -> Option<&'a [u8]> {
        let mut pieces = self.pieces();
        let first = pieces.next().unwrap_or(&[]);
        pieces.next().is_none().then_some(first)
    }

    /// Returns the total length of the pieces that end within the first `max` bytes.
    pub(crate) fn whole_pieces_len(&self, max: usize) -> usize {
        let ends = self.pieces().scan(0usize, |end, piece| {
            *end = end.saturating_add(piece.len());
            Some(*end)
        });
        ends.take_while(|end| *end <= max).last().unwrap_or(0)
    }

    /// Copies the bytes to the front of `out`.
    ///
    /// # Panics
    ///
    /// Panics if `out` is shorter than [`Self::len`].
    pub fn copy_to_slice(&self, out: &mut [u8]) {
        let mut used = 0;
        for piece in self.pieces() {
            copy(piece, &mut out[used..used + piece.len()]);
            used += piece.len();
        }
    }

    /// Appends the bytes of the payload to `vec`.
    pub fn copy_to_vec(&self, vec: &mut Vec<u8>) {
        vec.reserve(self.len());
        for piece in self.pieces() {
            append(vec, piece);
        }
    }

    /// Returns a copy of the payload's bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut vec = Vec::new();
        self.copy_to_vec(&mut vec);
        vec
    }

    /// Iterates over the non-empty pieces of the payload.
    fn pieces(&self) -> impl Iterator<Item = &'a [u8]> {
        let (single, chunks, mut before) = match *self {
            Self::Single(chunk) => (Some(chunk), &[][..], 0),
            Self::Multiple { chunks, start, .. } => (None, chunks, start),
        };
        let mut left = self.len();
        let multiple = chunks.iter().map_while(move |chunk| {
            if left == 0 {
                return None;
            }
            let skipped = Ord::min(before, chunk.len());
            let taken = Ord::min(left, chunk.len() - skipped);
            before -= skipped;
            left -= taken;
            Some(&chunk[skipped..skipped + taken])
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

/// A received record that has not been decrypted, in the buffer it arrived in.
pub struct InboundOpaqueMessage<'a> {
    /// The content type in the record's header.
    pub typ: ContentType,

    /// The version in the record's header.
    pub version: ProtocolVersion,

    /// The bytes after the record's header.
    pub payload: BorrowedPayload<'a>,
}

impl<'a> InboundOpaqueMessage<'a> {
    /// Creates a record from its parts.
    pub fn new(typ: ContentType, version: ProtocolVersion, payload: &'a mut [u8]) -> Self {
        let payload = BorrowedPayload(payload);
        Self {
            typ,
            version,
            payload,
        }
    }

    /// Returns the record's content, which is the whole payload.
    ///
    /// Use this for unprotected records, and in decrypters once only the plaintext is left in the
    /// payload.
    pub fn into_plain_message(self) -> InboundPlainMessage<'a> {
        let all = 0..self.payload.len();
        self.into_plain_message_range(all)
    }

    /// Returns the record's content, which lies in `range` of the payload.
    ///
    /// # Panics
    ///
    /// Panics if `range` is not within the payload.
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

    /// Returns the content of a TLS 1.3 record whose payload is a decrypted `TLSInnerPlaintext`.
    /// Removes the padding and the content type (RFC 9846 §5.4).
    ///
    /// # Errors
    ///
    /// Returns [`Error::PeerSentOversizedRecord`] if the `TLSInnerPlaintext` is longer than 2^14 +
    /// 1 bytes. Returns [`PeerMisbehaved::IllegalTlsInnerPlaintext`] if it has no content type.
    #[inline]
    pub fn into_tls13_unpadded_message(self) -> Result<InboundPlainMessage<'a>, Error> {
        let inner = self.payload.into_inner();
        let (typ, content_len) = split_inner_plaintext(inner)?;
        Ok(InboundPlainMessage {
            typ,
            version: self.version,
            payload: &inner[..content_len],
        })
    }
}

/// Returns the type and the length of the content of a `TLSInnerPlaintext`.
///
/// # Errors
///
/// Returns the errors of [`InboundOpaqueMessage::into_tls13_unpadded_message`].
#[inline]
pub(crate) fn split_inner_plaintext(inner: &[u8]) -> Result<(ContentType, usize), Error> {
    // RFC 9846 §5.4: the full encoded TLSInnerPlaintext must not exceed 2^14 + 1 octets
    if inner.len() > super::MAX_FRAGMENT_LEN + 1 {
        return Err(Error::PeerSentOversizedRecord);
    }
    // RFC 9846 §5.4: a record of zeros ends the connection with unexpected_message
    let type_at = match inner {
        [.., 0] | [] => last_non_zero(inner).ok_or(PeerMisbehaved::IllegalTlsInnerPlaintext)?,
        [content @ .., _] => content.len(),
    };
    Ok((ContentType::from(inner[type_at]), type_at))
}

/// Returns the position of the last non-zero byte. It skips zeros in blocks, because 16 KiB of
/// padding are cheap to send.
#[cold]
fn last_non_zero(inner: &[u8]) -> Option<usize> {
    const BLOCK: usize = 16;
    let blocks = inner
        .rchunks_exact(BLOCK)
        .take_while(|block| **block == [0; BLOCK])
        .count();
    inner[..inner.len() - blocks * BLOCK]
        .iter()
        .rposition(|&byte| byte != 0)
}

/// The payload of a received record: a mutable slice that can be shortened.
pub struct BorrowedPayload<'a>(&'a mut [u8]);

impl<'a> BorrowedPayload<'a> {
    /// Shortens the payload to its first `len` bytes. Has no effect if it is no longer than that.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        if len < self.0.len() {
            self.0 = core::mem::take(&mut self.0).split_at_mut(len).0;
        }
    }

    #[inline]
    fn into_inner(self) -> &'a mut [u8] {
        self.0
    }
}

impl Deref for BorrowedPayload<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl DerefMut for BorrowedPayload<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0
    }
}

/// The content of a received record.
#[derive(Debug)]
pub struct InboundPlainMessage<'a> {
    /// The content type. For a protected TLS 1.3 record, this is the inner type.
    pub typ: ContentType,

    /// The version in the record's header.
    pub version: ProtocolVersion,

    /// The content. For a protected TLS 1.3 record, this excludes the padding.
    pub payload: &'a [u8],
}

/// A message that owns its content.
#[derive(Clone, Debug)]
pub struct PlainMessage {
    /// The content type.
    pub typ: ContentType,

    /// The version for a record header.
    pub version: ProtocolVersion,

    /// The content, owned by this message.
    pub payload: Payload<'static>,
}

impl PlainMessage {
    /// Borrows this message for encryption.
    pub fn borrow_outbound(&self) -> OutboundPlainMessage<'_> {
        let Self {
            typ,
            version,
            ref payload,
        } = *self;
        OutboundPlainMessage {
            payload: payload.bytes().into(),
            typ,
            version,
        }
    }

    /// Borrows this message in the form that decrypters return.
    pub fn borrow_inbound(&self) -> InboundPlainMessage<'_> {
        let Self {
            typ,
            version,
            ref payload,
        } = *self;
        InboundPlainMessage {
            payload: payload.bytes(),
            typ,
            version,
        }
    }
}
