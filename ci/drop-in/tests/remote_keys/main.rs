//! Servers whose private key is a service that takes time: hyper, axum-server and tonic on one
//! thread, which do not know of it. Only over the streams of this repository: the published
//! tokio-rustls does not poll such operations.

mod latencies;

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use drop_in::{Credentials, run};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::crypto::{CryptoProvider, KeyProvider, aws_lc_rs};
use rustls::operation::BoxFuture;
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{ClientConfig, Error, SignatureAlgorithm, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn, yield_now};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tonic::body::Body;
use tonic::client::Grpc as GrpcClient;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc as GrpcServer, NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// The service that has the keys.
trait KeyService: Send + Sync {
    /// Signs with `key`.
    fn sign(self: Arc<Self>, key: Arc<dyn Signer>, message: Vec<u8>) -> Signature;
}

enum Signature {
    Now(Result<Vec<u8>, Error>),
    Later(BoxFuture<Result<Vec<u8>, Error>>),
}

thread_local! {
    /// The service of the keys that this thread loads.
    static SERVICE: RefCell<Option<Arc<dyn KeyService>>> = const { RefCell::new(None) };
}

/// Loads keys that are used through the thread's service, if it has one. As a part of the default
/// provider, it also reaches servers that take a key in PEM and no configuration.
#[derive(Debug)]
struct RemoteKeys;

impl KeyProvider for RemoteKeys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        let inner = provider_of_keys().load_private_key(key)?;
        Ok(match SERVICE.with_borrow(Clone::clone) {
            Some(service) => Arc::new(Remote { service, inner }),
            None => inner,
        })
    }
}

fn provider_of_keys() -> &'static dyn KeyProvider {
    aws_lc_rs::default_provider().key_provider
}

fn provider() -> CryptoProvider {
    CryptoProvider {
        key_provider: &RemoteKeys,
        ..aws_lc_rs::default_provider()
    }
}

/// A key of a service.
struct Remote<K: ?Sized> {
    service: Arc<dyn KeyService>,
    inner: Arc<K>,
}

impl<K: ?Sized> std::fmt::Debug for Remote<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Remote")
    }
}

impl SigningKey for Remote<dyn SigningKey> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(Remote::<dyn Signer> {
            service: self.service.clone(),
            inner: self.inner.choose_scheme(offered)?.into(),
        }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.inner.algorithm()
    }
}

impl Signer for Remote<dyn Signer> {
    fn sign_async(&self, message: &[u8]) -> Option<BoxFuture<Result<Vec<u8>, Error>>> {
        let service = self.service.clone();
        Some(match service.sign(self.inner.clone(), message.to_vec()) {
            Signature::Later(signature) => signature,
            Signature::Now(signature) => Box::pin(async { signature }),
        })
    }

    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Err(Error::General("only an operation can use this key".into()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.inner.scheme()
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Hyper,
    AxumServer,
    Tonic,
}

const KINDS: [Kind; 3] = [Kind::Hyper, Kind::AxumServer, Kind::Tonic];

impl Kind {
    /// Runs a server. Nothing in it depends on the kind of its key.
    async fn serve(self, listener: TcpListener, credentials: &Credentials) {
        listener.set_nonblocking(true).unwrap();
        match self {
            Self::Hyper => serve_hyper(listener, credentials).await,
            Self::AxumServer => serve_axum(listener, credentials).await,
            Self::Tonic => serve_tonic(listener, credentials).await,
        }
    }

    /// Opens a connection to a server.
    async fn connect(self, port: u16, authority: &str, config: Arc<ClientConfig>) -> Connection {
        match self {
            Self::Hyper | Self::AxumServer => {
                let socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                socket.set_nodelay(true).unwrap();
                let connector = TlsConnector::from(config);
                let name = "localhost".try_into().unwrap();
                Connection::Http1(connector.connect(name, socket).await.unwrap())
            }
            Self::Tonic => {
                let tls = ClientTlsConfig::new()
                    .ca_certificate(Certificate::from_pem(authority))
                    .domain_name("localhost");
                let endpoint = Channel::from_shared(format!("https://127.0.0.1:{port}"));
                let endpoint = endpoint.unwrap().tls_config(tls).unwrap();
                Connection::Grpc(endpoint.connect().await.unwrap())
            }
        }
    }
}

async fn serve_hyper(listener: TcpListener, credentials: &Credentials) {
    let config = credentials.server_config_over(provider());
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        socket.set_nodelay(true).unwrap();
        let accepting = acceptor.accept(socket);
        spawn(async move {
            let answer = service_fn(async |_| {
                let body = http_body_util::Full::new(&b"hello"[..]);
                Ok::<_, Infallible>(hyper::Response::new(body))
            });
            // clients may leave at any time
            if let Ok(stream) = accepting.await {
                let server = auto::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(stream), answer).await;
            }
        });
    }
}

async fn serve_axum(listener: TcpListener, credentials: &Credentials) {
    let app = axum::Router::new().route("/", axum::routing::get(async || "hello"));
    let config = Arc::new(credentials.server_config_over(provider()));
    let config = axum_server::tls_rustls::RustlsConfig::from_config(config);
    let server = axum_server::tls_rustls::from_tcp_rustls(listener, config).unwrap();
    server.serve(app.into_make_service()).await.unwrap();
}

/// A message of tonic.
#[derive(Clone, PartialEq, prost::Message)]
struct Text {
    #[prost(string, tag = "1")]
    text: String,
}

/// A service with one method, which echoes a message.
#[derive(Clone)]
struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "drop_in.Echo";
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let mut grpc = GrpcServer::new(ProstCodec::<Text, Text>::default());
        Box::pin(async move { Ok(grpc.unary(Self, request).await) })
    }
}

impl UnaryService<Text> for Echo {
    type Response = Text;
    type Future = std::future::Ready<Result<Response<Text>, Status>>;

    fn call(&mut self, request: Request<Text>) -> Self::Future {
        std::future::ready(Ok(Response::new(request.into_inner())))
    }
}

async fn serve_tonic(listener: TcpListener, credentials: &Credentials) {
    let identity = Identity::from_pem(&credentials.certificate_pem, &credentials.key_pem);
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    Server::builder()
        .tls_config(ServerTlsConfig::new().identity(identity))
        .unwrap()
        .add_service(Echo)
        .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)))
        .await
        .unwrap();
}

enum Connection {
    Http1(TlsStream<TcpStream>),
    Grpc(Channel),
}

impl Connection {
    /// Sends a request, and checks the answer.
    async fn ask(&mut self) {
        match self {
            Self::Http1(stream) => {
                stream
                    .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
                    .await
                    .unwrap();
                let mut answer = Vec::new();
                while !answer.ends_with(b"\r\n\r\nhello") {
                    assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
                }
                assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
            }
            Self::Grpc(channel) => {
                let mut client = GrpcClient::new(channel.clone());
                client.ready().await.unwrap();
                let hello = Text {
                    text: "hello".into(),
                };
                let method = PathAndQuery::from_static("/drop_in.Echo/Echo");
                let codec = ProstCodec::<Text, Text>::default();
                let answer = client.unary(Request::new(hello.clone()), method, codec);
                assert_eq!(answer.await.unwrap().into_inner(), hello);
            }
        }
    }
}

/// Signs when it is permitted.
struct Gate {
    permits: Semaphore,
    requests: AtomicUsize,
}

impl KeyService for Gate {
    fn sign(self: Arc<Self>, key: Arc<dyn Signer>, message: Vec<u8>) -> Signature {
        self.requests.fetch_add(1, Ordering::SeqCst);
        Signature::Later(Box::pin(async move {
            self.permits.acquire().await.unwrap().forget();
            key.sign(&message)
        }))
    }
}

/// Client and server share a thread, so a server that blocks it would wait forever.
async fn answers_while_handshakes_wait(kind: Kind) {
    const WAITING: usize = 10;
    let gate = Arc::new(Gate {
        permits: Semaphore::new(1),
        requests: AtomicUsize::new(0),
    });
    SERVICE.set(Some(gate.clone()));
    let credentials = Credentials::new();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let clients = async {
        let config = Arc::new(credentials.client_config());
        let connect = || {
            let (authority, config) = (credentials.authority_pem.clone(), config.clone());
            async move { kind.connect(port, &authority, config).await }
        };
        let mut connection = connect().await;
        let mut handshakes: JoinSet<_> = (0..WAITING).map(|_| connect()).collect();
        while gate.requests.load(Ordering::SeqCst) != 1 + WAITING {
            yield_now().await;
        }
        for _ in 0..50 {
            connection.ask().await;
        }
        assert!(handshakes.try_join_next().is_none());
        gate.permits.add_permits(WAITING);
        while let Some(connection) = handshakes.join_next().await {
            connection.unwrap().ask().await;
        }
    };
    tokio::select! {
        () = kind.serve(listener, &credentials) => panic!("{kind:?} ended"),
        () = clients => {}
    }
}

#[test]
fn servers_answer_while_handshakes_wait_for_a_remote_key() {
    let _ = provider().install_default();
    for kind in KINDS {
        run(answers_while_handshakes_wait(kind));
    }
}
