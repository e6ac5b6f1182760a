//! Sessions in Redis.
//!
//! ```text
//!   TLS:    put(key, session)                    take(key)
//!               │                                    ▲
//!   here:   seal(key ‖ session)                  open, compare the key
//!               │                                    │
//!   Redis:  SET tls-session:key sealed EX 86400  GETDEL tls-session:key
//! ```
//!
//! A session holds secrets. Anybody who reads it can resume it, and can decrypt a resumption that
//! has no key exchange of its own. So it is sealed together with its key before it leaves the
//! process. Redis, and anybody with access to it, can neither read nor change it, nor swap two
//! sessions.
//!
//! Redis could return the same session twice. The rule that early data is accepted once
//! ([`ServerConfig::max_early_data_size`]) therefore rests on Redis, and on a single instance: a
//! replica that is promoted may still hold a session that was taken.
//!
//! Handshakes wait for Redis only on connections with
//! [`set_async`](rustls::CommonState::set_async). On others they are full ones, because waiting
//! would block their thread.
//!
//! [`ServerConfig::max_early_data_size`]: rustls::ServerConfig::max_early_data_size

use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use redis::{Cmd, RedisError, RedisResult, Value, cmd};
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::operation::BoxFuture;
use rustls::server::{ProducesTickets, ServerSessionValue, StoresServerSessions};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::breaker::Breaker;
use super::connection::Connection;

/// The longest time that a handshake waits for one command.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// The time without commands after Redis has failed.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of connections, busy and idle. Idle ones are kept open.
pub(crate) const MAX_CONNECTIONS: usize = 32;

/// The prefix of all keys, so that other programs can use the same Redis.
const PREFIX: &[u8] = b"tls-session:";

/// The time after which Redis forgets a session. Clients may resume for a day.
const EXPIRY_SECS: u32 = 24 * 60 * 60;

/// The time for which a sealed session can be opened: at least [`EXPIRY_SECS`].
const EPOCH_SECS: u32 = EXPIRY_SECS + 60 * 60;

/// Stores sessions in Redis 6.2 or later.
///
/// If Redis fails or does not answer in time, the handshake is a full one. No command
/// is sent for [`PAUSE`] then. Sessions of more than 64 KiB, which only very long client
/// certificate chains cause, are not stored.
#[derive(Clone)]
pub(crate) struct RedisSessions(Arc<Shared>);

/// The data that operations share. An operation may outlive the configuration.
struct Shared {
    address: SocketAddr,
    patience: Duration,
    sealer: Arc<dyn ProducesTickets>,
    /// One for each connection that is in use.
    permits: Semaphore,
    /// Each handshake takes a connection out, so the lock is never held while waiting for Redis.
    idle: Mutex<Vec<Connection>>,
    breaker: Breaker,
}

impl RedisSessions {
    /// Creates a store. All servers that share sessions use the same `secret`: 32 random bytes or
    /// more. A command may take as long as `patience`, such as [`PATIENCE`].
    ///
    /// # Errors
    ///
    /// Returns an error if the secret is too short.
    pub(crate) fn new(
        address: SocketAddr,
        secret: &[u8],
        patience: Duration,
    ) -> Result<Self, Box<dyn Error>> {
        Ok(Self(Arc::new(Shared {
            address,
            patience,
            sealer: Ticketer::for_fleet(secret, EPOCH_SECS)?,
            permits: Semaphore::new(MAX_CONNECTIONS),
            idle: Mutex::new(Vec::new()),
            breaker: Breaker::new(PAUSE),
        })))
    }

    /// Returns the answer to a command, or `None` if Redis does not answer in time or with an
    /// error.
    pub(crate) async fn ask(&self, command: &Cmd) -> Option<Value> {
        let permit = self.0.breaker.permit(Instant::now())?;
        let answer = timeout(self.0.patience, self.ask_redis(command)).await;
        let answer = answer.unwrap_or_else(|late| Err(io::Error::from(late).into()));
        let changed = permit.note(answer.is_ok(), Instant::now());
        match &answer {
            Ok(_) if changed => eprintln!("Redis works again"),
            Err(error) if changed => eprintln!("Redis fails, not used for now: {}", shown(error)),
            _ => {}
        }
        answer.ok()
    }

    async fn ask_redis(&self, command: &Cmd) -> RedisResult<Value> {
        // An attacker may begin many handshakes: the others wait here, also within the patience.
        let permit = self.0.permits.acquire().await;
        let _permit = permit.map_err(io::Error::other)?;
        let idle = self.idle().pop();
        if let Some(mut connection) = idle {
            if let Ok(answer) = connection.ask(command).await {
                self.idle().push(connection);
                return Ok(answer);
            }
        }
        // Redis may have closed an idle connection. Sending the command twice is safe: a session
        // that was taken stays taken.
        let mut connection = Connection::open(self.0.address).await?;
        let answer = connection.ask(command).await?;
        self.idle().push(connection);
        Ok(answer)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a session. Returns false if that failed.
    async fn store(&self, key: &[u8], session: ServerSessionValue) -> bool {
        let session = Zeroizing::new(session.into_vec());
        let len = (key.len() as u32).to_be_bytes();
        let plain = Zeroizing::new([&len, key, &session].concat());
        let Some(sealed) = self.0.sealer.encrypt(&plain) else {
            return false;
        };
        let mut set = cmd("SET");
        set.arg(prefixed(key))
            .arg(sealed)
            .arg("EX")
            .arg(EXPIRY_SECS);
        self.ask(&set).await == Some(Value::Okay)
    }

    /// Returns the session that Redis has for `key`, by `GET` or `GETDEL`.
    fn fetch(
        &self,
        command: &'static str,
        key: &[u8],
    ) -> impl Future<Output = Option<ServerSessionValue>> + use<> {
        let (this, key) = (self.clone(), key.to_vec());
        async move {
            let answer = this.ask(cmd(command).arg(prefixed(&key))).await?;
            this.open(&key, answer).map(ServerSessionValue::from)
        }
    }

    /// Opens the sealed session that Redis returned for `key`.
    fn open(&self, key: &[u8], answer: Value) -> Option<Vec<u8>> {
        let Value::BulkString(sealed) = answer else {
            return None;
        };
        let plain = Zeroizing::new(self.0.sealer.decrypt(&sealed)?);
        let (len, rest) = plain.split_first_chunk()?;
        let (sealed_key, session) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        (sealed_key == key).then(|| session.to_vec())
    }
}

impl StoresServerSessions for RedisSessions {
    fn can_cache(&self) -> bool {
        true
    }

    fn put_async(&self, key: &[u8], session: &ServerSessionValue) -> Option<BoxFuture<bool>> {
        let (this, key, session) = (self.clone(), key.to_vec(), session.clone());
        Some(Box::pin(async move { this.store(&key, session).await }))
    }

    fn get_async(&self, key: &[u8]) -> Option<BoxFuture<Option<ServerSessionValue>>> {
        Some(Box::pin(self.fetch("GET", key)))
    }

    /// Uses a single command, so that only one of two servers gets the session.
    fn take_async(&self, key: &[u8]) -> Option<BoxFuture<Option<ServerSessionValue>>> {
        Some(Box::pin(self.fetch("GETDEL", key)))
    }

    /// Stores nothing.
    fn put(&self, _: Vec<u8>, _: Vec<u8>) -> bool {
        false
    }

    /// Finds nothing.
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

/// Shortens an error for the log, and escapes it: its text may be from the network.
pub(crate) fn shown(error: &RedisError) -> String {
    let text: String = error.to_string().chars().take(200).collect();
    text.escape_debug().to_string()
}

fn prefixed(key: &[u8]) -> Vec<u8> {
    [PREFIX, key].concat()
}

impl fmt::Debug for RedisSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSessions")
            .field("address", &self.0.address)
            .finish_non_exhaustive()
    }
}
