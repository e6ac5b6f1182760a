//! Both ends send at the same time, in random pieces, flush now and then, replace keys, drop
//! futures that are pending, and close.

use std::io::ErrorKind;
use std::ops::Range;

use harness::peers::configs::{PROVIDERS, Versions};
use harness::wire::Noise;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_rustls::{client, server};

use crate::kit::executor::Executor;
use crate::kit::pipe::{End, Weather};
use crate::kit::talk::{Lend, Refresh, Shared, pattern, receive, send};
use crate::kit::threads::{Task, run_on_threads};
use crate::kit::{BAD_RECORD, configs, connected};

/// Returns the four tasks of a conversation.
fn talk<'a, A, B, C, D>(noise: &mut Noise, client: (A, B), server: (C, D)) -> Vec<Task<'a>>
where
    A: Lend + Send + 'a,
    B: AsyncWrite + Refresh + Send + Unpin + 'a,
    C: Lend + Send + 'a,
    D: AsyncWrite + Refresh + Send + Unpin + 'a,
{
    let totals = [noise.up_to(50_000), noise.up_to(50_000)];
    let mut next = || Noise::new(noise.next());
    vec![
        (
            "client receives",
            Box::pin(receive_all(client.0, totals[1], next())),
        ),
        (
            "server receives",
            Box::pin(receive_all(server.0, totals[0], next())),
        ),
        (
            "client sends",
            Box::pin(send_all(client.1, totals[0], next())),
        ),
        (
            "server sends",
            Box::pin(send_all(server.1, totals[1], next())),
        ),
    ]
}

fn run(tasks: Vec<Task<'_>>, noise: &mut Noise) {
    let mut executor = Executor::default();
    for (name, task) in tasks {
        executor.spawn(name, task);
    }
    executor.run(noise);
}

async fn send_all<S: AsyncWrite + Refresh + Unpin>(stream: S, total: usize, noise: Noise) {
    send(stream, total, noise).await.unwrap();
}

async fn receive_all(stream: impl Lend, total: usize, noise: Noise) {
    let (received, end) = receive(stream, noise).await;
    end.unwrap();
    assert_eq!(received, total);
}

/// Calls `f` with connected streams, over pipes that behave differently for each seed.
fn for_each_weather(
    seeds: Range<u64>,
    f: impl Fn(&mut Noise, client::TlsStream<End>, server::TlsStream<End>),
) {
    for seed in seeds {
        let mut noise = Noise::new(seed);
        let versions = Versions::EACH[seed as usize % 2];
        let configs = configs(versions, PROVIDERS[seed as usize / 2 % 2]);
        let weather = Weather::random(&mut noise);
        let (client, server) = connected(configs, weather, &mut noise);
        f(&mut noise, client, server);
    }
}

#[test]
fn two_tasks_with_a_lock_lose_nothing() {
    for_each_weather(1..30, |noise, client, server| {
        let tasks = talk(noise, Shared::both(client), Shared::both(server));
        run(tasks, noise);
    });
}

#[test]
fn two_tasks_with_halves_lose_nothing() {
    for_each_weather(1..30, |noise, client, server| {
        let client = client.into_split(End::split).unwrap();
        let server = server.into_split(End::split).unwrap();
        let tasks = talk(noise, client, server);
        run(tasks, noise);
    });
}

#[test]
fn two_threads_with_halves_lose_nothing() {
    for_each_weather(1..12, |noise, client, server| {
        let client = client.into_split(End::split).unwrap();
        let server = server.into_split(End::split).unwrap();
        run_on_threads(talk(noise, client, server));
    });
}

/// Returns the tasks of a server that receives a record that it cannot decrypt. The client reads
/// nothing, so only the reading half can wake the task that writes.
fn failing<'a>(
    noise: &mut Noise,
    client: &'a mut client::TlsStream<End>,
    server: server::TlsStream<End>,
) -> Vec<Task<'a>> {
    let (reader, writer) = server.into_split(End::split).unwrap();
    let [of_reader, of_writer, mut of_client] = [(); 3].map(|()| Noise::new(noise.next()));
    vec![
        (
            "server receives",
            Box::pin(async move {
                let (_, end) = receive(reader, of_reader).await;
                assert_eq!(end.unwrap_err().kind(), ErrorKind::InvalidData);
            }),
        ),
        (
            "server sends",
            Box::pin(async move {
                let error = send(writer, usize::MAX, of_writer).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidData);
            }),
        ),
        (
            "client sends",
            Box::pin(async move {
                let data: Vec<u8> = (0..of_client.up_to(30_000)).map(pattern).collect();
                client.write_all(&data).await.unwrap();
                client.flush().await.unwrap();
                client.get_ref().0.inject_outgoing(&BAD_RECORD);
            }),
        ),
    ]
}

#[test]
fn a_failure_ends_both_halves() {
    for_each_weather(1..30, |noise, mut client, server| {
        let tasks = failing(noise, &mut client, server);
        run(tasks, noise);
    });
    for_each_weather(1..30, |noise, mut client, server| {
        run_on_threads(failing(noise, &mut client, server));
    });
}
