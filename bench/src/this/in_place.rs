//! Sending in place, which only this library supports. The record is built around the plaintext, in
//! the buffer that the application wrote to.

use core::ops::Range;

use super::connection::configs::configs;
use super::dialect::pairs::unbuffered::{Pair, Unbuffered, unexpected};
use super::dialect::tls::unbuffered::{ConnectionState, InPlaceError};
use crate::choices::{Api, Direction};
use crate::workload::{InPlace, Result, SealsInPlace, Traffic, Workload};

/// Returns the work of `api` in `direction`: sealing in place through the unbuffered API, or that
/// of both implementations. Opening is always in place.
pub(crate) fn workload(
    api: Api,
    direction: Direction,
    traffic: &Traffic,
) -> Result<Box<dyn Workload>> {
    if api != Api::InPlace {
        return super::connection::bulk::workload(api, direction, traffic);
    }
    let mut pair = Pair::connect(&configs(&traffic.connection)?)?;
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
