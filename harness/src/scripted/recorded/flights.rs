//! Flights under the transparent cipher: splits them into records and handshake messages, and
//! encodes records.

use crate::providers::transparent::TAG;
use crate::scripted::records::Joiner;
use crate::wire;
pub use crate::wire::{ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, frame, message};

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

/// Splits well-formed `bytes` into records. In TLS 1.3 the outer type application_data means that
/// there is an inner type; otherwise a record is protected if it ends in a tag.
pub fn records(framing: Framing, bytes: &[u8]) -> Vec<Record> {
    let split = |wire::Record { typ, payload, .. }| match payload.strip_suffix(&TAG) {
        Some(inner) if (typ, framing) == (APPLICATION_DATA, Framing::Tls13) => {
            let (typ, content) = inner.split_last().unwrap();
            Record::protected(framing, *typ, content)
        }
        Some(content) => Record::protected(Framing::Tls12, typ, content),
        None => Record {
            framing,
            ..Record::plain(typ, &payload)
        },
    };
    wire::records(bytes).into_iter().map(split).collect()
}

/// Like [`records`], with each handshake message in its own record.
pub fn messages(framing: Framing, bytes: &[u8]) -> Vec<Record> {
    let mut apart = Vec::new();
    for record in records(framing, bytes) {
        if record.typ != HANDSHAKE {
            apart.push(record);
            continue;
        }
        let mut joiner = Joiner::default();
        joiner.push(&record.content);
        while let Some(content) = joiner.next() {
            apart.push(Record { content, ..record });
        }
        assert!(joiner.is_empty(), "half a message");
    }
    apart
}

pub fn encode(records: &[Record]) -> Vec<u8> {
    let records: Vec<_> = records.iter().map(Record::encode).collect();
    records.concat()
}
