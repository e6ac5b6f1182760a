//! Operations of the application that take time: accept, connect and the streams poll them.

use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use harness::operations::{Plan, When, slow_client, slow_server};
use harness::peers::configs::{KeyType, PROVIDERS, Versions, server_name, this};
use harness::wire::Noise;
use rustls::client::WebPkiServerVerifier;
use rustls::operation::BoxFuture;
use rustls::server::{Acceptor, ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{
    ClientConfig, Error, ServerConfig, ServerConnection, SignatureAlgorithm, SignatureScheme,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::{LazyConfigAcceptor, TlsAcceptor, TlsConnector};

use crate::kit::executor::{Executor, poll_while_woken};
use crate::kit::pipe::{Weather, pipe};
use crate::kit::{configs, connected};

/// Makes all operations of both sides slow.
fn slow(
    (mut client, mut server): (ClientConfig, ServerConfig),
    plan: &Arc<Plan>,
) -> (ClientConfig, ServerConfig) {
    let provider = client.crypto_provider().clone();
    let roots = this::roots(KeyType::EcdsaP256);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider);
    slow_client(&mut client, verifier.build().unwrap(), plan);
    slow_server(&mut server, plan);
    (client, server)
}

#[test]
fn handshakes_wait_for_all_operations() {
    for when in [
        When::Ready,
        When::After(1),
        When::After(3),
        When::FromThread,
    ] {
        for versions in Versions::EACH {
            for provider in PROVIDERS {
                let plan = Arc::new(Plan::new(when));
                let configs = slow(configs(versions, provider), &plan);
                if when == When::FromThread {
                    run_on_tokio(configs);
                } else {
                    let mut noise = Noise::new(7);
                    let weather = Weather::random(&mut noise);
                    drop(connected(configs, weather, &mut noise));
                }
                for operation in ["resolve", "sign", "verify_server_cert"] {
                    assert!(plan.futures().contains(operation), "{when:?} {operation}");
                }
                assert_eq!(plan.dropped(), 0);
            }
        }
    }
}

/// Exchanges a few bytes on a runtime with one thread.
#[tokio::main(flavor = "current_thread")]
async fn run_on_tokio((client, server): (ClientConfig, ServerConfig)) {
    let (one, other) = duplex(1000);
    let client = async {
        let connector = TlsConnector::from(Arc::new(client));
        let mut stream = connector.connect(server_name(), one).await.unwrap();
        stream.write_all(b"ping").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"ping");
    };
    let server = async {
        let acceptor = LazyConfigAcceptor::new(Acceptor::default(), other);
        let start = acceptor.await.unwrap();
        let mut stream = start.into_stream(Arc::new(server)).await.unwrap();
        let mut request = Vec::new();
        stream.read_to_end(&mut request).await.unwrap();
        stream.write_all(&request).await.unwrap();
        stream.shutdown().await.unwrap();
    };
    tokio::join!(client, server);
}

#[test]
fn set_async_false_keeps_a_connection_from_waiting() {
    let plan = Arc::new(Plan::new(When::Never));
    let (client, server) = slow(configs(Versions::Tls13, PROVIDERS[0]), &plan);
    let mut noise = Noise::new(1);
    let (one, other) = pipe(&mut noise, Weather::CALM);
    let connector = TlsConnector::from(Arc::new(client));
    let connect = connector.connect_with(server_name(), one, |conn| conn.set_async(false));
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let accept = acceptor.accept_with(other, |conn| conn.set_async(false));
    let mut executor = Executor::default();
    executor.spawn("both", async {
        tokio::try_join!(connect, accept).unwrap();
    });
    executor.run(&mut noise);
    assert!(plan.futures().is_empty());
}

/// The connection handles the ClientHello before the program gets the connection.
#[test]
fn set_async_false_after_the_client_hello_keeps_a_lazy_connection_from_waiting() {
    for (only, expected) in [
        (None, Some("resolve")),
        (Some("resolve"), Some("resolve")),
        (Some("sign"), Some("sign")),
        (Some("encrypt"), None),
    ] {
        for versions in Versions::EACH {
            let mut plan = Plan::new(When::After(1));
            if let Some(only) = only {
                plan = plan.only(only);
            }
            let plan = Arc::new(plan);
            let (client, mut server) = configs(versions, PROVIDERS[0]);
            server.ticketer = PROVIDERS[0].this_ticketer();
            slow_server(&mut server, &plan);
            let mut noise = Noise::new(1);
            let (one, other) = pipe(&mut noise, Weather::CALM);
            let connect = TlsConnector::from(Arc::new(client)).connect(server_name(), one);
            let accept = async {
                let start = LazyConfigAcceptor::new(Acceptor::default(), other).await?;
                let tell = |conn: &mut ServerConnection| conn.set_async(false);
                start.into_stream_with(Arc::new(server), tell).await
            };
            let mut executor = Executor::default();
            executor.spawn("both", async {
                tokio::try_join!(connect, accept).unwrap();
            });
            executor.run(&mut noise);
            drop(executor);
            let futures: Vec<_> = plan.futures().into_iter().collect();
            assert_eq!(futures, Vec::from_iter(expected), "{only:?} {versions:?}");
        }
    }
}

/// Code for rustls 0.23 polls no operations.
#[test]
fn a_connection_taken_out_of_a_lazy_handshake_does_not_wait() {
    let plan = Arc::new(Plan::new(When::Never));
    let (client, server) = configs(Versions::Tls13, PROVIDERS[0]);
    let (_, slow_server) = slow((client.clone(), server), &plan);
    let (one, other) = pipe(&mut Noise::new(1), Weather::CALM);
    let mut connect = Box::pin(TlsConnector::from(Arc::new(client)).connect(server_name(), one));
    assert!(poll_while_woken(|cx| connect.as_mut().poll(cx)).is_pending());
    let mut acceptor = LazyConfigAcceptor::new(Acceptor::default(), other);
    let Poll::Ready(Ok(start)) = poll_while_woken(|cx| Pin::new(&mut acceptor).poll(cx)) else {
        panic!("no ClientHello");
    };
    let connection = start.accepted.into_connection(Arc::new(slow_server));
    let connection = connection.map_err(|(error, _)| error).unwrap();
    assert!(!connection.is_waiting());
    assert!(plan.futures().is_empty());
}

/// The ways in which a client ends the handshake during an operation of the server.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    Vanishes,
    SendsAlert,
}

#[test]
fn a_peer_that_disconnects_ends_an_operation() {
    for operation in ["resolve", "sign"] {
        for leaving in [Leaving::Vanishes, Leaving::SendsAlert] {
            let plan = Arc::new(Plan::new(When::Never).only(operation));
            let (client, server) = slow(configs(Versions::Tls13, PROVIDERS[0]), &plan);
            let mut noise = Noise::new(1);
            let (one, other) = pipe(&mut noise, Weather::CALM);
            let connector = TlsConnector::from(Arc::new(client));
            let mut connect = Box::pin(connector.connect(server_name(), one));
            let mut accept = TlsAcceptor::from(Arc::new(server)).accept(other);
            assert!(poll_while_woken(|cx| connect.as_mut().poll(cx)).is_pending());
            assert!(poll_while_woken(|cx| Pin::new(&mut accept).poll(cx)).is_pending());
            assert!(plan.futures().contains(operation));
            assert_eq!(plan.dropped(), 0);
            let expected = match leaving {
                Leaving::Vanishes => {
                    drop(connect);
                    ErrorKind::UnexpectedEof
                }
                Leaving::SendsAlert => {
                    let handshake_failure = b"\x15\x03\x03\x00\x02\x02\x28";
                    accept.get_ref().unwrap().inject(handshake_failure);
                    ErrorKind::InvalidData
                }
            };
            let mut executor = Executor::default();
            executor.spawn("server", async {
                let error = accept.await.unwrap_err();
                assert_eq!(error.kind(), expected, "{error}");
            });
            executor.run(&mut noise);
            drop(executor);
            assert_eq!(plan.dropped(), 1, "{operation} {leaving:?}");
        }
    }
}

/// The alert is read together with the ClientHello, before there is an operation.
#[test]
fn an_alert_after_a_client_hello_ends_the_operation_of_a_lazy_handshake() {
    let plan = Arc::new(Plan::new(When::Never).only("resolve"));
    let (client, server) = slow(configs(Versions::Tls13, PROVIDERS[0]), &plan);
    let mut noise = Noise::new(1);
    let (one, other) = pipe(&mut noise, Weather::CALM);
    let mut connect = Box::pin(TlsConnector::from(Arc::new(client)).connect(server_name(), one));
    assert!(poll_while_woken(|cx| connect.as_mut().poll(cx)).is_pending());
    other.inject(b"\x15\x03\x03\x00\x02\x02\x28");
    let mut executor = Executor::default();
    executor.spawn("server", async {
        let acceptor = LazyConfigAcceptor::new(Acceptor::default(), other);
        let start = acceptor.await.unwrap();
        let error = start.into_stream(Arc::new(server)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    });
    executor.run(&mut noise);
    assert_eq!(plan.dropped(), 1);
}

/// A client that has sent its Finished may close while the server creates its tickets: the
/// connection is complete, as without operations.
#[test]
fn the_end_of_the_stream_after_a_finished_message_ends_no_operation() {
    for versions in Versions::EACH {
        let plan = Arc::new(Plan::new(When::After(5)));
        let (client, mut server) = configs(versions, PROVIDERS[0]);
        server.ticketer = PROVIDERS[0].this_ticketer();
        slow_server(&mut server, &plan);
        let mut noise = Noise::new(1);
        let (one, other) = pipe(&mut noise, Weather::CALM);
        let mut executor = Executor::default();
        executor.spawn("client", async {
            let connector = TlsConnector::from(Arc::new(client));
            let handshake = connector.connect(server_name(), one);
            let mut stream = handshake.await.unwrap();
            stream.get_mut().0.end();
            let mut greeting = [0; 5];
            stream.read_exact(&mut greeting).await.unwrap();
            assert_eq!(&greeting, b"hello");
        });
        executor.spawn("server", async {
            let acceptor = TlsAcceptor::from(Arc::new(server));
            let mut stream = acceptor.accept(other).await.unwrap();
            stream.write_all(b"hello").await.unwrap();
            stream.flush().await.unwrap();
        });
        executor.run(&mut noise);
        drop(executor);
        assert!(plan.futures().contains("encrypt"), "{:?}", plan.futures());
        assert_eq!(plan.dropped(), 0);
    }
}

/// A service that signs only when it is told to.
#[derive(Debug)]
struct Service {
    /// The number of signatures that may be made.
    permits: Semaphore,
    requests: AtomicUsize,
}

/// Keys in a service.
#[derive(Debug)]
struct Remote<T: ?Sized> {
    service: Arc<Service>,
    inner: Arc<T>,
}

impl ResolvesServerCert for Remote<dyn ResolvesServerCert> {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let key = self.inner.resolve(hello)?;
        Some(Arc::new(CertifiedKey {
            key: Arc::new(Remote {
                service: self.service.clone(),
                inner: key.key.clone(),
            }),
            ..(*key).clone()
        }))
    }
}

impl SigningKey for Remote<dyn SigningKey> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let inner: Box<dyn Signer> = self.inner.choose_scheme(offered)?;
        Some(Box::new(Remote {
            service: self.service.clone(),
            inner: Arc::<dyn Signer>::from(inner),
        }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.inner.algorithm()
    }
}

impl Signer for Remote<dyn Signer> {
    fn sign_async(&self, message: &[u8]) -> Option<BoxFuture<Result<Vec<u8>, Error>>> {
        self.service.requests.fetch_add(1, Ordering::SeqCst);
        let signature = self.inner.sign(message);
        let service = self.service.clone();
        Some(Box::pin(async move {
            service.permits.acquire().await.unwrap().forget();
            signature
        }))
    }

    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Err(Error::General("this key needs `set_async`".into()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.inner.scheme()
    }
}

/// The remote key needs no setting besides the configuration.
#[tokio::test(flavor = "current_thread")]
async fn other_connections_continue_while_handshakes_wait_for_a_remote_key() {
    const WAITING: usize = 20;
    let service = Arc::new(Service {
        permits: Semaphore::new(1),
        requests: AtomicUsize::new(0),
    });
    let (client, mut server) = configs(Versions::Tls13, PROVIDERS[0]);
    server.cert_resolver = Arc::new(Remote {
        service: service.clone(),
        inner: server.cert_resolver.clone(),
    });
    let connector = TlsConnector::from(Arc::new(client));
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let connect = || {
        let (one, other) = duplex(10_000);
        let (connector, acceptor) = (connector.clone(), acceptor.clone());
        async move {
            let connecting = connector.connect(server_name(), one);
            tokio::try_join!(connecting, acceptor.accept(other)).unwrap()
        }
    };
    let (mut one, mut other) = connect().await;
    let handshakes: Vec<_> = (0..WAITING).map(|_| tokio::spawn(connect())).collect();
    while service.requests.load(Ordering::SeqCst) != 1 + WAITING {
        tokio::task::yield_now().await;
    }
    for _ in 0..100 {
        one.write_all(b"ping").await.unwrap();
        one.flush().await.unwrap();
        let mut ping = [0; 4];
        other.read_exact(&mut ping).await.unwrap();
        assert_eq!(&ping, b"ping");
    }
    assert!(!handshakes.iter().any(JoinHandle::is_finished));
    service.permits.add_permits(WAITING);
    for handshake in handshakes {
        handshake.await.unwrap();
    }
}
