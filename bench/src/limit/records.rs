//! The limit: nothing but the provider's AEAD, over records of the same sizes, in buffers used like
//! those of the unbuffered API.
//!
//! No handshake, no header, no state. Anything that a TLS library adds to this time is overhead.
//! But the buffered API cannot avoid a copy between its buffer and the network, so it has a second
//! limit that makes this copy, too.

use core::hint::black_box;
use core::ops::Range;

use super::{LessSafeKey, key, open_in_place, seal_in_place};
use crate::choices::{Api, Direction};
use crate::limit::aead::Framing;
use crate::workload::{
    InPlace, MAX_PAYLOAD, RECORD_HEADER_LEN, Result, SealsInPlace, Stretch, Traffic, Transfers,
    Workload, transfer,
};

/// Returns the work of `api` in `direction`, and with `copies` the copies between the library's
/// buffer and the network. Without them, the buffered API has the limit of the unbuffered one.
pub(in crate::limit) fn workload(
    api: Api,
    direction: Direction,
    traffic: &Traffic,
    copies: bool,
) -> Result<Box<dyn Workload>> {
    let suite = &traffic.connection.suite;
    let framing = Framing::of(suite);
    let records = Records {
        key: key(suite.cipher)?,
        framing,
        size: traffic.plaintext_size,
        buffer: copies.then(|| vec![0; RECORD_HEADER_LEN + MAX_PAYLOAD + OVERHEAD]),
    };
    if api == Api::InPlace {
        let room = [framing.explicit_nonce, framing.tail()];
        return Ok(Box::new(InPlace::new(records, traffic, room)));
    }
    Ok(transfer(records, direction, traffic, None))
}

/// Seals and opens records, without their headers.
struct Records {
    key: LessSafeKey,
    framing: Framing,
    /// The bytes of each write.
    size: usize,
    /// The buffer between the AEAD and the network.
    buffer: Option<Vec<u8>>,
}

/// More than the nonce, content type and tag of a record.
const OVERHEAD: usize = 64;

impl SealsInPlace for Records {
    fn seal_in_place(&mut self, memory: &mut [u8], payload: Range<usize>) -> Result<()> {
        seal_in_place(&self.key, &self.framing, &mut memory[payload.start..])
    }
}

impl Records {
    /// The ciphertext of `len` plaintext bytes, in a record that begins at `start`.
    fn ciphertext(&self, start: usize, len: usize) -> Range<usize> {
        let start = start + RECORD_HEADER_LEN + self.framing.explicit_nonce;
        start..start + len + self.framing.tail()
    }
}

impl Transfers for Records {
    /// Seals `plaintext`, leaving room for the headers; returns the bytes used in `out`.
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize> {
        let mut used = 0;
        for fragment in plaintext.chunks(MAX_PAYLOAD) {
            let place = self.ciphertext(0, fragment.len());
            let record = &mut out[used..][..place.end];
            used += record.len();
            let memory = self.buffer.as_deref_mut();
            let (sealed, network) = match memory {
                Some(buffer) => (&mut buffer[..place.end], Some(record)),
                None => (record, None),
            };
            super::super::seal(&self.key, &self.framing, fragment, &mut sealed[place])?;
            if let Some(network) = network {
                network.copy_from_slice(black_box(sealed));
            }
        }
        Ok(used)
    }

    /// Opens the records, whose boundaries follow from the size of the writes.
    fn receive(&mut self, wire: &mut [u8], _: Option<&mut Stretch>) -> Result<usize> {
        let (mut start, mut received, mut left) = (0, 0, self.size);
        while start < wire.len() {
            let len = Ord::min(left, MAX_PAYLOAD);
            let place = self.ciphertext(0, len);
            let mut record = &mut wire[start..][..place.end];
            start += record.len();
            if let Some(buffer) = &mut self.buffer {
                let buffer = &mut buffer[..record.len()];
                buffer.copy_from_slice(record);
                record = black_box(buffer);
            }
            let opened = black_box(open_in_place(&self.key, &self.framing, &mut record[place])?);
            received += opened.len() - self.framing.trailer.len();
            left = if left > len { left - len } else { self.size };
        }
        Ok(received)
    }
}
