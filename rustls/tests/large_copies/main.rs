//! Checks that no payload is copied by a single long `memcpy` at a distance at which that is slow
//! on some processors (`core/src/copy.rs`).
//!
//! A preloaded library counts such copies of a thread, and makes the distances frequent. It needs
//! Linux, glibc and a C compiler. Only the calls of this crate are counted: transports copy in
//! short pieces.

use std::collections::VecDeque;
use std::env;
use std::hint::black_box;
use std::io::{self, BufRead, IoSlice, Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product, server_name};
use harness::peers::pairs::this::buffered::Pair;
use harness::peers::pairs::this::{Configs, unbuffered};
use rustls::client::UnbufferedClientConnection;
use rustls::crypto::CryptoProvider;
use rustls::server::ServerSessionMemoryCache;
use rustls::unbuffered::ConnectionState;
use rustls::{ClientConnection, ConnectionCommon, ServerConnection};

/// Returns the number of slow copies of this thread so far; `None` if nothing counts them.
fn copies() -> Option<u64> {
    env::var("LARGE_COPIES").ok()?.parse().ok()
}

/// Returns the result of `work`, which must not copy much at once.
#[track_caller]
fn counted<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let before = copies().unwrap();
    let result = work();
    assert_eq!(copies().unwrap() - before, 0, "long copies: {what}");
    result
}

#[test]
fn no_call_makes_a_long_copy() {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        eprintln!("skipped: only glibc can be preloaded");
        return;
    }
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large_copies.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-fno-builtin", "-o"])
        .arg(&library)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("large_copies/count.c"))
        .status();
    match compiled {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            eprintln!("skipped: there is no C compiler ({error})");
            return;
        }
    }
    let counting = Command::new(env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "counting::each_call_makes_only_short_copies",
        ])
        .env("LD_PRELOAD", library)
        .output()
        .unwrap();
    let (text, errors) = (&counting.stdout, &counting.stderr);
    let output = format!(
        "{}{}",
        String::from_utf8_lossy(text),
        String::from_utf8_lossy(errors)
    );
    assert!(counting.status.success(), "{output}");
    assert!(output.contains("test result: ok. 1 passed"), "{output}");
}

mod counting {
    use super::*;

    #[test]
    #[ignore = "no_call_makes_a_long_copy runs it with a library that counts"]
    fn each_call_makes_only_short_copies() {
        let (from, mut to) = (vec![1_u8; 5000], vec![0; 5000]);
        let before = copies().unwrap();
        for distance in [0, 1, 31, 32] {
            let to = &mut black_box(&mut to)[distance..][..4000];
            to.copy_from_slice(&black_box(&from)[..4000]);
        }
        assert_eq!(copies().unwrap() - before, 2, "copies are counted");

        for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Tls13]) {
            let case = Case { provider, versions };
            case.buffered_sends();
            case.buffered_receives();
            case.before_the_handshake();
            case.unbuffered();
            case.split();
            case.long_handshake_messages();
            if versions == Versions::Tls13 {
                case.early_data();
            }
        }
    }
}

struct Case {
    provider: Provider,
    versions: Versions,
}

impl Case {
    fn name(&self, what: &str) -> String {
        format!("{what}, {:?}, {:?}", self.provider, self.versions)
    }

    fn provider(&self) -> CryptoProvider {
        self.provider.this()
    }

    fn configs(&self) -> Configs {
        Configs::new(self.versions, self.provider(), KeyType::EcdsaP256)
    }

    fn pair(&self) -> Pair {
        Pair::connect(&self.configs()).unwrap()
    }

    fn buffered_sends(&self) {
        let data = vec![7; 100_000];
        for most in [usize::MAX, 20_000, 3000] {
            let mut client = self.pair().client;
            client.set_buffer_limit(None);
            let mut wire = Wire::new(most);
            counted(&self.name("buffered sends"), || {
                for len in [2048, 5000, 16_384, 100_000] {
                    client.writer().write_all(&data[..len]).unwrap();
                    client.write_tls(&mut wire).unwrap();
                    let slices = [&data[..len], &data[..9000]].map(IoSlice::new);
                    assert_ne!(client.writer().write_vectored(&slices).unwrap(), 0);
                    client.write_tls(&mut wire).unwrap();
                }
                send_all(&mut client, &mut wire);
            });
        }
    }

    fn buffered_receives(&self) {
        for most in [usize::MAX, 20_000, 3000] {
            let Pair {
                mut client,
                mut server,
            } = self.pair();
            let mut wire = Wire::new(usize::MAX);
            client.set_buffer_limit(None);
            client.writer().write_all(&[7; 300_000]).unwrap();
            send_all(&mut client, &mut wire);
            wire.most = most;
            // a few bytes after the plaintext, modulo the page size
            let mut memory = vec![0; 20_024];
            let memory = &mut memory[24..];
            counted(&self.name("buffered receives"), || {
                let (mut received, mut round) = (0, 0);
                while received < 300_000 {
                    round += 1;
                    if server.wants_read() || round % 2 == 0 {
                        // a full buffer is read before more is received
                        let _ = server.read_tls(&mut wire);
                        server.process_new_packets().unwrap();
                    }
                    let read = if round % 3 == 0 {
                        let mut reader = server.reader();
                        let read = reader.fill_buf().map_or(0, |chunk| chunk.len() * 2 / 3);
                        reader.consume(read);
                        read
                    } else {
                        let room = if round % 5 == 0 { 15_000 } else { 20_000 };
                        server.reader().read(&mut memory[..room]).unwrap_or(0)
                    };
                    received += read;
                }
            });
        }
    }

    fn before_the_handshake(&self) {
        let (mut client, mut server) = self.configs().ends().unwrap();
        let data = vec![7; 40_000];
        let mut wire = Wire::new(usize::MAX);
        counted(&self.name("writes before the handshake"), || {
            client.writer().write_all(&data).unwrap();
            let slices = [&data[..9000], &data[..9000]].map(IoSlice::new);
            assert_ne!(server.writer().write_vectored(&slices).unwrap(), 0);
        });
        let mut memory = vec![0; 20_000];
        let mut received = 0;
        while received < 40_000 {
            exchange(&mut client, &mut server, &mut wire);
            received += counted(&self.name("data from before the handshake"), || {
                server.reader().read(&mut memory).unwrap_or(0)
            });
        }
    }

    fn unbuffered(&self) {
        let mut pair = unbuffered::Pair::connect(&self.configs()).unwrap();
        let data = vec![7; 100_000];
        let mut wire = vec![0; 110_000];
        counted(&self.name("the unbuffered API"), || {
            for _ in 0..2 {
                let len = unbuffered::send(&mut *pair.client, &data, &mut wire).unwrap();
                let received = unbuffered::receive(&mut *pair.server, &mut wire[..len]).unwrap();
                assert_eq!(received, data.len());
            }
        });
        let len = unbuffered::send(&mut *pair.client, &data[..16_000], &mut wire).unwrap();
        counted(&self.name("the length of a record"), || {
            let status = pair.server.process_tls_records(&mut wire[..len]);
            let Ok(ConnectionState::ReadTraffic(state)) = status.state else {
                panic!("no data");
            };
            assert_eq!(state.peek_len().map(usize::from), Some(16_000));
        });
    }

    fn split(&self) {
        let Pair { client, mut server } = self.pair();
        let (mut sender, mut receiver) = client.into_split().unwrap();
        let (data, mut wire) = (vec![7; 40_000], Wire::new(usize::MAX));
        let mut memory = vec![0; 20_000];
        sender.set_buffer_limit(None);
        counted(&self.name("a split connection"), || {
            sender.writer().write_all(&data).unwrap();
            while sender.wants_write() {
                sender.write_tls(&mut wire).unwrap();
            }
        });
        wire.bytes.clear();
        server.writer().write_all(&data).unwrap();
        server.write_tls(&mut wire).unwrap();
        counted(&self.name("a split connection"), || {
            let mut received = 0;
            while received < data.len() {
                receiver.read_tls(&mut wire).unwrap();
                receiver.process_new_packets().unwrap();
                while let Ok(read @ 1..) = receiver.reader().read(&mut memory) {
                    received += read;
                }
            }
        });
    }

    /// Exchanges a ClientHello of 40 kB, in each API.
    fn long_handshake_messages(&self) {
        let mut configs = self.configs();
        let client = Arc::make_mut(&mut configs.client);
        client.alpn_protocols = (0..400).map(|number| vec![number as u8; 100]).collect();
        let (mut client, mut server) = configs.ends().unwrap();
        let mut wire = Wire::new(usize::MAX);
        counted(&self.name("the record layer under a long message"), || {
            client.write_tls(&mut wire).unwrap();
        });
        wire.most = 3000;
        counted(&self.name("a long message that arrives"), || {
            while wire.bytes.len() > 3000 {
                server.read_tls(&mut wire).unwrap();
                server.process_new_packets().unwrap();
            }
        });
        let mut unbuffered =
            UnbufferedClientConnection::new(configs.client, server_name()).unwrap();
        counted(&self.name("a long message of the unbuffered API"), || {
            let mut out = vec![0; 50_000];
            let mut used = 0;
            while let Ok(ConnectionState::EncodeTlsData(mut state)) =
                unbuffered.process_tls_records(&mut []).state
            {
                used += state.encode(&mut out[used..]).unwrap();
            }
            assert!(used > 40_000);
        });
    }

    fn early_data(&self) {
        let mut configs = self.configs();
        Arc::make_mut(&mut configs.client).enable_early_data = true;
        let server = Arc::make_mut(&mut configs.server);
        server.max_early_data_size = 50_000;
        server.session_storage = ServerSessionMemoryCache::new(8);
        Pair::connect(&configs).unwrap();
        let (mut client, mut server) = configs.ends().unwrap();
        let data = vec![7; 40_000];
        let mut memory = vec![0; 20_000];
        let mut wire = Wire::new(usize::MAX);
        counted(&self.name("early data"), || {
            client.early_data().unwrap().write_all(&data).unwrap();
            send_all(&mut client, &mut wire);
            let mut received = 0;
            while received < data.len() {
                let _ = server.read_tls(&mut wire);
                server.process_new_packets().unwrap();
                // a part remains and later data follows it
                let room = &mut memory[..if wire.bytes.is_empty() { 20_000 } else { 5000 }];
                if let Some(mut reader) = server.early_data() {
                    received += reader.read(room).unwrap();
                }
            }
        });
    }
}

fn send_all<D>(conn: &mut ConnectionCommon<D>, wire: &mut Wire) {
    while conn.wants_write() {
        conn.write_tls(wire).unwrap();
    }
}

/// Moves all output of both ends to the other.
fn exchange(client: &mut ClientConnection, server: &mut ServerConnection, wire: &mut Wire) {
    send_all(client, wire);
    if server.wants_read() && !wire.bytes.is_empty() {
        server.read_tls(wire).unwrap();
        server.process_new_packets().unwrap();
    }
    let mut back = Wire::new(usize::MAX);
    send_all(server, &mut back);
    while !back.bytes.is_empty() && client.wants_read() {
        client.read_tls(&mut back).unwrap();
        client.process_new_packets().unwrap();
    }
}

/// A transport that moves at most `most` bytes in a call, and copies them in short pieces.
struct Wire {
    bytes: VecDeque<u8>,
    most: usize,
}

impl Wire {
    fn new(most: usize) -> Self {
        Self {
            bytes: VecDeque::with_capacity(1 << 20),
            most,
        }
    }
}

impl Write for Wire {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let len = buf.len().min(self.most);
        for piece in buf[..len].chunks(1000) {
            self.bytes.extend(piece);
        }
        Ok(len)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let most = self.most;
        for slice in slices {
            self.most -= self.write(slice)?;
        }
        let written = most - self.most;
        self.most = most;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Wire {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = buf.len().min(self.bytes.len()).min(self.most);
        for piece in buf[..len].chunks_mut(1000) {
            self.bytes.read_exact(piece)?;
        }
        Ok(len)
    }
}
