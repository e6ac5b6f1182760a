//! Sessions in a real Redis where one is installed, and in servers that misbehave.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use harness::peers::configs::{self, ClientAuth, KeyType, Versions};
use redis::{Value, cmd, parse_redis_value};
use rustls::server::{ServerSessionValue, StoresServerSessions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::spawn_blocking;

use super::breaker::{Breaker, Permit};
use super::store::{MAX_CONNECTIONS, PATIENCE, RedisSessions, shown};

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
async fn stored_session_is_found_by_another_server_and_taken_once() {
    let Some(redis) = Redis::start() else { return };
    let [one, other] = [redis.sessions(), redis.sessions()];
    assert!(one.can_cache());
    assert_eq!(get(&other, b"key").await, None);
    assert!(put(&one, b"key", b"a session").await);
    assert_eq!(get(&other, b"key").await.unwrap(), b"a session");
    assert!(put(&other, b"key", b"another").await);
    assert_eq!(take(&one, b"key").await.unwrap(), b"another");
    assert_eq!(take(&other, b"key").await, None);
    assert_eq!(get(&one, b"key").await, None);

    // Keys and values may hold any bytes.
    let key: Vec<u8> = (0..=255).collect();
    let value = [&b"\r\n$-1\r\n"[..], &[0xff; 60_000]].concat();
    assert!(put(&one, &key, &value).await);
    assert_eq!(take(&other, &key).await, Some(value));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_of_many_servers_takes_a_session() {
    let Some(redis) = Redis::start() else { return };
    for round in 0..20_u8 {
        let servers: Vec<_> = (0..4).map(|_| redis.sessions()).collect();
        assert!(put(&servers[0], &[round], b"a session").await);
        let takers = servers
            .into_iter()
            .map(|server| tokio::spawn(async move { take(&server, &[round]).await }));
        let takers: Vec<_> = takers.collect();
        let mut taken = 0;
        for taker in takers {
            taken += usize::from(taker.await.unwrap().is_some());
        }
        assert_eq!(taken, 1);
    }
}

/// A connection that nobody polls stores and finds nothing, but removes its session if it fails.
#[tokio::test]
async fn calls_that_may_not_wait_only_remove_sessions() {
    let Some(redis) = Redis::start() else { return };
    let sessions = redis.sessions();
    assert!(!sessions.put(b"other".to_vec(), b"a session".to_vec()));
    assert!(put(&sessions, b"key", b"a session").await);
    assert_eq!(sessions.get(b"key"), None);
    assert!(get(&sessions, b"key").await.is_some());
    assert_eq!(sessions.take(b"key"), None);
    while get(&sessions, b"key").await.is_some() {}
    assert_eq!(sessions.ask(&cmd("DBSIZE")).await, Some(Value::Int(0)));
}

#[tokio::test]
async fn values_are_sealed_and_expire_after_a_day() {
    let Some(redis) = Redis::start() else { return };
    let sessions = redis.sessions();
    assert!(put(&sessions, b"key", b"a session").await);
    let set = async |key: &[u8], value: &[u8]| {
        let answer = sessions.ask(cmd("SET").arg(key).arg(value)).await;
        assert_eq!(answer, Some(Value::Okay));
    };
    assert_eq!(sessions.ask(&cmd("DBSIZE")).await, Some(Value::Int(1)));
    let stored = sessions.ask(cmd("GET").arg("tls-session:key")).await;
    let Some(Value::BulkString(sealed)) = stored else {
        panic!("not stored with the prefix")
    };
    assert!(!sealed.windows(9).any(|bytes| bytes == b"a session"));
    let left = sessions.ask(cmd("TTL").arg("tls-session:key")).await;
    let Some(Value::Int(secs)) = left else {
        panic!("no time to live")
    };
    assert!((86_000..=86_400).contains(&secs), "{secs} s");

    // A value does not open under another key, with another secret, or if it was changed.
    set(b"tls-session:other", &sealed).await;
    assert_eq!(get(&sessions, b"other").await, None);
    let stranger = RedisSessions::new(redis.address, &[8; 32], LONG).unwrap();
    assert_eq!(get(&stranger, b"key").await, None);
    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        set(b"tls-session:key", &changed).await;
        assert_eq!(get(&sessions, b"key").await, None, "byte {at} changed");
    }
    set(b"tls-session:key", &sealed).await;
    assert_eq!(get(&sessions, b"key").await.unwrap(), b"a session");
}

#[tokio::test]
async fn closed_idle_connection_is_replaced() {
    let Some(redis) = Redis::start() else { return };
    let sessions = redis.sessions();
    assert!(put(&sessions, b"key", b"a session").await);
    let mut kill = cmd("CLIENT");
    kill.arg(&["KILL", "TYPE", "normal", "SKIPME", "no"]);
    assert_eq!(sessions.ask(&kill).await, Some(Value::Int(1)));
    assert_eq!(get(&sessions, b"key").await.unwrap(), b"a session");
}

#[tokio::test]
async fn answer_may_arrive_in_pieces() {
    let address = serve(|mut stream| {
        let _ = stream.read(&mut [0; 1000]);
        for byte in b"*2\r\n$5\r\na\r\nbc\r\n:42\r\n" {
            stream.write_all(&[*byte]).unwrap();
            thread::yield_now();
        }
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let sessions = RedisSessions::new(address, &SECRET, LONG).unwrap();
    let expected = [Value::BulkString(b"a\r\nbc".to_vec()), Value::Int(42)];
    let answer = sessions.ask(&cmd("PING")).await;
    assert_eq!(answer, Some(Value::Array(expected.to_vec())));
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

#[tokio::test]
async fn bad_servers_only_lose_sessions() {
    for (what, address) in bad_servers() {
        for operation in 0..3 {
            // A new store has a closed breaker.
            let sessions = RedisSessions::new(address, &SECRET, PATIENCE).unwrap();
            match operation {
                0 => assert!(!put(&sessions, b"key", b"value").await, "{what}"),
                1 => assert_eq!(get(&sessions, b"key").await, None, "{what}"),
                _ => assert_eq!(take(&sessions, b"key").await, None, "{what}"),
            }
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

#[tokio::test]
async fn handshakes_over_bad_servers_are_full_ones() {
    for (what, address) in bad_servers() {
        let sessions = RedisSessions::new(address, &SECRET, PATIENCE).unwrap();
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
            let sessions = redis.sessions();
            assert_eq!(greeted(sessions, versions, &client).await, kind);
        }
    }
}

/// A storage on the thread of the handshakes: it answers only if they do not block.
#[tokio::test]
async fn handshakes_do_not_hold_their_thread() {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.unwrap();
    let sessions = RedisSessions::new(listener.local_addr().unwrap(), &SECRET, LONG).unwrap();
    tokio::spawn(async move {
        let stored = Arc::new(Mutex::new(HashMap::new()));
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer_commands(stream, stored.clone()));
        }
    });
    for versions in [Versions::Tls12, Versions::Tls13] {
        let client = client(versions);
        for kind in ["Full\n", "Resumed\n"] {
            assert_eq!(greeted(sessions.clone(), versions, &client).await, kind);
        }
    }
}

type Stored = Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>;

/// Answers SET, GET and GETDEL, which arrive as a whole.
async fn answer_commands(mut stream: tokio::net::TcpStream, stored: Stored) {
    let mut memory = vec![0; 100_000];
    while let Ok(len @ 1..) = stream.read(&mut memory).await {
        let Ok(Value::Array(words)) = parse_redis_value(&memory[..len]) else {
            panic!("not a command")
        };
        let words = words.into_iter().map(|word| match word {
            Value::BulkString(bytes) => bytes,
            word => panic!("{word:?} in a command"),
        });
        let words: Vec<_> = words.collect();
        let found = {
            let mut stored = stored.lock().unwrap();
            match &words[0][..] {
                b"SET" => {
                    stored.insert(words[1].clone(), words[2].clone());
                    None
                }
                b"GET" => stored.get(&words[1]).cloned(),
                _ => stored.remove(&words[1]),
            }
        };
        let answer = match (&words[0][..], found) {
            (b"SET", _) => b"+OK\r\n".to_vec(),
            (_, None) => b"$-1\r\n".to_vec(),
            (_, Some(bytes)) => {
                let len = format!("${}\r\n", bytes.len());
                [len.as_bytes(), &bytes, b"\r\n"].concat()
            }
        };
        stream.write_all(&answer).await.unwrap();
    }
}

/// Only the first caller waits for a failed server. Later ones do not even connect.
#[tokio::test]
async fn failed_server_gets_no_connections_for_a_pause() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let sessions = RedisSessions::new(address, &SECRET, PATIENCE).unwrap();
    assert_eq!(get(&sessions, b"key").await, None);
    for _ in 0..1000 {
        // These calls take less than the pause, unless the machine stalls for a second.
        assert_eq!(take(&sessions, b"key").await, None);
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
    let [one, two, slow] = [(); 3].map(|()| breaker.permit(start).unwrap());
    let note = |permit: Option<Permit<'_>>, succeeded, at| permit.unwrap().note(succeeded, at);
    assert!(!note(breaker.permit(start), true, start));

    assert!(one.note(false, start));
    assert!(!two.note(false, start), "the breaker did not change");
    assert!(breaker.permit(start).is_none());
    assert!(breaker.permit(start + pause / 2).is_none());
    assert!(
        !slow.note(true, start),
        "an earlier request changes nothing"
    );
    assert!(breaker.permit(start + pause / 2).is_none());

    let trial = breaker.permit(start + pause);
    assert!(
        breaker.permit(start + pause).is_none(),
        "only one trial at a time"
    );
    assert!(!note(trial, false, start + pause));
    assert!(breaker.permit(start + pause * 3 / 2).is_none());

    let trial = breaker.permit(start + pause * 2);
    assert!(note(trial, true, start + pause * 2));
    let both = [(); 2].map(|()| breaker.permit(start + pause * 2));
    assert!(both.iter().all(Option::is_some));
}

/// A client may end the handshake that made the trial.
#[test]
fn abandoned_trial_allows_another_one() {
    let breaker = Breaker::new(Duration::ZERO);
    let start = Instant::now();
    assert!(breaker.permit(start).unwrap().note(false, start));
    let trial = breaker.permit(start).unwrap();
    assert!(breaker.permit(start).is_none());
    drop(trial);
    assert!(breaker.permit(Instant::now()).unwrap().note(true, start));
}

/// Handshakes beyond the limit wait for a connection, and use those of others.
#[tokio::test]
async fn connections_are_limited() {
    const COMMANDS: usize = 3 * MAX_CONNECTIONS;
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.unwrap();
    let sessions = RedisSessions::new(listener.local_addr().unwrap(), &SECRET, LONG).unwrap();
    let commands: Vec<_> = (0..COMMANDS)
        .map(|_| sessions.get_async(b"key").unwrap())
        .map(tokio::spawn)
        .collect();
    let mut streams = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert_ne!(stream.read(&mut [0; 1000]).await.unwrap(), 0);
        streams.push(stream);
    }
    // All connections are busy now, and each other command needs one of them.
    let answers = async {
        for mut stream in streams {
            tokio::spawn(async move {
                loop {
                    stream.write_all(b"$-1\r\n").await.unwrap();
                    if !matches!(stream.read(&mut [0; 1000]).await, Ok(1..)) {
                        break;
                    }
                }
            });
        }
        for command in commands {
            assert!(command.await.unwrap().is_none());
        }
    };
    tokio::select! {
        biased;
        _ = listener.accept() => panic!("one more connection"),
        () = answers => {}
    }
}

#[test]
fn errors_of_redis_are_shortened_and_escaped() {
    let text = format!("-ERR \u{1b}[2J{}\r\n", "long ".repeat(1000));
    let error = parse_redis_value(text.as_bytes());
    let error = error.and_then(Value::extract_error).unwrap_err();
    let shown = shown(&error);
    assert!(shown.contains("[2J") && shown.len() < 300, "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn short_secrets_are_rejected() {
    assert!(RedisSessions::new(free_address(), &SECRET[1..], LONG).is_err());
}
