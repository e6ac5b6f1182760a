//! A keeper and a server in one process, with clients on other threads.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs, process};

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, server_name};
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{ClientConnection, ServerConfig, SignatureScheme, StreamOwned};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};

use super::keeper::{bind, keep};
use super::key::{QUEUE, RemoteKey};
use super::wire::{Description, FAILURE, Message, SUCCESS};
use crate::greet::greet_all;

/// A path for a socket, which is removed on drop.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("remote-key-{}-{number}.socket", process::id());
        Self(env::temp_dir().join(name))
    }

    /// Starts a keeper. Aborting it leaves the connections that it has.
    fn keeper(&self, key: Arc<dyn SigningKey>) -> JoinHandle<()> {
        let listener = bind(&self.0).unwrap();
        tokio::spawn(async move { keep(key, listener).await.unwrap() })
    }

    /// Connects to a keeper that answers, which this machine may delay.
    async fn key(&self) -> RemoteKey {
        let patience = Duration::from_secs(60);
        RemoteKey::connect(&self.0, patience).await.unwrap()
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn key(key_type: KeyType) -> Arc<dyn SigningKey> {
    let key = key_type.identities().server.key();
    let provider = Provider::AwsLc.this();
    provider.key_provider.load_private_key(key).unwrap()
}

fn certified(key_type: KeyType, key: RemoteKey) -> CertifiedKey {
    let chain = key_type.identities().server.chain.clone();
    CertifiedKey::new(chain, Arc::new(key))
}

/// Starts a server with `key`. Returns its address.
async fn serve(key_type: KeyType, key: RemoteKey) -> SocketAddr {
    let certified = certified(key_type, key);
    certified.keys_match().unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(Provider::AwsLc.this()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    greet_all(config).await
}

/// Connects a client. Returns the greeting, or the error.
fn greeting(key_type: KeyType, address: SocketAddr) -> JoinHandle<std::io::Result<String>> {
    spawn_blocking(move || {
        let provider = Provider::AwsLc.this();
        let mut config = configs::this::client(provider, key_type, ClientAuth::None);
        config.resumption = rustls::client::Resumption::disabled();
        let conn = ClientConnection::new(Arc::new(config), server_name()).unwrap();
        let mut greeting = String::new();
        let mut stream = StreamOwned::new(conn, TcpStream::connect(address)?);
        stream.read_to_string(&mut greeting)?;
        Ok(greeting)
    })
}

#[tokio::test]
async fn clients_are_greeted_with_every_type_of_key() {
    for key_type in configs::KEY_TYPES {
        let path = SocketPath::new();
        path.keeper(key(key_type));
        let remote = path.key().await;
        assert_eq!(remote.algorithm(), key(key_type).algorithm());
        let address = serve(key_type, remote).await;
        let greeting = greeting(key_type, address).await.unwrap();
        assert_eq!(greeting.unwrap(), "Hello\n", "{key_type:?}");
    }
}

/// All requests arrive over one connection. The keeper answers only when it has all of them, and
/// the last one first.
#[tokio::test]
async fn handshakes_wait_at_the_same_time() {
    const CLIENTS: usize = 20;
    let path = SocketPath::new();
    let key_type = KeyType::EcdsaP256;
    fake_keeper(&path, key_type, move |mut stream| async move {
        let key = key(key_type);
        let mut requests = Vec::new();
        while requests.len() < CLIENTS {
            requests.push(Message::read(&mut stream).await.unwrap());
        }
        for request in requests.into_iter().rev() {
            answer(&mut stream, &key, request).await;
        }
        // keeps the connection
        Message::read(&mut stream).await.unwrap_err();
    });
    let address = serve(key_type, path.key().await).await;
    let clients: Vec<_> = (0..CLIENTS).map(|_| greeting(key_type, address)).collect();
    for client in clients {
        assert_eq!(client.await.unwrap().unwrap(), "Hello\n");
    }
}

/// Starts a keeper that describes its key, then calls `serve` with its only connection.
fn fake_keeper<F: Future<Output = ()> + Send>(
    path: &SocketPath,
    key_type: KeyType,
    serve: impl FnOnce(UnixStream) -> F + Send + 'static,
) -> JoinHandle<()> {
    let listener = UnixListener::bind(&path.0).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = Message::read(&mut stream).await.unwrap();
        answer(&mut stream, &key(key_type), request).await;
        serve(stream).await;
    })
}

/// Answers as the keeper does.
async fn answer(stream: &mut UnixStream, key: &Arc<dyn SigningKey>, request: Message) {
    let answer = super::keeper::answer(&**key, &request);
    assert_eq!((answer.id, answer.code), (request.id, SUCCESS));
    answer.write(stream).await.unwrap();
}

#[tokio::test]
async fn unanswered_requests_are_repeated_after_a_restart() {
    let path = SocketPath::new();
    let key_type = KeyType::EcdsaP256;
    let first = fake_keeper(&path, key_type, move |mut stream| async move {
        // ends with a request that it does not answer
        Message::read(&mut stream).await.unwrap();
    });
    let address = serve(key_type, path.key().await).await;
    let client = greeting(key_type, address);
    first.await.unwrap();
    path.keeper(key(key_type));
    assert_eq!(client.await.unwrap().unwrap(), "Hello\n");
}

#[tokio::test]
async fn silent_keeper_fails_only_the_handshake() {
    let path = SocketPath::new();
    let key_type = KeyType::EcdsaP256;
    fake_keeper(&path, key_type, move |mut stream| async move {
        let key = key(key_type);
        let _ignored = Message::read(&mut stream).await.unwrap();
        let request = Message::read(&mut stream).await.unwrap();
        answer(&mut stream, &key, request).await;
        Message::read(&mut stream).await.unwrap_err();
    });
    let key = RemoteKey::connect(&path.0, Duration::from_secs(2)).await;
    let address = serve(key_type, key.unwrap()).await;
    let error = greeting(key_type, address).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("InternalError"), "{error}");
    let greeting = greeting(key_type, address).await.unwrap();
    assert_eq!(greeting.unwrap(), "Hello\n");
}

#[tokio::test]
async fn hanging_keeper_is_replaced() {
    let path = SocketPath::new();
    let key_type = KeyType::EcdsaP256;
    let (replaced, hang) = oneshot::channel::<()>();
    fake_keeper(&path, key_type, |stream| async move {
        let _ = hang.await;
        drop(stream);
    });
    let key = RemoteKey::connect(&path.0, Duration::from_secs(1)).await;
    let address = serve(key_type, key.unwrap()).await;
    assert!(greeting(key_type, address).await.unwrap().is_err());
    path.keeper(self::key(key_type));
    // the server gives up the first keeper while some of these wait
    let mut attempts = 1;
    while greeting(key_type, address).await.unwrap().is_err() {
        attempts += 1;
        assert!(attempts < 20, "the first keeper is still asked");
    }
    drop(replaced);
}

/// Signatures with another key would only show in the clients' logs.
#[tokio::test]
async fn keeper_with_another_key_is_not_used() {
    let path = SocketPath::new();
    let key_type = KeyType::EcdsaP256;
    let first = fake_keeper(&path, key_type, move |mut stream| async move {
        // ends with a request that it does not answer
        Message::read(&mut stream).await.unwrap();
    });
    let key = RemoteKey::connect(&path.0, Duration::from_secs(2)).await;
    let address = serve(key_type, key.unwrap()).await;
    let client = greeting(key_type, address);
    first.await.unwrap();
    // a client's key, which is of the same type
    let other = key_type.identities().client.key();
    let provider = Provider::AwsLc.this();
    let other = provider.key_provider.load_private_key(other).unwrap();
    let second = path.keeper(other);
    let error = client.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("InternalError"), "{error}");
    second.abort();
    let _ = second.await;

    path.keeper(self::key(key_type));
    // the server connects when the first of its attempts succeeds
    while greeting(key_type, address).await.unwrap().is_err() {}
}

#[tokio::test]
async fn requests_beyond_the_limit_fail_at_once() {
    let path = SocketPath::new();
    let (full, filled) = oneshot::channel();
    fake_keeper(&path, KeyType::EcdsaP256, |mut stream| async move {
        for _ in 0..QUEUE {
            Message::read(&mut stream).await.unwrap();
        }
        full.send(()).unwrap();
        Message::read(&mut stream).await.unwrap_err();
    });
    let key = path.key().await;
    let scheme = SignatureScheme::ECDSA_NISTP256_SHA256;
    let sign = || {
        let signer = key.choose_scheme(&[scheme]).unwrap();
        tokio::spawn(signer.sign_async(b"message").unwrap())
    };
    let waiting: Vec<_> = (0..QUEUE).map(|_| sign()).collect();
    filled.await.unwrap();
    let error = sign().await.unwrap().unwrap_err().to_string();
    assert!(error.contains("too many requests"), "{error}");
    assert!(waiting.iter().all(|task| !task.is_finished()));
    waiting.into_iter().for_each(|task| task.abort());
}

#[tokio::test]
async fn key_of_another_certificate_is_rejected() {
    let path = SocketPath::new();
    path.keeper(key(KeyType::EcdsaP384));
    let certified = certified(KeyType::EcdsaP256, path.key().await);
    assert!(certified.keys_match().is_err());
}

#[tokio::test]
async fn connections_that_do_not_wait_get_no_signature() {
    let path = SocketPath::new();
    path.keeper(key(KeyType::EcdsaP256));
    let key = path.key().await;
    let signer = key.choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256]);
    assert!(Signer::sign(&*signer.unwrap(), b"message").is_err());
    assert!(key.choose_scheme(&[SignatureScheme::ED25519]).is_none());
}

#[test]
fn keeper_signs_only_a_certificate_verify() {
    let key = key(KeyType::EcdsaP256);
    let code = |scheme: SignatureScheme, body: &[u8]| {
        let (id, code, body) = (7, scheme.into(), body.to_vec());
        super::keeper::answer(&*key, &Message { id, code, body }).code
    };
    let text = |who: &str| format!("{}TLS 1.3, {who} CertificateVerify\0", " ".repeat(64));
    let good = [text("server").as_bytes(), &[0; 32]].concat();
    let scheme = SignatureScheme::ECDSA_NISTP256_SHA256;
    assert_eq!(code(scheme, &good), SUCCESS);
    assert_eq!(code(SignatureScheme::ED25519, &good), FAILURE);
    assert_eq!(code(scheme, &good[1..]), FAILURE);
    assert_eq!(code(scheme, &good[..good.len() - 1]), FAILURE);
    assert_eq!(code(scheme, b""), FAILURE);
    let client = [text("client").as_bytes(), &[0; 32]].concat();
    assert_eq!(code(scheme, &client), FAILURE);
}

#[test]
fn descriptions_are_decoded() {
    let description = Description {
        algorithm: rustls::SignatureAlgorithm::ED25519,
        schemes: vec![SignatureScheme::ED25519, SignatureScheme::RSA_PSS_SHA256],
        public_key: b"spki".to_vec(),
    };
    let bytes = description.encode();
    assert_eq!(Description::decode(&bytes), Some(description));
    for len in 0..bytes.len() - 4 {
        assert_eq!(Description::decode(&bytes[..len]), None);
    }
}

#[tokio::test]
async fn messages_of_impossible_length_are_rejected() {
    for len in [0_u32, 9, 1 << 15, u32::MAX] {
        let bytes = [&len.to_be_bytes()[..], &[0; 100]].concat();
        assert!(Message::read(&mut &bytes[..]).await.is_err());
    }
    let message = Message {
        id: 1,
        code: 2,
        body: vec![3; 4],
    };
    let mut bytes = Vec::new();
    message.write(&mut bytes).await.unwrap();
    assert_eq!(Message::read(&mut &bytes[..]).await.unwrap(), message);
    assert!(Message::read(&mut &bytes[..bytes.len() - 1]).await.is_err());
}
