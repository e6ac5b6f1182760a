//! Bulk data through the APIs that only this library has: records that are built around the
//! plaintext in the application's buffer, and records that are opened into it.

use core::hint::black_box;
use core::ops::Range;

use super::connection::configs::configs;
use super::dialect::pairs::buffered;
use super::dialect::pairs::unbuffered::{Pair, Unbuffered, unexpected};
use super::dialect::tls::unbuffered::{ConnectionState, InPlaceError};
use crate::choices::{Api, Direction};
use crate::workload::{
    InPlace, Result, SealsInPlace, Stretch, Traffic, Transfers, Workload, transfer,
};

/// Returns the work of `api` in `direction`.
pub(crate) fn workload(
    api: Api,
    direction: Direction,
    traffic: &Traffic,
) -> Result<Box<dyn Workload>> {
    let configs = || configs(&traffic.connection);
    match api {
        Api::InPlace => sealing(Pair::connect(&configs()?)?, traffic),
        Api::OpenInto => {
            let pair = OpensInto(buffered::Pair::connect(&configs()?)?);
            let memory = Stretch::new(READ_LEN, READ_LEN);
            Ok(transfer(pair, direction, traffic, Some(memory)))
        }
        _ => super::connection::bulk::workload(api, direction, traffic),
    }
}

/// Returns the work of sealing in place through the unbuffered API.
fn sealing(mut pair: Pair, traffic: &Traffic) -> Result<Box<dyn Workload>> {
    let room = match pair.client.process(&mut []).state? {
        ConnectionState::WriteTraffic(traffic) => traffic.in_place_room(),
        other => return Err(unexpected(&other)),
    };
    let around = [room.headroom, room.tailroom];
    Ok(Box::new(InPlace::new(pair, traffic, around)))
}

impl SealsInPlace for Pair {
    /// Timed: the client's `encrypt_in_place`.
    fn seal_in_place(&mut self, memory: &mut [u8], payload: Range<usize>) -> Result<()> {
        loop {
            match self.client.process(&mut []).state? {
                ConnectionState::WriteTraffic(mut traffic) => {
                    match traffic.encrypt_in_place(memory, payload.clone()) {
                        // the next state is `EncodeTlsData`, which hands out the pending bytes
                        Err(InPlaceError::OutputPending) => {}
                        sealed => return Ok(sealed.map(drop)?),
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
}

/// The length of the application's buffer: a record, and a byte after it.
const READ_LEN: usize = (1 << 14) + 1;

struct OpensInto(buffered::Pair);

impl Transfers for OpensInto {
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize> {
        self.0.send(plaintext, out)
    }

    /// Timed: the server's `read_tls_for` and `process_new_packets_into`.
    fn receive(&mut self, wire: &mut [u8], memory: Option<&mut Stretch>) -> Result<usize> {
        let memory = memory.ok_or("no memory")?;
        let mut wire = &*wire;
        let mut received = 0;
        while !wire.is_empty() {
            let free = memory.rest();
            self.0.server.read_tls_for(&mut wire, free.len())?;
            let (len, _) = self.0.server.process_new_packets_into(free)?;
            black_box(memory.take(len));
            received += len;
        }
        Ok(received)
    }
}
