//! Sending in place, which only this library supports. The record is built around the plaintext, in
//! the buffer that the application wrote to.

use core::hint::black_box;
use core::ops::Range;

use super::connection::configs::configs;
use super::dialect::pairs::unbuffered::{Pair, Unbuffered, unexpected};
use super::dialect::tls::unbuffered::{ConnectionState, InPlaceError, InPlaceRoom};
use crate::workload::{Result, Traffic, Workload, records};

/// Sealing in place through the unbuffered API; opening is always in place.
pub(crate) fn workload(traffic: &Traffic) -> Result<Box<dyn Workload>> {
    let mut pair = Pair::connect(&configs(&traffic.connection)?)?;
    let room = match pair.client.process(&mut []).state? {
        ConnectionState::WriteTraffic(traffic) => traffic.in_place_room(),
        other => return Err(unexpected(&other)),
    };
    let mut plaintext = traffic.plaintext();
    let mut records = Vec::new();
    for _ in 0..traffic.apart() {
        let fragments = plaintext.step().chunks(room.max_payload);
        records.extend(fragments.map(|fragment| Buffer::around(fragment, &room)));
    }
    Ok(Box::new(SendInPlace {
        pair,
        records,
        rounds: traffic.writes() / traffic.apart(),
    }))
}

/// Timed: the client's `encrypt_in_place`, over the same buffers again and again. The ciphertext of
/// one round is the plaintext of the next.
struct SendInPlace {
    pair: Pair,
    records: Vec<Buffer>,
    rounds: usize,
}

/// The plaintext of one record, with the room that the record needs around it.
struct Buffer {
    bytes: Vec<u8>,
    payload: Range<usize>,
    record: Range<usize>,
}

impl Buffer {
    fn around(plaintext: &[u8], room: &InPlaceRoom) -> Self {
        let (head, tail) = (vec![0; room.headroom], vec![0; room.tailroom]);
        Self {
            bytes: [&head, plaintext, &tail].concat(),
            payload: room.headroom..room.headroom + plaintext.len(),
            record: 0..0,
        }
    }
}

impl Workload for SendInPlace {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.rounds {
            for buffer in &mut self.records {
                let bytes = black_box(&mut buffer.bytes[..]);
                buffer.record = seal(&mut *self.pair.client, bytes, &buffer.payload)?;
                black_box(&bytes[buffer.record.clone()]);
            }
        }
        Ok(())
    }

    fn records(&self) -> usize {
        let count = |buffer: &Buffer| records(&buffer.bytes[buffer.record.clone()]).count();
        self.records.iter().map(count).sum::<usize>() * self.rounds
    }
}

fn seal(
    side: &mut impl Unbuffered,
    buffer: &mut [u8],
    payload: &Range<usize>,
) -> Result<Range<usize>> {
    loop {
        match side.process(&mut []).state? {
            ConnectionState::WriteTraffic(mut traffic) => {
                match traffic.encrypt_in_place(buffer, payload.clone()) {
                    // the next state is `EncodeTlsData`, which hands out the pending bytes
                    Err(InPlaceError::OutputPending) => {}
                    sealed => return Ok(sealed?),
                }
            }
            // no peer reads this connection, so the bytes are dropped
            ConnectionState::EncodeTlsData(mut data) => {
                data.encode(&mut [0; 1024])?;
            }
            ConnectionState::TransmitTlsData(data) => data.done(),
            other => return Err(unexpected(&other)),
        }
    }
}
