//! Many connections at once in one thread.

use core::any::Any;
use std::io::{ErrorKind, Read};

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
    shared: Shared,
    /// The later bytes for the server of each pair, and for its client.
    rests: Vec<[[u8; REST]; 2]>,
    /// Keeps data that connections share alive after the last of them.
    _configs: Configs,
}

struct Shared {
    plaintext: Vec<u8>,
    wire: Vec<u8>,
    application: Vec<u8>,
}

/// A pair of one API.
trait Pair {
    fn hold(&mut self, data: Data, shared: &mut Shared, rests: &mut [[u8; REST]; 2]) -> Result<()>;

    fn read(&mut self, data: Data, shared: &mut Shared, rests: &[[u8; REST]; 2]) -> Result<()>;

    /// The client and the server.
    fn sides(self) -> [Box<dyn Any>; 2];
}

impl<P> Many<P> {
    fn new(configs: Configs, count: usize, connect: fn(&Configs) -> Result<P>) -> Result<Self> {
        // the exact size, because memory is measured
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            pairs.push(connect(&configs)?);
        }
        let shared = Shared {
            plaintext: (0..LONGEST).map(|at| at as u8).collect(),
            wire: vec![0; 2 * LONGEST],
            application: vec![0; LONGEST],
        };
        Ok(Self {
            pairs,
            shared,
            rests: vec![[[0; REST]; 2]; count],
            _configs: configs,
        })
    }
}

impl<P: Pair> Pairs for Many<P> {
    fn hold(&mut self, data: Data) -> Result<()> {
        let mut all = self.pairs.iter_mut().zip(&mut self.rests);
        all.try_for_each(|(pair, rests)| pair.hold(data, &mut self.shared, rests))
    }

    fn read(&mut self, data: Data) -> Result<()> {
        let mut all = self.pairs.iter_mut().zip(&self.rests);
        all.try_for_each(|(pair, rests)| pair.read(data, &mut self.shared, rests))
    }

    fn give_back(&mut self) -> [i64; 2] {
        let mut bytes = [0, 0];
        for pair in self.pairs.drain(..) {
            for (bytes, side) in bytes.iter_mut().zip(pair.sides()) {
                let before = so_far().bytes;
                drop(side);
                *bytes += before - so_far().bytes;
            }
        }
        bytes
    }
}

impl Pair for buffered::Pair {
    fn hold(&mut self, data: Data, shared: &mut Shared, rests: &mut [[u8; REST]; 2]) -> Result<()> {
        let (client, server) = (&mut *self.client, &mut *self.server);
        let [to_server, to_client] = rests;
        hand_over(client, server, data, shared, to_server)?;
        hand_over(server, client, data, shared, to_client)
    }

    fn read(&mut self, data: Data, shared: &mut Shared, rests: &[[u8; REST]; 2]) -> Result<()> {
        if data.is_part {
            take_in(&mut self.server, &rests[0])?;
            take_in(&mut self.client, &rests[1])?;
        }
        read(&mut self.server, data, shared)?;
        read(&mut self.client, data, shared)
    }

    fn sides(self) -> [Box<dyn Any>; 2] {
        [self.client, self.server]
    }
}

/// Sends `data`; the last bytes of a part go to `rest` instead.
fn hand_over<A, B>(
    from: &mut ConnectionCommon<A>,
    to: &mut ConnectionCommon<B>,
    data: Data,
    shared: &mut Shared,
    rest: &mut [u8],
) -> Result<()> {
    let Shared {
        plaintext, wire, ..
    } = shared;
    wire.clear();
    buffered::write(from, &plaintext[..data.len], wire)?;
    let rest_len = if data.is_part { REST } else { 0 };
    let (now, later) = wire.split_at(wire.len() - rest_len);
    rest[..rest_len].copy_from_slice(later);
    take_in(to, now)
}

fn take_in<Data>(connection: &mut ConnectionCommon<Data>, mut wire: &[u8]) -> Result<()> {
    while !wire.is_empty() {
        connection.read_tls(&mut wire)?;
        connection.process_new_packets()?;
    }
    // as programs do after a readiness event
    match connection.read_tls(&mut Memory::new(&[])) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        _ => Err("a transport without bytes returned some".into()),
    }
}

/// Reads the waiting plaintext, which must be that of `data`.
fn read<D>(connection: &mut ConnectionCommon<D>, data: Data, shared: &mut Shared) -> Result<()> {
    let waiting = connection.process_new_packets()?.plaintext_bytes_to_read();
    check_received(waiting, data.len)?;
    let application = &mut shared.application[..waiting];
    connection.reader().read_exact(application)?;
    if application != &shared.plaintext[..waiting] {
        return Err("the received data differs from the sent data".into());
    }
    Ok(())
}

/// Waiting data stays in the application's memory.
impl Pair for unbuffered::Pair {
    /// Shows each end only a part of a record, which it does not consume.
    fn hold(&mut self, data: Data, _: &mut Shared, _: &mut [[u8; REST]; 2]) -> Result<()> {
        if data.is_part {
            let mut part = [23, 3, 3, 0x40, 0x11, 0x17, 0x17];
            unbuffered::look(&mut *self.client, &mut part)?;
            unbuffered::look(&mut *self.server, &mut part)?;
        }
        Ok(())
    }

    fn read(&mut self, data: Data, shared: &mut Shared, _: &[[u8; REST]; 2]) -> Result<()> {
        self.exchange(&shared.plaintext[..data.len], &mut shared.wire)
    }

    fn sides(self) -> [Box<dyn Any>; 2] {
        [self.client, self.server]
    }
}
