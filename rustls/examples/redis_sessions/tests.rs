//! Sessions in a real Redis where one is installed, and in servers that misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use harness::peers::configs::{self, ClientAuth, KeyType, Versions};
use rustls::server::{ServerSessionValue, StoresServerSessions};
use tokio::task::spawn_blocking;

use super::store::RedisSessions;
use crate::PATIENCE;

const SECRET: [u8; 32] = [7; 32];

/// The patience with servers that answer, which this machine may delay.
const LONG: Duration = Duration::from_secs(60);

/// A Redis server that stops when dropped.
struct Redis {
    process: Child,
    address: SocketAddr,
}

impl Redis {
    /// Starts Redis. Returns `None` and prints a message if it is not installed.
    fn start() -> Option<Self> {
        // Retry if another process has taken the port that was free.
        for _ in 0..10 {
            let address = free_address();
            let process = Command::new("redis-server")
                .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
                .args(["--port", &address.port().to_string()])
                .stdout(Stdio::piped())
                .spawn();
            let Ok(mut process) = process else {
                println!("skipped: there is no redis-server here");
                return None;
            };
            let log = BufReader::new(process.stdout.take().unwrap());
            let mut lines = log.lines().map_while(Result::ok);
            let ready = lines.any(|line| line.contains("Ready to accept connections"));
            let redis = Self { process, address };
            if ready {
                // Keep reading, so that Redis does not block on a full pipe.
                thread::spawn(move || lines.for_each(drop));
                return Some(redis);
            }
        }
        panic!("redis-server does not start");
    }

    fn sessions(&self) -> RedisSessions {
        RedisSessions::new(self.address, &SECRET, LONG).unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a loopback address on which nothing listens.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

async fn put(sessions: &RedisSessions, key: &[u8], value: &[u8]) -> bool {
    let value = ServerSessionValue::from(value.to_vec());
    sessions.put_async(key, &value).unwrap().await
}

async fn get(sessions: &RedisSessions, key: &[u8]) -> Option<Vec<u8>> {
    let value = sessions.get_async(key).unwrap().await;
    value.map(ServerSessionValue::into_vec)
}

async fn take(sessions: &RedisSessions, key: &[u8]) -> Option<Vec<u8>> {
    let value = sessions.take_async(key).unwrap().await;
    value.map(ServerSessionValue::into_vec)
}

#[tokio::test]
async fn session_is_found_by_another_server_and_taken_once() {
    let Some(redis) = Redis::start() else { return };
    let [one, other] = [redis.sessions(), redis.sessions()];
    assert_eq!(get(&other, b"key").await, None);
    let long = vec![0; 60_000];
    for value in [b"a session", &long[..]] {
        assert!(put(&one, b"key", value).await);
        assert_eq!(get(&other, b"key").await.unwrap(), value);
        let taken = tokio::join!(take(&one, b"key"), take(&other, b"key"));
        assert_eq!(taken.0.is_some(), taken.1.is_none());
        assert_eq!(get(&one, b"key").await, None);
    }
    // another secret
    assert!(put(&one, b"key", b"a session").await);
    let stranger = RedisSessions::new(redis.address, &[8; 32], LONG).unwrap();
    assert_eq!(get(&stranger, b"key").await, None);
    assert!(RedisSessions::new(redis.address, &SECRET[1..], LONG).is_err());
}

/// A connection that nobody polls stores and finds nothing, but removes its session if it fails.
#[tokio::test]
async fn calls_that_may_not_wait_only_remove_sessions() {
    let Some(redis) = Redis::start() else { return };
    let sessions = redis.sessions();
    assert!(!sessions.put(b"key".to_vec(), b"a session".to_vec()));
    assert!(put(&sessions, b"key", b"a session").await);
    assert_eq!(sessions.get(b"key"), None);
    assert!(get(&sessions, b"key").await.is_some());
    assert_eq!(sessions.take(b"key"), None);
    while get(&sessions, b"key").await.is_some() {}
}

/// Starts a server that calls `serve` with each connection.
fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// A server that stores for one command per connection.
#[tokio::test]
async fn closed_idle_connection_is_replaced() {
    let address = start(|mut stream| {
        let _ = stream.read(&mut [0; 1000]);
        // in pieces
        for byte in b"+OK\r\n" {
            let _ = stream.write_all(&[*byte]);
            thread::yield_now();
        }
    });
    let sessions = RedisSessions::new(address, &SECRET, LONG).unwrap();
    for _ in 0..3 {
        assert!(put(&sessions, b"key", b"a session").await);
    }
}

#[tokio::test]
async fn handshakes_over_bad_servers_are_full_ones() {
    let answering = |bytes: &'static [u8]| {
        start(move |mut stream| {
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(bytes);
            let _ = stream.read_to_end(&mut Vec::new());
        })
    };
    let bad_servers = [
        ("down", free_address()),
        ("silent", answering(b"")),
        ("closing", start(drop)),
        (
            "flooding",
            start(|mut stream| while stream.write_all(&[b'1'; 65_536]).is_ok() {}),
        ),
        (
            "refusing",
            answering(b"-NOAUTH Authentication required.\r\n"),
        ),
        ("endless", answering(b"$9223372036854775807\r\n")),
        ("deep", answering(&[b'*'; 4096])),
        ("cut", answering(b"$10\r\nabc")),
        ("forging", answering(b"$3\r\nabc\r\n")),
    ];
    for (what, address) in bad_servers {
        let sessions = RedisSessions::new(address, &SECRET, PATIENCE).unwrap();
        assert!(!put(&sessions, b"key", b"value").await, "{what}");
        assert_eq!(take(&sessions, b"key").await, None, "{what}");
        let client = client(Versions::Both);
        for _ in 0..2 {
            let kind = greeted(sessions.clone(), Versions::Both, &client).await;
            assert_eq!(kind, "Full\n", "{what}");
        }
    }
}

/// The two servers share only the secret and Redis.
#[tokio::test]
async fn sessions_are_resumed_on_another_server() {
    let Some(redis) = Redis::start() else { return };
    for versions in [Versions::Tls12, Versions::Tls13] {
        let client = client(versions);
        for kind in ["Full\n", "Resumed\n"] {
            assert_eq!(greeted(redis.sessions(), versions, &client).await, kind);
        }
    }
}

/// Serves a client. Returns the kind of handshake that the server reports.
async fn greeted(
    sessions: RedisSessions,
    versions: Versions,
    client: &Arc<rustls_upstream::ClientConfig>,
) -> String {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let (key_type, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    let mut config = configs::this::server_of(versions, provider, key_type, auth);
    config.session_storage = Arc::new(sessions);
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    let client = client.clone();
    let client = spawn_blocking(move || {
        let name = configs::server_name();
        let conn = rustls_upstream::ClientConnection::new(client, name).unwrap();
        let socket = TcpStream::connect(address).unwrap();
        let mut greeting = String::new();
        let mut stream = rustls_upstream::StreamOwned::new(conn, socket);
        stream.read_to_string(&mut greeting).unwrap();
        greeting
    });
    let (socket, _) = listener.accept().await.unwrap();
    crate::serve(Arc::new(config), socket).await.unwrap();
    client.await.unwrap()
}

fn client(versions: Versions) -> Arc<rustls_upstream::ClientConfig> {
    let provider = rustls_upstream::crypto::aws_lc_rs::default_provider();
    let (key_type, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    configs::upstream::client_of(versions, provider, key_type, auth).into()
}
