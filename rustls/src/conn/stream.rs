//! A connection and its socket as one stream of plaintext.

use core::ops::{Deref, DerefMut};
use std::io::{self, BufRead, IoSlice, Read, Write};

use super::connection::ConnectionCommon;
use super::sending::invalid_data;
use super::write_outgoing::write_all;
use crate::handshake::side_data::SideData;

/// A borrowed connection and its socket, as one stream of plaintext.
///
/// Reads and writes perform all necessary I/O, including the handshake, and block if the socket
/// does. If received plaintext is unread, a read returns it without any I/O.
#[derive(Debug)]
pub struct Stream<'a, C: 'a + ?Sized, T: 'a + Read + Write + ?Sized> {
    /// The connection, which encrypts and decrypts.
    pub conn: &'a mut C,

    /// The socket, or another transport.
    pub sock: &'a mut T,
}

impl<'a, C, T, S> Stream<'a, C, T>
where
    C: 'a + DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: 'a + Read + Write,
    S: SideData,
{
    /// Creates a stream of `conn` over `sock`.
    pub fn new(conn: &'a mut C, sock: &'a mut T) -> Self {
        Self { conn, sock }
    }

    /// Completes the handshake and writes queued bytes.
    fn complete_prior_io(&mut self) -> io::Result<()> {
        if self.conn.records.is_handshaking() {
            self.conn.complete_io(self.sock)?;
        }
        if self.conn.wants_write() {
            self.conn.complete_io(self.sock)?;
        }
        Ok(())
    }

    /// Reads from the socket until there is plaintext, or the end of the stream. Returns the number
    /// of plaintext bytes in `buf`. Any other plaintext is left for the reader.
    fn prepare_read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        // return received plaintext without I/O: a socket that blocks or is broken must not hide it
        if self.has_plaintext() {
            return Ok(0);
        }
        match self.complete_prior_io() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.has_plaintext() => {}
            result => result?,
        }
        // continue if a record has no application data or a call only writes: neither ends the
        // stream
        let mut len = 0;
        while len == 0 && self.conn.wants_read() {
            if self.conn.complete_io_into(self.sock, &mut len, buf)? == (0, 0) {
                break;
            }
        }
        Ok(len)
    }

    fn has_plaintext(&self) -> bool {
        self.conn.records.received.unread() != 0
    }

    /// Calls `write`, which passes plaintext to the connection. Then sends as much as possible.
    /// `is_some` is true if there is any plaintext.
    fn write_with(
        &mut self,
        is_some: bool,
        write: impl Fn(&mut ConnectionCommon<S>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.complete_prior_io()?;
        let mut len = write(self.conn)?;
        // `write_all` would treat `Ok(0)` as an error, so make room first
        while len == 0 && is_some && self.make_room()? {
            len = write(self.conn)?;
        }
        // with nothing to write, `complete_io` would wait for input
        if self.conn.wants_write() {
            // ignore the error, because plaintext was accepted; the next call gets the same socket
            // error
            let _ = self.conn.complete_io(self.sock);
        }
        Ok(len)
    }

    /// Makes room for plaintext: continues the handshake, or writes queued bytes. Returns false if
    /// no bytes could be moved.
    fn make_room(&mut self) -> io::Result<bool> {
        if self.conn.records.is_handshaking() {
            Ok(self.conn.complete_io(self.sock)? != (0, 0))
        } else {
            // `complete_io` could read instead of writing
            Ok(self.conn.write_tls(self.sock)? != 0)
        }
    }
}

impl<'a, C, T, S> Read for Stream<'a, C, T>
where
    C: 'a + DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: 'a + Read + Write,
    S: SideData,
{
    /// Opens records directly into `buf` if possible; see
    /// [`process_new_packets_into`](ConnectionCommon::process_new_packets_into).
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.prepare_read(buf)? {
            0 => self.conn.reader().read(buf),
            len => Ok(len),
        }
    }

    #[cfg(read_buf)]
    fn read_buf(&mut self, cursor: io::BorrowedCursor<'_>) -> io::Result<()> {
        self.prepare_read(&mut [])?;
        self.conn.reader().read_buf(cursor)
    }
}

impl<'a, C, T, S> BufRead for Stream<'a, C, T>
where
    C: 'a + DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: 'a + Read + Write,
    S: 'a + SideData,
{
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.prepare_read(&mut [])?;
        self.conn.reader().into_first_chunk()
    }

    fn consume(&mut self, amt: usize) {
        self.conn.reader().consume(amt);
    }
}

impl<'a, C, T, S> Write for Stream<'a, C, T>
where
    C: 'a + DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: 'a + Read + Write,
    S: SideData,
{
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_with(!buf.is_empty(), |conn| conn.writer().write(buf))
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let is_some = bufs.iter().any(|buf| !buf.is_empty());
        self.write_with(is_some, |conn| conn.writer().write_vectored(bufs))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.complete_prior_io()?;
        // `complete_io` may have read instead of writing everything
        write_all(
            &mut **self.conn,
            |conn| conn.wants_write(),
            |conn| conn.write_tls(self.sock),
        )?;
        self.sock.flush()?;
        self.conn.check_failed().map_err(invalid_data)
    }
}

/// A connection and its socket, owned, as one stream of plaintext.
///
/// It behaves like [`Stream`]. Dropping it does not send a close_notify: first call
/// [`send_close_notify`](crate::CommonState::send_close_notify) and flush.
#[derive(Debug)]
pub struct StreamOwned<C: Sized, T: Read + Write + Sized> {
    /// The connection, which encrypts and decrypts.
    pub conn: C,

    /// The socket, or another transport.
    pub sock: T,
}

impl<C, T, S> StreamOwned<C, T>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: Read + Write,
    S: SideData,
{
    /// Creates a stream of `conn` over `sock`.
    pub fn new(conn: C, sock: T) -> Self {
        Self { conn, sock }
    }

    /// Returns a reference to the socket.
    pub fn get_ref(&self) -> &T {
        &self.sock
    }

    /// Returns a mutable reference to the socket.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.sock
    }

    /// Returns the connection and the socket.
    pub fn into_parts(self) -> (C, T) {
        (self.conn, self.sock)
    }

    fn as_stream(&mut self) -> Stream<'_, C, T> {
        Stream {
            conn: &mut self.conn,
            sock: &mut self.sock,
        }
    }
}

impl<C, T, S> Read for StreamOwned<C, T>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: Read + Write,
    S: SideData,
{
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.as_stream().read(buf)
    }

    #[cfg(read_buf)]
    fn read_buf(&mut self, cursor: io::BorrowedCursor<'_>) -> io::Result<()> {
        self.as_stream().read_buf(cursor)
    }
}

impl<C, T, S> BufRead for StreamOwned<C, T>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: Read + Write,
    S: 'static + SideData,
{
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.as_stream().prepare_read(&mut [])?;
        self.conn.reader().into_first_chunk()
    }

    fn consume(&mut self, amt: usize) {
        self.conn.reader().consume(amt);
    }
}

impl<C, T, S> Write for StreamOwned<C, T>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: Read + Write,
    S: SideData,
{
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.as_stream().write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.as_stream().write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.as_stream().flush()
    }
}
