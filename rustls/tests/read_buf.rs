//! Feature `read_buf` on a nightly compiler: reading into uninitialized memory returns the same as
//! reading into initialized memory.

#![cfg_attr(read_buf, feature(read_buf, core_io_borrowed_buf, borrowed_buf_init))]

#[cfg(not(read_buf))]
#[test]
fn not_on_this_compiler() {
    eprintln!("skipped: this compiler has no `Read::read_buf`");
}

#[cfg(read_buf)]
mod on_nightly {
    use std::io::{self, BorrowedBuf, Read, Write};
    use std::mem::MaybeUninit;
    use std::sync::Arc;

    use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, server_name};
    use rustls::{ClientConnection, ServerConnection, Stream, StreamOwned};

    fn connected(provider: Provider) -> (ClientConnection, ServerConnection) {
        let key_type = KeyType::EcdsaP256;
        let client = configs::this::client(provider.this(), key_type, ClientAuth::None);
        let server = configs::this::server(provider.this(), key_type, ClientAuth::None);
        let mut client = ClientConnection::new(Arc::new(client), server_name()).unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        for _ in 0..3 {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            feed(&mut server, &wire);
            let mut wire = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            let mut wire = &wire[..];
            while !wire.is_empty() {
                client.read_tls(&mut wire).unwrap();
                client.process_new_packets().unwrap();
            }
        }
        (client, server)
    }

    fn feed(server: &mut ServerConnection, mut wire: &[u8]) {
        while !wire.is_empty() {
            server.read_tls(&mut wire).unwrap();
            server.process_new_packets().unwrap();
        }
    }

    /// Reads from `reader` into an uninitialized buffer of `room` bytes.
    fn read_buf(reader: &mut impl Read, room: usize) -> Result<Vec<u8>, io::ErrorKind> {
        let mut memory = vec![MaybeUninit::uninit(); room];
        let mut buf = BorrowedBuf::from(&mut memory[..]);
        let result = reader.read_buf(buf.unfilled());
        let filled = buf.filled().to_vec();
        match result {
            Ok(()) => Ok(filled),
            Err(error) => {
                assert!(filled.is_empty());
                Err(error.kind())
            }
        }
    }

    fn read(reader: &mut impl Read, room: usize) -> Result<Vec<u8>, io::ErrorKind> {
        let mut buf = vec![0; room];
        let len = reader.read(&mut buf).map_err(|error| error.kind())?;
        Ok(buf[..len].to_vec())
    }

    /// Three records and buffers of various sizes, followed by nothing, a clean end, or a truncated
    /// stream.
    #[test]
    fn the_reader() {
        for provider in PROVIDERS {
            for room in [0, 1, 5, 300, 20_000] {
                for ends_with in ["nothing", "close", "cut"] {
                    let [ours, expected] = [true, false].map(|with_read_buf| {
                        let (mut client, mut server) = connected(provider);
                        for len in [5, 1, 250] {
                            client.writer().write_all(&vec![len as u8; len]).unwrap();
                        }
                        if ends_with == "close" {
                            client.send_close_notify();
                        }
                        let mut wire = Vec::new();
                        client.write_tls(&mut wire).unwrap();
                        feed(&mut server, &wire);
                        if ends_with == "cut" {
                            server.read_tls(&mut &[][..]).unwrap();
                            server.process_new_packets().unwrap();
                        }
                        let reads = (0..300).map(|_| {
                            if with_read_buf {
                                read_buf(&mut server.reader(), room)
                            } else {
                                read(&mut server.reader(), room)
                            }
                        });
                        reads.collect::<Vec<_>>()
                    });
                    assert_eq!(ours, expected, "{room} {ends_with}");
                }
            }
        }
    }

    /// A socket with some bytes to read, and then none.
    struct Socket(Vec<u8>);

    impl Read for Socket {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let len = Ord::min(buf.len(), self.0.len());
            buf[..len].copy_from_slice(&self.0[..len]);
            self.0.drain(..len);
            Ok(len)
        }
    }

    impl Write for Socket {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            Ok(buf.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn streams() {
        let sent: Vec<u8> = (0..50_000).map(|at| (at % 251) as u8).collect();
        for provider in PROVIDERS {
            for owned in [false, true] {
                let (mut client, mut server) = connected(provider);
                client.set_buffer_limit(None);
                client.writer().write_all(&sent).unwrap();
                client.send_close_notify();
                let mut wire = Vec::new();
                client.write_tls(&mut wire).unwrap();
                let mut socket = Socket(wire);
                let mut received = Vec::new();
                if owned {
                    let mut stream = StreamOwned::new(server, socket);
                    collect(&mut stream, &mut received);
                } else {
                    collect(&mut Stream::new(&mut server, &mut socket), &mut received);
                }
                assert!(received == sent);
            }
        }
    }

    fn collect(stream: &mut impl Read, received: &mut Vec<u8>) {
        loop {
            let read = read_buf(stream, 999).unwrap();
            if read.is_empty() {
                return;
            }
            received.extend(read);
        }
    }

    /// A socket on which every call fails.
    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn received_plaintext_is_returned_without_io() {
        for provider in PROVIDERS {
            let (mut client, mut server) = connected(provider);
            client.writer().write_all(b"waiting").unwrap();
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            feed(&mut server, &wire);
            server.writer().write_all(b"pending").unwrap();
            let borrowed = read_buf(&mut Stream::new(&mut server, &mut Broken), 4);
            assert_eq!(borrowed, Ok(b"wait".to_vec()));
            let owned = read_buf(&mut StreamOwned::new(server, Broken), 100);
            assert_eq!(owned, Ok(b"ing".to_vec()));
        }
    }

    /// The memory behind the read bytes counts as uninitialized, because nothing writes to it.
    #[test]
    fn memory_beyond_the_data_stays_uninitialized() {
        let (mut client, mut server) = connected(PROVIDERS[0]);
        client.writer().write_all(b"data").unwrap();
        let mut wire = Vec::new();
        client.write_tls(&mut wire).unwrap();
        feed(&mut server, &wire);
        let mut memory = [MaybeUninit::new(0xa5_u8); 100];
        let mut buf = BorrowedBuf::from(&mut memory[..]);
        server.reader().read_buf(buf.unfilled()).unwrap();
        assert_eq!(buf.filled(), b"data");
        assert!(!buf.is_init());
    }
}
