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
use crate::workload::{Result, Stretch, Traffic, Workload, check_received, records};

/// The work of `api` in `direction`, on a connection of its own.
pub(crate) fn workload(
    api: Api,
    direction: Direction,
    traffic: &Traffic,
) -> Result<Box<dyn Workload>> {
    let configs = configs(&traffic.connection)?;
    Ok(match api {
        Api::Buffered | Api::FillBuf => {
            let memory = (api == Api::Buffered).then(|| traffic.application());
            of_pair(
                buffered::Pair::connect(&configs)?,
                direction,
                traffic,
                memory,
            )
        }
        _ => of_pair(
            unbuffered::Pair::connect(&configs)?,
            direction,
            traffic,
            None,
        ),
    })
}

/// A pair whose client sends to its server.
trait Transfers: 'static {
    /// Writes the records of `plaintext` to the front of `out`; returns their length.
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize>;

    /// Opens all records of `wire`; returns the length of their plaintext. The application copies
    /// it to `memory`, or reads it in place.
    fn receive(&mut self, wire: &mut [u8], memory: Option<&mut Stretch>) -> Result<usize>;
}

fn of_pair<P: Transfers>(
    pair: P,
    direction: Direction,
    traffic: &Traffic,
    memory: Option<Stretch>,
) -> Box<dyn Workload> {
    let (plaintext, writes) = (traffic.plaintext(), traffic.writes());
    match direction {
        Direction::Send => {
            let out = traffic.sealed();
            Box::new(Send {
                pair,
                plaintext,
                writes,
                out,
            })
        }
        Direction::Receive => Box::new(Receive {
            pair,
            plaintext,
            writes,
            wire: traffic.incoming(),
            wire_len: 0,
            records: 0,
            memory,
        }),
    }
}

/// Timed: the client's work to make records from plaintext, into one output buffer, again and
/// again.
struct Send<P> {
    pair: P,
    plaintext: Stretch,
    writes: usize,
    out: Stretch,
}

impl<P: Transfers> Workload for Send<P> {
    fn place(&mut self, offset: usize) -> bool {
        self.plaintext.place(offset);
        true
    }

    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            let plaintext = black_box(&*self.plaintext.step());
            let used = self.pair.send(plaintext, self.out.rest())?;
            black_box(self.out.take(used));
        }
        Ok(())
    }

    fn records(&self) -> usize {
        records(self.out.last()).count() * self.writes
    }
}

/// Timed: the server's work to get the plaintext of a batch of records.
struct Receive<P> {
    pair: P,
    plaintext: Stretch,
    writes: usize,
    wire: Vec<u8>,
    wire_len: usize,
    records: usize,
    memory: Option<Stretch>,
}

impl<P: Transfers> Workload for Receive<P> {
    fn place(&mut self, offset: usize) -> bool {
        let memory = self.memory.as_mut();
        memory.map(|memory| memory.place(offset)).is_some()
    }

    fn prepare(&mut self) -> Result<()> {
        self.wire_len = 0;
        for _ in 0..self.writes {
            let free = &mut self.wire[self.wire_len..];
            self.wire_len += self.pair.send(self.plaintext.step(), free)?;
        }
        self.records = records(&self.wire[..self.wire_len]).count();
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let wire = &mut self.wire[..self.wire_len];
        let received = self.pair.receive(wire, self.memory.as_mut())?;
        check_received(received, self.plaintext.last().len() * self.writes)
    }

    fn records(&self) -> usize {
        self.records
    }
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
