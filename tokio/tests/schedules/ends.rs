//! Peers that vanish, and handshakes that are abandoned.

use std::io::ErrorKind;
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Versions, server_name};
use harness::wire::Noise;
use tokio::io::AsyncWriteExt;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::kit::executor::Executor;
use crate::kit::pipe::{Weather, pipe};
use crate::kit::talk::{pattern, receive, try_once};
use crate::kit::{configs, connected};

#[test]
fn data_of_a_peer_that_vanishes_ends_with_an_error() {
    for seed in 1..20 {
        let mut noise = Noise::new(seed);
        let configs = configs(Versions::EACH[seed as usize % 2], PROVIDERS[0]);
        let weather = Weather::random(&mut noise);
        let (mut client, server) = connected(configs, weather, &mut noise);
        let (flushed, lost) = (noise.up_to(40_000), noise.up_to(40_000));
        let mut executor = Executor::default();
        executor.spawn("client", async move {
            let data: Vec<u8> = (0..flushed + lost).map(pattern).collect();
            client.write_all(&data[..flushed]).await.unwrap();
            client.flush().await.unwrap();
            drop(try_once(client.write(&data[flushed..])).await);
            // dropped without a close_notify
        });
        let of_server = Noise::new(noise.next());
        executor.spawn("server", async move {
            let (received, end) = receive(server, of_server).await;
            assert_eq!(end.unwrap_err().kind(), ErrorKind::UnexpectedEof);
            assert!((flushed..=flushed + lost).contains(&received));
        });
        executor.run(&mut noise);
    }
}

/// Polls a handshake a number of times, and drops it. The peer's handshake must end, too.
#[test]
fn a_dropped_handshake_ends_the_peers_handshake() {
    for versions in Versions::EACH {
        for polls in 0..12 {
            for drops_client in [false, true] {
                let mut noise = Noise::new(polls + 1);
                let weather = Weather {
                    capacity: 300,
                    most: 200,
                    pending: 2,
                };
                let (one, other) = pipe(&mut noise, weather);
                let (client, server) = configs(versions, PROVIDERS[0]);
                let connect = TlsConnector::from(Arc::new(client)).connect(server_name(), one);
                let accept = TlsAcceptor::from(Arc::new(server)).accept(other);
                let mut executor = Executor::default();
                let ends_of = |result: std::io::Result<()>| {
                    if let Err(error) = result {
                        let kinds = [ErrorKind::BrokenPipe, ErrorKind::UnexpectedEof];
                        assert!(kinds.contains(&error.kind()), "{error}");
                    }
                };
                if drops_client {
                    executor.spawn("client", give_up(connect, polls));
                    executor.spawn("server", async move { ends_of(accept.await.map(drop)) });
                } else {
                    executor.spawn("server", give_up(accept, polls));
                    executor.spawn("client", async move { ends_of(connect.await.map(drop)) });
                }
                executor.run(&mut noise);
            }
        }
    }
}

async fn give_up(handshake: impl Future, polls: u64) {
    let mut handshake = std::pin::pin!(handshake);
    for _ in 0..polls {
        if try_once(handshake.as_mut()).await.is_some() {
            return;
        }
        yield_now().await;
    }
}

async fn yield_now() {
    let mut has_yielded = false;
    std::future::poll_fn(|task| {
        if std::mem::replace(&mut has_yielded, true) {
            return std::task::Poll::Ready(());
        }
        task.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
