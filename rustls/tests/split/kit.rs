//! A split connection in either role and version, and its peer: upstream's, or one that builds
//! arbitrary records.

use std::io::{self, ErrorKind, Read, Write};

use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use harness::wire::bare_records::Records;
pub(crate) use harness::wire::{ALERT, APPLICATION_DATA, HANDSHAKE};
use harness::{either, wire};
use rustls::Error;
use rustls::crypto::CryptoProvider;
use rustls::split::{Receiver, Sender};

pub(crate) use crate::cases::{Case, KEY_TYPE, Role, cases, tls13_cases};

/// The bytes that TLS 1.3 adds to a record's payload: header, content type and tag.
pub(crate) const PROTECTION: usize = 5 + 1 + 16;
/// The length of a record with a KeyUpdate.
pub(crate) const KEY_UPDATE: usize = 5 + PROTECTION;

impl Case {
    /// Returns both ends after the handshake, with nothing in transit.
    pub(crate) fn connected(self) -> (rustls::Connection, UpstreamBuffered) {
        self.connected_over(self.provider.this())
    }

    pub(crate) fn connected_over(
        self,
        provider: CryptoProvider,
    ) -> (rustls::Connection, UpstreamBuffered) {
        let (mut conn, mut peer) = (self.config_over(provider).buffered(), self.peer());
        self.role.handshake(&mut conn, &mut peer);
        (conn.conn, peer)
    }

    /// Returns the halves of the connection and its peer.
    pub(crate) fn split(self) -> (Halves, UpstreamBuffered) {
        let (conn, peer) = self.connected();
        (split(conn), peer)
    }

    /// Returns the halves of the connection, and a peer that can send any message.
    pub(crate) fn split_from_bare(self) -> (Halves, Bare) {
        let (conn, peer) = self.connected();
        (split(conn), self.bare(peer))
    }

    pub(crate) fn bare(self, mut peer: UpstreamBuffered) -> Bare {
        assert!(peer.take_output().is_empty());
        let secrets = peer.conn.dangerous_extract_secrets().unwrap();
        Bare {
            seals: Records::new(self.is_tls13(), secrets.tx),
            opens: Records::new(self.is_tls13(), secrets.rx),
        }
    }
}

/// A peer with the bare keys of its connection.
pub(crate) struct Bare {
    pub(crate) seals: Records,
    pub(crate) opens: Records,
}

impl Bare {
    /// Returns the type and content of all records in `bytes`.
    pub(crate) fn open_all(&mut self, bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
        wire::records(bytes)
            .iter()
            .map(|record| self.opens.open(record).expect("a record cannot be opened"))
            .collect()
    }
}

/// Common operations of the receiving halves of both sides.
pub(crate) trait Receiving: Send {
    fn read_tls(&mut self, rd: &mut dyn Read) -> io::Result<usize>;
    fn process(&mut self) -> Result<rustls::split::ReceiverState, Error>;
    fn process_into(
        &mut self,
        buf: &mut [u8],
    ) -> Result<(usize, rustls::split::ReceiverState), Error>;
    fn reader(&mut self) -> rustls::Reader<'_>;
    fn open_in_place<'i>(
        &mut self,
        bytes: &'i mut [u8],
    ) -> Result<rustls::unbuffered::AppDataRecord<'i>, Error>;
    fn sender_wants_write(&self) -> bool;
    fn peer_has_closed(&self) -> bool;
    fn wants_read(&self) -> bool;
    fn exported(&self) -> Result<[u8; 32], Error>;
}

impl<Data: Send> Receiving for Receiver<Data> {
    fn read_tls(&mut self, rd: &mut dyn Read) -> io::Result<usize> {
        self.read_tls(rd)
    }

    fn process(&mut self) -> Result<rustls::split::ReceiverState, Error> {
        self.process_new_packets()
    }

    fn process_into(
        &mut self,
        buf: &mut [u8],
    ) -> Result<(usize, rustls::split::ReceiverState), Error> {
        self.process_new_packets_into(buf)
    }

    fn reader(&mut self) -> rustls::Reader<'_> {
        self.reader()
    }

    fn open_in_place<'i>(
        &mut self,
        bytes: &'i mut [u8],
    ) -> Result<rustls::unbuffered::AppDataRecord<'i>, Error> {
        self.open_in_place(bytes)
    }

    fn sender_wants_write(&self) -> bool {
        self.sender_wants_write()
    }

    fn peer_has_closed(&self) -> bool {
        self.peer_has_closed()
    }

    fn wants_read(&self) -> bool {
        self.wants_read()
    }

    fn exported(&self) -> Result<[u8; 32], Error> {
        self.export_keying_material([0; 32], b"label", Some(b"context"))
    }
}

/// A connection that was split.
pub(crate) struct Halves {
    pub(crate) sender: Sender,
    pub(crate) receiver: Box<dyn Receiving>,
    /// Plaintext that was read from the receiver to make room for more.
    taken: Vec<u8>,
}

impl<Data: Send + 'static> From<(Sender, Receiver<Data>)> for Halves {
    fn from((sender, receiver): (Sender, Receiver<Data>)) -> Self {
        Self {
            sender,
            receiver: Box::new(receiver),
            taken: Vec::new(),
        }
    }
}

pub(crate) fn split(conn: rustls::Connection) -> Halves {
    either!(rustls: conn, conn => conn.into_split().unwrap().into())
}

/// Takes all pending output.
pub(crate) fn output(sender: &mut Sender) -> Vec<u8> {
    let mut out = Vec::new();
    while sender.wants_write() {
        assert_ne!(sender.write_tls(&mut out).unwrap(), 0);
    }
    out
}

impl Halves {
    /// Takes all pending output.
    pub(crate) fn output(&mut self) -> Vec<u8> {
        output(&mut self.sender)
    }

    /// Receives `bytes`; returns the first error.
    pub(crate) fn receive(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() && !self.receiver.peer_has_closed() {
            if self.receiver.read_tls(&mut bytes).is_err() {
                // full of plaintext
                let (mut plaintext, _) = self.read();
                self.taken.append(&mut plaintext);
            }
            self.receiver.process()?;
        }
        Ok(())
    }

    /// Reads all buffered plaintext. Also returns the result of the last read.
    pub(crate) fn read(&mut self) -> (Vec<u8>, io::Result<()>) {
        let mut plaintext = std::mem::take(&mut self.taken);
        let end = self.receiver.reader().read_to_end(&mut plaintext);
        (plaintext, end.map(|_| ()))
    }

    /// Reads all buffered plaintext; the connection must still be open.
    pub(crate) fn read_buffered(&mut self) -> Vec<u8> {
        let (plaintext, end) = self.read();
        assert_eq!(end.unwrap_err().kind(), ErrorKind::WouldBlock);
        plaintext
    }

    /// Writes all of `plaintext` and returns the output.
    pub(crate) fn send(&mut self, plaintext: &[u8]) -> Vec<u8> {
        self.sender.writer().write_all(plaintext).unwrap();
        self.output()
    }

    /// Sends `plaintext` in both directions and checks that it arrives.
    pub(crate) fn talk(&mut self, peer: &mut UpstreamBuffered, plaintext: &[u8]) {
        let received = peer.read_from(&self.send(plaintext));
        assert!(received == plaintext, "to the peer");
        assert_eq!(peer.send(plaintext), plaintext.len());
        self.receive(&peer.take_output()).unwrap();
        assert!(self.read_buffered() == plaintext, "from the peer");
    }
}

/// Extracts the TLS error from an I/O error.
pub(crate) fn tls_error(error: io::Error) -> Error {
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    let inner = error.into_inner().unwrap();
    *inner.downcast::<Error>().unwrap()
}
