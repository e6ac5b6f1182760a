//! The two ways to keep sessions: in tickets, or in the session storage.
//!
//! This module calls the application's code: the ticketer and the storage.

use alloc::vec::Vec;
use core::pin::pin;
use core::task::{self, Poll, ready};

use rustls_core::operation::BoxFuture;

use crate::callbacks::{CallMode, Callbacks};
use crate::config::server::ServerConfig;
use crate::config::session::Lifetime;
use crate::config::session::stored::ServerSessionValue;
use crate::config::session::value::{SessionValue, Tls13Session};
use crate::error::Error;
use crate::handshake::server::held_hello::ReceivedHello;
use crate::handshake::wait::Call;

/// The maximum time in seconds during which a stored session may be resumed.
const STORED_LIFETIME: u32 = 24 * 60 * 60;

/// The length of a `ticket_nonce` in bytes. Some clients, such as wolfSSL 5.5, reject longer ones.
pub(super) const NONCE_LEN: usize = 8;

/// The maximum length of a NewSessionTicket excluding its ticket, in bytes.
pub(super) const TICKET_OVERHEAD: usize = 4 + 4 + 4 + (1 + NONCE_LEN) + 2 + (2 + 8);

/// The maximum length of a ticket in bytes: its message has at most 2^16 - 1 bytes.
const MAX_TICKET_LEN: usize = 0xffff - TICKET_OVERHEAD;

/// The length of a storage key in bytes: long enough that keys cannot be guessed.
const STORAGE_KEY_LEN: usize = 32;

/// The way in which a server keeps its sessions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TicketKind {
    /// Sessions are in tickets.
    Sealed,
    /// Sessions are in the session storage.
    Stored,
}

impl TicketKind {
    pub(super) fn of(config: &ServerConfig) -> Option<Self> {
        if config.ticketer.enabled() {
            return Some(Self::Sealed);
        }
        config.session_storage.can_cache().then_some(Self::Stored)
    }

    /// Starts to create a ticket. It ends up as [`NewTicket::Created`] with `None` if the ticketer
    /// fails, if the ticket is empty or too long, or if the storage does not accept the session.
    /// `plain` is a scratch buffer.
    ///
    /// # Errors
    ///
    /// Returns [`Error::FailedToGetRandomBytes`] if no storage key can be drawn.
    pub(super) fn create(
        self,
        session: &Tls13Session<'_>,
        plain: &mut Vec<u8>,
        config: &ServerConfig,
        callbacks: Callbacks,
    ) -> Result<NewTicket, Error> {
        match self {
            Self::Sealed => {
                let ticketer = &config.ticketer;
                plain.clear();
                session.encode(plain);
                let callbacks = callbacks.of(|| ticketer.may_wait());
                Ok(match callbacks.future(|| ticketer.encrypt_async(plain)) {
                    Some(sealed) => NewTicket::Sealing(sealed),
                    None => NewTicket::Created(ticketer.encrypt(plain).and_then(Ticket::sealed)),
                })
            }
            Self::Stored => {
                let storage = &config.session_storage;
                let key = storage_key(config)?;
                let session = session.to_stored();
                Ok(
                    match callbacks.future(|| storage.put_async(&key, &session)) {
                        Some(stored) => NewTicket::Storing(key, stored),
                        None => {
                            let is_stored = storage.put_session(key.to_vec(), session);
                            NewTicket::Created(is_stored.then_some(Ticket::Stored(key)))
                        }
                    },
                )
            }
        }
    }

    /// Returns the callback that creates a ticket.
    pub(super) fn call(self) -> Call {
        match self {
            Self::Sealed => Call::Ticket,
            Self::Stored => Call::Session,
        }
    }

    /// Returns the session that `ticket` stands for. A stored session is removed from the storage
    /// (RFC 9846 §8.1).
    pub(super) async fn find<M: CallMode>(
        self,
        ticket: &[u8],
        received: &mut ReceivedHello<'_, '_, M>,
    ) -> Option<ServerSessionValue> {
        let ReceivedHello { hello, config, .. } = received;
        match self {
            Self::Sealed => {
                let decrypting = M::CALLBACKS.decrypt_ticket(&*config.ticketer, ticket);
                let decrypting = pin!(decrypting.result());
                hello.wait(Call::Ticket, decrypting).await.map(From::from)
            }
            // TLS 1.3 stores sessions only under keys of this length
            Self::Stored if ticket.len() == STORAGE_KEY_LEN => {
                let taking = M::CALLBACKS.take_session(&*config.session_storage, ticket);
                hello.wait(Call::Session, pin!(taking.result())).await
            }
            Self::Stored => None,
        }
    }

    /// Returns the early data limit in the session that `ticket` stands for, or 0 if there is no
    /// such session. The session stays in the storage.
    pub(super) async fn early_data_size<M: CallMode>(
        self,
        ticket: &[u8],
        received: &mut ReceivedHello<'_, '_, M>,
    ) -> u32 {
        // sealed tickets allow no early data
        if self == Self::Sealed || ticket.len() != STORAGE_KEY_LEN {
            return 0;
        }
        let storage = &*received.config.session_storage;
        let getting = pin!(M::CALLBACKS.get_session(storage, ticket).result());
        let value = received.hello.wait(Call::Session, getting).await;
        value.map_or(0, |value| {
            Tls13Session::read(&value).map_or(0, |session| session.max_early_data_size)
        })
    }

    pub(super) fn lifetime(self, config: &ServerConfig) -> Lifetime {
        match self {
            Self::Sealed => Lifetime {
                promised: config.ticketer.lifetime(),
                clock_tolerance: config.ticketer.clock_tolerance(),
            },
            Self::Stored => Lifetime::exactly(STORED_LIFETIME),
        }
    }

    /// Returns the early data limit for a ticket. RFC 9846 §8: the limit is 0 if the ticket can be
    /// used more than once, because early data could then be replayed.
    pub(super) fn max_early_data_size(self, config: &ServerConfig) -> u32 {
        match self {
            Self::Sealed => 0,
            Self::Stored => config.max_early_data_size,
        }
    }
}

/// Draws a storage key for a session.
fn storage_key(config: &ServerConfig) -> Result<[u8; STORAGE_KEY_LEN], Error> {
    let mut key = [0; STORAGE_KEY_LEN];
    config.provider.secure_random.fill(&mut key)?;
    Ok(key)
}

/// The `ticket` of a NewSessionTicket.
pub(super) enum Ticket {
    Sealed(Vec<u8>),
    Stored([u8; STORAGE_KEY_LEN]),
}

impl Ticket {
    /// Returns `None` if the ticket is empty, or too long for its message.
    fn sealed(ticket: Vec<u8>) -> Option<Self> {
        let is_usable = (1..=MAX_TICKET_LEN).contains(&ticket.len());
        is_usable.then_some(Self::Sealed(ticket))
    }
}

impl AsRef<[u8]> for Ticket {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Sealed(sealed) => sealed,
            Self::Stored(key) => key,
        }
    }
}

/// A ticket that is being created: its callback may be pending.
pub(super) enum NewTicket {
    /// The ticket, or `None` if it could not be created.
    Created(Option<Ticket>),
    Sealing(BoxFuture<Option<Vec<u8>>>),
    Storing([u8; STORAGE_KEY_LEN], BoxFuture<bool>),
}

impl NewTicket {
    /// Polls the callback, if one is pending, and keeps its result.
    pub(super) fn poll(&mut self, task: &mut task::Context<'_>) -> Poll<()> {
        let ticket = match self {
            Self::Created(_) => return Poll::Ready(()),
            Self::Sealing(sealed) => ready!(sealed.as_mut().poll(task)).and_then(Ticket::sealed),
            Self::Storing(key, stored) => {
                let is_stored = ready!(stored.as_mut().poll(task));
                is_stored.then_some(Ticket::Stored(*key))
            }
        };
        *self = Self::Created(ticket);
        Poll::Ready(())
    }
}
