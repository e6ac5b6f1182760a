//! The buffered API: `writer` and `write_tls` for sending, `read_tls`, `process_new_packets` and
//! `reader` for receiving.
//!
//! The pipe between the two sides is a `Vec<u8>`. Copying into and out of it is part of the work,
//! like copying to and from a socket. So is the application's copy out of `reader`; `fill_buf`
//! needs none.

use core::hint::black_box;
use std::io::Read;

use super::Sends;
use super::pairs::buffered::{Pair, look_at, write};
use super::tls::ConnectionCommon;
use crate::workload::{Result, Stretch, Traffic, Workload, check_received, record_count};

/// Sends with the client's `writer` and `write_tls`.
impl Sends for Pair {
    fn send(&mut self, plaintext: &[u8], mut out: &mut [u8]) -> Result<usize> {
        let room = out.len();
        write(&mut self.client, plaintext, &mut out)?;
        Ok(room - out.len())
    }
}

/// Timed: the server's `read_tls`, `process_new_packets` and `reader`.
pub(crate) struct Receive {
    pair: Pair,
    plaintext: Stretch,
    pipe: Vec<u8>,
    application: Application,
    writes: usize,
}

/// The way the receiving application gets its data.
enum Application {
    /// Copies it with `read`.
    Copies(Stretch),
    /// Borrows it with `fill_buf`.
    Borrows,
}

impl Receive {
    /// The size of the application's buffer, unless its writes are larger.
    const APPLICATION_LEN: usize = 16384;

    pub(crate) fn new(pair: Pair, traffic: &Traffic) -> Self {
        let step = Ord::max(traffic.plaintext_size, Self::APPLICATION_LEN);
        let len = step + traffic.plaintext_size * (traffic.apart() - 1);
        let memory = Stretch::new(len, step);
        Self {
            pair,
            plaintext: traffic.plaintext(),
            pipe: traffic.incoming(),
            application: Application::Copies(memory),
            writes: traffic.writes(),
        }
    }

    /// Creates a workload whose application reads in place.
    pub(crate) fn without_copy(pair: Pair, traffic: &Traffic) -> Self {
        Self {
            application: Application::Borrows,
            ..Self::new(pair, traffic)
        }
    }
}

impl Workload for Receive {
    fn place(&mut self, offset: usize) -> bool {
        match &mut self.application {
            Application::Copies(memory) => {
                memory.place(offset);
                true
            }
            Application::Borrows => false,
        }
    }

    fn prepare(&mut self) -> Result<()> {
        self.pipe.clear();
        for _ in 0..self.writes {
            write(&mut self.pair.client, self.plaintext.step(), &mut self.pipe)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let received = match &mut self.application {
            Application::Copies(memory) => read_all(&mut self.pair.server, &self.pipe, memory)?,
            Application::Borrows => look_at(&mut self.pair.server, &self.pipe)?,
        };
        check_received(received, self.plaintext.last().len() * self.writes)
    }

    fn records(&self) -> usize {
        record_count(&self.pipe)
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
