//! Sessions in Redis.
//!
//! ```text
//!   TLS:    put(key, session)                    take(key)
//!   here:   seal(key ‖ session)                  open, compare the key
//!   Redis:  SET tls-session:key sealed EX 86400  GETDEL tls-session:key
//! ```
//!
//! A session holds secrets, so it is sealed together with its key: someone with access to Redis can
//! neither read nor change sessions, nor swap two of them. But Redis could return a session twice.
//! With early data, use a single Redis: a promoted replica may still have a session that was taken.

use std::error::Error;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::{Cmd, Parser, RedisError, RedisResult, Value, cmd};
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::operation::BoxFuture;
use rustls::server::{ProducesTickets, ServerSessionValue, StoresServerSessions};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;
use zeroize::Zeroizing;

/// The start of all keys, so that other programs can use the same Redis.
const PREFIX: &[u8] = b"tls-session:";

/// The time after which Redis forgets a session. Clients may resume for a day.
const EXPIRY_SECS: u32 = 24 * 60 * 60;

/// Stores sessions in Redis 6.2 or later, on connections with
/// [`set_async`](rustls::CommonState::set_async). On others, waiting would block the thread.
///
/// If Redis fails or does not answer in time, the handshake is full. Sessions of more than 64 KiB,
/// which only very long client certificate chains cause, are not stored.
#[derive(Clone, Debug)]
pub(crate) struct RedisSessions {
    address: SocketAddr,
    patience: Duration,
    sealer: Arc<dyn ProducesTickets>,
    /// Idle connections. Each command takes one out or opens another.
    idle: Arc<Mutex<Vec<TcpStream>>>,
}

impl RedisSessions {
    /// Creates a store. All servers that share sessions use the same `secret` of 32 random bytes or
    /// more. A handshake waits at most `patience` for each command.
    pub(crate) fn new(
        address: SocketAddr,
        secret: &[u8],
        patience: Duration,
    ) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            address,
            patience,
            sealer: Ticketer::for_fleet(secret, EXPIRY_SECS + 60 * 60)?,
            idle: Arc::default(),
        })
    }

    /// Returns the result of a command, or `None` if Redis fails or does not answer in time.
    async fn call(&self, command: Cmd) -> Option<Value> {
        let called = timeout(self.patience, self.call_redis(&command)).await;
        let result = called.unwrap_or_else(|late| Err(io::Error::from(late).into()));
        let failed = |error: &RedisError| eprintln!("redis_sessions: {error:?}");
        result.inspect_err(failed).ok()
    }

    async fn call_redis(&self, command: &Cmd) -> RedisResult<Value> {
        let idle = self.idle().pop();
        if let Some(mut stream) = idle {
            if let Ok(value) = exchange(&mut stream, command).await {
                self.idle().push(stream);
                return Ok(value);
            }
        }
        // Redis may have closed an idle connection. Sending the command twice is safe: a session
        // that was taken stays taken.
        let mut stream = TcpStream::connect(self.address).await?;
        let value = exchange(&mut stream, command).await?;
        self.idle().push(stream);
        Ok(value)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session that Redis has for `key`, which `GET` keeps and `GETDEL` removes.
    fn fetch(&self, command: &str, key: &[u8]) -> BoxFuture<Option<ServerSessionValue>> {
        let (this, key, mut command) = (self.clone(), key.to_vec(), cmd(command));
        command.arg([PREFIX, &key].concat());
        Box::pin(async move {
            let Some(Value::BulkString(sealed)) = this.call(command).await else {
                return None;
            };
            let plain = Zeroizing::new(this.sealer.decrypt(&sealed)?);
            let (len, rest) = plain.split_first_chunk()?;
            let (sealed_key, session) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
            (sealed_key == key).then(|| session.to_vec().into())
        })
    }
}

impl StoresServerSessions for RedisSessions {
    fn can_cache(&self) -> bool {
        true
    }

    fn put_async(&self, key: &[u8], session: &ServerSessionValue) -> Option<BoxFuture<bool>> {
        let session = Zeroizing::new(session.clone().into_vec());
        let len = (key.len() as u32).to_be_bytes();
        let plain = Zeroizing::new([&len, key, &session].concat());
        let (this, sealed) = (self.clone(), self.sealer.encrypt(&plain)?);
        let mut set = cmd("SET");
        set.arg(([PREFIX, key].concat(), sealed, "EX", EXPIRY_SECS));
        let stored = async move { this.call(set).await == Some(Value::Okay) };
        Some(Box::pin(stored))
    }

    fn get_async(&self, key: &[u8]) -> Option<BoxFuture<Option<ServerSessionValue>>> {
        Some(self.fetch("GET", key))
    }

    /// Uses a single command, so that only one server gets the session.
    fn take_async(&self, key: &[u8]) -> Option<BoxFuture<Option<ServerSessionValue>>> {
        Some(self.fetch("GETDEL", key))
    }

    fn put(&self, _: Vec<u8>, _: Vec<u8>) -> bool {
        false
    }

    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Finds nothing, but removes the session: a failed TLS 1.2 connection calls this, and does not
    /// wait (RFC 5246 §7.2.2).
    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(self.fetch("GETDEL", key));
        }
        None
    }
}

/// Sends a command and reads the result. After an error, or if the future was dropped, the rest of
/// a result may still arrive: drop the stream.
async fn exchange(stream: &mut TcpStream, command: &Cmd) -> RedisResult<Value> {
    stream.write_all(&command.get_packed_command()).await?;
    // no session is longer than this
    let mut result = Arrived(stream).take(1 << 20);
    let mut parser = Parser::new();
    loop {
        result.get_ref().0.readable().await?;
        // The parser keeps the part of the result that has arrived.
        match parser.parse_value(&mut result) {
            Err(error) if error.is_timeout() => {}
            value => return value?.extract_error(),
        }
    }
}

/// The bytes that have arrived. Reading more returns `WouldBlock`, which redis calls a timeout.
struct Arrived<'a>(&'a TcpStream);

impl Read for Arrived<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(out)
    }
}
