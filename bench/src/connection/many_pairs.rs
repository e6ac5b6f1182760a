//! Many connections at once in one thread.

use std::io::Read;

use bench_allocator::{count, so_far};
use harness::peers::memory::Memory;
use tls::ConnectionCommon;

use super::configs::configs;
use super::dialect::pairs::{Configs, buffered, unbuffered};
use super::dialect::tls;
use crate::choices::Api;
use crate::workload::memory::{Data, Pairs, REST};
use crate::workload::{Result, Scenario, check_received};

/// Connects `count` pairs; they have completed the handshake and have nothing left to exchange.
pub(crate) fn connect(api: Api, scenario: &Scenario, count: usize) -> Result<Box<dyn Pairs>> {
    let configs = configs(scenario)?;
    Ok(match api {
        Api::Unbuffered => Box::new(Many::new(configs, count, unbuffered::Pair::connect)?),
        _ => Box::new(Many::new(configs, count, buffered::Pair::connect)?),
    })
}

/// The allocations of one full handshake: both sides, including creating the connections and
/// handling tickets.
pub(crate) fn handshake_allocations(api: Api, scenario: &Scenario) -> Result<u64> {
    // a new configuration has no session to resume
    let configs = configs(scenario)?;
    let (mut there, mut back) = (Vec::with_capacity(1 << 15), Vec::with_capacity(1 << 15));
    let (done, counted) = count(|| match api {
        Api::Unbuffered => {
            unbuffered::Pair::connect_through(&configs, &mut there, &mut back).map(drop)
        }
        _ => buffered::Pair::connect_through(&configs, &mut there).map(drop),
    });
    done.map(|()| counted.allocations)
}

const LONGEST: usize = 1 << 14;

/// Pairs of one API and the memory that they share.
struct Many<P> {
    pairs: Vec<P>,
    plaintext: Vec<u8>,
    wire: Vec<u8>,
    application: Vec<u8>,
    /// [`REST`] bytes for each direction of each pair.
    rests: Vec<u8>,
    /// Keeps data that connections share alive after the last of them.
    _configs: Configs,
}

impl<P> Many<P> {
    fn new(configs: Configs, count: usize, connect: fn(&Configs) -> Result<P>) -> Result<Self> {
        // the exact size, because memory is measured
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            pairs.push(connect(&configs)?);
        }
        Ok(Self {
            pairs,
            plaintext: (0..LONGEST).map(|at| at as u8).collect(),
            wire: vec![0; 2 * LONGEST],
            application: vec![0; LONGEST],
            rests: vec![0; 2 * count * REST],
            _configs: configs,
        })
    }
}

impl Pairs for Many<buffered::Pair> {
    fn hold(&mut self, data: Data) -> Result<()> {
        let (plaintext, wire) = (&self.plaintext[..data.len], &mut self.wire);
        let rest_len = if data.is_part { REST } else { 0 };
        for (pair, rests) in self.pairs.iter_mut().zip(self.rests.chunks_mut(2 * REST)) {
            let (of_client, of_server) = rests.split_at_mut(REST);
            let (client, server) = (&mut *pair.client, &mut *pair.server);
            hand_over(client, server, plaintext, wire, &mut of_client[..rest_len])?;
            hand_over(server, client, plaintext, wire, &mut of_server[..rest_len])?;
        }
        Ok(())
    }

    fn read(&mut self, data: Data) -> Result<()> {
        let plaintext = &self.plaintext[..data.len];
        for (pair, rests) in self.pairs.iter_mut().zip(self.rests.chunks(2 * REST)) {
            if data.is_part {
                let (of_client, of_server) = rests.split_at(REST);
                take_in(&mut pair.server, of_client)?;
                take_in(&mut pair.client, of_server)?;
            }
            read(&mut pair.server, &mut self.application, plaintext)?;
            read(&mut pair.client, &mut self.application, plaintext)?;
        }
        Ok(())
    }

    fn give_back(&mut self) -> [i64; 2] {
        let pairs = self.pairs.drain(..);
        given_back(pairs.map(|pair| (pair.client, pair.server)))
    }
}

/// Sends `plaintext`; the last bytes of its record go to `rest` instead.
fn hand_over<A, B>(
    from: &mut ConnectionCommon<A>,
    to: &mut ConnectionCommon<B>,
    plaintext: &[u8],
    wire: &mut Vec<u8>,
    rest: &mut [u8],
) -> Result<()> {
    wire.clear();
    buffered::write(from, plaintext, wire)?;
    let (now, later) = wire.split_at(wire.len() - rest.len());
    rest.copy_from_slice(later);
    take_in(to, now)
}

fn take_in<Data>(connection: &mut ConnectionCommon<Data>, mut wire: &[u8]) -> Result<()> {
    while !wire.is_empty() {
        connection.read_tls(&mut wire)?;
        connection.process_new_packets()?;
    }
    // as programs do after a readiness event
    match connection.read_tls(&mut Memory::new(&[])) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
        _ => Err("a transport without bytes returned some".into()),
    }
}

/// Reads the waiting plaintext, which must be `expected`.
fn read<Data>(
    connection: &mut ConnectionCommon<Data>,
    application: &mut [u8],
    expected: &[u8],
) -> Result<()> {
    let waiting = connection.process_new_packets()?.plaintext_bytes_to_read();
    check_received(waiting, expected.len())?;
    let application = &mut application[..waiting];
    connection.reader().read_exact(application)?;
    if application != expected {
        return Err("the received data differs from the sent data".into());
    }
    Ok(())
}

/// Pairs of the unbuffered API. Waiting data stays in the application's memory.
impl Pairs for Many<unbuffered::Pair> {
    /// Shows each end only a part of a record, which it does not consume.
    fn hold(&mut self, data: Data) -> Result<()> {
        let mut part = [23, 3, 3, 0x40, 0x11, 0x17, 0x17];
        for pair in self.pairs.iter_mut().filter(|_| data.is_part) {
            unbuffered::look(&mut *pair.client, &mut part)?;
            unbuffered::look(&mut *pair.server, &mut part)?;
        }
        Ok(())
    }

    fn read(&mut self, data: Data) -> Result<()> {
        for pair in &mut self.pairs {
            pair.exchange(&self.plaintext[..data.len], &mut self.wire)?;
        }
        Ok(())
    }

    fn give_back(&mut self) -> [i64; 2] {
        let pairs = self.pairs.drain(..);
        given_back(pairs.map(|pair| (pair.client, pair.server)))
    }
}

/// The heap bytes that dropping all clients frees, and all servers.
fn given_back<C, S>(pairs: impl Iterator<Item = (C, S)>) -> [i64; 2] {
    let mut bytes = [0, 0];
    for (client, server) in pairs {
        let start = so_far().bytes;
        drop(client);
        let between = so_far().bytes;
        drop(server);
        bytes[0] += start - between;
        bytes[1] += between - so_far().bytes;
    }
    bytes
}
