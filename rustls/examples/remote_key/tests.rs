//! Tests handshakes whose keeper answers, stays silent, or ends.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, process};

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, this};
use rustls::client::Resumption;
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use rustls::{ClientConfig, SignatureScheme};
use tokio::io::AsyncReadExt;
use tokio::task::JoinHandle;

use super::keeper::{answer, bind, keep};
use super::key::RemoteKey;
use crate::greet::testing::{self, FULL, greeting};

/// The time limit in tests whose keepers answer. A slow machine may delay them.
const LONG: Duration = Duration::from_secs(60);

/// A path for a socket, which is removed on drop.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new(name: &str) -> Self {
        let name = format!("remote-key-{}-{name}.socket", process::id());
        Self(env::temp_dir().join(name))
    }

    fn keeper(&self, key_type: KeyType) -> JoinHandle<()> {
        let listener = bind(&self.0).unwrap();
        tokio::spawn(async move { keep(key(key_type), listener).await })
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

/// Starts a server with `key`. Returns its address and a configuration for clients.
fn serve(key_type: KeyType, key: RemoteKey) -> (SocketAddr, Arc<ClientConfig>) {
    let chain = key_type.identities().server.chain.clone();
    let certified = CertifiedKey::new(chain, Arc::new(key));
    certified.keys_match().unwrap();
    let provider = Provider::AwsLc.this();
    let mut config = this::server(provider.clone(), key_type, ClientAuth::None);
    config.cert_resolver = Arc::new(SingleCertAndKey::from(certified));
    let mut client = this::client(provider, key_type, ClientAuth::None);
    client.resumption = Resumption::disabled();
    (testing::serve(config), client.into())
}

#[tokio::test]
async fn clients_are_greeted_with_every_type_of_key() {
    for key_type in configs::KEY_TYPES {
        let path = SocketPath::new("greeted");
        path.keeper(key_type);
        let remote = RemoteKey::connect(&path.0, LONG).await.unwrap();
        assert_eq!(remote.algorithm(), key(key_type).algorithm());
        let (address, config) = serve(key_type, remote);
        let clients: Vec<_> = (0..20).map(|_| greeting(&config, address)).collect();
        for client in clients {
            assert_eq!(client.await.unwrap().unwrap(), FULL, "{key_type:?}");
        }
    }
}

/// The keeper ends while a handshake waits for its signature. Another one makes the signature.
#[tokio::test]
async fn a_handshake_survives_a_restart_of_the_keeper() {
    let path = SocketPath::new("again");
    let key_type = KeyType::EcdsaP256;
    let first = path.keeper(key_type);
    let (address, config) = serve(key_type, RemoteKey::connect(&path.0, LONG).await.unwrap());
    first.abort();
    let _ = first.await;
    let silent = bind(&path.0).unwrap();
    let client = greeting(&config, address);
    let (mut stream, _) = silent.accept().await.unwrap();
    stream.read_to_end(&mut Vec::new()).await.unwrap();
    path.keeper(key_type);
    drop((stream, silent));
    assert_eq!(client.await.unwrap().unwrap(), FULL);
}

#[tokio::test]
async fn a_silent_keeper_fails_only_the_handshake() {
    let path = SocketPath::new("silent");
    let key_type = KeyType::EcdsaP256;
    let keeper = path.keeper(key_type);
    let connecting = RemoteKey::connect(&path.0, Duration::from_secs(2));
    let (address, config) = serve(key_type, connecting.await.unwrap());
    keeper.abort();
    let _ = keeper.await;
    let silent = bind(&path.0).unwrap();
    let error = greeting(&config, address).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("InternalError"), "{error}");
    drop(silent);
    path.keeper(key_type);
    let greeting = greeting(&config, address).await.unwrap();
    assert_eq!(greeting.unwrap(), FULL);
}

#[tokio::test]
async fn wrong_keepers_are_rejected_at_the_start() {
    let path = SocketPath::new("wrong");
    let moment = Duration::from_millis(1);
    RemoteKey::connect(&path.0, moment).await.unwrap_err();
    path.keeper(KeyType::EcdsaP384);
    let remote = RemoteKey::connect(&path.0, LONG).await.unwrap();
    let signer = remote.choose_scheme(&[SignatureScheme::ECDSA_NISTP384_SHA384]);
    assert!(signer.unwrap().sign(b"message").is_err());
    assert!(remote.choose_scheme(&[SignatureScheme::ED25519]).is_none());
    let chain = KeyType::EcdsaP256.identities().server.chain.clone();
    let certified = CertifiedKey::new(chain, Arc::new(remote));
    assert!(certified.keys_match().is_err());
    let other = SocketPath::new("other");
    let _silent = bind(&other.0).unwrap();
    let connecting = RemoteKey::connect(&other.0, moment);
    let error = connecting.await.unwrap_err().to_string();
    assert!(error.contains("no answer in time"), "{error}");
}

#[test]
fn the_keeper_signs_only_a_certificate_verify() {
    let key = key(KeyType::EcdsaP256);
    let is_signed = |scheme: SignatureScheme, message: &[u8]| {
        answer(&*key, &[&u16::from(scheme).to_be_bytes(), message].concat())[0] == 0
    };
    let message = |who: &str, len: usize| {
        let text = format!("{}TLS 1.3, {who} CertificateVerify\0", " ".repeat(64));
        [text.as_bytes(), &vec![0; len]].concat()
    };
    let good = message("server", 32);
    let scheme = SignatureScheme::ECDSA_NISTP256_SHA256;
    assert!(is_signed(scheme, &good));
    assert!(!is_signed(SignatureScheme::ED25519, &good));
    let (short, of_client) = (message("server", 31), message("client", 32));
    for wrong in [&good[1..], &short, &of_client, b""] {
        assert!(!is_signed(scheme, wrong));
    }
    assert_eq!(answer(&*key, b"")[0], 1);
}
