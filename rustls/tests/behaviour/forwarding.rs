//! Proxies that forward between connections and plain sockets: with sockets that do not block, and
//! in threads with sockets that do.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::LazyLock;
use std::thread;

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product, product3};
use harness::peers::os::loopback;
use harness::peers::pairs::this::Configs;
use harness::peers::pairs::this::buffered::Pair;
use harness::wire::Noise;
use rustls::crypto::CryptoProvider;
use rustls::relay::{Forwarded, Plain, Sink, Source, forward};
use rustls::{ClientConnection, ConnectionCommon, ServerConnection, StreamOwned};

pub fn pair(provider: Provider, versions: Versions) -> Pair {
    pair_over(provider.this(), versions)
}

pub fn pair_over(provider: CryptoProvider, versions: Versions) -> Pair {
    Pair::connect(&Configs::new(versions, provider, KeyType::EcdsaP256)).unwrap()
}

/// The data that is sent, from its start. Made once, because that is slow without optimisation.
pub static DATA: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let bytes = (0..3_000_000_usize).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8);
    bytes.collect()
});

/// Receives all of `wire`. Returns the plaintext.
pub fn opened(server: &mut ServerConnection, mut wire: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    while !wire.is_empty() {
        server.read_tls(&mut wire).unwrap();
        server.process_new_packets().unwrap();
        let _ = server.reader().read_to_end(&mut data);
    }
    data
}

/// One direction between two sockets.
struct Direction {
    bytes: VecDeque<u8>,
    has_ended: bool,
    noise: Noise,
    capacity: usize,
}

/// A socket that does not block, with short reads and writes.
struct Socket {
    incoming: Rc<RefCell<Direction>>,
    outgoing: Rc<RefCell<Direction>>,
}

fn sockets(noise: &mut Noise) -> (Socket, Socket) {
    let mut direction = || {
        Rc::new(RefCell::new(Direction {
            bytes: VecDeque::new(),
            has_ended: false,
            capacity: [100, 3000, 100_000][noise.up_to(3) - 1],
            noise: Noise::new(noise.next()),
        }))
    };
    let (one, other) = (direction(), direction());
    let socket = |incoming: &Rc<RefCell<Direction>>, outgoing: &Rc<RefCell<Direction>>| Socket {
        incoming: incoming.clone(),
        outgoing: outgoing.clone(),
    };
    (socket(&one, &other), socket(&other, &one))
}

impl Direction {
    /// Returns the number of bytes to move of at most `len`, or an error now and then.
    fn turn(&mut self, len: usize) -> io::Result<usize> {
        match self.noise.up_to(8) {
            1 => Err(ErrorKind::WouldBlock.into()),
            2 => Err(ErrorKind::Interrupted.into()),
            _ if len == 0 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(self.noise.up_to(len)),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let direction = &mut *self.incoming.borrow_mut();
        if direction.bytes.is_empty() && direction.has_ended {
            return Ok(0);
        }
        let len = direction.turn(buf.len().min(direction.bytes.len()))?;
        direction.bytes.read(&mut buf[..len])
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let direction = &mut *self.outgoing.borrow_mut();
        let room = direction.capacity.saturating_sub(direction.bytes.len());
        let len = direction.turn(bytes.len().min(room))?;
        direction.bytes.extend(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    /// Ends the outgoing stream, without a close_notify.
    fn end(&self) {
        self.outgoing.borrow_mut().has_ended = true;
    }

    fn is_readable(&self) -> bool {
        let direction = self.incoming.borrow();
        !direction.bytes.is_empty() || direction.has_ended
    }

    fn is_writable(&self) -> bool {
        let direction = self.outgoing.borrow();
        direction.bytes.len() < direction.capacity
    }
}

type Tls<C> = StreamOwned<C, Socket>;

fn streams(
    pair: Pair,
    sockets: (Socket, Socket),
) -> (Tls<ClientConnection>, Tls<ServerConnection>) {
    let client = StreamOwned::new(*pair.client, sockets.0);
    (client, StreamOwned::new(*pair.server, sockets.1))
}

/// A peer of a proxy, which never blocks.
trait Peer {
    /// Returns the number of bytes accepted.
    fn send(&mut self, data: &[u8]) -> usize;

    /// Receives what has arrived. Returns the end, if it has arrived too.
    fn receive(&mut self, out: &mut Vec<u8>) -> Option<io::Result<()>>;

    fn close(&mut self);

    /// Sends what is queued. Returns true if nothing is left.
    fn flush(&mut self) -> bool;
}

/// Returns 0 if nothing can be done now.
fn now(result: io::Result<usize>) -> usize {
    use ErrorKind::{Interrupted, WouldBlock};
    match result {
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => 0,
        result => result.unwrap(),
    }
}

macro_rules! tls_peer {
    ($connection:ty) => {
        impl Peer for Tls<$connection> {
            fn send(&mut self, data: &[u8]) -> usize {
                let len = now(self.conn.writer().write(data));
                now(self.conn.write_tls(&mut self.sock));
                len
            }

            fn receive(&mut self, out: &mut Vec<u8>) -> Option<io::Result<()>> {
                now(self.conn.read_tls(&mut self.sock));
                self.conn.process_new_packets().unwrap();
                match self.conn.reader().read_to_end(out) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => None,
                    ended => Some(ended.map(drop)),
                }
            }

            fn close(&mut self) {
                self.conn.send_close_notify();
            }

            fn flush(&mut self) -> bool {
                now(self.conn.write_tls(&mut self.sock));
                !self.conn.wants_write()
            }
        }
    };
}

tls_peer!(ClientConnection);
tls_peer!(ServerConnection);

impl Peer for Socket {
    fn send(&mut self, data: &[u8]) -> usize {
        now(self.write(data))
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Option<io::Result<()>> {
        let mut buf = [0; 1000];
        match self.read(&mut buf) {
            Ok(0) => Some(Ok(())),
            Ok(len) => {
                out.extend(&buf[..len]);
                None
            }
            Err(_) => None,
        }
    }

    fn close(&mut self) {
        self.end();
    }

    fn flush(&mut self) -> bool {
        true
    }
}

/// The proxy's end of a connection, as an event loop sees it.
trait End {
    fn socket(&self) -> &Socket;

    fn wants_write(&self) -> bool {
        false
    }

    fn is_handshaking(&self) -> bool {
        false
    }

    /// Shuts a plain connection down for writing when its direction has ended.
    fn shut_down(&self) {}
}

impl<C, S> End for Tls<C>
where
    C: Deref<Target = ConnectionCommon<S>>,
{
    fn socket(&self) -> &Socket {
        &self.sock
    }

    fn wants_write(&self) -> bool {
        self.conn.wants_write()
    }

    fn is_handshaking(&self) -> bool {
        self.conn.is_handshaking()
    }
}

impl End for Plain<Socket> {
    fn socket(&self) -> &Socket {
        &self.0
    }

    fn shut_down(&self) {
        self.0.end();
    }
}

/// True if an event loop calls [`forward`] again after it has returned `forwarded`.
fn is_event(forwarded: Forwarded, from: &dyn End, to: &dyn End) -> bool {
    let (from_socket, to_socket) = (from.socket(), to.socket());
    match forwarded {
        Forwarded::WantsRead => {
            from_socket.is_readable() || from.wants_write() && from_socket.is_writable()
        }
        Forwarded::WantsWrite => {
            to_socket.is_writable() || to.is_handshaking() && to_socket.is_readable()
        }
        Forwarded::Yielded => true,
        Forwarded::Ended => false,
    }
}

/// Sends different amounts of data in both directions through a proxy, which forwards only after
/// events. Peers replace keys now and then.
fn converse<B: Source + Sink + End>(
    what: &str,
    noise: &mut Noise,
    (left, front): (&mut Tls<ClientConnection>, &mut Tls<ServerConnection>),
    (back, right): (&mut B, &mut dyn Peer),
) {
    let totals = [noise.up_to(100_000), noise.up_to(100_000)];
    let (mut sent, mut received) = ([0, 0], [Vec::new(), Vec::new()]);
    let (mut is_closed, mut has_ended) = ([false, false], [false, false]);
    let mut directions = [Forwarded::Yielded; 2];
    let mut noise_of_peers = Noise::new(noise.next());
    let mut act = || {
        let noise = &mut noise_of_peers;
        let side = noise.up_to(2) - 1;
        let peer: &mut dyn Peer = if side == 0 { left } else { right };
        let len = noise.up_to(20_000).min(totals[side] - sent[side]);
        let data = &DATA[sent[side]..][..len];
        sent[side] += if len == 0 { 0 } else { peer.send(data) };
        if sent[side] == totals[side] && !is_closed[side] && peer.flush() {
            peer.close();
            is_closed[side] = true;
        }
        peer.flush();
        if let Some(end) = peer.receive(&mut received[side]) {
            end.unwrap();
            has_ended[side] = true;
        }
        if noise.up_to(20) == 1 {
            let _ = left.conn.refresh_traffic_keys();
        }
        has_ended == [true, true]
    };
    for turn in 0.. {
        assert!(turn < 1_000_000, "{what}: nothing moves: {directions:?}");
        if act() && directions == [Forwarded::Ended; 2] {
            break;
        }
        if !is_event(directions[0], front, back) && !is_event(directions[1], back, front) {
            continue;
        }
        let first = noise.up_to(2) - 1;
        for direction in [first, 1 - first] {
            if directions[direction] != Forwarded::Ended {
                directions[direction] = match direction {
                    0 => forward(front, back).unwrap(),
                    _ => forward(back, front).unwrap(),
                };
            }
            // something may happen between two calls
            act();
        }
        if directions[0] == Forwarded::Ended {
            back.shut_down();
        }
    }
    for (received, total) in [(&received[1], totals[0]), (&received[0], totals[1])] {
        assert_eq!(received.len(), total, "{what}");
        assert!(received == &DATA[..total], "{what}");
    }
}

#[test]
fn a_proxy_with_nonblocking_sockets_loses_nothing() {
    for (provider, from, to) in product3(PROVIDERS, Versions::EACH, Versions::EACH) {
        for seed in 0..8 {
            let what = format!("{provider:?}, {from:?}, {to:?}, {seed}");
            let noise = &mut Noise::new(seed);
            let (mut left, mut front) = streams(pair(provider, from), sockets(noise));
            let (one, mut other) = sockets(noise);
            let incoming = (&mut left, &mut front);
            if seed % 3 == 0 {
                converse(&what, noise, incoming, (&mut Plain(one), &mut other));
            } else {
                let (mut back, mut right) = streams(pair(provider, to), (one, other));
                converse(&what, noise, incoming, (&mut back, &mut right));
            }
        }
    }
}

/// The proxy completes the handshakes while it forwards.
#[test]
fn forwarding_completes_handshakes() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let noise = &mut Noise::new(4);
        let (mut left, mut front) = unanswered(provider, versions, noise);
        let (mut back, mut right) = unanswered(provider, versions, noise);
        converse("", noise, (&mut left, &mut front), (&mut back, &mut right));
    }
}

/// Forwards until there is an error.
fn until_error(from: &mut impl Source, to: &mut impl Sink) -> io::Error {
    for _ in 0..1000 {
        match forward(from, to) {
            Ok(state) => assert_ne!(state, Forwarded::Ended),
            Err(error) => return error,
        }
    }
    panic!("no error")
}

/// Receives until nothing arrives any more.
fn receive_all(peer: &mut dyn Peer) -> (Vec<u8>, Option<io::Result<()>>) {
    let mut all = Vec::new();
    for _ in 0..1000 {
        if let Some(end) = peer.receive(&mut all) {
            return (all, Some(end));
        }
    }
    (all, None)
}

#[test]
fn an_end_without_a_close_notify_is_not_passed_on() {
    let breaks: [(&[u8], ErrorKind); 3] = [
        (&[], ErrorKind::UnexpectedEof),
        (&[23, 3, 3, 0, 30, 1], ErrorKind::UnexpectedEof),
        // a record that cannot be opened
        (
            b"\x17\x03\x03\x00\x14twenty bytes of none",
            ErrorKind::InvalidData,
        ),
    ];
    for (versions, (garbage, expected)) in product(Versions::EACH, breaks) {
        let noise = &mut Noise::new(9);
        let connect = |noise: &mut Noise| {
            let (mut left, front) = streams(pair(PROVIDERS[0], versions), sockets(noise));
            left.sock.outgoing.borrow_mut().capacity = 1000;
            assert_eq!(left.send(b"data"), 4);
            while !Peer::flush(&mut left) {}
            left.sock.outgoing.borrow_mut().bytes.extend(garbage);
            left.sock.end();
            (left, front)
        };
        let check = |right: &mut dyn Peer, error: io::Error| {
            assert_eq!(error.kind(), expected);
            let (data, end) = receive_all(right);
            assert_eq!(data, b"data");
            assert!(end.is_none(), "{end:?}");
        };
        // to a plain peer
        let (_left, mut front) = connect(noise);
        let (back, mut right) = sockets(noise);
        check(&mut right, until_error(&mut front, &mut Plain(back)));
        // to a TLS peer, from a client and from a server
        let (_left, mut front) = connect(noise);
        let (mut back, mut right) = streams(pair(PROVIDERS[0], versions), sockets(noise));
        check(&mut right, until_error(&mut front, &mut back));
        back.sock.end();
        let (_, end) = receive_all(&mut right);
        assert_eq!(end.unwrap().unwrap_err().kind(), ErrorKind::UnexpectedEof);
        // the alert
        if expected == ErrorKind::InvalidData {
            while front.conn.wants_write() {
                now(front.conn.write_tls(&mut front.sock));
            }
            assert!(!front.sock.outgoing.borrow().bytes.is_empty());
        }
    }
}

/// Sends a request through a proxy of four threads, and gets an answer.
fn talk<T: Read + Write>(mut left: T, mut right: TcpStream, close: impl Fn(&mut T)) {
    let sent = &DATA[..300_000];
    let server = thread::spawn(move || {
        let mut request = Vec::new();
        right.read_to_end(&mut request).unwrap();
        assert!(request == sent);
        right.write_all(&request).unwrap();
        right.shutdown(Shutdown::Write).unwrap();
    });
    left.write_all(sent).unwrap();
    close(&mut left);
    left.flush().unwrap();
    let mut answer = Vec::new();
    left.read_to_end(&mut answer).unwrap();
    assert!(answer == sent);
    server.join().unwrap();
}

fn forward_in_thread<F, T>(mut from: F, mut to: T, socket: &TcpStream) -> thread::JoinHandle<()>
where
    F: Source + Send + 'static,
    T: Sink + Send + 'static,
{
    let socket = socket.try_clone().unwrap();
    thread::spawn(move || {
        loop {
            match forward(&mut from, &mut to).unwrap() {
                Forwarded::Ended => break,
                result => assert_eq!(result, Forwarded::Yielded),
            }
        }
        socket.shutdown(Shutdown::Write).unwrap();
    })
}

/// TLS to the first proxy, TLS between both, and no TLS behind the second.
#[test]
fn halves_of_split_connections_forward_in_threads() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let [to_first, to_second] = [(); 2].map(|()| pair(provider, versions));
        let (left, first) = loopback().unwrap();
        let (between, second) = loopback().unwrap();
        let (behind, right) = loopback().unwrap();
        let clone = |socket: &TcpStream| socket.try_clone().unwrap();

        let (front_sender, front_receiver) = to_first.server.into_split().unwrap();
        let (back_sender, back_receiver) = to_second.client.into_split().unwrap();
        let (last_sender, last_receiver) = to_second.server.into_split().unwrap();
        let back = (back_sender, clone(&between));
        let front = (front_sender, clone(&first));
        let last = (last_sender, clone(&second));
        let plain = || Plain(clone(&behind));
        let threads = [
            forward_in_thread((front_receiver, clone(&first)), back, &between),
            forward_in_thread((back_receiver, clone(&between)), front, &first),
            forward_in_thread((last_receiver, clone(&second)), plain(), &behind),
            forward_in_thread(plain(), last, &second),
        ];
        talk(StreamOwned::new(*to_first.client, left), right, |stream| {
            stream.conn.send_close_notify();
        });
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

/// A proxy's connection to a peer that has not answered yet.
fn unanswered(
    provider: Provider,
    versions: Versions,
    noise: &mut Noise,
) -> (Tls<ClientConnection>, Tls<ServerConnection>) {
    let configs = Configs::new(versions, provider.this(), KeyType::EcdsaP256);
    let ((client, server), (one, other)) = (configs.ends().unwrap(), sockets(noise));
    let client = StreamOwned::new(client, one);
    (client, StreamOwned::new(server, other))
}

/// Forwards all of `data`, and then the end, while `right` answers only after many attempts.
fn forward_much<F: Source + Sink>(
    data: &[u8],
    mut front: F,
    (mut back, mut right): (Tls<ClientConnection>, Tls<ServerConnection>),
) {
    let mut received = Vec::new();
    let mut has_ended = false;
    for turn in 0..1_000_000 {
        if !has_ended {
            has_ended = forward(&mut front, &mut back).unwrap() == Forwarded::Ended;
        }
        let _ = forward(&mut back, &mut front).unwrap();
        if turn < 1000 {
            assert!(!has_ended, "nothing can be sent before the handshake");
            continue;
        }
        Peer::flush(&mut right);
        if let Some(end) = right.receive(&mut received) {
            end.unwrap();
            assert!(received == data);
            return;
        }
    }
    panic!("{} of {} bytes arrive", received.len(), data.len());
}

/// The data may be more than a connection accepts before its handshake.
#[test]
fn data_and_a_close_notify_wait_for_the_handshake() {
    for (provider, versions, len) in product3(PROVIDERS, Versions::EACH, [10, 300_000]) {
        let noise = &mut Noise::new(4);
        let data = &DATA[..len];
        let (mut left, front) = streams(pair(provider, versions), sockets(noise));
        left.sock.outgoing.borrow_mut().capacity = 1_000_000;
        left.conn.set_buffer_limit(None);
        left.conn.writer().write_all(data).unwrap();
        left.conn.send_close_notify();
        while !Peer::flush(&mut left) {}
        forward_much(data, front, unanswered(provider, versions, noise));
    }
}

/// Data comes from a plain socket.
#[test]
fn plain_data_and_its_end_wait_for_the_handshake() {
    for (provider, versions, len) in product3(PROVIDERS, Versions::EACH, [10, 300_000]) {
        let noise = &mut Noise::new(4);
        let data = &DATA[..len];
        let (left, front) = sockets(noise);
        left.outgoing.borrow_mut().bytes.extend(data);
        left.end();
        let back = unanswered(provider, versions, noise);
        forward_much(data, Plain(front), back);
    }
}

/// A socket that has to be flushed.
struct Buffered(BufWriter<Socket>);

impl Read for Buffered {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.get_mut().read(buf)
    }
}

impl Write for Buffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn messages_are_flushed_while_the_streams_stay_open() {
    for (versions, is_plain) in product(Versions::EACH, [false, true]) {
        let noise = &mut Noise::new(8);
        let (mut left, mut front) = streams(pair(PROVIDERS[0], versions), sockets(noise));
        let (one, mut other) = sockets(noise);
        let one = Buffered(BufWriter::new(one));
        let mut received = Vec::new();
        assert_eq!(left.send(b"message"), 7);
        while !Peer::flush(&mut left) {}
        if is_plain {
            let mut back = Plain(one);
            for _ in 0..1000 {
                forward(&mut front, &mut back).unwrap();
                other.receive(&mut received);
            }
        } else {
            let connected = pair(PROVIDERS[0], versions);
            let mut back = StreamOwned::new(*connected.client, one);
            let mut right = StreamOwned::new(*connected.server, other);
            for _ in 0..1000 {
                forward(&mut front, &mut back).unwrap();
                right.receive(&mut received);
            }
        }
        assert_eq!(received, b"message", "{versions:?}, plain: {is_plain}");
    }
}
