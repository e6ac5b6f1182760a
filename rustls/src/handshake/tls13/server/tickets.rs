//! NewSessionTicket (RFC 9846 §4.7.1): the tickets that clients may resume with.
//!
//! A ticket is either a complete session, sealed by the ticketer, or its key in the session
//! storage. [`crate::config::session::value`] describes the content of a session.

use alloc::vec::Vec;

use rustls_core::crypto::tls13::OkmBlock;
use zeroize::Zeroizing;

use super::resumption::accepts_resumption;
use crate::certificates::Acceptance;
use crate::config::server::ServerConfig;
use crate::config::session::server_auth::ServerAuthId;
use crate::config::session::stored::ServerSessionValue;
use crate::config::session::value::{ClientChain, SessionFacts, SessionValue, Tls13Session};
use crate::config::session::{Lifetime, lifetime_left};
use crate::config::settings::ServerSettings;
use crate::error::Error;
use crate::handshake::ServerContext;
use crate::handshake::transport::Transport;
use crate::keys::tls13::TicketPsks;
use crate::msgs::EncodeMessage;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::session_ticket::NewSessionTicket;
use crate::record::MAX_FRAGMENT_LEN;
use crate::suites::Tls13CipherSuite;

/// The time in seconds during which a stored session may be resumed.
const STORED_LIFETIME: u32 = 24 * 60 * 60;

/// The length of a `ticket_nonce` in bytes. It equals that of rustls 0.23, because tests of
/// applications count the bytes of flights.
const NONCE_LEN: usize = 32;

/// The maximum length of a NewSessionTicket without its ticket, in bytes.
const TICKET_OVERHEAD: usize = 4 + 4 + 4 + (1 + NONCE_LEN) + 2 + (2 + 8);

/// The maximum length of a ticket in bytes.
const MAX_TICKET_LEN: usize = 0xffff - TICKET_OVERHEAD;

/// The length of a storage key in bytes. Keys cannot be guessed.
const STORAGE_KEY_LEN: usize = 32;

/// The number of tickets for one client.
#[derive(Clone, Copy)]
pub(super) struct TicketCount {
    pub(super) count: usize,
    /// The announced number of tickets, if the client requested a number (RFC 9149 §3).
    pub(super) hint: Option<u8>,
}

impl TicketCount {
    pub(super) fn new(
        extensions: &ClientExtensions<'_>,
        is_resumed: bool,
        config: &ServerConfig,
    ) -> Self {
        let requested = extensions.ticket_request.map(|request| {
            if is_resumed {
                request.resumption_count
            } else {
                request.new_session_count
            }
        });
        // RFC 9846 §4.3.9: no tickets for a client without psk_dhe_ke, because it could not resume
        let accepts = accepts_resumption(extensions) && TicketKind::of(config).is_some();
        match requested {
            Some(requested) if config.max_tls13_tickets != 0 => {
                // RFC 9149 §3: at most the requested number, and at most the configured limit
                let count = usize::from(requested).min(config.max_tls13_tickets);
                let count = if accepts { count } else { 0 };
                Self {
                    count,
                    hint: Some(count as u8), // at most `requested`
                }
            }
            _ => Self {
                count: if accepts {
                    config.send_tls13_tickets
                } else {
                    0
                },
                hint: None,
            },
        }
    }
}

/// The inputs of tickets, apart from the connection.
pub(super) struct TicketSender<'a> {
    pub(super) config: &'a ServerSettings,
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) count: usize,
    /// The time at which the resumed session authenticated with certificates, in seconds since
    /// 1970.
    pub(super) authenticated_at: Option<u64>,
    pub(super) client_acceptance: Option<Acceptance>,
    /// The server's certificate.
    pub(super) server_auth: ServerAuthId,
}

impl TicketSender<'_> {
    /// Sends the tickets. Sends none without a clock or a storage, or if the session's lifetime is
    /// over; the client then cannot resume.
    ///
    /// # Errors
    ///
    /// Returns [`Error::FailedToGetRandomBytes`] and [`Error::EncryptError`].
    pub(super) fn send(
        &self,
        resumption_secret: &OkmBlock,
        cx: &mut ServerContext<'_>,
    ) -> Result<(), Error> {
        // RFC 9846 §6.1: nothing is sent after close_notify, which may have been sent during the
        // handshake
        if cx.transport.is_closed() {
            return Ok(());
        }
        let config = self.config;
        let (Some(kind), Ok(now)) = (TicketKind::of(config), config.current_time()) else {
            return Ok(());
        };
        let now = now.as_secs();
        let authenticated_at = self.authenticated_at.unwrap_or(now);
        let left = lifetime_left(authenticated_at, now);
        if left == 0 {
            return Ok(());
        }
        let lifetime = kind.lifetime(config).promised.min(left);
        let max_early_data_size = kind.max_early_data_size(config);
        let psks = TicketPsks::new(self.suite, resumption_secret);
        let client_auth = config.client_auth();
        let mut messages = Vec::new();
        // reused, because all sessions have the same length
        let mut plain = Zeroizing::new(Vec::new());
        // RFC 9846 §4.7.1: random, and fresh for each ticket. One call draws several, which costs
        // the same
        let mut age_adds = [[0; 4]; 4];
        for number in 0..self.count {
            let next = number % age_adds.len();
            if next == 0 {
                let random = config.provider.secure_random;
                random.fill(age_adds.as_flattened_mut())?;
            }
            // RFC 9846 §4.7.1: the nonce is unique among the tickets of a connection
            let mut nonce = [0; NONCE_LEN];
            nonce[NONCE_LEN - 8..].copy_from_slice(&(number as u64).to_be_bytes());
            let psk = psks.psk(&nonce);
            let session = Tls13Session {
                suite: self.suite.common.suite,
                psk: psk.as_ref(),
                age_add: u32::from_be_bytes(age_adds[next]),
                max_early_data_size,
                carrier: config.carrier,
                facts: SessionFacts {
                    issued_at: now,
                    authenticated_at,
                    client_auth,
                    server_auth: self.server_auth,
                    alpn_protocol: cx.negotiated.alpn_protocol.as_deref(),
                    server_name: cx.data.server_name(),
                    application_data: cx.data.resumption_data(),
                    client_acceptance: self.client_acceptance,
                    client_chain: ClientChain::of(cx.negotiated.peer_chain()),
                },
            };
            let Some(ticket) = kind.make(&session, &mut plain, config)? else {
                break;
            };
            if messages.is_empty() {
                // reserve memory for the other tickets too, which have the same length, unless
                // there are many
                let len = TICKET_OVERHEAD + ticket.as_ref().len();
                messages.reserve(len * self.count.min(4));
            }
            NewSessionTicket {
                lifetime,
                age_add: session.age_add,
                nonce: &nonce,
                ticket: ticket.as_ref(),
                max_early_data_size: Some(max_early_data_size).filter(|size| *size != 0),
                ..NewSessionTicket::default()
            }
            .encode_message(&mut messages)?;
            // long tickets share no record: rustls 0.23 stops reading if a message and the records
            // of the next one exceed 64 KiB
            if messages.len() > MAX_FRAGMENT_LEN && !send_messages(&mut messages, cx.transport)? {
                return Ok(());
            }
        }
        send_messages(&mut messages, cx.transport).map(drop)
    }
}

/// Sends `messages`, and clears them. Returns false if the key is worn out.
fn send_messages(messages: &mut Vec<u8>, transport: &mut dyn Transport) -> Result<bool, Error> {
    if messages.is_empty() {
        return Ok(true);
    }
    // RFC 9846 §5.5: half-RTT data may have worn out the key, and tickets are optional
    if !transport.can_protect(messages.len()) {
        return Ok(false);
    }
    transport.send_handshake(messages)?;
    messages.clear();
    Ok(true)
}

/// The storage of sessions.
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

    /// Creates a ticket. Returns `None` if the session is too large, or the storage does not accept
    /// it. `plain` is a scratch buffer.
    fn make(
        self,
        session: &Tls13Session<'_>,
        plain: &mut Vec<u8>,
        config: &ServerConfig,
    ) -> Result<Option<Ticket>, Error> {
        match self {
            Self::Sealed => {
                plain.clear();
                session.encode(plain);
                let ticket = config.ticketer.encrypt(plain);
                let usable = |ticket: &Vec<u8>| (1..=MAX_TICKET_LEN).contains(&ticket.len());
                Ok(ticket.filter(usable).map(Ticket::Sealed))
            }
            Self::Stored => {
                let mut key = [0; STORAGE_KEY_LEN];
                config.provider.secure_random.fill(&mut key)?;
                let stored = config
                    .session_storage
                    .put_session(key.to_vec(), session.to_stored());
                Ok(stored.then_some(Ticket::Stored(key)))
            }
        }
    }

    /// Returns the session of `ticket`. A stored session is removed from the storage (RFC 9846
    /// §8.1).
    pub(super) fn find(self, ticket: &[u8], config: &ServerConfig) -> Option<ServerSessionValue> {
        match self {
            Self::Sealed => config.ticketer.decrypt(ticket).map(From::from),
            // TLS 1.3 stores sessions only under keys of this length
            Self::Stored if ticket.len() == STORAGE_KEY_LEN => {
                config.session_storage.take_session(ticket)
            }
            Self::Stored => None,
        }
    }

    /// Returns the limit of early data in the session of `ticket`, or 0 if there is none. The
    /// session stays in the storage.
    pub(super) fn early_data_size(self, ticket: &[u8], config: &ServerConfig) -> u32 {
        let value = match self {
            // sealed tickets allow no early data
            Self::Sealed => None,
            Self::Stored if ticket.len() == STORAGE_KEY_LEN => {
                config.session_storage.get_session(ticket)
            }
            Self::Stored => None,
        };
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

    /// Returns the limit of early data for a ticket. RFC 9846 §8: it is 0 if the ticket can be used
    /// more than once, because early data could then be replayed.
    fn max_early_data_size(self, config: &ServerConfig) -> u32 {
        match self {
            Self::Sealed => 0,
            Self::Stored => config.max_early_data_size,
        }
    }
}

/// The `ticket` of a NewSessionTicket.
enum Ticket {
    Sealed(Vec<u8>),
    Stored([u8; STORAGE_KEY_LEN]),
}

impl AsRef<[u8]> for Ticket {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Sealed(sealed) => sealed,
            Self::Stored(key) => key,
        }
    }
}
