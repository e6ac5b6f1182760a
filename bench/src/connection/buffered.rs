//! The buffered API: `writer` and `write_tls` for sending, `read_tls`, `process_new_packets` and
//! `reader` for receiving.
//!
//! The pipe between the two sides is a `Vec<u8>`. Copying into and out of it is part of the work,
//! like copying to and from a socket. So is the application's copy out of `reader`; `fill_buf`
//! needs none.

use core::hint::black_box;
use std::io::Read;

use super::Transfers;
use super::pairs::buffered::{Pair, look_at, write};
use super::tls::ConnectionCommon;
use crate::workload::{Result, Stretch};

impl Transfers for Pair {
    /// Timed: the client's `writer` and `write_tls`.
    fn send(&mut self, plaintext: &[u8], mut out: &mut [u8]) -> Result<usize> {
        let room = out.len();
        write(&mut self.client, plaintext, &mut out)?;
        Ok(room - out.len())
    }

    /// Timed: the server's `read_tls`, `process_new_packets` and `reader`.
    fn receive(&mut self, wire: &mut [u8], memory: Option<&mut Stretch>) -> Result<usize> {
        match memory {
            Some(memory) => read_all(&mut self.server, wire, memory),
            None => look_at(&mut self.server, wire),
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
