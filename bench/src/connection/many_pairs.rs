//! Many connections at once in one thread, over memory or loopback TCP.

use std::io::{Read, Write};
use std::net::TcpStream;

use harness::peers::os::loopback;
use tls::ConnectionCommon;

use super::pairs::{Configs, buffered, unbuffered};
use super::{configs, tls};
use crate::cli::Api;
use crate::load::connections::{ManyPairs, Move, REST};
use crate::workload::{Result, Scenario, check_received};

/// Connects `pairs` pairs; they have completed the handshake and have nothing left to exchange.
pub(crate) fn connected(
    api: Api,
    scenario: &Scenario,
    pairs: usize,
    over_tcp: bool,
) -> Result<Box<dyn ManyPairs>> {
    let configs = configs(scenario)?;
    Ok(match api {
        Api::Buffered => Box::new(Buffered::new(configs, pairs, over_tcp)?),
        _ => Box::new(Unbuffered::new(configs, pairs)?),
    })
}

const LONGEST: usize = 1 << 14;

struct Buffered {
    pairs: Vec<buffered::Pair>,
    wire: Wire,
    plaintext: Vec<u8>,
    application: Vec<u8>,
    /// Keeps data that connections share alive after the last of them.
    configs: Configs,
}

impl Buffered {
    fn new(configs: Configs, pairs: usize, over_tcp: bool) -> Result<Self> {
        let mut many = Self {
            pairs: Vec::with_capacity(pairs),
            wire: Wire::new(pairs, over_tcp)?,
            plaintext: (0..LONGEST).map(|at| at as u8).collect(),
            application: vec![0; LONGEST],
            configs,
        };
        for _ in 0..pairs {
            let pair = buffered::Pair::connect(&many.configs)?;
            many.pairs.push(pair);
        }
        Ok(many)
    }
}

impl ManyPairs for Buffered {
    fn hold(&mut self, data: Move) -> Result<()> {
        let plaintext = &self.plaintext[..data.len];
        for (pair, ends) in self.pairs.iter_mut().enumerate() {
            let (client, server) = (&mut *ends.client, &mut *ends.server);
            let wire = &mut self.wire;
            wire.hand_over(2 * pair, client, server, plaintext, data.is_whole)?;
            wire.hand_over(2 * pair + 1, server, client, plaintext, data.is_whole)?;
        }
        Ok(())
    }

    fn read(&mut self, data: Move) -> Result<()> {
        let application = &mut self.application[..];
        for (pair, ends) in self.pairs.iter_mut().enumerate() {
            if !data.is_whole {
                self.wire.finish(2 * pair, &mut ends.server)?;
                self.wire.finish(2 * pair + 1, &mut ends.client)?;
            }
            read(&mut ends.server, application, &self.plaintext[..data.len])?;
            read(&mut ends.client, application, &self.plaintext[..data.len])?;
        }
        Ok(())
    }

    fn give_back(&mut self) -> [i64; 2] {
        let pairs = self.pairs.drain(..);
        given_back(pairs.map(|pair| (pair.client, pair.server)))
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

/// The transport between the ends of each pair. A way is one direction of a pair.
enum Wire {
    Memory {
        pipe: Vec<u8>,
        /// [`REST`] bytes for each way.
        rests: Vec<u8>,
    },
    /// The sockets, alternating between client and server.
    Tcp(Vec<TcpStream>),
}

impl Wire {
    fn new(pairs: usize, over_tcp: bool) -> Result<Self> {
        if !over_tcp {
            return Ok(Self::Memory {
                pipe: Vec::with_capacity(2 * LONGEST),
                rests: vec![0; 2 * pairs * REST],
            });
        }
        let mut sockets = Vec::with_capacity(2 * pairs);
        for _ in 0..pairs {
            sockets.extend(<[_; 2]>::from(loopback()?));
        }
        Ok(Self::Tcp(sockets))
    }

    /// Sends from one end to the other; unless `is_whole`, the last [`REST`] bytes are held back.
    fn hand_over<A, B>(
        &mut self,
        way: usize,
        from: &mut ConnectionCommon<A>,
        to: &mut ConnectionCommon<B>,
        plaintext: &[u8],
        is_whole: bool,
    ) -> Result<()> {
        let rest = if is_whole { 0 } else { REST };
        match self {
            Self::Memory { pipe, rests } => {
                pipe.clear();
                buffered::write(from, plaintext, pipe)?;
                let (now, later) = pipe.split_at(pipe.len() - rest);
                rests[REST * way..][..rest].copy_from_slice(later);
                take_in(to, &mut &now[..], now.len())
            }
            Self::Tcp(sockets) => {
                let mut counted = Counted(&sockets[way], 0);
                buffered::write(from, plaintext, &mut counted)?;
                let now = counted.1 - rest;
                take_in(to, &mut &sockets[way ^ 1], now)
            }
        }
    }

    /// Delivers the bytes that were held back.
    fn finish<B>(&mut self, way: usize, to: &mut ConnectionCommon<B>) -> Result<()> {
        match self {
            Self::Memory { rests, .. } => take_in(to, &mut &rests[REST * way..], REST),
            Self::Tcp(sockets) => take_in(to, &mut &sockets[way ^ 1], REST),
        }
    }
}

fn take_in<Data>(
    connection: &mut ConnectionCommon<Data>,
    from: &mut impl Read,
    len: usize,
) -> Result<()> {
    let mut rest = from.take(len as u64);
    while rest.limit() != 0 {
        if connection.read_tls(&mut rest)? == 0 {
            return Err("the connection ended early".into());
        }
        connection.process_new_packets()?;
    }
    Ok(())
}

/// A socket and the number of bytes written to it.
struct Counted<'a>(&'a TcpStream, usize);

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.1 += written;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Pairs of the unbuffered API. Waiting data stays in the application's memory.
struct Unbuffered {
    pairs: Vec<unbuffered::Pair>,
    plaintext: Vec<u8>,
    wire: Vec<u8>,
    configs: Configs,
}

impl Unbuffered {
    fn new(configs: Configs, pairs: usize) -> Result<Self> {
        let mut many = Self {
            pairs: Vec::with_capacity(pairs),
            plaintext: vec![0x17; LONGEST],
            wire: vec![0; 2 * LONGEST],
            configs,
        };
        for _ in 0..pairs {
            let pair = unbuffered::Pair::connect(&many.configs)?;
            many.pairs.push(pair);
        }
        Ok(many)
    }
}

impl ManyPairs for Unbuffered {
    /// Shows each end only a part of a record, which it does not consume.
    fn hold(&mut self, data: Move) -> Result<()> {
        if data.is_whole {
            return Ok(());
        }
        let mut part = [23, 3, 3, 0x40, 0x11, 0x17, 0x17];
        for pair in &mut self.pairs {
            unbuffered::look(&mut *pair.client, &mut part)?;
            unbuffered::look(&mut *pair.server, &mut part)?;
        }
        Ok(())
    }

    fn read(&mut self, data: Move) -> Result<()> {
        let (plaintext, wire) = (&self.plaintext[..data.len], &mut self.wire[..]);
        for pair in &mut self.pairs {
            pair.exchange(plaintext, wire)?;
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
        let start = bench_allocator::so_far().bytes;
        drop(client);
        let between = bench_allocator::so_far().bytes;
        drop(server);
        bytes[0] += start - between;
        bytes[1] += between - bench_allocator::so_far().bytes;
    }
    bytes
}
