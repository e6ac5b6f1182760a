//! Sessions in a real Redis where one is installed, and in servers that misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use harness::peers::configs::{self, ClientAuth, KeyType};
use harness::peers::endpoints::{
    ThisBuffered, UpstreamBuffered, handshake, send_and_check, talk_and_close,
};
use redis::{Value, cmd};
use rustls::server::StoresServerSessions;

use super::breaker::Breaker;
use super::store::RedisSessions;

const SECRET: [u8; 32] = [7; 32];

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
        RedisSessions::new(self.address, &SECRET).unwrap()
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

/// Starts a server that calls `answer` with each connection.
fn serve(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || answer(stream));
        }
    });
    address
}

#[test]
fn stored_session_is_found_by_another_server_and_taken_once() {
    let Some(redis) = Redis::start() else { return };
    let [one, other] = [redis.sessions(), redis.sessions()];
    assert!(one.can_cache());
    assert_eq!(other.get(b"key"), None);
    assert!(one.put(b"key".to_vec(), b"a session".to_vec()));
    assert_eq!(other.get(b"key").unwrap(), b"a session");
    assert!(other.put(b"key".to_vec(), b"another".to_vec()));
    assert_eq!(one.take(b"key").unwrap(), b"another");
    assert_eq!(other.take(b"key"), None);
    assert_eq!(one.get(b"key"), None);

    // Keys and values may hold any bytes.
    let key: Vec<u8> = (0..=255).collect();
    let value = [&b"\r\n$-1\r\n"[..], &[0xff; 60_000]].concat();
    assert!(one.put(key.clone(), value.clone()));
    assert_eq!(other.take(&key), Some(value));
}

#[test]
fn only_one_of_many_servers_takes_a_session() {
    let Some(redis) = Redis::start() else { return };
    for round in 0..20_u8 {
        let servers: Vec<_> = (0..4).map(|_| redis.sessions()).collect();
        assert!(servers[0].put(vec![round], b"a session".to_vec()));
        let takers = servers
            .into_iter()
            .map(|server| thread::spawn(move || server.take(&[round])));
        let takers: Vec<_> = takers.collect();
        let taken = takers.into_iter().filter_map(|taker| taker.join().unwrap());
        assert_eq!(taken.count(), 1);
    }
}

#[test]
fn values_are_sealed_and_expire_after_a_day() {
    let Some(redis) = Redis::start() else { return };
    let sessions = redis.sessions();
    assert!(sessions.put(b"key".to_vec(), b"a session".to_vec()));
    let set = |key: &[u8], value: &[u8]| {
        let answer = sessions.ask(cmd("SET").arg(key).arg(value));
        assert_eq!(answer, Some(Value::Okay));
    };
    assert_eq!(sessions.ask(&cmd("DBSIZE")), Some(Value::Int(1)));
    let Some(Value::BulkString(sealed)) = sessions.ask(cmd("GET").arg("tls-session:key")) else {
        panic!("not stored with the prefix")
    };
    assert!(!sealed.windows(9).any(|bytes| bytes == b"a session"));
    let Some(Value::Int(secs)) = sessions.ask(cmd("TTL").arg("tls-session:key")) else {
        panic!("no time to live")
    };
    assert!((86_000..=86_400).contains(&secs), "{secs} s");

    // A value does not open under another key, with another secret, or if it was changed.
    set(b"tls-session:other", &sealed);
    assert_eq!(sessions.get(b"other"), None);
    let stranger = RedisSessions::new(redis.address, &[8; 32]).unwrap();
    assert_eq!(stranger.get(b"key"), None);
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        set(b"tls-session:key", &changed);
        assert_eq!(sessions.get(b"key"), None, "byte {at} changed");
    }
    set(b"tls-session:key", &sealed);
    assert_eq!(sessions.get(b"key").unwrap(), b"a session");
}

#[test]
fn closed_idle_connection_is_replaced() {
    let Some(redis) = Redis::start() else { return };
    let sessions = redis.sessions();
    assert!(sessions.put(b"key".to_vec(), b"a session".to_vec()));
    let mut kill = cmd("CLIENT");
    kill.arg(&["KILL", "TYPE", "normal", "SKIPME", "no"]);
    assert_eq!(sessions.ask(&kill), Some(Value::Int(1)));
    assert_eq!(sessions.get(b"key").unwrap(), b"a session");
}

/// Starts servers that misbehave. Returns their addresses by the behaviour.
fn bad_servers() -> Vec<(&'static str, SocketAddr)> {
    let answering = |bytes: &'static [u8]| {
        serve(move |mut stream| {
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(bytes);
            let _ = stream.read_to_end(&mut Vec::new());
        })
    };
    vec![
        ("down", free_address()),
        (
            "silent",
            serve(|mut stream| drop(stream.read_to_end(&mut Vec::new()))),
        ),
        ("closing", serve(drop)),
        (
            "dripping",
            serve(|mut stream| {
                // Each byte arrives within the read timeout, the answer never does.
                while stream.write_all(b"$").is_ok() {
                    thread::sleep(Duration::from_millis(5));
                }
            }),
        ),
        (
            "flooding",
            serve(|mut stream| while stream.write_all(&[b'1'; 65_536]).is_ok() {}),
        ),
        (
            "refusing",
            answering(b"-NOAUTH Authentication required.\r\n"),
        ),
        ("endless", answering(b"$9223372036854775807\r\n")),
        (
            "endless array",
            answering(b"*9223372036854775807\r\n:1\r\n"),
        ),
        ("endless map", answering(b"%9223372036854775807\r\n:1\r\n")),
        ("deep", answering(&[b'*'; 4096])),
        ("negative", answering(b"$-2\r\n")),
        (
            "speaking HTTP",
            answering(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        ),
        ("empty", answering(b"\r\n")),
        ("cut", answering(b"$10\r\nabc")),
        ("overlong", answering(b"$3\r\nabcdef")),
    ]
}

#[test]
fn bad_servers_only_lose_sessions() {
    for (what, address) in bad_servers() {
        for operation in 0..3 {
            // A new store has a closed breaker.
            let sessions = RedisSessions::new(address, &SECRET).unwrap();
            match operation {
                0 => assert!(!sessions.put(b"key".to_vec(), b"value".to_vec()), "{what}"),
                1 => assert_eq!(sessions.get(b"key"), None, "{what}"),
                _ => assert_eq!(sessions.take(b"key"), None, "{what}"),
            }
        }
    }
}

#[test]
fn handshakes_over_bad_servers_are_full_ones() {
    for (what, address) in bad_servers() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let mut config = configs::this::server(provider, KeyType::EcdsaP256, ClientAuth::None);
        config.session_storage = Arc::new(RedisSessions::new(address, &SECRET).unwrap());
        let config = Arc::new(config);
        let client = configs::upstream::client(
            rustls_upstream::crypto::aws_lc_rs::default_provider(),
            KeyType::EcdsaP256,
            ClientAuth::None,
        );
        let client = Arc::new(client);
        for _ in 0..2 {
            let name = configs::server_name();
            let conn = rustls_upstream::ClientConnection::new(client.clone(), name).unwrap();
            let mut client = UpstreamBuffered::new(conn);
            let conn = rustls::ServerConnection::new(config.clone()).unwrap();
            assert_eq!(conn.handshake_kind(), None, "{what}");
            let mut server = ThisBuffered::new(conn);
            handshake(&mut client, &mut server);
            assert_eq!(
                server.conn.handshake_kind(),
                Some(rustls::HandshakeKind::Full),
                "{what}"
            );
            talk_and_close(&mut client, &mut server);
        }
    }
}

/// The two servers share only the secret and Redis.
#[test]
fn sessions_are_resumed_on_another_server() {
    let Some(redis) = Redis::start() else { return };
    for versions in [configs::Versions::Tls12, configs::Versions::Tls13] {
        let key_type = KeyType::EcdsaP256;
        let client = Arc::new(configs::upstream::client_of(
            versions,
            rustls_upstream::crypto::aws_lc_rs::default_provider(),
            key_type,
            ClientAuth::None,
        ));
        for kind in [rustls::HandshakeKind::Full, rustls::HandshakeKind::Resumed] {
            let provider = rustls::crypto::aws_lc_rs::default_provider();
            let mut config =
                configs::this::server_of(versions, provider, key_type, ClientAuth::None);
            config.session_storage = Arc::new(redis.sessions());
            let name = configs::server_name();
            let conn = rustls_upstream::ClientConnection::new(client.clone(), name).unwrap();
            let mut client = UpstreamBuffered::new(conn);
            let conn = rustls::ServerConnection::new(Arc::new(config)).unwrap();
            let mut server = ThisBuffered::new(conn);
            handshake(&mut client, &mut server);
            assert_eq!(server.conn.handshake_kind(), Some(kind), "{versions:?}");
            send_and_check(&mut server, &mut client, b"data");
        }
    }
}

/// Only the first caller waits for a failed server. Later ones do not even connect.
#[test]
fn failed_server_gets_no_connections_for_a_pause() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let sessions = RedisSessions::new(address, &SECRET).unwrap();
    assert_eq!(sessions.get(b"key"), None);
    for _ in 0..1000 {
        // These calls take less than the pause, unless the machine stalls for a second.
        assert_eq!(sessions.take(b"key"), None);
    }
    listener.set_nonblocking(true).unwrap();
    let connections = listener.incoming().map_while(Result::ok).count();
    assert!((1..100).contains(&connections), "{connections} connections");
}

#[test]
fn breaker_allows_one_trial_after_each_pause() {
    let pause = Duration::from_secs(1);
    let breaker = Breaker::new(pause);
    let start = Instant::now();
    assert!(breaker.allows(start) && breaker.allows(start));
    assert!(!breaker.note(true, start));

    assert!(breaker.note(false, start));
    assert!(!breaker.note(false, start), "the outcome did not change");
    assert!(!breaker.allows(start));
    assert!(!breaker.allows(start + pause / 2));
    assert!(breaker.allows(start + pause));
    assert!(!breaker.allows(start + pause), "only one trial at a time");
    assert!(!breaker.note(false, start + pause));
    assert!(!breaker.allows(start + pause * 3 / 2));

    assert!(breaker.allows(start + pause * 2));
    assert!(breaker.note(true, start + pause * 2));
    assert!(breaker.allows(start + pause * 2) && breaker.allows(start + pause * 2));
}

#[test]
fn short_secrets_are_rejected() {
    assert!(RedisSessions::new(free_address(), &SECRET[1..]).is_err());
}
