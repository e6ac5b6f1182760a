//! Both ends send at the same time, in random pieces, flush now and then, replace keys, drop
//! futures that are pending, and close.

use harness::peers::configs::{PROVIDERS, Versions};
use harness::wire::Noise;
use tokio::io::AsyncWrite;
use tokio_rustls::{client, server};

use crate::kit::executor::Executor;
use crate::kit::pipe::{End, Weather};
use crate::kit::talk::{Lend, Refresh, Shared, receive, send};
use crate::kit::{configs, connected};

/// Runs the four tasks of a conversation.
fn talk<'a, A, B, C, D>(seed: u64, client: (A, B), server: (C, D))
where
    A: Lend + 'a,
    B: AsyncWrite + Refresh + Unpin + 'a,
    C: Lend + 'a,
    D: AsyncWrite + Refresh + Unpin + 'a,
{
    let mut noise = Noise::new(seed);
    let totals = [noise.up_to(50_000), noise.up_to(50_000)];
    let mut executor = Executor::default();
    let mut next = || Noise::new(noise.next());
    executor.spawn("client receives", receive_all(client.0, totals[1], next()));
    executor.spawn("server receives", receive_all(server.0, totals[0], next()));
    let [of_client, of_server] = [next(), next()];
    executor.spawn("client sends", async move {
        send(client.1, totals[0], of_client).await.unwrap();
    });
    executor.spawn("server sends", async move {
        send(server.1, totals[1], of_server).await.unwrap();
    });
    executor.run(&mut next());
}

async fn receive_all(stream: impl Lend, total: usize, noise: Noise) {
    let (received, end) = receive(stream, noise).await;
    end.unwrap();
    assert_eq!(received, total);
}

/// Calls `f` with connected streams over pipes of different behaviour.
fn for_each_weather(f: impl Fn(u64, client::TlsStream<End>, server::TlsStream<End>)) {
    for seed in 1..30 {
        let mut noise = Noise::new(seed);
        let versions = Versions::EACH[seed as usize % 2];
        let configs = configs(versions, PROVIDERS[seed as usize / 2 % 2]);
        let weather = Weather::random(&mut noise);
        let (client, server) = connected(configs, weather, &mut noise);
        f(seed, client, server);
    }
}

#[test]
fn two_tasks_with_a_lock_lose_nothing() {
    for_each_weather(|seed, client, server| {
        talk(seed, Shared::both(client), Shared::both(server));
    });
}

#[test]
fn two_tasks_with_halves_lose_nothing() {
    for_each_weather(|seed, client, server| {
        let client = client.into_split(End::split).unwrap();
        let server = server.into_split(End::split).unwrap();
        talk(seed, client, server);
    });
}
