//! The wire codec: encodes and decodes the presentation language of RFC 9846 §3.
//!
//! [`Reader`] is a cursor over received bytes that never passes their end. [`Codec`] is the trait
//! of wire types. [`LengthSize`] is the width of a vector's length prefix. This module has no TLS
//! messages; its callers interpret the values.
//!
//! ```text
//!   opaque name<1..2^16-1>          with_length_prefix(bytes, LengthSize::U16, |bytes| ...)
//!
//!   | 00 05 | h  e  l  l  o |       the prefix is reserved first and filled in after the body was
//!   ^start  ^start + 2              appended in place, so vectors nest without temporary buffers
//! ```

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt::Debug;

use crate::error::InvalidMessage;

/// A type with a TLS wire encoding.
///
/// `'a` is the lifetime of the received bytes, for values that borrow from the message.
pub trait Codec<'a>: Debug + Sized {
    /// Appends the encoding of `self` to `bytes`.
    fn encode(&self, bytes: &mut Vec<u8>);

    /// Returns the encoding of `self` in a new vector.
    fn get_encoding(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes
    }

    /// Reads one value from the front of `r`, and leaves the rest unread.
    ///
    /// Returns an error if bytes are missing or malformed. After an error, the position of `r` is
    /// unspecified.
    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage>;

    /// Reads one value that must occupy all of `bytes`.
    ///
    /// Returns [`InvalidMessage::TrailingData`] if bytes are left over, and otherwise the errors of
    /// [`Codec::read`].
    fn read_bytes(bytes: &'a [u8]) -> Result<Self, InvalidMessage> {
        let mut r = Reader::new(bytes);
        let value = Self::read(&mut r)?;
        r.expect_empty("read_bytes")?;
        Ok(value)
    }
}

/// A cursor over received bytes.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    used: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the front of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, used: 0 }
    }

    /// Takes the next `n` bytes. Returns `None` and takes nothing if fewer are left.
    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let taken = self.unread().get(..n)?;
        self.used += n;
        Some(taken)
    }

    /// Takes the next `N` bytes as an array. Returns [`InvalidMessage::MissingData`] with `name` if
    /// fewer are left.
    #[inline]
    pub fn take_array<const N: usize>(
        &mut self,
        name: &'static str,
    ) -> Result<[u8; N], InvalidMessage> {
        let (taken, _) = self
            .unread()
            .split_first_chunk::<N>()
            .ok_or(InvalidMessage::MissingData(name))?;
        self.used += N;
        Ok(*taken)
    }

    /// Takes all remaining bytes.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.unread();
        self.used = self.bytes.len();
        rest
    }

    /// Takes the next `len` bytes as a separate reader.
    ///
    /// Returns [`InvalidMessage::MessageTooShort`] and takes nothing if fewer are left.
    #[inline]
    pub fn sub(&mut self, len: usize) -> Result<Reader<'a>, InvalidMessage> {
        self.take(len)
            .map(Reader::new)
            .ok_or(InvalidMessage::MessageTooShort)
    }

    /// Reads a length prefix of `size`, then takes that many bytes as a separate reader.
    ///
    /// Returns [`InvalidMessage::MissingData`] if the prefix is truncated, and
    /// [`InvalidMessage::MessageTooShort`] if the body is.
    #[inline]
    pub fn prefixed(&mut self, size: LengthSize) -> Result<Reader<'a>, InvalidMessage> {
        let len = size.read(self)?;
        self.sub(len)
    }

    /// Reads a length prefix of `size`, then takes that many bytes. Returns the errors of
    /// [`Reader::prefixed`].
    #[inline]
    pub fn prefixed_bytes(&mut self, size: LengthSize) -> Result<&'a [u8], InvalidMessage> {
        Ok(self.prefixed(size)?.rest())
    }

    /// Reads values of `T` until no byte is left. A `T` must be at least one byte long.
    ///
    /// An empty reader yields an empty list. If the vector has a lower bound, the caller checks it.
    pub fn list<T: Codec<'a>>(&mut self) -> Result<Vec<T>, InvalidMessage> {
        // most items are two bytes long, so this is a single allocation for lists of usual length
        let mut items = Vec::with_capacity(self.left().div_ceil(2).min(16));
        while self.any_left() {
            items.push(T::read(self)?);
        }
        Ok(items)
    }

    /// Returns [`InvalidMessage::TrailingData`] with `name` unless every byte was taken.
    pub fn expect_empty(&self, name: &'static str) -> Result<(), InvalidMessage> {
        // RFC 9846 §4.3, §6: data left over after parsing a structure is a decode_error
        if self.any_left() {
            return Err(InvalidMessage::TrailingData(name));
        }
        Ok(())
    }

    /// True if any byte is unread.
    #[inline]
    pub fn any_left(&self) -> bool {
        self.left() > 0
    }

    /// Returns the number of unread bytes.
    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.used
    }

    /// Returns the number of bytes taken so far.
    pub fn used(&self) -> usize {
        self.used
    }

    #[inline]
    fn unread(&self) -> &'a [u8] {
        // `used` only grows by lengths that have been checked
        &self.bytes[self.used..]
    }
}

/// The width of a length prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthSize {
    /// One byte: `<..2^8-1>`.
    U8,
    /// Two bytes: `<..2^16-1>`.
    U16,
    /// Three bytes: `<..2^24-1>`.
    U24,
}

impl LengthSize {
    /// Returns the length of the prefix itself in bytes.
    pub const fn width(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U24 => 3,
        }
    }

    /// Returns the maximum length of a body in bytes.
    pub const fn max_len(self) -> usize {
        match self {
            Self::U8 => 0xff,
            Self::U16 => 0xffff,
            Self::U24 => 0xff_ffff,
        }
    }

    /// Encodes `len` as a prefix, or the maximum length if `len` is larger.
    #[inline]
    fn bytes_of(self, len: usize) -> [u8; 3] {
        debug_assert!(
            len <= self.max_len() || self != Self::U8,
            "{len} bytes exceed {self:?}"
        );
        // at most 2^24-1, so the cast keeps every bit
        let [_, high, middle, low] = (len.min(self.max_len()) as u32).to_be_bytes();
        [high, middle, low]
    }

    #[inline]
    fn read(self, r: &mut Reader<'_>) -> Result<usize, InvalidMessage> {
        Ok(match self {
            Self::U8 => usize::from(u8::read(r)?),
            Self::U16 => usize::from(u16::read(r)?),
            Self::U24 => usize::from(U24::read(r)?),
        })
    }
}

/// Appends a vector: a length prefix of `size`, then the body that `body` appends.
///
/// `body` must only append. If the body is longer than [`LengthSize::max_len`], the prefix is the
/// maximum, the body is still written in full, and the result must not be sent. With a prefix of
/// two or three bytes, the code that encodes messages detects this. With [`LengthSize::U8`] it
/// would not, so a debug assertion catches that bug.
#[inline]
pub fn with_length_prefix(bytes: &mut Vec<u8>, size: LengthSize, body: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    let body_start = start + size.width();
    bytes.resize(body_start, 0);
    body(bytes);

    let encoded = size.bytes_of(bytes.len() - body_start);
    bytes[start..body_start].copy_from_slice(&encoded[encoded.len() - size.width()..]);
}

/// Appends `contents` with a length prefix of `size`. Their length must not exceed the maximum of
/// `size`, as in [`with_length_prefix`].
#[inline]
pub fn encode_bytes(bytes: &mut Vec<u8>, size: LengthSize, contents: &[u8]) {
    // the length is known, so the prefix need not be filled in afterwards
    bytes.reserve(size.width() + contents.len());
    let [high, middle, low] = size.bytes_of(contents.len());
    match size {
        LengthSize::U8 => bytes.push(low),
        LengthSize::U16 => bytes.extend_from_slice(&[middle, low]),
        LengthSize::U24 => bytes.extend_from_slice(&[high, middle, low]),
    }
    bytes.extend_from_slice(contents);
}

/// Appends `items` with a length prefix of `size`, which counts bytes, not items. Their length must
/// not exceed the maximum of `size`, as in [`with_length_prefix`].
pub fn encode_list<'a, T: Codec<'a>>(bytes: &mut Vec<u8>, size: LengthSize, items: &[T]) {
    with_length_prefix(bytes, size, |bytes| {
        for item in items {
            item.encode(bytes);
        }
    });
}

/// A 24-bit unsigned integer: TLS's `uint24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct U24(pub u32);

impl From<U24> for usize {
    fn from(value: U24) -> Self {
        // 24 bits fit into `usize` on every supported target (32 bits or more)
        value.0 as Self
    }
}

impl Codec<'_> for U24 {
    /// Appends the low 24 bits. A debug assertion catches larger values.
    fn encode(&self, bytes: &mut Vec<u8>) {
        let [high, low @ ..] = self.0.to_be_bytes();
        debug_assert_eq!(high, 0, "{} needs more than 24 bits", self.0);
        bytes.extend_from_slice(&low);
    }

    #[inline]
    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let [a, b, c] = r.take_array("u24")?;
        Ok(Self(u32::from_be_bytes([0, a, b, c])))
    }
}

macro_rules! integer_codec {
    ($($integer:ident),*) => {$(
        impl Codec<'_> for $integer {
            fn encode(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_be_bytes());
            }

            #[inline]
            fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
                r.take_array(stringify!($integer)).map(Self::from_be_bytes)
            }
        }
    )*};
}

integer_codec!(u8, u16, u32, u64);

/// Opaque bytes, borrowed or owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload<'a>(Cow<'a, [u8]>);

impl Payload<'_> {
    /// Borrows the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes as a vector, copied only if they were borrowed.
    pub fn into_vec(self) -> Vec<u8> {
        self.0.into_owned()
    }
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Payload<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Cow::Owned(bytes))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn integers_are_big_endian() {
        let mut bytes = Vec::new();
        0x01u8.encode(&mut bytes);
        0x0203u16.encode(&mut bytes);
        U24(0x04_0506).encode(&mut bytes);
        0x0708_090au32.encode(&mut bytes);
        0x0b0c_0d0e_0f10_1112u64.encode(&mut bytes);
        assert_eq!(bytes, (1..=0x12).collect::<Vec<u8>>());

        let mut r = Reader::new(&bytes);
        assert_eq!(u8::read(&mut r), Ok(0x01));
        assert_eq!(u16::read(&mut r), Ok(0x0203));
        assert_eq!(U24::read(&mut r), Ok(U24(0x04_0506)));
        assert_eq!(u32::read(&mut r), Ok(0x0708_090a));
        assert_eq!(u64::read(&mut r), Ok(0x0b0c_0d0e_0f10_1112));
        assert!(!r.any_left());
    }

    #[test]
    fn a_short_integer_names_its_type() {
        assert_eq!(u8::read_bytes(&[]), Err(InvalidMessage::MissingData("u8")));
        assert_eq!(
            u16::read_bytes(&[1]),
            Err(InvalidMessage::MissingData("u16"))
        );
        assert_eq!(
            U24::read_bytes(&[1; 2]),
            Err(InvalidMessage::MissingData("u24"))
        );
        assert_eq!(
            u32::read_bytes(&[1; 3]),
            Err(InvalidMessage::MissingData("u32"))
        );
        assert_eq!(
            u64::read_bytes(&[1; 7]),
            Err(InvalidMessage::MissingData("u64"))
        );
    }

    #[test]
    fn read_bytes_rejects_trailing_bytes() {
        assert_eq!(u8::read_bytes(&[7]), Ok(7));
        assert_eq!(
            u8::read_bytes(&[7, 8]),
            Err(InvalidMessage::TrailingData("read_bytes"))
        );
    }

    #[test]
    fn a_failed_take_leaves_the_input_unchanged() {
        let mut r = Reader::new(&[1, 2, 3]);
        assert_eq!(r.take(4), None);
        assert_eq!(
            r.take_array::<4>("four"),
            Err(InvalidMessage::MissingData("four"))
        );
        assert_eq!(r.sub(4).err(), Some(InvalidMessage::MessageTooShort));
        assert_eq!((r.used(), r.left()), (0, 3));

        assert_eq!(r.take(1), Some(&[1][..]));
        assert_eq!((r.used(), r.left()), (1, 2));
        assert_eq!(r.take(usize::MAX), None);
        assert_eq!(r.rest(), &[2, 3]);
        assert_eq!((r.used(), r.left(), r.any_left()), (3, 0, false));
        assert_eq!(r.rest(), &[] as &[u8]);
    }

    #[test]
    fn expect_empty_names_the_structure_in_its_error() {
        let mut r = Reader::new(&[1]);
        assert_eq!(
            r.expect_empty("Finished"),
            Err(InvalidMessage::TrailingData("Finished"))
        );
        r.rest();
        assert_eq!(r.expect_empty("Finished"), Ok(()));
    }

    #[test]
    fn a_sub_reader_ends_at_its_declared_length() {
        let mut r = Reader::new(&[1, 2, 3]);
        let mut sub = r.sub(2).unwrap();
        assert_eq!(sub.rest(), &[1, 2]);
        assert_eq!(u8::read(&mut sub), Err(InvalidMessage::MissingData("u8")));
        assert_eq!(r.rest(), &[3]);
    }

    #[test]
    fn length_prefixes_have_the_requested_width() {
        for (size, prefix) in [
            (LengthSize::U8, &[3][..]),
            (LengthSize::U16, &[0, 3]),
            (LengthSize::U24, &[0, 0, 3]),
        ] {
            let expected = [&[0xaa], prefix, b"abc"].concat();
            let mut bytes = vec![0xaa];
            encode_bytes(&mut bytes, size, b"abc");
            assert_eq!(bytes, expected);
            assert_eq!(prefix.len(), size.width());

            let mut r = Reader::new(&expected[1..]);
            assert_eq!(r.prefixed_bytes(size), Ok(&b"abc"[..]));
            assert!(!r.any_left());

            // one byte short: first the body, then the prefix
            let cut = &expected[1..expected.len() - 1];
            assert_eq!(
                Reader::new(cut).prefixed_bytes(size),
                Err(InvalidMessage::MessageTooShort)
            );
            assert!(matches!(
                Reader::new(&prefix[1..]).prefixed(size),
                Err(InvalidMessage::MissingData(_))
            ));
        }
    }

    #[test]
    fn every_byte_of_a_length_prefix_counts() {
        let body = vec![0x5a; 0x01_0203];
        let mut bytes = Vec::new();
        encode_bytes(&mut bytes, LengthSize::U24, &body);
        assert_eq!(bytes[..3], [1, 2, 3]);
        assert_eq!(
            Reader::new(&bytes).prefixed_bytes(LengthSize::U24),
            Ok(&body[..])
        );
    }

    #[test]
    fn length_prefixes_can_be_nested() {
        let mut bytes = Vec::new();
        with_length_prefix(&mut bytes, LengthSize::U16, |bytes| {
            with_length_prefix(bytes, LengthSize::U8, |bytes| bytes.push(7));
            with_length_prefix(bytes, LengthSize::U8, |_| {});
        });
        assert_eq!(bytes, [0, 3, 1, 7, 0]);
    }

    #[test]
    fn the_longest_body_fits() {
        for size in [LengthSize::U8, LengthSize::U16, LengthSize::U24] {
            let body = vec![0; size.max_len()];
            let mut bytes = Vec::new();
            encode_bytes(&mut bytes, size, &body);
            assert!(bytes.iter().take(size.width()).all(|byte| *byte == 0xff));
            assert_eq!(bytes.len(), size.width() + size.max_len());
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "256 bytes exceed U8"))]
    fn a_body_too_long_for_a_one_byte_prefix_is_a_bug() {
        let mut bytes = Vec::new();
        encode_bytes(&mut bytes, LengthSize::U8, &[0; 256]);
        assert_eq!((bytes.len(), bytes[0]), (1 + 256, 255));
    }

    #[test]
    fn a_body_too_long_for_its_prefix_stays_complete() {
        for size in [LengthSize::U16, LengthSize::U24] {
            let body = vec![0; size.max_len() + 1];
            let mut bytes = Vec::new();
            encode_bytes(&mut bytes, size, &body);
            assert!(bytes.iter().take(size.width()).all(|byte| *byte == 0xff));
            assert_eq!(bytes.len(), size.width() + body.len());
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "needs more than 24 bits"))]
    fn a_uint24_has_three_bytes() {
        assert_eq!(U24(0x0102_0304).get_encoding(), [2, 3, 4]);
    }

    #[test]
    fn lists_round_trip() {
        let items = [0x0102u16, 0x0304];
        let mut bytes = Vec::new();
        encode_list(&mut bytes, LengthSize::U16, &items);
        assert_eq!(bytes, [0, 4, 1, 2, 3, 4]);

        let read = Reader::new(&bytes)
            .prefixed(LengthSize::U16)
            .and_then(|mut r| r.list::<u16>());
        assert_eq!(read.as_deref(), Ok(&items[..]));
        assert_eq!(Reader::new(&[]).list::<u16>(), Ok(vec![]));
    }

    #[test]
    fn a_list_that_ends_inside_an_item_is_an_error() {
        assert_eq!(
            Reader::new(&[1, 2, 3]).list::<u16>(),
            Err(InvalidMessage::MissingData("u16"))
        );
    }

    #[test]
    fn an_owned_payload_is_not_copied() {
        let bytes = vec![1, 2, 3];
        let address = bytes.as_ptr();
        let payload = Payload::from(bytes);
        assert_eq!(payload, Payload::from(&[1, 2, 3][..]));
        let bytes = payload.into_vec();
        assert_eq!((bytes.as_ptr(), &bytes[..]), (address, &[1, 2, 3][..]));
        assert_eq!(Payload::from(&bytes[1..]).into_vec(), [2, 3]);
    }
}
