//! Vectors, messages and records of the wire, byte by byte, right and wrong.

/// A vector behind a length of `width` bytes.
///
/// # Panics
///
/// If `body` is longer than that length can say.
pub fn vector(width: usize, body: &[u8]) -> Vec<u8> {
    let len = body.len().to_be_bytes();
    let (high, len) = len.split_at(len.len() - width);
    assert!(high.iter().all(|&byte| byte == 0), "{} bytes", body.len());
    [len, body].concat()
}

/// A vector behind a length of one byte.
pub fn u8_vec(body: &[u8]) -> Vec<u8> {
    vector(1, body)
}

/// A vector behind a length of two bytes.
pub fn u16_vec(body: &[u8]) -> Vec<u8> {
    vector(2, body)
}

/// Numbers of two bytes each, one behind the other.
pub fn u16s(values: &[u16]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_be_bytes())
        .collect()
}

/// A handshake message.
pub fn message(typ: u8, body: &[u8]) -> Vec<u8> {
    [&[typ][..], &vector(3, body)].concat()
}

/// A record in the clear.
pub fn record(typ: u8, payload: &[u8]) -> Vec<u8> {
    [&[typ, 3, 1][..], &u16_vec(payload)].concat()
}

/// A record as it is on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The content type, that of the header.
    pub typ: u8,
    /// What the header says it is, 0x0303 as a rule.
    pub legacy_version: u16,
    /// What follows the header.
    pub payload: Vec<u8>,
}

impl Record {
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = self.legacy_version.to_be_bytes();
        [&[self.typ][..], &version, &u16_vec(&self.payload)].concat()
    }
}

/// The records in `bytes`, up to one that is cut short.
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

/// The handshake messages in the records of `bytes` that are in the clear, one behind the other.
pub fn plain_messages(bytes: &[u8]) -> Vec<u8> {
    records(bytes)
        .into_iter()
        .filter(|record| record.typ == HANDSHAKE)
        .flat_map(|record| record.payload)
        .collect()
}

/// A cursor over bytes from the wire. Each read takes what it returns.
///
/// # Panics
///
/// Every method panics when too few bytes are left.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    /// A number of `width` bytes.
    pub fn number(&mut self, width: usize) -> usize {
        let bytes = self.bytes(width).iter();
        bytes.fold(0, |number, &byte| number << 8 | usize::from(byte))
    }

    /// A number of two bytes.
    pub fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    /// What a vector holds that has a length of `width` bytes.
    pub fn vector(&mut self, width: usize) -> &'a [u8] {
        let len = self.number(width);
        self.bytes(len)
    }

    /// True when nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The body of a handshake message of this type, which is all there is.
    pub fn of_message(message: &'a [u8], typ: u8) -> Self {
        let mut reader = Self(message);
        assert_eq!(reader.number(1), usize::from(typ), "type of the message");
        let body = reader.vector(3);
        assert!(reader.is_empty(), "bytes behind the message");
        Self(body)
    }

    /// A list of extensions, each a type and a body.
    pub fn extensions(&mut self) -> Vec<(u16, Vec<u8>)> {
        let mut list = Self(self.vector(2));
        let mut extensions = Vec::new();
        while !list.is_empty() {
            let typ = list.u16();
            extensions.push((typ, list.vector(2).to_vec()));
        }
        extensions
    }
}

/// Content type of handshake messages.
const HANDSHAKE: u8 = 22;
