//! Memory that idle streams hold. This test is a separate program because the count is
//! process-wide.

use std::alloc::System;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Versions, server_name, this};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PAIRS: usize = 5000;

/// The most bytes of a connection's heap: 1080 of a client and 982 of a server in BENCHMARKS.md, of
/// which sessions and tickets are shared.
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

/// The transports stay, so that the difference is what the streams hold.
#[test]
fn idle_streams_hold_no_buffers() {
    for versions in Versions::EACH {
        let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let client = this::client_of(versions, PROVIDERS[0].this(), key, auth);
        let server = this::server_of(versions, PROVIDERS[0].this(), key, auth);
        let connector = TlsConnector::from(Arc::new(client));
        let acceptor = TlsAcceptor::from(Arc::new(server));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
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
