//! The buffered API: `writer` and `write_tls` for sending, `read_tls`, `process_new_packets` and
//! `reader` for receiving.
//!
//! The pipe between the two sides is a `Vec<u8>`.

use std::hint::black_box;
use std::io::{BufRead, Read, Write};

use super::Configs;
use super::tls::{ClientConnection, ConnectionCommon, ServerConnection};
use crate::peers::pairs::{Result, check_received};

/// A client and a server that are connected to each other.
pub struct Pair {
    pub client: Box<ClientConnection>,
    pub server: Box<ServerConnection>,
}

impl Pair {
    /// Creates a pair that has completed the handshake and has nothing left to exchange.
    pub fn connect(configs: &Configs) -> Result<Self> {
        Self::connect_through(configs, &mut Vec::new())
    }

    /// Like [`Self::connect`], through the caller's `pipe`.
    pub fn connect_through(configs: &Configs, pipe: &mut Vec<u8>) -> Result<Self> {
        let (client, server) = configs.ends()?;
        let mut pair = Self {
            client: Box::new(client),
            server: Box::new(server),
        };
        while pair.client.wants_write() || pair.server.wants_write() {
            hand_over(&mut pair.client, pipe)?;
            take_in(&mut pair.server, pipe, &mut [])?;
            hand_over(&mut pair.server, pipe)?;
            take_in(&mut pair.client, pipe, &mut [])?;
        }
        if pair.client.is_handshaking() || pair.server.is_handshaking() {
            return Err("the handshake stalled".into());
        }
        Ok(pair)
    }

    /// Sends `plaintext` in each direction, through `pipe`.
    pub fn exchange(
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

/// Clears `pipe` and writes the pending output of `connection` to it.
pub fn hand_over<Data>(connection: &mut ConnectionCommon<Data>, pipe: &mut Vec<u8>) -> Result<()> {
    pipe.clear();
    while connection.wants_write() {
        connection.write_tls(pipe)?;
    }
    Ok(())
}

/// Writes `plaintext`; its records go to `pipe`.
pub fn write<Data>(
    connection: &mut ConnectionCommon<Data>,
    mut plaintext: &[u8],
    pipe: &mut impl Write,
) -> Result<()> {
    while !plaintext.is_empty() {
        let accepted = connection.writer().write(plaintext)?;
        if accepted == 0 {
            return Err("the connection accepts no more plaintext".into());
        }
        plaintext = &plaintext[accepted..];
        while connection.wants_write() {
            connection.write_tls(pipe)?;
        }
    }
    Ok(())
}

/// Feeds `wire` to `connection` and reads the plaintext into `application`, piece by piece; returns
/// its length.
pub fn take_in<Data>(
    connection: &mut ConnectionCommon<Data>,
    mut wire: &[u8],
    application: &mut [u8],
) -> Result<usize> {
    let mut received = 0;
    while !wire.is_empty() {
        connection.read_tls(&mut wire)?;
        let state = connection.process_new_packets()?;
        let waiting = state.plaintext_bytes_to_read();
        read(connection, waiting, application)?;
        received += waiting;
    }
    Ok(received)
}

/// Reads the `waiting` plaintext into `application`, piece by piece.
pub fn read<Data>(
    connection: &mut ConnectionCommon<Data>,
    mut waiting: usize,
    application: &mut [u8],
) -> Result<()> {
    while waiting != 0 {
        let read = connection.reader().read(application)?;
        if read == 0 {
            return Err("the connection ended early".into());
        }
        black_box(&application[..read]);
        waiting -= read;
    }
    Ok(())
}

/// Like [`take_in`], for an application that reads the plaintext in place.
pub fn look_at<Data>(connection: &mut ConnectionCommon<Data>, mut wire: &[u8]) -> Result<usize> {
    let mut received = 0;
    while !wire.is_empty() {
        connection.read_tls(&mut wire)?;
        let state = connection.process_new_packets()?;
        let mut waiting = state.plaintext_bytes_to_read();
        while waiting != 0 {
            let mut reader = connection.reader();
            let seen = black_box(reader.fill_buf()?).len();
            if seen == 0 {
                return Err("the connection ended early".into());
            }
            reader.consume(seen);
            waiting -= seen;
            received += seen;
        }
    }
    Ok(received)
}
