//! Bulk data through the buffered API (`writer` and `write_tls` for sending, `read_tls`,
//! `process_new_packets` and `reader` for receiving) and the unbuffered one (`process_tls_records`
//! and the states that it returns, over the caller's memory).
//!
//! The buffered API's pipe between the two sides is a `Vec<u8>`. Copying into and out of it is part
//! of the work, like copying to and from a socket. So is the application's copy out of `reader`;
//! `fill_buf` needs none.

use core::hint::black_box;
use std::io::Read;

use super::configs::configs;
use super::dialect::pairs::{buffered, unbuffered};
use super::dialect::tls::ConnectionCommon;
use crate::choices::{Api, Direction};
use crate::workload::{Result, Stretch, Traffic, Transfers, Workload, transfer};

/// The work of `api` in `direction`, on its own connection.
pub(crate) fn workload(
    api: Api,
    direction: Direction,
    traffic: &Traffic,
) -> Result<Box<dyn Workload>> {
    let configs = configs(&traffic.connection)?;
    if matches!(api, Api::Unbuffered | Api::InPlace) {
        let pair = unbuffered::Pair::connect(&configs)?;
        return Ok(transfer(pair, direction, traffic, None));
    }
    let pair = buffered::Pair::connect(&configs)?;
    let memory = (api != Api::FillBuf).then(|| traffic.application());
    Ok(transfer(pair, direction, traffic, memory))
}

impl Transfers for buffered::Pair {
    /// Timed: the client's `writer` and `write_tls`.
    fn send(&mut self, plaintext: &[u8], mut out: &mut [u8]) -> Result<usize> {
        let room = out.len();
        buffered::write(&mut self.client, plaintext, &mut out)?;
        Ok(room - out.len())
    }

    /// Timed: the server's `read_tls`, `process_new_packets` and `reader`.
    fn receive(&mut self, wire: &mut [u8], memory: Option<&mut Stretch>) -> Result<usize> {
        match memory {
            Some(memory) => read_all(&mut self.server, wire, memory),
            None => buffered::look_at(&mut self.server, wire),
        }
    }
}

/// Feeds `wire` to `connection` and reads the plaintext into one piece of `memory` after the other;
/// returns its length.
fn read_all<Data>(
    connection: &mut ConnectionCommon<Data>,
    mut wire: &[u8],
    memory: &mut Stretch,
) -> Result<usize> {
    let mut received = 0;
    while !wire.is_empty() {
        connection.read_tls(&mut wire)?;
        let mut waiting = connection.process_new_packets()?.plaintext_bytes_to_read();
        received += waiting;
        while waiting != 0 {
            let free = memory.rest();
            let len = Ord::min(free.len(), waiting);
            let read = connection.reader().read(&mut free[..len])?;
            if read == 0 {
                return Err("the connection ended early".into());
            }
            black_box(memory.take(read));
            waiting -= read;
        }
    }
    Ok(received)
}

impl Transfers for unbuffered::Pair {
    /// Timed: the client's `encrypt`.
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize> {
        unbuffered::send(&mut *self.client, plaintext, out)
    }

    /// Timed: the server's `process_tls_records` and `next_record`, over a buffer full of records.
    fn receive(&mut self, wire: &mut [u8], _: Option<&mut Stretch>) -> Result<usize> {
        unbuffered::receive(&mut *self.server, wire)
    }
}
