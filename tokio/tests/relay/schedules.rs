//! A proxy between two peers that send at the same time, in random pieces, replace keys, and close
//! one after the other.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Versions, server_name};
use harness::wire::Noise;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufStream};
use tokio_rustls::relay::{Plain, Relay, Tls};
use tokio_rustls::{TlsAcceptor, TlsConnector, copy_bidirectional};

use crate::kit::executor::{Executor, poll_while_woken};
use crate::kit::pipe::{Weather, pipe};
use crate::kit::talk::{Lend, Refresh, Shared, pattern, receive, send};
use crate::kit::{configs, connected};
use crate::schedules::early_data::resumable;

/// Runs both peers and the proxy between them. Returns the numbers of bytes that the peers sent,
/// and the proxy's result.
fn converse<'a, L, R, P>(noise: &mut Noise, left: L, right: R, proxy: P) -> ((u64, u64), (u64, u64))
where
    L: Lend + AsyncWrite + Refresh + 'a,
    R: Lend + AsyncWrite + Refresh + 'a,
    P: Future<Output = io::Result<(u64, u64)>> + 'a,
{
    let totals = [noise.up_to(50_000), noise.up_to(50_000)];
    let mut copied = None;
    let mut next = || Noise::new(noise.next());
    let mut executor = Executor::default();
    let (left, right) = (Shared::both(left), Shared::both(right));
    executor.spawn("left sends", send_all(left.0, totals[0], next()));
    executor.spawn("right sends", send_all(right.0, totals[1], next()));
    executor.spawn("left receives", receive_all(left.1, totals[1], next()));
    executor.spawn("right receives", receive_all(right.1, totals[0], next()));
    executor.spawn("proxy", async {
        copied = Some(proxy.await.unwrap());
    });
    executor.run(&mut next());
    drop(executor);
    ((totals[0] as u64, totals[1] as u64), copied.unwrap())
}

async fn send_all(stream: impl AsyncWrite + Refresh + Unpin, total: usize, noise: Noise) {
    send(stream, total, noise).await.unwrap();
}

async fn receive_all(stream: impl Lend, total: usize, noise: Noise) {
    let (received, end) = receive(stream, noise).await;
    end.unwrap();
    assert_eq!(received, total);
}

/// Calls [`copy_bidirectional`] again for every wake-up, so that each future but the last is
/// dropped while it is pending.
async fn copy_in_many_calls(a: &mut impl Tls, b: &mut impl Relay) -> io::Result<(u64, u64)> {
    poll_fn(|task| pin!(copy_bidirectional(a, b)).poll(task)).await
}

/// The provider of a proxy, and the versions and weather on both of its sides, which depend on a
/// seed.
struct Scene {
    noise: Noise,
    versions: [Versions; 2],
    weather: [Weather; 2],
    provider: usize,
}

impl Scene {
    fn new(seed: usize) -> Self {
        let mut noise = Noise::new(seed as u64);
        Self {
            versions: [Versions::EACH[seed % 2], Versions::EACH[seed / 2 % 2]],
            provider: seed / 4 % 2,
            weather: [Weather::random(&mut noise), Weather::random(&mut noise)],
            noise,
        }
    }
}

#[test]
fn a_proxy_between_tls_peers_loses_nothing() {
    for seed in 0..24 {
        let mut scene = Scene::new(seed);
        let mut connect = |side: usize| {
            let configs = configs(scene.versions[side], PROVIDERS[scene.provider]);
            connected(configs, scene.weather[side], &mut scene.noise)
        };
        let (left, mut front) = connect(0);
        let (mut back, right) = connect(1);
        let is_cancelled = seed % 3 == 0;
        let proxy = async {
            match is_cancelled {
                true => copy_in_many_calls(&mut front, &mut back).await,
                false => copy_bidirectional(&mut front, &mut back).await,
            }
        };
        let (sent, copied) = converse(&mut scene.noise, left, right, proxy);
        assert!(is_cancelled || copied == sent, "{copied:?} of {sent:?}");
    }
}

#[test]
fn a_proxy_between_a_tls_peer_and_a_plain_one_loses_nothing() {
    for seed in 0..24 {
        let mut scene = Scene::new(seed);
        let configs = configs(scene.versions[0], PROVIDERS[scene.provider]);
        let (left, mut front) = connected(configs, scene.weather[0], &mut scene.noise);
        let (back, right) = pipe(&mut scene.noise, scene.weather[1]);
        let mut back = Plain(back);
        let is_cancelled = seed % 3 == 0;
        let proxy = async {
            match is_cancelled {
                true => copy_in_many_calls(&mut front, &mut back).await,
                false => copy_bidirectional(&mut front, &mut back).await,
            }
        };
        let right = BufReader::new(right);
        let (sent, copied) = converse(&mut scene.noise, left, right, proxy);
        assert!(is_cancelled || copied == sent, "{copied:?} of {sent:?}");
    }
}

/// A stream that can send early data is connected before its handshake, which the proxy completes.
#[test]
fn a_proxy_completes_the_handshake_of_a_stream_with_early_data() {
    for seed in 1..20 {
        let mut noise = Noise::new(seed);
        let weather = Weather::random(&mut noise);
        let front_configs = configs(Versions::Tls13, PROVIDERS[0]);
        let (mut left, mut front) = connected(front_configs, weather, &mut noise);
        let (client, server) = resumable(&mut noise);
        let weather = Weather::random(&mut noise);
        let (one, other) = pipe(&mut noise, weather);
        let connector = TlsConnector::from(Arc::new(client)).early_data(true);
        let mut connect = Box::pin(connector.connect(server_name(), one));
        let connected = poll_while_woken(|task| connect.as_mut().poll(task));
        let std::task::Poll::Ready(Ok(mut back)) = connected else {
            panic!("it waits for the server");
        };

        let data: Vec<u8> = (0..20_000).map(pattern).collect();
        let mut executor = Executor::default();
        executor.spawn("left", async {
            left.write_all(&data).await.unwrap();
            left.shutdown().await.unwrap();
            let mut answer = Vec::new();
            left.read_to_end(&mut answer).await.unwrap();
            assert!(answer == data);
        });
        executor.spawn("right", async {
            let accept = TlsAcceptor::from(Arc::new(server)).accept(other);
            let mut right = accept.await.unwrap();
            let mut request = Vec::new();
            right.read_to_end(&mut request).await.unwrap();
            right.write_all(&request).await.unwrap();
            right.shutdown().await.unwrap();
        });
        executor.spawn("proxy", async {
            let copied = copy_bidirectional(&mut front, &mut back).await.unwrap();
            assert_eq!(copied, (20_000, 20_000));
        });
        executor.run(&mut noise);
    }
}

/// The peer completes its handshake, although nobody sends data.
#[test]
fn a_proxy_flushes_the_handshake_of_a_stream_with_early_data() {
    let mut noise = Noise::new(1);
    let front_configs = configs(Versions::Tls13, PROVIDERS[0]);
    let (mut left, mut front) = connected(front_configs, Weather::CALM, &mut noise);
    let (client, server) = resumable(&mut noise);
    let (one, other) = pipe(&mut noise, Weather::CALM);
    let connector = TlsConnector::from(Arc::new(client)).early_data(true);
    let mut connect = Box::pin(connector.connect(server_name(), BufStream::new(one)));
    let connected = poll_while_woken(|task| connect.as_mut().poll(task));
    let std::task::Poll::Ready(Ok(mut back)) = connected else {
        panic!("it waits for the server");
    };
    let mut executor = Executor::default();
    executor.spawn("right speaks first", async {
        let accept = TlsAcceptor::from(Arc::new(server)).accept(other);
        let mut right = accept.await.unwrap();
        right.write_all(b"welcome").await.unwrap();
        right.shutdown().await.unwrap();
        assert_eq!(right.read(&mut [0]).await.unwrap(), 0);
    });
    executor.spawn("left", async {
        let mut answer = Vec::new();
        left.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"welcome");
        left.shutdown().await.unwrap();
    });
    executor.spawn("proxy", async {
        let copied = copy_bidirectional(&mut front, &mut back).await.unwrap();
        assert_eq!(copied, (0, 7));
    });
    executor.run(&mut noise);
}
