//! Tests with a real Redis, if one is installed, and with servers that misbehave.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, this};
use harness::peers::programs::Program;
use rustls::ClientConfig;
use rustls::server::{ServerSessionValue, StoresServerSessions};

use super::store::RedisSessions;
use crate::PATIENCE;
use crate::greet::testing::{self, FULL, greeting};

const SECRET: [u8; 32] = [7; 32];

/// The time limit in tests whose servers answer. A slow machine may delay them.
const LONG: Duration = Duration::from_secs(60);

/// Starts Redis, which stops when dropped. Returns it and its address. Returns `None` and prints a
/// message if it is not installed.
fn redis() -> Option<(Program, SocketAddr)> {
    let (program, port, _) = Program::serve("redis-server", |port| {
        let arguments = format!("--bind 127.0.0.1 --port {port} --appendonly no --save");
        let arguments = arguments.split(' ').chain([""]);
        arguments.map(str::to_owned).collect()
    })?;
    Some((program, (Ipv4Addr::LOCALHOST, port).into()))
}

fn sessions(address: SocketAddr) -> RedisSessions {
    RedisSessions::new(address, &SECRET, LONG).unwrap()
}

async fn put(sessions: &RedisSessions, key: &[u8], value: &[u8]) -> bool {
    let value = ServerSessionValue::from(value.to_vec());
    sessions.put_async(key, &value).unwrap().await
}

async fn get(sessions: &RedisSessions, key: &[u8]) -> Option<Vec<u8>> {
    let found = sessions.get_async(key).unwrap().await;
    found.map(ServerSessionValue::into_vec)
}

async fn take(sessions: &RedisSessions, key: &[u8]) -> Option<ServerSessionValue> {
    sessions.take_async(key).unwrap().await
}

#[tokio::test]
async fn a_session_is_found_by_another_server_and_taken_once() {
    let Some(redis) = redis() else { return };
    let [one, other] = [redis.1; 2].map(sessions);
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
    let stranger = RedisSessions::new(redis.1, &[8; 32], LONG).unwrap();
    assert_eq!(get(&stranger, b"key").await, None);
    assert!(RedisSessions::new(redis.1, &SECRET[1..], LONG).is_err());
}

/// A connection without `set_async` stores and finds nothing, but removes its session if it fails.
#[tokio::test]
async fn synchronous_calls_only_remove_sessions() {
    let Some(redis) = redis() else { return };
    let sessions = sessions(redis.1);
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

/// The server closes each connection after one command.
#[tokio::test]
async fn a_closed_idle_connection_is_replaced() {
    let address = start(|mut stream| {
        let _ = stream.read(&mut [0; 1000]);
        // in pieces
        for byte in b"+OK\r\n" {
            let _ = stream.write_all(&[*byte]);
            thread::yield_now();
        }
    });
    let sessions = sessions(address);
    for _ in 0..3 {
        assert!(put(&sessions, b"key", b"a session").await);
    }
}

#[tokio::test]
async fn clients_make_full_handshakes_while_redis_is_faulty() {
    let answering = |bytes: &'static [u8]| {
        start(move |mut stream| {
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(bytes);
            let _ = stream.read_to_end(&mut Vec::new());
        })
    };
    let flooding = start(|mut stream| while stream.write_all(&[b'1'; 65_536]).is_ok() {});
    for (what, address) in [
        ("silent", answering(b"")),
        ("refusing", answering(b"-NOAUTH Log in first.\r\n")),
        ("endless", answering(b"$9223372036854775807\r\n")),
        ("deep", answering(&[b'*'; 4096])),
        ("cut", answering(b"$10\r\nabc")),
        ("forging", answering(b"$3\r\nabc\r\n")),
        ("down", (Ipv4Addr::LOCALHOST, 1).into()),
        ("closing", start(drop)),
        ("flooding", flooding),
    ] {
        let sessions = RedisSessions::new(address, &SECRET, PATIENCE).unwrap();
        assert!(!put(&sessions, b"key", b"value").await, "{what}");
        assert!(take(&sessions, b"key").await.is_none(), "{what}");
        let client = client(Versions::Both);
        for _ in 0..2 {
            let kind = greeted(sessions.clone(), Versions::Both, &client).await;
            assert_eq!(kind, FULL, "{what}");
        }
    }
}

/// The two servers share only the secret and Redis.
#[tokio::test]
async fn sessions_are_resumed_on_another_server() {
    let Some(redis) = redis() else { return };
    for versions in [Versions::Tls12, Versions::Tls13] {
        let client = client(versions);
        for kind in ["Full", "Resumed"] {
            let greeting = greeted(sessions(redis.1), versions, &client).await;
            assert!(greeting.contains(kind), "{greeting}");
        }
    }
}

/// Starts a server and greets a client. Returns the greeting.
async fn greeted(store: RedisSessions, versions: Versions, client: &Arc<ClientConfig>) -> String {
    let (provider, key_type) = (Provider::AwsLc.this(), KeyType::EcdsaP256);
    let mut config = this::server_of(versions, provider, key_type, ClientAuth::None);
    config.session_storage = Arc::new(store);
    let greeting = greeting(client, testing::serve(config)).await;
    greeting.unwrap().unwrap()
}

fn client(versions: Versions) -> Arc<ClientConfig> {
    let (provider, key_type) = (Provider::AwsLc.this(), KeyType::EcdsaP256);
    this::client_of(versions, provider, key_type, ClientAuth::None).into()
}
