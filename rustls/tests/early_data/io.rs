//! Early data over pipes with a small capacity, which block when they are full, so that bytes move
//! only as fast as the peer reads.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, product, server_name};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, Stream};

/// One end of a pipe. Sent bytes stay in the first queue until the other end reads them.
struct Pipe {
    sent: Rc<RefCell<VecDeque<u8>>>,
    to_read: Rc<RefCell<VecDeque<u8>>>,
    capacity: usize,
}

fn pipe(capacity: usize) -> [Pipe; 2] {
    let [one, other] = [(); 2].map(|()| Rc::<RefCell<VecDeque<u8>>>::default());
    let end = |sent, to_read| Pipe {
        sent,
        to_read,
        capacity,
    };
    [end(one.clone(), other.clone()), end(other, one)]
}

impl Read for Pipe {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.to_read.borrow_mut().read(buf)? {
            0 => Err(ErrorKind::WouldBlock.into()),
            len => Ok(len),
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut sent = self.sent.borrow_mut();
        match Ord::min(self.capacity - sent.len(), buf.len()) {
            0 => Err(ErrorKind::WouldBlock.into()),
            len => sent.write(&buf[..len]),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the number of bytes moved, 0 if the call would block.
fn unless_blocked(io: io::Result<usize>) -> usize {
    match io {
        Ok(len) => len,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(error) => panic!("{error}"),
    }
}

const LIMIT: usize = 50_000;

/// Connects and sends early data until the handshake completes, then other data in both directions.
/// With `reads_early`, the server reads early data as it arrives, otherwise at the end. Returns the
/// early data sent and the early data received.
fn connect(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    capacity: usize,
    early: &[u8],
    reads_early: bool,
) -> (usize, Option<Vec<u8>>) {
    let [mut client_sock, mut server_sock] = pipe(capacity);
    let mut client = ClientConnection::new(client.clone(), server_name()).unwrap();
    let mut server = ServerConnection::new(server.clone()).unwrap();
    client.set_buffer_limit(Some(1000));
    let late = [7; 30_000];
    let (mut early_sent, mut received) = (0, None);
    let (mut to_server, mut to_client) = (0, 0);
    let (mut at_server, mut at_client) = (Vec::new(), Vec::new());
    let mut buf = [0; 4096];
    for _ in 0..20_000 {
        if let Some(mut writer) = client.early_data() {
            early_sent += writer.write(&early[early_sent..]).unwrap();
        }
        let may_go_on = early_sent == early.len() || !client.is_handshaking();
        let mut stream = Stream::new(&mut client, &mut client_sock);
        if may_go_on {
            to_server += unless_blocked(stream.write(&late[to_server..]));
        } else if stream.conn.wants_write() {
            let _ = unless_blocked(stream.conn.write_tls(&mut stream.sock));
        }
        let len = unless_blocked(stream.read(&mut buf));
        at_client.extend_from_slice(&buf[..len]);

        let mut stream = Stream::new(&mut server, &mut server_sock);
        to_client += unless_blocked(stream.write(&late[to_client..]));
        let len = unless_blocked(stream.read(&mut buf));
        at_server.extend_from_slice(&buf[..len]);
        let is_over = at_server.len() == late.len() && at_client.len() == late.len();
        if (reads_early || is_over)
            && let Some(mut reader) = server.early_data()
        {
            let received = received.get_or_insert_with(Vec::new);
            reader.read_to_end(received).unwrap();
        }
        if is_over {
            assert!(at_server == late && at_client == late);
            return (early_sent, received);
        }
    }
    panic!("hangs: {client:?} {to_server}, {server:?} {to_client}");
}

#[test]
fn short_pipes_never_block_early_data_forever() {
    for provider in PROVIDERS {
        let (key_type, auth) = (KeyType::Ed25519, ClientAuth::None);
        let mut client = configs::this::client(provider.this(), key_type, auth);
        client.enable_early_data = true;
        let client = Arc::new(client);
        let mut server = configs::this::server(provider.this(), key_type, auth);
        server.max_early_data_size = LIMIT as u32;
        let early: Vec<u8> = (0..LIMIT).map(|i| i as u8).collect();
        for send_half_rtt_data in [false, true] {
            server.send_half_rtt_data = send_half_rtt_data;
            let mut rejecting = server.clone();
            rejecting.alpn_protocols.clear();
            rejecting.send_tls13_tickets = 0;
            let (accepting, rejecting) = (Arc::new(server.clone()), Arc::new(rejecting));
            // neither end reads while it has handshake messages to write, so the server's flight
            // must fit
            for (capacity, reads_early) in product([2000, 10_000, 100_000], [true, false]) {
                // leaves tickets for the next two connections
                connect(&client, &accepting, capacity, &[], reads_early);
                let (sent, received) = connect(&client, &rejecting, capacity, &early, reads_early);
                assert!(sent != 0 && received.is_none());
                let (sent, received) = connect(&client, &accepting, capacity, &early, reads_early);
                assert!(sent != 0 && received.unwrap() == early[..sent]);
            }
        }
    }
}
