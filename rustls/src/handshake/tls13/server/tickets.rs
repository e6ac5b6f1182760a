//! NewSessionTicket (RFC 9846 §4.7.1): the tickets that clients may resume with.
//!
//! A ticket is either a complete session, sealed by the ticketer, or the session's key in the
//! session storage (`ticket_kind`). [`crate::config::session::value`] describes the content of a
//! session.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::mem;
use core::task::{self, Poll};

use pki_types::DnsName;
use rustls_core::crypto::tls13::OkmBlock;
use smallvec::SmallVec;
use zeroize::Zeroizing;

use super::State;
use super::parameters::HelloFacts;
use super::ticket_kind::{NONCE_LEN, NewTicket, TICKET_OVERHEAD, Ticket, TicketKind};
use crate::callbacks::Callbacks;
use crate::certificates::{Acceptance, PeerChain};
use crate::config::server::ServerConfig;
use crate::config::session::client_auth::ClientAuthId;
use crate::config::session::lifetime_left;
use crate::config::session::server_auth::ServerAuthId;
use crate::config::session::value::{ClientChain, SessionFacts, Tls13Session};
use crate::config::settings::ServerSettings;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::negotiated::Negotiated;
use crate::handshake::observation::Recorder;
use crate::handshake::server::connection_data::ServerConnectionData;
use crate::handshake::transport::Transport;
use crate::handshake::wait::Wait;
use crate::handshake::{ServerContext, operation};
use crate::keys::tls13::TicketPsks;
use crate::msgs::EncodeMessage;
use crate::msgs::session_ticket::NewSessionTicket;
use crate::record::MAX_FRAGMENT_LEN;
use crate::suites::Tls13CipherSuite;

/// The number of tickets for one connection.
#[derive(Clone, Copy)]
pub(super) struct TicketCount {
    pub(super) count: usize,
    /// The number announced in reply to the client's request, if any (RFC 9149 §3).
    pub(super) hint: Option<u8>,
}

impl TicketCount {
    pub(super) fn new(facts: &HelloFacts, is_resumed: bool, config: &ServerConfig) -> Self {
        let requested = facts.ticket_request.map(|request| {
            if is_resumed {
                request.resumption_count
            } else {
                request.new_session_count
            }
        });
        // RFC 9846 §4.3.9: no tickets for a client without psk_dhe_ke, because it could not resume
        let accepts = facts.accepts_resumption && TicketKind::of(config).is_some();
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

/// The data for tickets that comes from the handshake.
#[derive(Clone, Copy)]
pub(super) struct TicketInputs {
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) count: usize,
    /// The time of the full handshake with which the resumed session began, in seconds since 1970.
    /// `None` if no session is resumed.
    pub(super) authenticated_at: Option<u64>,
    pub(super) client_acceptance: Option<Acceptance>,
    /// The hash of the server's certificate or raw public key.
    pub(super) server_auth: ServerAuthId,
}

impl TicketInputs {
    /// Returns the terms of the tickets. Returns `None` if no tickets can be sent: after a
    /// close_notify, without a clock, with neither a ticketer nor a storage, or at the end of the
    /// session's lifetime.
    fn terms(&self, config: &ServerSettings, cx: &ServerContext<'_>) -> Option<Terms> {
        // RFC 9846 §6.1: nothing is sent after close_notify, which may have been sent during the
        // handshake
        if cx.transport.is_closed() {
            return None;
        }
        let kind = TicketKind::of(config)?;
        let now = config.current_time().ok()?.as_secs();
        let authenticated_at = self.authenticated_at.unwrap_or(now);
        let left = lifetime_left(authenticated_at, now);
        (left != 0).then(|| Terms {
            kind,
            now,
            authenticated_at,
            lifetime: kind.lifetime(config).promised.min(left),
            max_early_data_size: kind.max_early_data_size(config),
        })
    }
}

/// The properties that all tickets from a connection share.
struct Terms {
    kind: TicketKind,
    /// The current time, in seconds since 1970.
    now: u64,
    authenticated_at: u64,
    /// The lifetime of the tickets, in seconds.
    lifetime: u32,
    max_early_data_size: u32,
}

/// The properties of a connection that its sessions contain.
#[derive(Clone, Copy)]
struct ConnectionFacts<'a> {
    alpn_protocol: Option<&'a [u8]>,
    server_name: Option<&'a DnsName<'static>>,
    application_data: &'a [u8],
    client_chain: Option<&'a PeerChain>,
}

/// A copy of [`ConnectionFacts`].
struct OwnedFacts {
    alpn_protocol: Option<Vec<u8>>,
    server_name: Option<DnsName<'static>>,
    application_data: Vec<u8>,
    client_chain: Option<PeerChain>,
}

impl<'a> ConnectionFacts<'a> {
    fn of(negotiated: &'a Negotiated, data: &'a ServerConnectionData) -> Self {
        Self {
            alpn_protocol: negotiated.alpn_protocol.as_deref(),
            server_name: data.server_name.as_ref(),
            application_data: data.resumption_data(),
            client_chain: negotiated.peer_chain(),
        }
    }

    fn to_owned(self) -> OwnedFacts {
        OwnedFacts {
            alpn_protocol: self.alpn_protocol.map(<[u8]>::to_vec),
            server_name: self.server_name.cloned(),
            application_data: self.application_data.to_vec(),
            client_chain: self.client_chain.cloned(),
        }
    }
}

impl OwnedFacts {
    fn borrow(&self) -> ConnectionFacts<'_> {
        ConnectionFacts {
            alpn_protocol: self.alpn_protocol.as_deref(),
            server_name: self.server_name.as_ref(),
            application_data: &self.application_data,
            client_chain: self.client_chain.as_ref(),
        }
    }
}

/// Random numbers for tickets. One call draws several, which costs little more than drawing one.
type AgeAdds = [[u8; 4]; 4];

/// The sessions of a connection, one for each ticket.
struct Sessions<'a> {
    tickets: &'a TicketPlan,
    config: &'a ServerSettings,
    facts: ConnectionFacts<'a>,
    client_auth: ClientAuthId,
}

impl<'a> Sessions<'a> {
    fn new(
        tickets: &'a TicketPlan,
        config: &'a ServerSettings,
        facts: ConnectionFacts<'a>,
    ) -> Self {
        Self {
            tickets,
            config,
            facts,
            client_auth: config.client_auth(),
        }
    }

    /// Calls `make` with the session for ticket `number`. Returns its `ticket_age_add`, and the
    /// result of `make`. Pass the same `age_adds` for all tickets, in order: it is refilled once it
    /// is used up.
    fn next<T>(
        &self,
        number: usize,
        age_adds: &mut AgeAdds,
        make: impl FnOnce(&Tls13Session<'_>) -> T,
    ) -> Result<(u32, T), Error> {
        let next = number % age_adds.len();
        if next == 0 {
            // RFC 9846 §4.7.1: random, and fresh for each ticket
            let random = self.config.provider.secure_random;
            random.fill(age_adds.as_flattened_mut())?;
        }
        let TicketPlan {
            inputs,
            terms,
            psks,
        } = self.tickets;
        let facts = &self.facts;
        let mut psk = OkmBlock::new(&[]);
        psks.derive_psk(&nonce(number), &mut psk);
        let session = Tls13Session {
            suite: inputs.suite.common.suite,
            psk: psk.as_ref(),
            age_add: u32::from_be_bytes(age_adds[next]),
            max_early_data_size: terms.max_early_data_size,
            carrier: self.config.carrier,
            facts: SessionFacts {
                issued_at: terms.now,
                authenticated_at: terms.authenticated_at,
                client_auth: self.client_auth,
                server_auth: inputs.server_auth,
                alpn_protocol: facts.alpn_protocol,
                server_name: facts.server_name.map(AsRef::as_ref),
                application_data: facts.application_data,
                client_acceptance: inputs.client_acceptance,
                client_chain: ClientChain::of(facts.client_chain),
            },
        };
        Ok((session.age_add, make(&session)))
    }
}

/// Returns the nonce for ticket `number`. RFC 9846 §4.7.1: it is unique among a connection's
/// tickets.
fn nonce(number: usize) -> [u8; NONCE_LEN] {
    (number as u64).to_be_bytes()
}

/// The tickets to create for a connection.
pub(super) struct TicketPlan {
    inputs: TicketInputs,
    terms: Terms,
    psks: TicketPsks,
}

impl TicketPlan {
    /// Prepares the tickets. Returns `None` if no tickets can be sent.
    pub(super) fn new(
        inputs: TicketInputs,
        resumption_secret: &OkmBlock,
        config: &ServerSettings,
        cx: &ServerContext<'_>,
    ) -> Option<Self> {
        Some(Self {
            terms: inputs.terms(config, cx)?,
            psks: TicketPsks::new(inputs.suite, resumption_secret),
            inputs,
        })
    }

    /// Creates the tickets for the handshake `finished`, and continues with `next`. If a callback
    /// is pending, drops `finished`, which contains secrets, before waiting.
    pub(super) fn create(
        self,
        finished: Box<impl AsRef<ServerSettings>>,
        next: fn(TicketMessages, &mut ServerContext<'_>) -> Result<State, Failure>,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let facts = ConnectionFacts::of(cx.negotiated, cx.data);
        let callbacks = cx.callbacks;
        let config = finished.as_ref().as_ref();
        let mut creation = TicketCreation::default();
        creation.start(&self, facts, config, callbacks)?;
        if creation.pending.is_empty() {
            return next(creation.messages, cx);
        }
        let facts = facts.to_owned();
        let config = config.clone();
        drop(finished);
        let wait = Wait::after_finished(self.terms.kind.call());
        Ok(operation::pending(wait, None, async move {
            while !creation.pending.is_empty() {
                poll_fn(|task| poll_all(&mut creation.pending, task)).await;
                creation.finish(&self)?;
                creation.start(&self, facts.borrow(), &config, callbacks)?;
            }
            Ok(move |cx: &mut ServerContext<'_>| next(creation.messages, cx))
        }))
    }
}

/// The maximum number of tickets that are pending at a time.
const BATCH: usize = 4;

/// The tickets of a connection while they are created.
#[derive(Default)]
struct TicketCreation {
    messages: TicketMessages,
    /// The number of tickets in `messages`.
    count: usize,
    /// The next tickets, in order. A ticket that is ready may follow a pending one.
    pending: SmallVec<[(u32, NewTicket); BATCH]>,
    age_adds: AgeAdds,
    /// True if a ticket could not be created. No tickets follow it.
    has_failed: bool,
}

impl TicketCreation {
    /// Notes that a ticket cannot be created.
    fn fail(&mut self, tickets: &TicketPlan) {
        self.has_failed = true;
        self.messages.is_refused = tickets.terms.kind == TicketKind::Stored;
    }

    /// Creates tickets until all exist, one cannot be created, or [`BATCH`] wait. A session, which
    /// may be long, is only encoded when its ticket is created.
    ///
    /// # Errors
    ///
    /// Returns [`Error::FailedToGetRandomBytes`], or an error if a message cannot be encoded.
    fn start(
        &mut self,
        tickets: &TicketPlan,
        facts: ConnectionFacts<'_>,
        config: &ServerSettings,
        callbacks: Callbacks,
    ) -> Result<(), Error> {
        let sessions = Sessions::new(tickets, config, facts);
        // reused, because all sessions have the same length
        let mut plain = Zeroizing::new(Vec::new());
        while !self.has_failed && self.pending.len() < BATCH {
            let number = self.count + self.pending.len();
            if number == tickets.inputs.count {
                break;
            }
            let (age_add, ticket) = sessions.next(number, &mut self.age_adds, |session| {
                tickets
                    .terms
                    .kind
                    .create(session, &mut plain, config, callbacks)
            })?;
            match ticket? {
                NewTicket::Created(None) => self.fail(tickets),
                NewTicket::Created(Some(ticket)) if self.pending.is_empty() => {
                    self.messages.add(number, age_add, &ticket, tickets)?;
                    self.count += 1;
                }
                // tickets are sent in order, so one that is ready waits behind the pending ones
                ticket => self.pending.push((age_add, ticket)),
            }
        }
        Ok(())
    }

    /// Adds the messages for the pending tickets, all of which have been polled to the end. Stops
    /// at the first that could not be created.
    fn finish(&mut self, tickets: &TicketPlan) -> Result<(), Error> {
        for (age_add, ticket) in mem::take(&mut self.pending) {
            let NewTicket::Created(Some(ticket)) = ticket else {
                self.fail(tickets);
                break;
            };
            self.messages.add(self.count, age_add, &ticket, tickets)?;
            self.count += 1;
        }
        Ok(())
    }
}

/// Polls all tickets in `batch`. Returns `Ready` once each of them has been created or has failed.
fn poll_all(batch: &mut [(u32, NewTicket)], task: &mut task::Context<'_>) -> Poll<()> {
    let mut is_pending = false;
    for (_, ticket) in batch {
        is_pending |= ticket.poll(task).is_pending();
    }
    if is_pending {
        return Poll::Pending;
    }
    Poll::Ready(())
}

/// A connection's NewSessionTicket messages.
#[derive(Default)]
pub(super) struct TicketMessages {
    /// The messages, in parts that are sent in separate records.
    parts: SmallVec<[Part; 1]>,
    /// The number of tickets whose sessions are in the storage.
    stored: u32,
    /// True if the storage has not accepted a session.
    is_refused: bool,
}

/// A part of the messages.
struct Part {
    messages: Vec<u8>,
    /// The number of messages.
    count: u32,
}

impl TicketMessages {
    /// Adds the message for `ticket`.
    fn add(
        &mut self,
        number: usize,
        age_add: u32,
        ticket: &Ticket,
        tickets: &TicketPlan,
    ) -> Result<(), Error> {
        if let Ticket::Stored(_) = ticket {
            self.stored += 1;
        }
        let ticket = ticket.as_ref();
        let len = TICKET_OVERHEAD + ticket.len();
        // a long ticket is sent in records of its own, because rustls 0.23 stops reading if a
        // message and the records of the next one exceed 64 KiB
        let last = self.parts.last();
        if last.is_none_or(|part| part.messages.len() + len > MAX_FRAGMENT_LEN) {
            // reserve room for the next tickets too, which have the same length, but only for a few
            let fitting = (MAX_FRAGMENT_LEN / len).max(1);
            let next = (tickets.inputs.count - number).min(fitting).min(4);
            self.parts.push(Part {
                messages: Vec::with_capacity(len * next),
                count: 0,
            });
        }
        let Some(part) = self.parts.last_mut() else {
            return Ok(());
        };
        let terms = &tickets.terms;
        NewSessionTicket {
            lifetime: terms.lifetime,
            age_add,
            nonce: &nonce(number),
            ticket,
            max_early_data_size: Some(terms.max_early_data_size).filter(|size| *size != 0),
            ..NewSessionTicket::default()
        }
        .encode_message(&mut part.messages)?;
        part.count += 1;
        Ok(())
    }

    /// Sends the messages until the connection is closed or the current key reaches its limit.
    ///
    /// # Errors
    ///
    /// Returns [`Error::EncryptError`] if a message cannot be sealed.
    pub(super) fn send(
        self,
        transport: &mut dyn Transport,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Error> {
        recorder.events(|events| {
            events.sessions_stored += self.stored;
            events.sessions_not_stored += u32::from(self.is_refused);
        });
        for part in self.parts {
            // RFC 9846 §6.1: close_notify may already have been sent. §5.5: half-RTT data may have
            // worn out the key, and tickets are optional
            if transport.is_closed() || !transport.can_protect(part.messages.len()) {
                break;
            }
            transport.send_handshake(&part.messages)?;
            recorder.events(|events| events.tickets_made += part.count);
        }
        Ok(())
    }
}
