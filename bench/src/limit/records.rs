//! The limit: nothing but the provider's AEAD, over records of the same sizes, in buffers used like
//! those of the unbuffered API.
//!
//! No handshake, no header, no state except a counter for the nonce. Anything that a TLS library
//! adds to this time is its overhead.

use core::hint::black_box;
use core::ops::Range;

use super::{LessSafeKey, key, open_in_place, seal_in_place};
use crate::choices::{Api, Cipher, Direction, Version};
use crate::limit::aead::{Inputs, TAG_LEN};
use crate::suites::Suite;
use crate::workload::{
    InPlace, RECORD_HEADER_LEN, Result, SealsInPlace, Stretch, Traffic, Transfers, Workload,
    transfer,
};

/// Returns the work of `api` in `direction`. The buffered API has the limit of the unbuffered one.
pub(in crate::limit) fn workload(
    api: Api,
    direction: Direction,
    traffic: &Traffic,
) -> Result<Box<dyn Workload>> {
    let suite = &traffic.connection.suite;
    let (framing, max_payload) = (Framing::of(suite), traffic.max_record_payload());
    let room = [
        framing.explicit_nonce,
        framing.expansion() - framing.explicit_nonce,
    ];
    let records = Records {
        key: key(suite.cipher)?,
        framing,
        max_payload,
        size: traffic.plaintext_size,
        sealed: 0,
        opened: 0,
    };
    Ok(match (api, direction) {
        (Api::InPlace, Direction::Send) => {
            Box::new(InPlace::new(records, traffic, room, max_payload))
        }
        _ => transfer(records, direction, traffic, None),
    })
}

/// The bytes that a version and its cipher add to the plaintext of a record, except for the header.
struct Framing {
    is_tls13: bool,
    /// The length of the part of the nonce that precedes the ciphertext: eight with GCM in TLS 1.2
    /// (RFC 5288), otherwise none (RFC 7905, RFC 9846).
    explicit_nonce: usize,
    /// The bytes encrypted after the plaintext: the content type in TLS 1.3 (RFC 9846 §5.2).
    trailer: &'static [u8],
}

const APPLICATION_DATA: u8 = 23;

impl Framing {
    fn of(suite: &Suite) -> Self {
        let is_tls13 = suite.version == Version::Tls13;
        let is_gcm = suite.cipher != Cipher::Chacha20Poly1305;
        Self {
            is_tls13,
            explicit_nonce: if is_gcm && !is_tls13 { 8 } else { 0 },
            trailer: if is_tls13 { &[APPLICATION_DATA] } else { &[] },
        }
    }

    /// The number of bytes added to the plaintext.
    fn expansion(&self) -> usize {
        self.explicit_nonce + self.trailer.len() + TAG_LEN
    }

    /// Writes the explicit nonce to the front of `record`; returns the rest.
    fn ciphertext<'a>(&self, record: &'a mut [u8], seq: u64) -> &'a mut [u8] {
        let (explicit, ciphertext) = record.split_at_mut(self.explicit_nonce);
        explicit.copy_from_slice(&seq.to_be_bytes()[..explicit.len()]);
        ciphertext
    }

    /// The inputs of the AEAD for record number `seq` with `plaintext_len` plaintext bytes. In TLS
    /// 1.3 the additional data is the record header; in TLS 1.2 (RFC 5246 §6.2.3.3) the sequence
    /// number, content type, version and length of the plaintext.
    fn inputs(&self, seq: u64, plaintext_len: usize) -> Inputs {
        // over an all-zero IV, in RFC 9846 §5.3 as well as in RFC 5288
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&seq.to_be_bytes());
        let mut aad = [0; 13];
        let (len, header) = if self.is_tls13 {
            (plaintext_len + self.expansion(), 0)
        } else {
            aad[..8].copy_from_slice(&seq.to_be_bytes());
            (plaintext_len, 8)
        };
        let [high, low] = (len as u16).to_be_bytes();
        aad[header..header + 5].copy_from_slice(&[APPLICATION_DATA, 3, 3, high, low]);
        Inputs {
            nonce,
            aad,
            aad_len: header + 5,
            trailer: self.trailer,
        }
    }
}

/// Seals and opens records, without their headers.
struct Records {
    key: LessSafeKey,
    framing: Framing,
    max_payload: usize,
    /// The bytes of each write.
    size: usize,
    /// The numbers of records sealed and opened.
    sealed: u64,
    opened: u64,
}

impl SealsInPlace for Records {
    fn seal_in_place(&mut self, memory: &mut [u8], payload: Range<usize>) -> Result<()> {
        let inputs = self.framing.inputs(self.sealed, payload.len());
        let sealed = self.framing.ciphertext(memory, self.sealed);
        self.sealed += 1;
        seal_in_place(&self.key, &inputs, sealed)
    }
}

impl Transfers for Records {
    /// Seals `plaintext`, leaving room for the headers; returns the bytes used in `out`.
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize> {
        let mut used = 0;
        for fragment in plaintext.chunks(self.max_payload) {
            let start = used + RECORD_HEADER_LEN;
            used = start + fragment.len() + self.framing.expansion();
            let sealed = self.framing.ciphertext(&mut out[start..used], self.sealed);
            let inputs = self.framing.inputs(self.sealed, fragment.len());
            super::super::seal(&self.key, &inputs, fragment, sealed)?;
            self.sealed += 1;
        }
        Ok(used)
    }

    /// Opens the records, whose boundaries follow from the size of the writes.
    fn receive(&mut self, wire: &mut [u8], _: Option<&mut Stretch>) -> Result<usize> {
        let (mut start, mut received, mut left) = (0, 0, self.size);
        while start < wire.len() {
            let len = Ord::min(left, self.max_payload);
            let end = start + RECORD_HEADER_LEN + len + self.framing.expansion();
            let record = &mut wire[start + RECORD_HEADER_LEN..end];
            let (explicit, sealed) = record.split_at_mut(self.framing.explicit_nonce);
            black_box(explicit);
            let inputs = self.framing.inputs(self.opened, len);
            let opened = black_box(open_in_place(&self.key, &inputs, sealed)?);
            received += opened.len() - self.framing.trailer.len();
            self.opened += 1;
            left = if left > len { left - len } else { self.size };
            start = end;
        }
        Ok(received)
    }

    /// Derived from the lengths: the limit writes no record headers to count.
    fn records_in(&self, _: &[u8], writes: usize) -> usize {
        self.size.div_ceil(self.max_payload) * writes
    }
}
