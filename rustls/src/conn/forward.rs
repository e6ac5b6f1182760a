//! Forwards data from one connection or socket to another, for proxies.

use core::ops::{Deref, DerefMut};
use std::io::{self, BufRead, ErrorKind, Read, Write};

use super::connection::{ConnectionCommon, IoState};
use super::reader::Reader;
use super::sending::invalid_data;
use super::split::{Receiver, Sender};
use super::stream::{Stream, StreamOwned};
use super::write_outgoing::write_all;
use crate::error::Error;
use crate::handshake::side_data::SideData;

/// The number of plaintext bytes to receive at a time while the peer streams.
const READ_AHEAD: usize = 64 * 1024;

/// The number of turns of one call. A turn is a read from a socket, or the forwarding of received
/// data.
const TURNS: u32 = 32;

/// Forwards data in one direction, from `from` to `to`, until a socket is not ready or `from` ends,
/// at most about 1 MiB per call.
///
/// Data is not copied to an intermediate buffer: records are opened in the receive buffer, and
/// sealed or written from there. If both connections have the same version and kind of suite, long
/// records are usually also sealed in place, without any copy. Up to 64 records are sent in one
/// write. Nothing is read while `to` does not accept data, so at most about 72 KiB are buffered.
///
/// When `from` ends, a close_notify is sent on a TLS `to`. A TLS `from` ends with its peer's
/// close_notify. The opposite direction is not affected.
///
/// A call reads at most 32 times after the handshakes, so that a fast peer does not keep an event
/// loop from its other connections. It then returns [`Forwarded::Yielded`]. So does a call that
/// completes a handshake, because the opposite direction may be waiting for that.
///
/// With blocking sockets, call it until it returns [`Forwarded::Ended`]. Forward the directions
/// in two threads, with the halves of [split](crate::split) connections. With non-blocking
/// sockets, call it for both directions whenever a socket is ready:
///
/// ```
/// use std::io;
/// use std::net::TcpStream;
///
/// use rustls::relay::{Forwarded, forward};
/// use rustls::{ClientConnection, ServerConnection, StreamOwned};
///
/// type Front = StreamOwned<ServerConnection, TcpStream>;
/// type Back = StreamOwned<ClientConnection, TcpStream>;
///
/// /// Forwards what can be forwarded. Returns false if both directions have ended.
/// fn on_event(front: &mut Front, back: &mut Back) -> io::Result<bool> {
///     let to_back = forward(front, back)?;
///     let to_front = forward(back, front)?;
///     // if one is `Yielded`, call this again after the other events of the loop; otherwise wait
///     // until a socket is readable, or writable if its connection `wants_write`
///     Ok(to_back != Forwarded::Ended || to_front != Forwarded::Ended)
/// }
/// # harness::manual::relays(on_event);
/// ```
///
/// # Errors
///
/// - [`ErrorKind::UnexpectedEof`] if a TLS `from` ended without a close_notify, or if a connection
///   ended during its handshake. No close_notify is then sent on `to`. If `to` is a plain socket,
///   reset it, because its peer could not tell the truncation from a normal end.
/// - [`ErrorKind::InvalidData`] with the [`Error`](crate::Error) of a connection. Its alert is
///   sent, if the socket accepts it. If the receiving half of a split connection fails, the next
///   call that forwards to its sending half sends the alert.
/// - [`ErrorKind::BrokenPipe`] if `to` has sent a close_notify, but `from` has more data.
/// - [`ErrorKind::WriteZero`] if a socket accepts no bytes, or if the buffer limit of `to` is 0 and
///   `from` has data or is a plain socket, which is not read.
/// - [`ErrorKind::OutOfMemory`] if memory runs out.
/// - [`ErrorKind::Unsupported`] if both are plain sockets.
/// - The errors of the sockets.
pub fn forward<F, T>(from: &mut F, to: &mut T) -> io::Result<Forwarded>
where
    F: Source + ?Sized,
    T: Sink + ?Sized,
{
    let handshakes = (from.is_handshaking(), to.is_handshaking());
    let forwarded = forward_in_turns(from, to)?;
    // data of the opposite direction may have waited for the end of a handshake, or arrived with
    // it, so no socket need become ready for that data
    match handshakes == (from.is_handshaking(), to.is_handshaking()) {
        true => Ok(forwarded),
        false => Ok(Forwarded::Yielded),
    }
}

fn forward_in_turns<F, T>(from: &mut F, to: &mut T) -> io::Result<Forwarded>
where
    F: Source + ?Sized,
    T: Sink + ?Sized,
{
    let mut turns = Turns(TURNS);
    loop {
        if !is_ready(to.send())? {
            return Ok(Forwarded::WantsWrite);
        }
        if !turns.take() {
            return Ok(Forwarded::Yielded);
        }
        match from.fill(&mut turns) {
            Ok(Some(true)) => {}
            Ok(Some(false)) => return end(to),
            Ok(None) => return Ok(Forwarded::Yielded),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Forwarded::WantsRead),
            Err(error) => return Err(error),
        }
        let data = from.data();
        let is_plain = matches!(data, Data::Plain(_));
        match to.put(data) {
            Ok(0) if is_plain => return end(to),
            // a KeyUpdate has come first, and has used up the buffer limit
            Ok(0) if to.wants_write() => {}
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(_) => {}
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock | ErrorKind::WriteZero if is_plain && to.wants_write() => {}
                ErrorKind::WouldBlock if is_plain => return Ok(Forwarded::WantsRead),
                ErrorKind::WouldBlock => return Ok(Forwarded::WantsWrite),
                _ => return Err(error),
            },
        }
    }
}

fn end(to: &mut (impl Sink + ?Sized)) -> io::Result<Forwarded> {
    to.close();
    match is_ready(to.send())? {
        true => Ok(Forwarded::Ended),
        false => Ok(Forwarded::WantsWrite),
    }
}

/// The turns that a call has left.
#[allow(missing_debug_implementations)]
pub struct Turns(u32);

impl Turns {
    /// Uses up one turn. Returns false if none is left.
    fn take(&mut self) -> bool {
        let is_left = self.0 != 0;
        self.0 = self.0.saturating_sub(1);
        is_left
    }
}

/// Returns true if the call with this `result` succeeded, and false if it would block.
fn is_ready(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        result => result.map(|()| true),
    }
}

/// The state of a direction after [`forward`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarded {
    /// Call again when the socket of `from` is readable, or writable while its connection
    /// `wants_write`.
    WantsRead,
    /// Call again when the socket of `to` is writable, or readable while its connection [is
    /// handshaking](crate::CommonState::is_handshaking).
    WantsWrite,
    /// There may be more to forward, in either direction. Call again for both directions after
    /// other connections have had their turn. Do not wait for a socket: unforwarded data may
    /// already have been received, so no socket need become ready again.
    Yielded,
    /// `from` has ended, and everything has been sent. Do not call again. If `to` is a plain
    /// socket, shut it down for writing.
    Ended,
}

/// A socket without TLS, for [`forward`].
#[derive(Debug)]
pub struct Plain<T>(pub T);

/// The streams that [`forward`] reads: [`Stream`], [`StreamOwned`], the receiving half of a
/// connection with its socket, and [`Plain`] sockets.
pub trait Source: sealed::Source {}

impl<S: sealed::Source + ?Sized> Source for S {}

/// The streams that [`forward`] writes: [`Stream`], [`StreamOwned`], the sending half of a
/// connection with its socket, and, if the source is a connection, [`Plain`] sockets.
pub trait Sink: sealed::Sink {}

impl<S: sealed::Sink + ?Sized> Sink for S {}

use sealed::Data;

mod sealed {
    use std::io;

    use super::Turns;
    use crate::conn::reader::Reader;

    /// Data to forward: plaintext that a connection has received, or a plain socket to read from.
    #[allow(missing_debug_implementations)]
    pub enum Data<'a> {
        Received(Reader<'a>),
        Plain(&'a mut dyn io::Read),
    }

    pub trait Source {
        /// True until the handshake is complete.
        fn is_handshaking(&self) -> bool {
            false
        }

        /// Receives until there is plaintext. Returns false if the peer has closed, and `None` if
        /// no turn is left. For a plain socket, returns true without reading.
        fn fill(&mut self, turns: &mut Turns) -> io::Result<Option<bool>>;

        fn data(&mut self) -> Data<'_>;
    }

    pub trait Sink {
        /// True until the handshake is complete.
        fn is_handshaking(&self) -> bool {
            false
        }

        /// Completes the handshake, and writes and flushes all queued output.
        fn send(&mut self) -> io::Result<()>;

        /// Queues or writes data. Returns the number of bytes accepted.
        fn put(&mut self, data: Data<'_>) -> io::Result<usize>;

        /// True if output is queued.
        fn wants_write(&self) -> bool;

        /// Queues a close_notify, unless this is a plain socket.
        fn close(&mut self);
    }
}

impl<T: Read> sealed::Source for Plain<T> {
    fn fill(&mut self, _: &mut Turns) -> io::Result<Option<bool>> {
        Ok(Some(true))
    }

    fn data(&mut self) -> Data<'_> {
        Data::Plain(&mut self.0)
    }
}

impl<T: Write> sealed::Sink for Plain<T> {
    fn send(&mut self) -> io::Result<()> {
        retried(|| self.0.flush())
    }

    fn put(&mut self, data: Data<'_>) -> io::Result<usize> {
        match data {
            Data::Received(mut reader) => reader.write_to(&mut self.0),
            Data::Plain(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    fn wants_write(&self) -> bool {
        false
    }

    fn close(&mut self) {}
}

impl<Side, T: Read> sealed::Source for (Receiver<Side>, T) {
    fn fill(&mut self, turns: &mut Turns) -> io::Result<Option<bool>> {
        let (receiver, socket) = self;
        loop {
            // it also returns an error of the other half
            let processed = receiver.process_new_packets();
            let has_data = has_data(receiver.reader(), processed)?;
            if has_data.is_some() || !turns.take() {
                return Ok(has_data);
            }
            retried(|| receiver.read_tls_for(socket, READ_AHEAD))?;
        }
    }

    fn data(&mut self) -> Data<'_> {
        Data::Received(self.0.reader())
    }
}

impl<T: Write> sealed::Sink for (Sender, T) {
    fn send(&mut self) -> io::Result<()> {
        let (sender, socket) = self;
        write_all(sender, Sender::wants_write, |sender| {
            retried(|| sender.write_tls(socket))
        })?;
        retried(|| socket.flush())
    }

    fn put(&mut self, data: Data<'_>) -> io::Result<usize> {
        let mut writer = self.0.writer();
        match data {
            Data::Received(mut reader) => writer.write_received(&mut reader),
            Data::Plain(socket) if writer.room_left() == Some(0) => {
                read_end(writer.read_from(socket), socket)
            }
            Data::Plain(socket) => writer.read_from(socket),
        }
    }

    fn wants_write(&self) -> bool {
        self.0.wants_write()
    }

    fn close(&mut self) {
        self.0.send_close_notify();
    }
}

impl<C, T, S> sealed::Source for Stream<'_, C, T>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: Read + Write,
    S: SideData + 'static,
{
    fn is_handshaking(&self) -> bool {
        self.conn.is_handshaking()
    }

    fn fill(&mut self, turns: &mut Turns) -> io::Result<Option<bool>> {
        let (conn, socket) = (&mut **self.conn, &mut *self.sock);
        loop {
            let processed = process(conn, socket)?;
            // send an alert, for example; if the socket would block, continue, because the peer may
            // send more before it reads
            let sent = send(conn, socket);
            let has_data = has_data(conn.reader(), processed)?;
            if has_data.is_some() || !turns.take() {
                return Ok(has_data);
            }
            is_ready(sent)?;
            retried(|| conn.read_tls_for(socket, READ_AHEAD))?;
        }
    }

    fn data(&mut self) -> Data<'_> {
        Data::Received(self.conn.reader())
    }
}

impl<C, T, S> sealed::Sink for Stream<'_, C, T>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: Read + Write,
    S: SideData + 'static,
{
    fn is_handshaking(&self) -> bool {
        self.conn.is_handshaking()
    }

    fn send(&mut self) -> io::Result<()> {
        let (conn, socket) = (&mut **self.conn, &mut *self.sock);
        if conn.is_handshaking() {
            // the direction that receives returns an error in received data
            let _ = process(conn, socket)?;
        }
        send(conn, socket)
    }

    fn put(&mut self, data: Data<'_>) -> io::Result<usize> {
        let mut writer = self.conn.writer();
        match data {
            Data::Received(mut reader) => writer.write_received(&mut reader),
            Data::Plain(socket) if writer.room_left() == Some(0) => {
                read_end(writer.read_from(socket), socket)
            }
            Data::Plain(socket) => writer.read_from(socket),
        }
    }

    fn wants_write(&self) -> bool {
        self.conn.wants_write()
    }

    fn close(&mut self) {
        self.conn.send_close_notify();
    }
}

impl<C, T, S> sealed::Source for StreamOwned<C, T>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: Read + Write,
    S: SideData + 'static,
{
    fn is_handshaking(&self) -> bool {
        self.conn.is_handshaking()
    }

    fn fill(&mut self, turns: &mut Turns) -> io::Result<Option<bool>> {
        Stream::new(&mut self.conn, &mut self.sock).fill(turns)
    }

    fn data(&mut self) -> Data<'_> {
        Data::Received(self.conn.reader())
    }
}

impl<C, T, S> sealed::Sink for StreamOwned<C, T>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
    T: Read + Write,
    S: SideData + 'static,
{
    fn is_handshaking(&self) -> bool {
        self.conn.is_handshaking()
    }

    fn send(&mut self) -> io::Result<()> {
        Stream::new(&mut self.conn, &mut self.sock).send()
    }

    fn put(&mut self, data: Data<'_>) -> io::Result<usize> {
        Stream::new(&mut self.conn, &mut self.sock).put(data)
    }

    fn wants_write(&self) -> bool {
        self.conn.wants_write()
    }

    fn close(&mut self) {
        self.conn.send_close_notify();
    }
}

/// Completes the handshake, and processes received records. Returns the result of the processing.
fn process<S: SideData + 'static>(
    conn: &mut ConnectionCommon<S>,
    socket: &mut (impl Read + Write),
) -> io::Result<Result<IoState, Error>> {
    loop {
        let processed = conn.process_new_packets();
        if !conn.is_handshaking() {
            return Ok(processed);
        }
        if let (0, 0) = retried(|| conn.complete_io(socket))? {
            return Err(ErrorKind::WriteZero.into());
        }
    }
}

/// Writes and flushes all queued output of `conn`.
fn send<S>(conn: &mut ConnectionCommon<S>, socket: &mut impl Write) -> io::Result<()> {
    write_all(
        conn,
        |conn| conn.wants_write(),
        |conn| retried(|| conn.write_tls(socket)),
    )?;
    retried(|| socket.flush())
}

/// Returns true if there is plaintext, false if the peer has closed, and `None` if more must be
/// received. The error of `processed` comes after the plaintext that was received before it.
fn has_data<T>(mut reader: Reader<'_>, processed: Result<T, Error>) -> io::Result<Option<bool>> {
    let chunk = reader.fill_buf();
    if matches!(chunk, Ok([_, ..])) {
        return Ok(Some(true));
    }
    processed.map_err(invalid_data)?;
    match chunk {
        Ok(_) => Ok(Some(false)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Handles the error of a connection without room for data, which has read nothing from a plain
/// `socket`. If the connection has sent a close_notify, returns 0 at the end of the socket's
/// stream; data is an error, because it cannot be forwarded.
fn read_end(refused: io::Result<usize>, socket: &mut dyn Read) -> io::Result<usize> {
    match refused {
        Err(closed) if closed.kind() == ErrorKind::BrokenPipe => match socket.read(&mut [0])? {
            0 => Ok(0),
            _ => Err(closed),
        },
        // the buffer limit is 0, unless a message of the connection has used it up
        Err(full) if full.kind() == ErrorKind::WouldBlock => Err(ErrorKind::WriteZero.into()),
        refused => refused,
    }
}

/// Repeats `call` while it is interrupted by a signal.
fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
