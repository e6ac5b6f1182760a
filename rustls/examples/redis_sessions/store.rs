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
//! A session holds secrets, by which whoever reads it could resume it and, without a key exchange, read it. So
//! it is sealed before it leaves the process, together with its key: Redis, and whoever can read or write there,
//! cannot read it, nor change it, nor pass one session off as another.
//!
//! It could hand a session out again. That early data is accepted once ([`ServerConfig::max_early_data_size`]) rests
//! on Redis, then, and on a single one: a replica that takes its place may still have what was taken.
//!
//! [`ServerConfig::max_early_data_size`]: rustls::ServerConfig::max_early_data_size

use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::{ProducesTickets, StoresServerSessions};
use zeroize::Zeroizing;

use super::breaker::Breaker;
use super::resp::{Answer, Connection};

/// How long a handshake waits for Redis, at the most, each time that it needs it.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// How long Redis is left alone after it has failed.
const PAUSE: Duration = Duration::from_secs(1);

/// How many connections are kept for later.
const MAX_IDLE: usize = 16;

/// What all keys begin with, so that others can use the same Redis.
const PREFIX: &[u8] = b"tls-session:";

/// After how many seconds Redis forgets a session: clients are told a day.
const EXPIRY_SECS: &[u8] = b"86400";

/// What is sealed must open for at least as long.
const EPOCH_SECS: u32 = 25 * 60 * 60;

/// Stores sessions in Redis 6.2 or later.
///
/// Whenever Redis does not answer in [`PATIENCE`], or with an error, the session is just not stored or found,
/// and a full handshake takes place. Then Redis is left alone for [`PAUSE`]. Sessions of more than 64 KiB, which have
/// very long certificate chains of clients, are not stored.
pub(crate) struct RedisSessions {
    address: SocketAddr,
    sealer: Arc<dyn ProducesTickets>,
    /// Each connection is used by one handshake at a time; the lock is never held while waiting for Redis.
    idle: Mutex<Vec<Connection>>,
    breaker: Breaker,
}

impl RedisSessions {
    /// `secret` is the same for all servers that share sessions: 32 random bytes or more.
    ///
    /// # Errors
    ///
    /// When the secret is too short.
    pub(crate) fn new(address: SocketAddr, secret: &[u8]) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            address,
            sealer: Ticketer::for_fleet(secret, EPOCH_SECS)?,
            idle: Mutex::new(Vec::new()),
            breaker: Breaker::new(PAUSE),
        })
    }

    /// Redis' answer; `None` if there is none in time.
    pub(crate) fn ask(&self, command: &[&[u8]]) -> Option<Answer> {
        let start = Instant::now();
        if !self.breaker.allows(start) {
            return None;
        }
        let answer = self.ask_before(start + PATIENCE, command);
        let is_news = self.breaker.note(answer.is_ok(), Instant::now());
        match &answer {
            Ok(_) if is_news => eprintln!("Redis is back"),
            Err(error) if is_news => eprintln!("without Redis for a while: {error}"),
            _ => {}
        }
        answer.ok()
    }

    fn ask_before(&self, deadline: Instant, command: &[&[u8]]) -> io::Result<Answer> {
        let idle = self.idle().pop();
        if let Some(mut connection) = idle {
            if let Ok(answer) = connection.ask(command, deadline) {
                self.keep(connection);
                return Ok(answer);
            }
        }
        // Redis may have closed it since. To send the command again is safe: what was taken stays taken.
        let mut connection = Connection::open(self.address, deadline)?;
        let answer = connection.ask(command, deadline)?;
        self.keep(connection);
        Ok(answer)
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session out of what Redis has under `key`.
    fn open(&self, key: &[u8], answer: Answer) -> Option<Vec<u8>> {
        let Answer::Bytes(sealed) = answer else {
            return None;
        };
        let plain = Zeroizing::new(self.sealer.decrypt(&sealed)?);
        let (len, rest) = plain.split_first_chunk()?;
        let (sealed_key, session) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        (sealed_key == key).then(|| session.to_vec())
    }
}

impl StoresServerSessions for RedisSessions {
    fn can_cache(&self) -> bool {
        true
    }

    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let len = (key.len() as u32).to_be_bytes();
        let plain = Zeroizing::new([&len, &key[..], &value].concat());
        let Some(sealed) = self.sealer.encrypt(&plain) else {
            return false;
        };
        let answer = self.ask(&[b"SET", &prefixed(&key), &sealed, b"EX", EXPIRY_SECS]);
        answer == Some(Answer::Done)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.open(key, self.ask(&[b"GET", &prefixed(key)])?)
    }

    /// One command, so that of two servers one gets it.
    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.open(key, self.ask(&[b"GETDEL", &prefixed(key)])?)
    }
}

fn prefixed(key: &[u8]) -> Vec<u8> {
    [PREFIX, key].concat()
}

impl fmt::Debug for RedisSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSessions")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
