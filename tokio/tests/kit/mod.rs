//! The parts that the tests share.
//!
//! ```text
//!   crates ────── the streams of this crate and of the published one, behind one trait
//!   transport ─── a transport over memory to a peer, which counts calls and fails on request
//!   pipe ──────── a transport between two streams, with random delays
//!   executor ──── runs tasks, and polls them only when they were woken
//!   threads ───── the same, with a thread for each task
//!   talk ──────── tasks that send and receive random pieces of known bytes
//! ```

pub(crate) mod crates;
pub(crate) mod executor;
pub(crate) mod pipe;
pub(crate) mod talk;
pub(crate) mod threads;
pub(crate) mod transport;

use std::sync::Arc;

use executor::Executor;
use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, server_name, this};
use harness::wire::Noise;
use pipe::{End, Weather, pipe};
use rustls::{ClientConfig, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// A record that cannot be decrypted.
pub(crate) const BAD_RECORD: [u8; 25] = [
    23, 3, 3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
];

/// Returns configurations of this crate for a server and for a client that trusts it.
pub(crate) fn configs(versions: Versions, provider: Provider) -> (ClientConfig, ServerConfig) {
    let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    let client = this::client_of(versions, provider.this(), key, auth);
    let server = this::server_of(versions, provider.this(), key, auth);
    (client, server)
}

/// Connects a client and a server over the two ends of a transport.
pub(crate) fn connected_over<C, S>(
    (one, other): (C, S),
    (client, server): (ClientConfig, ServerConfig),
    noise: &mut Noise,
) -> (client::TlsStream<C>, server::TlsStream<S>)
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut connected, mut accepted) = (None, None);
    let mut executor = Executor::default();
    executor.spawn("client", async {
        let connector = TlsConnector::from(Arc::new(client));
        connected = Some(connector.connect(server_name(), one).await.unwrap());
    });
    executor.spawn("server", async {
        let acceptor = TlsAcceptor::from(Arc::new(server));
        accepted = Some(acceptor.accept(other).await.unwrap());
    });
    executor.run(noise);
    drop(executor);
    (connected.unwrap(), accepted.unwrap())
}

/// Connects a client and a server over a pipe.
pub(crate) fn connected(
    configs: (ClientConfig, ServerConfig),
    weather: Weather,
    noise: &mut Noise,
) -> (client::TlsStream<End>, server::TlsStream<End>) {
    // the last flight of a server must have room, because the client does not wait for it
    let roomy = Weather {
        capacity: weather.capacity.max(2000),
        ..weather
    };
    let ends = pipe(noise, roomy);
    let (client, server) = connected_over(ends, configs, noise);
    client.get_ref().0.set_weather(weather);
    (client, server)
}
