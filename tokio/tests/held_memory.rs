//! The memory that streams hold while they are idle, and after they were dropped. This test is a
//! separate program because the count is process-wide.

use std::alloc::System;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::{fs, thread};

use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Versions, product, server_name, this,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::{Acceptor, NoServerSessionStorage};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::{
    LazyConfigAcceptor, TlsAcceptor, TlsConnector, TlsStream, client, copy_bidirectional, server,
};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The tests count what the process allocates, so they run one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const PAIRS: usize = 5000;

/// The maximum heap memory of a connection in bytes. BENCHMARKS.md has 1128 for a client and 1030
/// for a server.
const MOST: usize = 1200;

fn poll<T>(poll: impl FnOnce(&mut Context<'_>) -> Poll<std::io::Result<T>>) -> T {
    let Poll::Ready(result) = poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("pending");
    };
    result.unwrap()
}

/// Sends 20 kB from one stream to the other.
fn send(from: &mut TlsStream<DuplexStream>, to: &mut TlsStream<DuplexStream>) {
    let mut left = 20_000;
    let (data, mut out) = (vec![7; left], vec![0; left]);
    while left > 0 {
        let sent = poll(|task| Pin::new(&mut *from).poll_write(task, &data[..left]));
        poll(|task| Pin::new(&mut *from).poll_flush(task));
        let mut read = 0;
        while read < sent {
            let mut buf = ReadBuf::new(&mut out);
            poll(|task| Pin::new(&mut *to).poll_read(task, &mut buf));
            read += buf.filled().len();
        }
        left -= sent;
    }
}

fn held() -> usize {
    let stats = HEAP.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

fn parties(versions: Versions) -> (TlsConnector, Arc<ServerConfig>) {
    let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    let client = this::client_of(versions, PROVIDERS[0].this(), key, auth);
    let server = this::server_of(versions, PROVIDERS[0].this(), key, auth);
    (TlsConnector::from(Arc::new(client)), Arc::new(server))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// The transports are kept, so the difference is the memory of the streams.
#[test]
fn idle_streams_hold_no_buffers() {
    let _one = ONE_AT_A_TIME.lock();
    for versions in Versions::EACH {
        let (connector, server) = parties(versions);
        let acceptor = TlsAcceptor::from(server);
        let runtime = runtime();
        let mut streams: Vec<[TlsStream<DuplexStream>; 2]> = Vec::with_capacity(PAIRS);
        for _ in 0..PAIRS {
            let (one, other) = duplex(50_000);
            let connect = connector.connect(server_name(), one);
            let both = async { tokio::try_join!(connect, acceptor.accept(other)) };
            let (client, server) = runtime.block_on(both).unwrap();
            let (mut client, mut server) = (client.into(), server.into());
            send(&mut client, &mut server);
            send(&mut server, &mut client);
            streams.push([client, server]);
        }
        let mut transports = Vec::with_capacity(2 * PAIRS);
        let before = held();
        for stream in streams.drain(..).flatten() {
            transports.push(match stream {
                TlsStream::Client(stream) => stream.into_inner().0,
                TlsStream::Server(stream) => stream.into_inner().0,
            });
        }
        let of_each = (before - held()) / (2 * PAIRS);
        assert!(of_each <= MOST, "{versions:?}: {of_each}");
    }
}

/// Runs `f` on a thread of its own, which has its own pool of buffers.
fn elsewhere(f: impl FnOnce() + Send) {
    thread::scope(|scope| scope.spawn(f).join().unwrap());
}

/// Sends records in place, copies them and receives them, repeatedly. Only the allocations of the
/// copies are counted.
#[test]
fn copy_bidirectional_allocates_nothing() {
    const ROUNDS: usize = 60;

    let _one = ONE_AT_A_TIME.lock();
    for (versions, records) in product(Versions::EACH, [1, 4]) {
        let (connector, server) = parties(versions);
        let acceptor = TlsAcceptor::from(server);
        let connect = || {
            let (one, other) = duplex(100_000);
            let connect = connector.connect(server_name(), one);
            let both = async { tokio::try_join!(connect, acceptor.accept(other)) };
            runtime().block_on(both).unwrap()
        };
        let ((mut left, mut front), (mut back, mut right)) = (connect(), connect());
        let room = left.in_place_room();
        let payload = room.headroom..room.headroom + room.max_payload;
        let mut buf = vec![0; payload.end + room.tailroom];
        let mut out = vec![0; 70_000];
        let mut copy = pin!(copy_bidirectional(&mut front, &mut back));
        for round in 0..ROUNDS {
            elsewhere(|| {
                for _ in 0..records {
                    poll(|task| left.poll_send_in_place(task, &mut buf, payload.clone()));
                }
                poll(|task| Pin::new(&mut left).poll_flush(task));
            });
            let before = HEAP.stats();
            let copied = copy.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let after = HEAP.stats();
            assert!(copied.is_pending());
            if round > ROUNDS / 2 {
                let allocations = after.allocations - before.allocations;
                let reallocations = after.reallocations - before.reallocations;
                assert_eq!(
                    (allocations, reallocations),
                    (0, 0),
                    "{versions:?}, {records}"
                );
            }
            elsewhere(|| {
                let mut read = 0;
                while read < records * room.max_payload {
                    let mut buf = ReadBuf::new(&mut out);
                    poll(|task| Pin::new(&mut right).poll_read(task, &mut buf));
                    read += buf.filled().len();
                }
            });
        }
    }
}

/// The ways in which a connection ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Closed,
    ClosedByHalves,
    /// The client is dropped without a close_notify.
    Vanished,
    /// The server gets a record that it cannot decrypt.
    Failed,
    /// One side is dropped during the handshake, after it was polled this number of times.
    ClientCancelled(usize),
    ServerCancelled(usize),
}

impl End {
    fn of(number: usize) -> Self {
        match number % 6 {
            0 => Self::Closed,
            1 => Self::ClosedByHalves,
            2 => Self::Vanished,
            3 => Self::Failed,
            4 => Self::ClientCancelled(number / 6 % 3),
            _ => Self::ServerCancelled(number / 6 % 3),
        }
    }
}

/// An open connection.
struct Pair {
    client: client::TlsStream<DuplexStream>,
    server: server::TlsStream<DuplexStream>,
    end: End,
}

impl Pair {
    /// Connects and exchanges data, unless the handshake is cancelled.
    async fn open(connector: &TlsConnector, config: &Arc<ServerConfig>, end: End) -> Option<Self> {
        let (one, other) = duplex(50_000);
        let connect = connector.connect(server_name(), one);
        let accept = async {
            let start = LazyConfigAcceptor::new(Acceptor::default(), other).await?;
            start.into_stream(config.clone()).await
        };
        match end {
            End::ClientCancelled(polls) => {
                cancel(connect, accept, polls).await;
                None
            }
            End::ServerCancelled(polls) => {
                cancel(accept, connect, polls).await;
                None
            }
            _ => {
                let (mut client, mut server) = tokio::try_join!(connect, accept).unwrap();
                exchange(&mut client, &mut server).await;
                exchange(&mut server, &mut client).await;
                Some(Self {
                    client,
                    server,
                    end,
                })
            }
        }
    }

    async fn end(self) {
        let Self {
            mut client,
            mut server,
            end,
        } = self;
        match end {
            End::Closed => close(tokio::io::split(client), tokio::io::split(server)).await,
            End::ClosedByHalves => {
                let client = client.into_split(tokio::io::split).unwrap();
                close(client, server.into_split(tokio::io::split).unwrap()).await;
            }
            End::Vanished => {
                drop(client);
                server.read_u8().await.unwrap_err();
            }
            End::Failed => {
                client
                    .get_mut()
                    .0
                    .write_all(&[23, 3, 3, 0, 1, 0])
                    .await
                    .unwrap();
                server.read_u8().await.unwrap_err();
                client.read_u8().await.unwrap_err();
            }
            End::ClientCancelled(_) | End::ServerCancelled(_) => {}
        }
    }
}

/// Sends 20 kB.
async fn exchange(from: &mut (impl AsyncWrite + Unpin), to: &mut (impl AsyncRead + Unpin)) {
    let mut out = [0; 20_000];
    from.write_all(&[7; 20_000]).await.unwrap();
    from.flush().await.unwrap();
    to.read_exact(&mut out).await.unwrap();
    assert!(out == [7; 20_000]);
}

async fn close<A, B, C, D>(
    (mut one_reader, mut one_writer): (A, B),
    (mut other_reader, mut other_writer): (C, D),
) where
    A: AsyncRead + Unpin,
    B: AsyncWrite + Unpin,
    C: AsyncRead + Unpin,
    D: AsyncWrite + Unpin,
{
    one_writer.shutdown().await.unwrap();
    assert_eq!(other_reader.read(&mut [0; 9]).await.unwrap(), 0);
    other_writer.shutdown().await.unwrap();
    assert_eq!(one_reader.read(&mut [0; 9]).await.unwrap(), 0);
}

/// Polls two futures, drops the first after `polls`, and waits for the other.
async fn cancel(drops: impl Future, keeps: impl Future, polls: usize) {
    let mut keeps = pin!(keeps);
    let mut is_over = false;
    {
        let mut drops = pin!(drops);
        for _ in 0..polls {
            poll_fn(|task| {
                let _ = drops.as_mut().poll(task);
                is_over = is_over || keeps.as_mut().poll(task).is_ready();
                Poll::Ready(())
            })
            .await;
        }
    }
    if !is_over {
        keeps.await;
    }
}

fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    4096 * pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
}

/// Opens and ends 10 800 connections of all kinds, some of them at the same time. Afterwards, the
/// process holds as much memory as before.
#[test]
fn memory_is_the_same_after_thousands_of_connections() {
    const OPEN: usize = 50;
    const ROUND: usize = 600;
    const ROUNDS: usize = 9;
    let _one = ONE_AT_A_TIME.lock();
    for versions in Versions::EACH {
        let (connector, server) = parties(versions);
        let mut server = ServerConfig::clone(&server);
        // a storage of sessions is a map, which may grow at any time, up to its limit
        server.ticketer = aws_lc_rs::Ticketer::new().unwrap();
        server.session_storage = Arc::new(NoServerSessionStorage {});
        let server = Arc::new(server);
        let runtime = runtime();
        let mut open = VecDeque::with_capacity(OPEN + 1);
        let mut after = [(0, 0); ROUNDS];
        for after in &mut after {
            runtime.block_on(async {
                for number in 0..ROUND {
                    open.extend(Pair::open(&connector, &server, End::of(number)).await);
                    if open.len() > OPEN {
                        open.pop_front().unwrap().end().await;
                    }
                }
                while let Some(pair) = open.pop_front() {
                    pair.end().await;
                }
            });
            *after = (held(), resident());
        }
        // the first round fills the client's sessions and the pool of buffers
        let ([_, first, ..], [.., last]) = (after, after);
        assert_eq!(last.0, first.0, "{versions:?}: {after:?}");
        assert!(last.1 < first.1 + (1 << 20), "{versions:?}: {after:?}");
    }
}
