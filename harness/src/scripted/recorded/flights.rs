//! Flights under the transparent cipher: splitting them into records and handshake messages, and
//! encoding these.

use crate::providers::transparent::TAG;

pub const CHANGE_CIPHER_SPEC: u8 = 20;
pub const ALERT: u8 = 21;
pub const HANDSHAKE: u8 = 22;
pub const APPLICATION_DATA: u8 = 23;

/// The format of protected records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Framing {
    /// The content and a tag.
    Tls12,
    /// The content, its type and a tag, in a record of type application_data.
    Tls13,
}

/// A record, without its protection.
#[derive(Clone, Debug)]
pub struct Record {
    pub framing: Framing,
    pub protected: bool,
    pub typ: u8,
    pub content: Vec<u8>,
}

impl Record {
    pub fn plain(typ: u8, content: &[u8]) -> Self {
        Self {
            framing: Framing::Tls13,
            protected: false,
            typ,
            content: content.to_vec(),
        }
    }

    pub fn protected(framing: Framing, typ: u8, content: &[u8]) -> Self {
        Self {
            framing,
            protected: true,
            ..Self::plain(typ, content)
        }
    }

    /// Encodes the record in wire format.
    pub fn encode(&self) -> Vec<u8> {
        let content = &self.content[..];
        match (self.protected, self.framing) {
            (false, _) => frame(self.typ, content),
            (true, Framing::Tls12) => frame(self.typ, &[content, &TAG].concat()),
            (true, Framing::Tls13) => {
                frame(APPLICATION_DATA, &[content, &[self.typ], &TAG].concat())
            }
        }
    }
}

/// Encodes a record with this outer type and body.
pub fn frame(typ: u8, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len()).unwrap();
    [&[typ, 3, 3][..], &len.to_be_bytes(), body].concat()
}

/// Splits well-formed `bytes` into records. In TLS 1.3 the outer type application_data means that
/// there is an inner type; otherwise a record is protected if it ends in a tag.
pub fn records(framing: Framing, mut bytes: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    while let [typ, _, _, high, low, rest @ ..] = bytes {
        let (body, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        records.push(match body.strip_suffix(&TAG) {
            Some(inner) if (*typ, framing) == (APPLICATION_DATA, Framing::Tls13) => {
                let (typ, content) = inner.split_last().unwrap();
                Record::protected(framing, *typ, content)
            }
            Some(content) => Record::protected(Framing::Tls12, *typ, content),
            None => Record {
                framing,
                ..Record::plain(*typ, body)
            },
        });
        bytes = rest;
    }
    records
}

/// Like [`records`], with each handshake message in its own record.
pub fn messages(framing: Framing, bytes: &[u8]) -> Vec<Record> {
    let mut apart = Vec::new();
    for record in records(framing, bytes) {
        match record.typ {
            HANDSHAKE => {
                for message in split_messages(&record.content) {
                    apart.push(Record {
                        content: message,
                        ..record
                    });
                }
            }
            _ => apart.push(record),
        }
    }
    apart
}

fn split_messages(mut content: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let [_, high, mid, low, ..] = *content {
        let len = usize::from(high) << 16 | usize::from(mid) << 8 | usize::from(low);
        let (message, rest) = content.split_at(4 + len);
        messages.push(message.to_vec());
        content = rest;
    }
    assert!(content.is_empty());
    messages
}

/// Encodes a handshake message of this type.
pub fn message(typ: u8, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[typ], &len[1..], body].concat()
}

pub fn encode(records: &[Record]) -> Vec<u8> {
    let records: Vec<_> = records.iter().map(Record::encode).collect();
    records.concat()
}
