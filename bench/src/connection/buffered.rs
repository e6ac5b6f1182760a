//! The buffered API: `writer` and `write_tls` out, `read_tls`, `process_new_packets` and `reader` in.
//!
//! The pipe between the two sides is a `Vec<u8>`; copying into it and out of it is part of the work,
//! as copying to and from a socket is, and so is the application's copy out of `reader`.

use core::hint::black_box;
use std::io::{Read, Write};

use tls::{ClientConnection, ServerConnection};

use super::{Configs, tls};
use crate::certificates::SERVER_NAME;
use crate::workload::{Result, Scenario, Workload, check_received, record_count};

/// Two connected sides. The client sends, the server receives.
pub(crate) struct Pair {
    pub(crate) client: Box<ClientConnection>,
    pub(crate) server: Box<ServerConnection>,
}

impl Pair {
    /// A pair that is past the handshake and has nothing left to exchange.
    pub(crate) fn connect(configs: &Configs) -> Result<Self> {
        Self::connect_through(configs, &mut Vec::new())
    }

    /// As [`Self::connect`], with a pipe whose memory is not the pair's.
    pub(crate) fn connect_through(configs: &Configs, pipe: &mut Vec<u8>) -> Result<Self> {
        let name = SERVER_NAME.try_into()?;
        let mut pair = Self {
            client: Box::new(ClientConnection::new(configs.client.clone(), name)?),
            server: Box::new(ServerConnection::new(configs.server.clone())?),
        };
        while pair.client.wants_write() || pair.server.wants_write() {
            hand_over(&mut pair.client, pipe)?;
            take_in(&mut pair.server, pipe, &mut [])?;
            hand_over(&mut pair.server, pipe)?;
            take_in(&mut pair.client, pipe, &mut [])?;
        }
        match pair.client.is_handshaking() || pair.server.is_handshaking() {
            true => Err("the handshake came to a halt".into()),
            false => Ok(pair),
        }
    }

    /// Sends `plaintext` each way, through `pipe`.
    pub(crate) fn exchange(
        &mut self,
        plaintext: &[u8],
        pipe: &mut Vec<u8>,
        application: &mut [u8],
    ) -> Result<()> {
        pipe.clear();
        write(&mut self.client, plaintext, pipe)?;
        check_received(
            take_in(&mut self.server, pipe, application)?,
            plaintext.len(),
        )?;
        pipe.clear();
        write(&mut self.server, plaintext, pipe)?;
        check_received(
            take_in(&mut self.client, pipe, application)?,
            plaintext.len(),
        )
    }
}

/// Timed: the client's `writer` and `write_tls`.
pub(crate) struct Send {
    pair: Pair,
    plaintext: Vec<u8>,
    pipe: Vec<u8>,
    writes: usize,
}

impl Send {
    pub(crate) fn new(pair: Pair, scenario: &Scenario) -> Self {
        Self {
            pair,
            plaintext: scenario.plaintext(),
            pipe: Vec::with_capacity(scenario.sealed_room()),
            writes: scenario.writes(),
        }
    }
}

impl Workload for Send {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            self.pipe.clear();
            let plaintext = black_box(&self.plaintext[..]);
            write(&mut self.pair.client, plaintext, &mut self.pipe)?;
            black_box(&self.pipe[..]);
        }
        Ok(())
    }

    fn records(&self) -> usize {
        record_count(&self.pipe) * self.writes
    }
}

/// Timed: the server's `read_tls`, `process_new_packets` and `reader`.
pub(crate) struct Receive {
    pair: Pair,
    plaintext: Vec<u8>,
    pipe: Vec<u8>,
    application: Vec<u8>,
    writes: usize,
}

impl Receive {
    /// The application reads into this many bytes, or into as many as it wrote when those are more.
    const APPLICATION_LEN: usize = 16384;

    pub(crate) fn new(pair: Pair, scenario: &Scenario) -> Self {
        let application_len = Ord::max(scenario.plaintext_size, Self::APPLICATION_LEN);
        Self {
            pair,
            plaintext: scenario.plaintext(),
            pipe: Vec::with_capacity(scenario.sealed_room() * scenario.writes()),
            application: vec![0; application_len],
            writes: scenario.writes(),
        }
    }
}

impl Workload for Receive {
    fn prepare(&mut self) -> Result<()> {
        self.pipe.clear();
        for _ in 0..self.writes {
            write(&mut self.pair.client, &self.plaintext, &mut self.pipe)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let received = take_in(&mut self.pair.server, &self.pipe, &mut self.application)?;
        check_received(received, self.plaintext.len() * self.writes)
    }

    fn records(&self) -> usize {
        record_count(&self.pipe)
    }
}

/// Appends all that `connection` has to send to `pipe`, emptied before.
fn hand_over<Data>(connection: &mut tls::ConnectionCommon<Data>, pipe: &mut Vec<u8>) -> Result<()> {
    pipe.clear();
    while connection.wants_write() {
        connection.write_tls(pipe)?;
    }
    Ok(())
}

/// Writes `plaintext`; its records are appended to `pipe`.
fn write<Data>(
    connection: &mut tls::ConnectionCommon<Data>,
    mut plaintext: &[u8],
    pipe: &mut Vec<u8>,
) -> Result<()> {
    while !plaintext.is_empty() {
        let accepted = connection.writer().write(plaintext)?;
        if accepted == 0 {
            return Err("the connection takes no more plaintext".into());
        }
        plaintext = &plaintext[accepted..];
        while connection.wants_write() {
            connection.write_tls(pipe)?;
        }
    }
    Ok(())
}

/// Feeds `wire` to `connection` and reads what it carries, a piece of `application` after the other;
/// returns how many bytes that were.
fn take_in<Data>(
    connection: &mut tls::ConnectionCommon<Data>,
    mut wire: &[u8],
    application: &mut [u8],
) -> Result<usize> {
    let mut received = 0;
    while !wire.is_empty() {
        connection.read_tls(&mut wire)?;
        let state = connection.process_new_packets()?;
        let mut waiting = state.plaintext_bytes_to_read();
        while waiting != 0 {
            let read = connection.reader().read(application)?;
            if read == 0 {
                return Err("the connection ended early".into());
            }
            black_box(&application[..read]);
            waiting -= read;
            received += read;
        }
    }
    Ok(received)
}
