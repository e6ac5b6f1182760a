//! Many connections at once in one thread.

use std::any::Any;
use std::io::ErrorKind;

use bench_allocator::{count, so_far};
use harness::peers::memory::Memory;
use tls::ConnectionCommon;

use super::configs::configs;
use super::dialect::pairs::{Configs, buffered, unbuffered};
use super::dialect::tls;
use crate::choices::Api;
use crate::workload::memory::{Data, Pairs, REST};
use crate::workload::{Result, Scenario, check_received};

/// Connects `count` pairs, which have nothing left to exchange.
pub(crate) fn connect(api: Api, scenario: &Scenario, count: usize) -> Result<Box<dyn Pairs>> {
    let configs = configs(scenario)?;
    Ok(if api == Api::Unbuffered {
        let pairs = (0..count).map(|_| unbuffered::Pair::connect(&configs));
        Box::new(Unbuffered(pairs.collect::<Result<_>>()?, configs))
    } else {
        let pairs = (0..count).map(|_| Ok((buffered::Pair::connect(&configs)?, [[0; REST]; 2])));
        let pairs = pairs.collect::<Result<_>>()?;
        Box::new(Buffered(pairs, Vec::new(), configs))
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

/// Drops all `pairs`; returns the heap bytes freed by clients and by servers.
fn freed(pairs: impl Iterator<Item = [Box<dyn Any>; 2]>) -> [i64; 2] {
    let mut bytes = [0, 0];
    for pair in pairs {
        for (bytes, side) in bytes.iter_mut().zip(pair) {
            let before = so_far().bytes;
            drop(side);
            *bytes += before - so_far().bytes;
        }
    }
    bytes
}

const PLAINTEXT: [u8; 1 << 14] = [0x17; 1 << 14];

/// Pairs of the unbuffered API. Their waiting data stays in the application's memory. The
/// configurations, which nothing reads, keep what connections share alive after the last of them.
struct Unbuffered(Vec<unbuffered::Pair>, #[expect(dead_code)] Configs);

impl Pairs for Unbuffered {
    fn hold(&mut self, _: Data) -> Result<()> {
        Ok(())
    }

    fn read(&mut self, data: Data) -> Result<()> {
        let (mut pairs, mut wire) = (self.0.iter_mut(), vec![0; 2 * PLAINTEXT.len()]);
        pairs.try_for_each(|pair| pair.exchange(&PLAINTEXT[..data.len], &mut wire))
    }

    fn give_back(&mut self) -> [i64; 2] {
        freed(self.0.drain(..).map(|it| [it.client as _, it.server as _]))
    }
}

/// A pair of the buffered API, with the later bytes for its server and its client.
type BufferedPair = (buffered::Pair, [[u8; REST]; 2]);

/// Such pairs, memory for records, and the configurations.
struct Buffered(Vec<BufferedPair>, Vec<u8>, #[expect(dead_code)] Configs);

impl Pairs for Buffered {
    fn hold(&mut self, data: Data) -> Result<()> {
        for (pair, [to_server, to_client]) in &mut self.0 {
            let (client, server) = (&mut *pair.client, &mut *pair.server);
            hand_over(client, server, data, &mut self.1, to_server)?;
            hand_over(server, client, data, &mut self.1, to_client)?;
        }
        Ok(())
    }

    fn read(&mut self, data: Data) -> Result<()> {
        for (pair, [to_server, to_client]) in &mut self.0 {
            read(&mut pair.server, data, to_server)?;
            read(&mut pair.client, data, to_client)?;
        }
        Ok(())
    }

    fn give_back(&mut self) -> [i64; 2] {
        let pairs = self.0.drain(..);
        freed(pairs.map(|(it, _)| [it.client as _, it.server as _]))
    }
}

/// Sends `data`; the last bytes of a part go to `rest` instead.
fn hand_over<A, B>(
    from: &mut ConnectionCommon<A>,
    to: &mut ConnectionCommon<B>,
    data: Data,
    wire: &mut Vec<u8>,
    rest: &mut [u8],
) -> Result<()> {
    wire.clear();
    buffered::write(from, &PLAINTEXT[..data.len], wire)?;
    let rest_len = if data.is_part { REST } else { 0 };
    let (now, later) = wire.split_at(wire.len() - rest_len);
    rest[..rest_len].copy_from_slice(later);
    take_in(to, now)
}

fn take_in<D>(connection: &mut ConnectionCommon<D>, mut wire: &[u8]) -> Result<()> {
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

/// Reads the waiting plaintext, which must be as long as `data`. A part is completed by `rest`.
fn read<D>(connection: &mut ConnectionCommon<D>, data: Data, rest: &[u8]) -> Result<()> {
    if data.is_part {
        take_in(connection, rest)?;
    }
    let waiting = connection.process_new_packets()?.plaintext_bytes_to_read();
    check_received(waiting, data.len)?;
    buffered::read(connection, waiting, &mut [0; 1 << 14])
}
