//! Observers of connections below streams. Each event is reported exactly once, even if a stream is
//! dropped while it connects, accepts or waits.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use harness::operations::{Plan, When, slow_server};
use harness::peers::configs::{PROVIDERS, Provider, Versions, product, product3, server_name};
use harness::peers::events::{Events, lines};
use harness::wire::Noise;
use rustls::server::Acceptor;
use rustls::{ClientConfig, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{LazyConfigAcceptor, TlsAcceptor, TlsConnector, client, server};

use crate::kit::configs;
use crate::kit::executor::{Executor, poll_while_woken};
use crate::kit::pipe::{End, Weather, pipe};

const DROPPED: &str = "begun; failed in handshake: dropped application; closed dropped";

/// A client and a server with an observer each.
struct Observed {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    of_client: Arc<Events>,
    of_server: Arc<Events>,
}

impl Observed {
    fn new(provider: Provider, versions: Versions) -> Self {
        Self::with(provider, versions, |_| ())
    }

    fn with(provider: Provider, versions: Versions, edit: impl FnOnce(&mut ServerConfig)) -> Self {
        let (mut client, mut server) = configs(versions, provider);
        let (of_client, of_server) = (Events::new(), Events::new());
        edit(&mut server);
        client.observer = Some(of_client.clone());
        server.observer = Some(of_server.clone());
        Self {
            client: client.into(),
            server: server.into(),
            of_client,
            of_server,
        }
    }

    async fn connect(&self, end: End) -> io::Result<client::TlsStream<End>> {
        let connector = TlsConnector::from(self.client.clone());
        connector.connect(server_name(), end).await
    }

    async fn accept(&self, accepting: Accepting, end: End) -> io::Result<server::TlsStream<End>> {
        match accepting {
            Accepting::Eager => TlsAcceptor::from(self.server.clone()).accept(end).await,
            Accepting::Lazy => {
                let start = LazyConfigAcceptor::new(self.acceptor(), end).await?;
                start.into_stream(self.server.clone()).await
            }
        }
    }

    /// Returns an acceptor with the server's observer.
    fn acceptor(&self) -> Acceptor {
        let mut acceptor = Acceptor::default();
        acceptor.set_observer(self.of_server.clone());
        acceptor
    }

    /// Takes the events of the client and those of the server.
    fn take(&self) -> [String; 2] {
        [&self.of_client, &self.of_server].map(|events| lines(&events.take_one()))
    }
}

#[derive(Clone, Copy, Debug)]
enum Accepting {
    Eager,
    /// The configuration is chosen after the ClientHello.
    Lazy,
}

const BOTH: [Accepting; 2] = [Accepting::Eager, Accepting::Lazy];

/// Runs both futures.
fn run<T>(both: impl Future<Output = io::Result<T>>) {
    let mut executor = Executor::default();
    executor.spawn("both", async {
        both.await.unwrap();
    });
    executor.run(&mut Noise::new(1));
}

/// Tests whole streams and split ones.
#[test]
fn streams_report_the_events_of_their_connections() {
    let cases = product3(PROVIDERS, Versions::EACH, BOTH);
    for ((provider, versions, accepting), splits) in product(cases, [false, true]) {
        let observed = Observed::new(provider, versions);
        for kind in ["Full", "Resumed"] {
            let (one, other) = pipe(&mut Noise::new(1), Weather::CALM);
            run(async {
                let connect = observed.connect(one);
                let accept = observed.accept(accepting, other);
                let (mut client, server) = tokio::try_join!(connect, accept)?;
                let mut request = [0; 4];
                client.write_all(b"ping").await?;
                client.flush().await?;
                if splits {
                    let (mut reader, mut writer) = server.into_split(End::split).unwrap();
                    reader.read_exact(&mut request).await?;
                    writer.write_all(&request).await?;
                    writer.shutdown().await?;
                    client.shutdown().await?;
                    reader.read_to_end(&mut Vec::new()).await?;
                } else {
                    let mut server = server;
                    server.read_exact(&mut request).await?;
                    server.write_all(&request).await?;
                    server.shutdown().await?;
                    client.shutdown().await?;
                    server.read_to_end(&mut Vec::new()).await?;
                }
                client.read_to_end(&mut Vec::new()).await
            });
            for events in observed.take() {
                let begin = format!("begun; finished {kind}; ");
                assert!(events.starts_with(&begin), "{events}");
                assert!(events.ends_with("; closed clean"), "{events}");
                assert!(!events.contains("failed"), "{events}");
            }
        }
    }
}

/// Polls `one` and `other` in turn, together `polls` times. Returns `Some` for each that is ready.
fn poll_in_turn<A, B>(
    mut one: Pin<&mut impl Future<Output = A>>,
    mut other: Pin<&mut impl Future<Output = B>>,
    polls: usize,
) -> [Option<()>; 2] {
    let mut ready = [None; 2];
    for poll in 0..polls {
        let side = poll % 2;
        if ready[side].is_some() {
            continue;
        }
        let polled = poll_while_woken(|task| match side {
            0 => one.as_mut().poll(task).map(drop),
            _ => other.as_mut().poll(task).map(drop),
        });
        if polled.is_ready() {
            ready[side] = Some(());
        }
    }
    ready
}

/// The futures are dropped before their first poll, between two flights, and with the streams that
/// they return.
#[test]
fn a_dropped_handshake_is_reported_as_failed_once() {
    for (provider, versions, accepting) in product3(PROVIDERS, Versions::EACH, BOTH) {
        let observed = Observed::new(provider, versions);
        for polls in 0.. {
            let (one, other) = pipe(&mut Noise::new(1), Weather::CALM);
            let ready = {
                let mut connect = Box::pin(observed.connect(one));
                let mut accept = Box::pin(observed.accept(accepting, other));
                poll_in_turn(connect.as_mut(), accept.as_mut(), polls)
            };
            // these futures create their connections when they are first polled
            let events = [(&observed.of_client, 1), (&observed.of_server, 2)];
            for ((events, first), ready) in events.into_iter().zip(ready) {
                if polls < first {
                    assert!(events.take().is_empty());
                    continue;
                }
                let events = lines(&events.take_one());
                match ready {
                    Some(()) => {
                        assert!(events.starts_with("begun; finished Full"), "{events}");
                        assert!(events.ends_with("closed dropped"), "{events}");
                        assert!(!events.contains("failed"), "{events}");
                    }
                    None => assert_eq!(events, DROPPED, "{versions:?} {accepting:?} {polls}"),
                }
            }
            if ready.iter().all(Option::is_some) {
                assert!(polls > 3);
                break;
            }
        }
    }
}

/// The futures of connectors and acceptors have their connections before the first poll.
#[test]
fn a_future_that_is_never_polled_is_reported_as_failed_once() {
    let observed = Observed::new(PROVIDERS[0], Versions::Tls13);
    let (one, other) = pipe(&mut Noise::new(1), Weather::CALM);
    let connector = TlsConnector::from(observed.client.clone());
    drop(connector.connect(server_name(), one));
    drop(TlsAcceptor::from(observed.server.clone()).accept(other));
    assert_eq!(observed.take(), [DROPPED, DROPPED]);
}

/// Between the ClientHello and the configuration, only the acceptor's observer knows of the
/// connection.
#[test]
fn only_the_acceptors_observer_sees_a_handshake_without_a_configuration() {
    for (versions, is_observed) in product(Versions::EACH, [true, false]) {
        let observed = Observed::new(PROVIDERS[0], versions);
        let (one, other) = pipe(&mut Noise::new(1), Weather::CALM);
        let acceptor = match is_observed {
            true => observed.acceptor(),
            false => Acceptor::default(),
        };
        let mut connect = Box::pin(observed.connect(one));
        assert!(poll_while_woken(|task| connect.as_mut().poll(task)).is_pending());
        let mut accept = LazyConfigAcceptor::new(acceptor, other);
        let start = match poll_while_woken(|task| Pin::new(&mut accept).poll(task)) {
            Poll::Ready(start) => start.unwrap(),
            Poll::Pending => panic!("no ClientHello"),
        };
        drop((accept, start));
        drop(connect);
        assert_eq!(lines(&observed.of_client.take_one()), DROPPED);
        match is_observed {
            true => assert_eq!(lines(&observed.of_server.take_one()), DROPPED),
            false => assert!(observed.of_server.take().is_empty()),
        }
    }
}

/// Drops the handshake, or its peer, while the server waits for `operation`.
#[test]
fn a_handshake_that_waits_for_an_operation_is_reported_as_failed_once() {
    let cases = product3(["resolve", "sign"], Versions::EACH, BOTH);
    for ((operation, versions, accepting), peer_leaves) in product(cases, [false, true]) {
        let plan = Arc::new(Plan::new(When::Never).only(operation));
        let observed = Observed::with(PROVIDERS[0], versions, |server| slow_server(server, &plan));
        let (one, other) = pipe(&mut Noise::new(1), Weather::CALM);
        let mut connect = Box::pin(observed.connect(one));
        let mut accept = Box::pin(observed.accept(accepting, other));
        let polled = poll_in_turn(connect.as_mut(), accept.as_mut(), 2);
        assert_eq!(polled, [None, None]);
        assert!(plan.futures().contains(operation));
        assert_eq!(lines(&observed.of_server.so_far()), "begun");
        drop(connect);
        let expected = if peer_leaves {
            run(async {
                let error = poll_fn(|task| accept.as_mut().poll(task))
                    .await
                    .unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
                Ok(())
            });
            "begun; failed in handshake: end_of_stream network; closed truncated"
        } else {
            DROPPED
        };
        drop(accept);
        assert_eq!(plan.dropped(), 1);
        assert_eq!(observed.take(), [DROPPED, expected]);
    }
}
