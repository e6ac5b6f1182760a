//! Vectors, messages and records in wire format, built byte by byte, valid or not; and reproducible
//! noise.

pub mod bare_records;
pub mod client_hello;
pub mod old_clients;

use std::iter;

pub const CHANGE_CIPHER_SPEC: u8 = 20;
pub const ALERT: u8 = 21;
pub const HANDSHAKE: u8 = 22;
pub const APPLICATION_DATA: u8 = 23;

/// Encodes a vector with a length of `width` bytes.
///
/// # Panics
///
/// Panics if `body` is too long for that length.
pub fn vector(width: usize, body: &[u8]) -> Vec<u8> {
    let len = body.len().to_be_bytes();
    let (high, len) = len.split_at(len.len() - width);
    assert!(high.iter().all(|&byte| byte == 0), "{} bytes", body.len());
    [len, body].concat()
}

/// Encodes a vector with a length of one byte.
pub fn u8_vec(body: &[u8]) -> Vec<u8> {
    vector(1, body)
}

/// Encodes a vector with a length of two bytes.
pub fn u16_vec(body: &[u8]) -> Vec<u8> {
    vector(2, body)
}

/// Encodes two-byte numbers.
pub fn u16s(values: &[u16]) -> Vec<u8> {
    values.iter().copied().flat_map(u16::to_be_bytes).collect()
}

/// Encodes an extension, or an entry of a key_share, which has the same format.
pub fn extension(typ: u16, body: &[u8]) -> Vec<u8> {
    [&typ.to_be_bytes()[..], &u16_vec(body)].concat()
}

/// Encodes extensions or key shares, excluding the list's length.
pub fn extensions(list: &[(u16, impl AsRef<[u8]>)]) -> Vec<u8> {
    let encoded = list
        .iter()
        .map(|(typ, body)| extension(*typ, body.as_ref()));
    encoded.collect::<Vec<_>>().concat()
}

/// Encodes a handshake message.
pub fn message(typ: u8, body: &[u8]) -> Vec<u8> {
    [&[typ][..], &vector(3, body)].concat()
}

/// Encodes a record for an initial ClientHello.
pub fn record(typ: u8, payload: &[u8]) -> Vec<u8> {
    [&[typ, 3, 1][..], &u16_vec(payload)].concat()
}

/// Encodes any other record, with its outer type and body.
pub fn frame(typ: u8, body: &[u8]) -> Vec<u8> {
    [&[typ, 3, 3][..], &u16_vec(body)].concat()
}

/// RFC 9846 §5.1: the most bytes that a record carries.
const MAX_FRAGMENT_LEN: usize = 1 << 14;

/// Cuts `content` into fragments for records; an empty one is a single fragment.
pub fn fragments(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let empty = content.is_empty().then_some(content);
    content.chunks(MAX_FRAGMENT_LEN).chain(empty)
}

/// A record on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The content type in the header.
    pub typ: u8,
    /// The version in the header, normally 0x0303.
    pub legacy_version: u16,
    /// The bytes after the header.
    pub payload: Vec<u8>,
}

impl Record {
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = self.legacy_version.to_be_bytes();
        [&[self.typ][..], &version, &u16_vec(&self.payload)].concat()
    }
}

/// Returns the records in `bytes`, up to a truncated one.
pub fn records(mut bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    while let [typ, major, minor, high, low, rest @ ..] = bytes {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let Some((payload, rest)) = rest.split_at_checked(len) else {
            break;
        };
        records.push(Record {
            typ: *typ,
            legacy_version: u16::from_be_bytes([*major, *minor]),
            payload: payload.to_vec(),
        });
        bytes = rest;
    }
    records
}

/// Returns the concatenated handshake messages in the unprotected records of `bytes`.
pub fn plain_messages(bytes: &[u8]) -> Vec<u8> {
    records(bytes)
        .into_iter()
        .filter(|record| record.typ == HANDSHAKE)
        .flat_map(|record| record.payload)
        .collect()
}

/// A cursor over bytes from the wire. Each read consumes the returned bytes.
///
/// # Panics
///
/// Every method panics if too few bytes are left.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads the next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    /// Reads a number of `width` bytes.
    pub fn number(&mut self, width: usize) -> usize {
        let bytes = self.bytes(width).iter();
        bytes.fold(0, |number, &byte| number << 8 | usize::from(byte))
    }

    /// Reads a two-byte number.
    pub fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    /// Reads the body of a vector with a length of `width` bytes.
    pub fn vector(&mut self, width: usize) -> &'a [u8] {
        let len = self.number(width);
        self.bytes(len)
    }

    /// True if no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the body of a handshake message of type `typ`, which must be all of `message`.
    pub fn of_message(message: &'a [u8], typ: u8) -> Self {
        let mut reader = Self(message);
        assert_eq!(reader.number(1), usize::from(typ), "type of the message");
        let body = reader.vector(3);
        assert!(reader.is_empty(), "bytes after the message");
        Self(body)
    }

    /// Reads a vector with a length of `width` bytes, value by value, with `read`.
    pub fn list<T>(&mut self, width: usize, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut list = Self(self.vector(width));
        iter::from_fn(|| (!list.is_empty()).then(|| read(&mut list))).collect()
    }

    /// Reads a list of extensions or key shares, each a type or group and a body.
    pub fn extensions(&mut self) -> Vec<(u16, Vec<u8>)> {
        self.list(2, |list| (list.u16(), list.vector(2).to_vec()))
    }
}

/// Returns the body of the first extension of type `typ`.
pub fn find_extension(extensions: &[(u16, Vec<u8>)], typ: u16) -> Option<&[u8]> {
    let found = extensions.iter().find(|(other, _)| *other == typ);
    found.map(|(_, body)| &body[..])
}

/// A small generator of reproducible noise (xorshift64*).
pub struct Noise(u64);

impl Noise {
    /// Creates a generator; the same `seed` gives the same noise.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Returns the next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "an iterator would never end")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number from 1 to `max`.
    pub fn up_to(&mut self, max: usize) -> usize {
        1 + (self.next() as usize) % max
    }
}
