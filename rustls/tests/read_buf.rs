//! Tests of the feature `read_buf` on a nightly compiler: reading into uninitialized memory returns
//! the same as reading into initialized memory.

#![cfg_attr(read_buf, feature(read_buf, core_io_borrowed_buf, borrowed_buf_init))]

#[cfg(not(read_buf))]
#[test]
fn this_compiler_lacks_read_buf() {
    eprintln!("skipped: this compiler has no `Read::read_buf`");
}

#[cfg(read_buf)]
mod on_nightly {
    use std::io::{self, BorrowedBuf, Read, Write};
    use std::mem::MaybeUninit;

    use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product, product3};
    use harness::peers::endpoints::Transfer;
    use harness::peers::memory::Memory;
    use harness::peers::pairs::this::Configs;
    use harness::peers::pairs::this::buffered::Pair;
    use rustls::{Stream, StreamOwned};

    fn connected(provider: Provider) -> Pair {
        let configs = Configs::new(Versions::Tls13, provider.this(), KeyType::EcdsaP256);
        Pair::connect(&configs).unwrap()
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

    /// Reads three records with buffers of various sizes, followed by nothing, a clean end, or a
    /// truncated stream.
    #[test]
    fn read_buf_returns_the_same_as_read() {
        let (rooms, ends) = ([0, 1, 5, 300, 20_000], ["nothing", "close", "cut"]);
        for (provider, room, ends_with) in product3(PROVIDERS, rooms, ends) {
            let [ours, expected] = [true, false].map(|with_read_buf| {
                let Pair {
                    mut client,
                    mut server,
                } = connected(provider);
                for len in [5, 1, 250] {
                    client.writer().write_all(&vec![len as u8; len]).unwrap();
                }
                if ends_with == "close" {
                    client.send_close_notify();
                }
                server.input(&client.output());
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

    #[test]
    fn read_buf_of_streams_returns_all_plaintext() {
        let sent: Vec<u8> = (0..50_000).map(|at| (at % 251) as u8).collect();
        for (provider, owned) in product(PROVIDERS, [false, true]) {
            let Pair {
                mut client,
                mut server,
            } = connected(provider);
            client.set_buffer_limit(None);
            client.writer().write_all(&sent).unwrap();
            client.send_close_notify();
            let mut socket = Memory::ending(&client.output());
            let received = if owned {
                collect(&mut StreamOwned::new(*server, socket))
            } else {
                collect(&mut Stream::new(&mut *server, &mut socket))
            };
            assert!(received == sent);
        }
    }

    fn collect(stream: &mut impl Read) -> Vec<u8> {
        let mut received = Vec::new();
        loop {
            let read = read_buf(stream, 999).unwrap();
            if read.is_empty() {
                return received;
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
            let Pair {
                mut client,
                mut server,
            } = connected(provider);
            client.writer().write_all(b"waiting").unwrap();
            server.input(&client.output());
            server.writer().write_all(b"pending").unwrap();
            let borrowed = read_buf(&mut Stream::new(&mut *server, &mut Broken), 4);
            assert_eq!(borrowed, Ok(b"wait".to_vec()));
            let owned = read_buf(&mut StreamOwned::new(*server, Broken), 100);
            assert_eq!(owned, Ok(b"ing".to_vec()));
        }
    }

    /// The memory after the read bytes counts as uninitialized, because nothing writes to it.
    #[test]
    fn memory_beyond_the_data_stays_uninitialized() {
        let mut pair = connected(PROVIDERS[0]);
        pair.client.writer().write_all(b"data").unwrap();
        pair.server.input(&pair.client.output());
        let mut memory = [MaybeUninit::new(0xa5_u8); 100];
        let mut buf = BorrowedBuf::from(&mut memory[..]);
        pair.server.reader().read_buf(buf.unfilled()).unwrap();
        assert_eq!(buf.filled(), b"data");
        assert!(!buf.is_init());
    }
}
