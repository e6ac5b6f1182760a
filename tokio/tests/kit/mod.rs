//! What the tests have in common.
//!
//! ```text
//!   crates ────── the streams of this crate and of the published one, behind one trait
//!   transport ─── a transport over memory to a peer, which counts calls and fails as told
//!   pipe ──────── a transport between two streams, with random delays
//!   executor ──── runs tasks, and polls them only when they were woken
//!   talk ──────── tasks that send and receive random pieces of known bytes
//! ```

pub(crate) mod crates;
pub(crate) mod executor;
pub(crate) mod pipe;
pub(crate) mod talk;
pub(crate) mod transport;

use std::sync::Arc;

use executor::Executor;
use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, server_name, this};
use harness::wire::Noise;
use pipe::{End, Weather, pipe};
use rustls::{ClientConfig, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// Configurations of this crate that go together.
pub(crate) fn configs(versions: Versions, provider: Provider) -> (ClientConfig, ServerConfig) {
    let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    let client = this::client_of(versions, provider.this(), key, auth);
    let server = this::server_of(versions, provider.this(), key, auth);
    (client, server)
}

/// Connects a client and a server over a pipe.
pub(crate) fn connected(
    (client, server): (ClientConfig, ServerConfig),
    weather: Weather,
    noise: &mut Noise,
) -> (client::TlsStream<End>, server::TlsStream<End>) {
    // the last flight of a server must have room, because the client does not wait for it
    let roomy = Weather {
        capacity: weather.capacity.max(2000),
        ..weather
    };
    let (one, other) = pipe(noise, roomy);
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
    let connected = connected.unwrap();
    connected.get_ref().0.set_weather(weather);
    (connected, accepted.unwrap())
}
