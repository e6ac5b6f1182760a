//! Over a real Redis where one is installed, and over servers that are worse than none.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use harness::configs::{self, ClientAuth, KeyType};
use harness::endpoints::{
    ThisBuffered, UpstreamBuffered, handshake, send_and_check, talk_and_close,
};
use rustls::server::StoresServerSessions;

use super::breaker::Breaker;
use super::resp::Answer;
use super::store::RedisSessions;

const SECRET: [u8; 32] = [7; 32];

/// A Redis of the test's own, which ends with it.
struct Redis {
    process: Child,
    address: SocketAddr,
}

impl Redis {
    /// `None`, with a message, where it is not installed.
    fn start() -> Option<Self> {
        // the port was free a moment ago; another try if somebody was faster
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
                // it must not stop because nobody reads what it says
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

/// Where nobody listens.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

/// A server that does `answer` with each connection; the connections are counted by `accepted`.
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
fn what_one_server_stores_another_finds_and_one_takes() {
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

    // any bytes will do
    let key: Vec<u8> = (0..=255).collect();
    let value = [&b"\r\n$-1\r\n"[..], &[0xff; 60_000]].concat();
    assert!(one.put(key.clone(), value.clone()));
    assert_eq!(other.take(&key), Some(value));
}

#[test]
fn of_many_takers_one_gets_the_session() {
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
fn redis_sees_sealed_values_under_our_prefix_for_a_day() {
    let Some(redis) = Redis::start() else { return };
    let sessions = redis.sessions();
    assert!(sessions.put(b"key".to_vec(), b"a session".to_vec()));
    let ask = |command: &[&[u8]]| sessions.ask(command).unwrap();
    assert_eq!(ask(&[b"DBSIZE"]), Answer::Number(1));
    let Answer::Bytes(sealed) = ask(&[b"GET", b"tls-session:key"]) else {
        panic!("not under its prefix")
    };
    assert!(!sealed.windows(9).any(|bytes| bytes == b"a session"));
    let Answer::Number(secs) = ask(&[b"TTL", b"tls-session:key"]) else {
        panic!("no time to live")
    };
    assert!((86_000..=86_400).contains(&secs), "{secs} s");

    // neither changed, nor under another key, nor by a server with another secret
    ask(&[b"SET", b"tls-session:other", &sealed]);
    assert_eq!(sessions.get(b"other"), None);
    let stranger = RedisSessions::new(redis.address, &[8; 32]).unwrap();
    assert_eq!(stranger.get(b"key"), None);
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        ask(&[b"SET", b"tls-session:key", &changed]);
        assert_eq!(sessions.get(b"key"), None, "byte {at} changed");
    }
    ask(&[b"SET", b"tls-session:key", &sealed]);
    assert_eq!(sessions.get(b"key").unwrap(), b"a session");
}

#[test]
fn redis_that_went_and_came_back_is_found_again() {
    let Some(redis) = Redis::start() else { return };
    let sessions = redis.sessions();
    assert!(sessions.put(b"key".to_vec(), b"a session".to_vec()));
    // the connection that was kept is closed
    let idle = sessions.ask(&[b"CLIENT", b"KILL", b"TYPE", b"normal", b"SKIPME", b"no"]);
    assert_eq!(idle, Some(Answer::Number(1)));
    assert_eq!(sessions.get(b"key").unwrap(), b"a session");
}

/// Servers that are no help, by what they do with a connection.
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
                // slower than anybody can wait for, and never quite silent
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
fn bad_servers_cost_sessions_and_nothing_else() {
    for (what, address) in bad_servers() {
        for operation in 0..3 {
            // a new one each time, which has not given up yet
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
fn handshakes_go_on_over_bad_servers() {
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

/// Two servers with nothing in common but the secret and the place.
#[test]
fn sessions_go_on_at_another_server() {
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

/// The first failure is waited for, the next callers are not even connected.
#[test]
fn failed_server_is_left_alone() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let sessions = RedisSessions::new(address, &SECRET).unwrap();
    assert_eq!(sessions.get(b"key"), None);
    for _ in 0..1000 {
        // within the pause, unless the machine stands still for a second
        assert_eq!(sessions.take(b"key"), None);
    }
    listener.set_nonblocking(true).unwrap();
    let connections = listener.incoming().map_while(Result::ok).count();
    assert!((1..100).contains(&connections), "{connections} connections");
}

#[test]
fn breaker_lets_one_try_after_each_pause() {
    let pause = Duration::from_secs(1);
    let breaker = Breaker::new(pause);
    let start = Instant::now();
    assert!(breaker.allows(start) && breaker.allows(start));
    assert!(!breaker.note(true, start));

    assert!(breaker.note(false, start));
    assert!(!breaker.note(false, start), "no news");
    assert!(!breaker.allows(start));
    assert!(!breaker.allows(start + pause / 2));
    assert!(breaker.allows(start + pause));
    assert!(!breaker.allows(start + pause), "one tries already");
    assert!(!breaker.note(false, start + pause));
    assert!(!breaker.allows(start + pause * 3 / 2));

    assert!(breaker.allows(start + pause * 2));
    assert!(breaker.note(true, start + pause * 2));
    assert!(breaker.allows(start + pause * 2) && breaker.allows(start + pause * 2));
}

#[test]
fn short_secrets_are_refused() {
    assert!(RedisSessions::new(free_address(), &SECRET[1..]).is_err());
}
