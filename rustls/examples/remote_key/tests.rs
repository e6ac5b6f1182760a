//! Handshakes whose keeper answers, is silent, or ends.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs, io, process};

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, server_name};
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{ClientConnection, ServerConfig, SignatureScheme, StreamOwned};
use tokio::io::AsyncReadExt;
use tokio::net::UnixListener;
use tokio::task::{JoinHandle, spawn_blocking};

use super::keeper::{answer, bind, keep};
use super::key::RemoteKey;
use crate::greet::greet_all;

/// The patience with keepers that answer, which this machine may delay.
const LONG: Duration = Duration::from_secs(60);

/// A path for a socket, which is removed on drop.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("remote-key-{}-{number}.socket", process::id());
        Self(env::temp_dir().join(name))
    }

    fn keeper(&self, key_type: KeyType) -> JoinHandle<()> {
        tokio::spawn(keep(key(key_type), bind(&self.0).unwrap()))
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

/// Starts a server with `key`. Returns its address.
async fn serve(key_type: KeyType, key: RemoteKey) -> SocketAddr {
    let chain = key_type.identities().server.chain.clone();
    let certified = CertifiedKey::new(chain, Arc::new(key));
    certified.keys_match().unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(Provider::AwsLc.this()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    greet_all(config).await
}

/// Connects a client. Returns the greeting, or the error.
fn greeting(key_type: KeyType, address: SocketAddr) -> JoinHandle<io::Result<String>> {
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
        path.keeper(key_type);
        let remote = RemoteKey::connect(&path.0, LONG).await.unwrap();
        assert_eq!(remote.algorithm(), key(key_type).algorithm());
        let address = serve(key_type, remote).await;
        let clients: Vec<_> = (0..20).map(|_| greeting(key_type, address)).collect();
        for client in clients {
            assert_eq!(client.await.unwrap().unwrap(), "Hello\n", "{key_type:?}");
        }
    }
}

/// The keeper ends while a handshake waits for its signature. Another one makes the signature.
#[tokio::test]
async fn keeper_may_be_started_again() {
    let path = SocketPath::new();
    let key_type = KeyType::EcdsaP256;
    let first = path.keeper(key_type);
    let remote = RemoteKey::connect(&path.0, LONG).await.unwrap();
    let address = serve(key_type, remote).await;
    first.abort();
    let _ = first.await;
    let silent = bind(&path.0).unwrap();
    let client = greeting(key_type, address);
    let (mut stream, _) = silent.accept().await.unwrap();
    stream.read_to_end(&mut Vec::new()).await.unwrap();
    path.keeper(key_type);
    drop((stream, silent));
    assert_eq!(client.await.unwrap().unwrap(), "Hello\n");
}

#[tokio::test]
async fn silent_keeper_fails_only_the_handshake() {
    let path = SocketPath::new();
    let key_type = KeyType::EcdsaP256;
    let keeper = path.keeper(key_type);
    let remote = RemoteKey::connect(&path.0, Duration::from_secs(2)).await;
    let address = serve(key_type, remote.unwrap()).await;
    keeper.abort();
    let _ = keeper.await;
    let silent = bind(&path.0).unwrap();
    let error = greeting(key_type, address).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("InternalError"), "{error}");
    drop(silent);
    path.keeper(key_type);
    let greeting = greeting(key_type, address).await.unwrap();
    assert_eq!(greeting.unwrap(), "Hello\n");
}

#[tokio::test]
async fn wrong_keepers_are_rejected_at_the_start() {
    let path = SocketPath::new();
    let nobody = RemoteKey::connect(&path.0, Duration::from_millis(1)).await;
    assert!(nobody.is_err());
    path.keeper(KeyType::EcdsaP384);
    let remote = RemoteKey::connect(&path.0, LONG).await.unwrap();
    let signer = remote.choose_scheme(&[SignatureScheme::ECDSA_NISTP384_SHA384]);
    assert!(Signer::sign(&*signer.unwrap(), b"message").is_err());
    assert!(remote.choose_scheme(&[SignatureScheme::ED25519]).is_none());
    let chain = KeyType::EcdsaP256.identities().server.chain.clone();
    assert!(
        CertifiedKey::new(chain, Arc::new(remote))
            .keys_match()
            .is_err()
    );
    let other = SocketPath::new();
    let _listener = UnixListener::bind(&other.0).unwrap();
    let silent = RemoteKey::connect(&other.0, Duration::from_millis(1)).await;
    assert!(
        silent
            .unwrap_err()
            .to_string()
            .contains("no answer in time")
    );
}

#[test]
fn keeper_signs_only_a_certificate_verify() {
    let key = key(KeyType::EcdsaP256);
    let code = |scheme: SignatureScheme, message: &[u8]| {
        answer(&*key, &[&u16::from(scheme).to_be_bytes(), message].concat())[0]
    };
    let text = |who: &str| format!("{}TLS 1.3, {who} CertificateVerify\0", " ".repeat(64));
    let good = [text("server").as_bytes(), &[0; 32]].concat();
    let scheme = SignatureScheme::ECDSA_NISTP256_SHA256;
    assert_eq!(code(scheme, &good), 0);
    assert_eq!(code(SignatureScheme::ED25519, &good), 1);
    assert_eq!(code(scheme, &good[1..]), 1);
    assert_eq!(code(scheme, &good[..good.len() - 1]), 1);
    assert_eq!(code(scheme, b""), 1);
    let client = [text("client").as_bytes(), &[0; 32]].concat();
    assert_eq!(code(scheme, &client), 1);
    assert_eq!(answer(&*key, b"")[0], 1);
}
