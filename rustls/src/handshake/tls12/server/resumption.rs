//! Storage and lookup of TLS 1.2 sessions, in tickets (RFC 5077) or by session ID (RFC 5246
//! §7.4.1.3).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::pin::pin;

use pki_types::UnixTime;
use zeroize::Zeroizing;

use super::handshake::Handshake;
use super::hello::HelloFacts;
use crate::callbacks::{CallMode, Callbacks, Called};
use crate::certificates::{Acceptance, ChainKind, PeerChain};
use crate::config::observer::handshake::NotResumed;
use crate::config::server::ServerConfig;
use crate::config::session::server_auth::ServerAuth;
use crate::config::session::stored::ServerSessionValue;
use crate::config::session::value::{ClientChain, SessionFacts, SessionValue, Tls12Session};
use crate::config::session::{Lifetime, MAX_TICKET_LIFETIME};
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::server::held_hello::ReceivedHello;
use crate::handshake::wait::Call;
use crate::handshake::{ServerContext, SessionInUse};
use crate::keys::tls12::{MasterSecret, SessionSecret};
use crate::msgs::EncodeMessage;
use crate::msgs::client_hello::{ClientHello, SessionId};
use crate::msgs::tls12::session_ticket::NewSessionTicket;
use crate::suites::Tls12CipherSuite;

/// The maximum time in seconds during which a stored session may be resumed, as RFC 5246 §F.1.4
/// suggests.
const STORED_LIFETIME: u32 = 24 * 60 * 60;

/// The maximum length of a ticket in bytes. In the message, the ticket follows the lifetime and the
/// length (RFC 5077 §3.3). Clients that use this library reject longer messages.
const MAX_TICKET_LEN: usize = NewSessionTicket::MAX_LEN - 4 - 2;

pub(super) struct ResumedSession {
    pub(super) master_secret: SessionSecret,
    /// The time of the full handshake with which the session began, in seconds since 1970.
    pub(super) authenticated_at: u64,
    pub(super) client_chain: Option<PeerChain>,
    pub(super) client_acceptance: Option<Acceptance>,
    pub(super) application_data: Vec<u8>,
    /// True if the session is in the storage rather than in a ticket.
    pub(super) is_stored: bool,
}

/// The session that a ClientHello offers, by ticket or by ID.
#[derive(Clone, Copy)]
pub(super) enum SessionReference<'a> {
    None,
    Ticket(&'a [u8]),
    Id(SessionId),
}

impl<'a> SessionReference<'a> {
    /// Returns the session offered in `hello`. RFC 5077 §3.4: the session ID is ignored if there is
    /// a ticket. §3.2: an empty ticket only announces support.
    pub(super) fn of(hello: &ClientHello<'a>) -> Self {
        match hello.extensions.session_ticket {
            Some(ticket @ [_, ..]) => Self::Ticket(ticket),
            _ if !hello.legacy_session_id.is_empty() => Self::Id(hello.legacy_session_id),
            _ => Self::None,
        }
    }
}

/// Returns the session that the client offers, if it may be resumed with `suite` and the
/// certificate of `server`. Otherwise returns the reason.
///
/// # Errors
///
/// Returns [`PeerMisbehaved::ResumptionAttemptedWithVariedEms`] if a session that otherwise fits
/// uses the extended master secret, and the ClientHello does not.
pub(super) async fn find_session<M: CallMode>(
    received: &mut ReceivedHello<'_, '_, M>,
    offered: SessionReference<'_>,
    facts: &HelloFacts,
    suite: &'static Tls12CipherSuite,
    server: &ServerAuth<'_>,
    now: Option<UnixTime>,
) -> Result<Result<ResumedSession, NotResumed>, Failure> {
    let Some(now) = now else {
        return Ok(Err(NotResumed::NoSessions));
    };
    let candidate = match find_candidate(offered, received).await {
        Ok(candidate) => candidate,
        Err(reason) => return Ok(Err(reason)),
    };
    let config = received.config;
    let Ok(session) = Tls12Session::read(&candidate.value) else {
        return Ok(Err(NotResumed::OtherFormat));
    };
    let kept = &session.facts;
    let fits = match session.suite == suite.common.suite {
        true => kept.check_fit(
            config,
            server,
            received.server_name,
            candidate.lifetime,
            now,
        ),
        false => Err(NotResumed::OtherCipherSuite),
    };
    if let Err(reason) = fits {
        return Ok(Err(reason));
    }
    match (session.extended_master_secret, facts.extended_master_secret) {
        // RFC 7627 §5.3: the handshake must be aborted
        (true, false) => {
            return Err(PeerMisbehaved::ResumptionAttemptedWithVariedEms.into());
        }
        // RFC 7627 §5.3: the handshake must be a full one
        (false, true) => {
            return Ok(Err(NotResumed::NoExtendedMasterSecret));
        }
        (true, true) | (false, false) => {}
    }
    let accepting = pin!(kept.accept_client(config, now, M::CALLBACKS));
    let accepted = received.hello.wait(Call::Verification, accepting).await;
    let Some(client) = accepted else {
        return Ok(Err(NotResumed::ClientNotAccepted));
    };
    Ok(Ok(ResumedSession {
        master_secret: SessionSecret::copy(session.master_secret),
        authenticated_at: kept.authenticated_at,
        client_chain: kept.client_chain.to_chain(ChainKind::X509),
        client_acceptance: client.acceptance,
        application_data: kept.application_data.to_vec(),
        is_stored: candidate.is_stored,
    }))
}

/// A session that has not been checked yet, from a ticket or from the storage.
struct Candidate {
    value: ServerSessionValue,
    lifetime: Lifetime,
    is_stored: bool,
}

/// Looks up the session that the client offers.
///
/// # Errors
///
/// Returns the reason if it is not found.
async fn find_candidate<M: CallMode>(
    offered: SessionReference<'_>,
    received: &mut ReceivedHello<'_, '_, M>,
) -> Result<Candidate, NotResumed> {
    let ReceivedHello { hello, config, .. } = received;
    match offered {
        SessionReference::Ticket(ticket) if config.ticketer.enabled() => {
            let ticketer = &config.ticketer;
            let decrypting = M::CALLBACKS.decrypt_ticket(&**ticketer, ticket);
            let found = hello.wait(Call::Ticket, pin!(decrypting.result())).await;
            let found = found.ok_or(NotResumed::UnreadableTicket);
            found.map(|value| Candidate {
                value: value.into(),
                lifetime: Lifetime {
                    promised: match ticketer.lifetime() {
                        // RFC 5077 §3.3: unspecified, so only the ticketer's keys and the general
                        // limit apply
                        0 => MAX_TICKET_LIFETIME,
                        secs => secs,
                    },
                    clock_tolerance: ticketer.clock_tolerance(),
                },
                is_stored: false,
            })
        }
        SessionReference::Ticket(_) => Err(NotResumed::NoSessions),
        SessionReference::Id(id) => {
            let key = storage_key(&id);
            let getting = M::CALLBACKS.get_session(&*config.session_storage, &key);
            let found = hello.wait(Call::Session, pin!(getting.result())).await;
            let found = found.ok_or(NotResumed::NotStored);
            found.map(|value| Candidate {
                value,
                lifetime: Lifetime::exactly(STORED_LIFETIME),
                is_stored: true,
            })
        }
        SessionReference::None => Err(NotResumed::NoSessions),
    }
}

/// A session in the server's storage.
struct StoredSession {
    config: Arc<ServerConfig>,
    id: SessionId,
}

impl SessionInUse for StoredSession {
    fn forget(&self) {
        let storage = &self.config.session_storage;
        drop(storage.take_session(&storage_key(&self.id)));
    }
}

/// Returns the storage key for the session `id`. TLS 1.3 looks up and removes sessions by 32-byte
/// keys. A session ID is public, so it must not be usable as such a key.
fn storage_key(id: &SessionId) -> Vec<u8> {
    [&[3, 3], id.as_ref()].concat()
}

/// Returns `ticket`, unless it is too long for its message.
pub(super) fn usable_ticket(ticket: Vec<u8>) -> Option<Vec<u8>> {
    (ticket.len() <= MAX_TICKET_LEN).then_some(ticket)
}

impl Handshake {
    /// Creates an ID for the new session. It is empty if the session is in a ticket, or not kept.
    pub(super) fn new_session_id(&self) -> Result<SessionId, Error> {
        let is_stored =
            !self.sends_ticket && self.now.is_some() && self.config.session_storage.can_cache();
        if !is_stored {
            return Ok(SessionId::EMPTY);
        }
        let mut id = [0; 32];
        self.config.provider.secure_random.fill(&mut id)?;
        Ok(id.into())
    }

    /// Returns the session to store under its ID at the end of the handshake, if any.
    pub(super) fn session_to_store(
        &self,
        master_secret: &MasterSecret,
        cx: &ServerContext<'_>,
    ) -> Option<ServerSessionValue> {
        if !self.is_stored {
            return None;
        }
        Some(self.session(master_secret, cx)?.to_stored())
    }

    /// Stores `session` under its ID.
    pub(super) fn store(&self, session: ServerSessionValue, callbacks: Callbacks) -> Called<bool> {
        let storage = &self.config.session_storage;
        let key = storage_key(&self.session_id);
        match callbacks.future(|| storage.put_async(&key, &session)) {
            Some(stored) => Called::Pending(stored),
            None => Called::Returned(storage.put_session(key, session)),
        }
    }

    /// Returns the session of this handshake, if it is in the storage or will be stored.
    ///
    /// Call this only after the client's Finished, which proves that the client has the session.
    /// Before that, anybody who has seen the ID could remove the session.
    pub(super) fn stored_session(&self) -> Option<Box<dyn SessionInUse>> {
        if !self.is_stored {
            return None;
        }
        Some(Box::new(StoredSession {
            config: self.config.config().clone(),
            id: self.session_id,
        }))
    }

    /// Returns the encoded session for a ticket. Returns `None` without a clock.
    pub(super) fn session_to_seal(
        &self,
        master_secret: &MasterSecret,
        cx: &ServerContext<'_>,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let mut plain = Zeroizing::new(Vec::new());
        self.session(master_secret, cx)?.encode(&mut plain);
        Some(plain)
    }

    /// Creates the ticket for the encoded session `plain`. Returns `None` if that fails.
    pub(super) fn seal(&self, plain: &[u8], callbacks: Callbacks) -> Called<Option<Vec<u8>>> {
        callbacks.encrypt_ticket(&*self.config.ticketer, plain)
    }

    /// Returns the session to keep, or `None` without a clock.
    fn session<'a>(
        &self,
        master_secret: &'a MasterSecret,
        cx: &'a ServerContext<'_>,
    ) -> Option<Tls12Session<'a>> {
        Some(Tls12Session {
            suite: self.suite.common.suite,
            master_secret: master_secret.as_bytes(),
            extended_master_secret: self.is_extended,
            facts: SessionFacts {
                issued_at: self.now?.as_secs(),
                authenticated_at: self.authenticated_at,
                client_auth: self.config.client_auth(),
                server_auth: self.server_auth,
                alpn_protocol: cx.negotiated.alpn_protocol.as_deref(),
                server_name: cx.data.server_name(),
                application_data: cx.data.resumption_data(),
                client_acceptance: self.client_acceptance,
                client_chain: ClientChain::of(cx.negotiated.peer_chain()),
            },
        })
    }
}

#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
mod tests {
    use super::*;
    use crate::callbacks::{SyncCalls, run_sync};
    use crate::config::carrier::HandshakeCarrier;
    use crate::config::settings::ServerSettings;
    use crate::enums::{Compression, ProtocolVersion};
    use crate::handshake::server::held_hello::HeldHello;
    use crate::msgs::client_extensions::ClientExtensions;
    use crate::msgs::client_hello::Random;
    use crate::providers::any_provider;
    use crate::server::{ProducesTickets, ResolvesServerCertUsingSni, StoresServerSessions};

    /// A ticketer and a storage that return a session for every ticket and every key.
    #[derive(Debug)]
    struct HasEach {
        is_enabled: bool,
    }

    impl ProducesTickets for HasEach {
        fn enabled(&self) -> bool {
            self.is_enabled
        }

        fn lifetime(&self) -> u32 {
            0
        }

        fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
            None
        }

        fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
            Some(Vec::new())
        }
    }

    impl StoresServerSessions for HasEach {
        fn can_cache(&self) -> bool {
            true
        }

        fn put(&self, _: Vec<u8>, _: Vec<u8>) -> bool {
            false
        }

        fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
            Some(Vec::new())
        }

        fn take(&self, _: &[u8]) -> Option<Vec<u8>> {
            None
        }
    }

    #[test]
    fn a_session_is_looked_up_by_a_ticket_or_else_by_an_id() {
        let config = |is_enabled| {
            let mut config = ServerConfig::builder_with_provider(any_provider().into())
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
            config.ticketer = Arc::new(HasEach { is_enabled });
            config.session_storage = Arc::new(HasEach { is_enabled });
            config
        };
        let (id, ticket) = (SessionId::from([7; 32]), Some(&b"ticket"[..]));
        let (stored, in_ticket) = (Some(true), Some(false));
        for (session_ticket, legacy_session_id, is_enabled, expected) in [
            (None, SessionId::EMPTY, true, None),
            (None, id, true, stored),
            // RFC 5077 §3.2: an empty ticket only announces support
            (Some(&b""[..]), SessionId::EMPTY, true, None),
            (Some(&b""[..]), id, true, stored),
            (ticket, SessionId::EMPTY, true, in_ticket),
            (ticket, id, true, in_ticket),
            // tickets of an earlier configuration
            (ticket, SessionId::EMPTY, false, None),
            (ticket, id, false, None),
        ] {
            let hello = ClientHello {
                legacy_version: ProtocolVersion::TLSv1_2,
                random: Random([0; 32]),
                legacy_session_id,
                cipher_suites: [].into_iter().collect(),
                compression_methods: [Compression::Null].into_iter().collect(),
                extensions: ClientExtensions {
                    session_ticket,
                    ..ClientExtensions::default()
                },
            };
            let settings = Arc::new(config(is_enabled));
            let settings = ServerSettings::now(settings, HandshakeCarrier::Records).unwrap();
            let held = HeldHello::borrowed(&hello, &[]);
            let mut received = ReceivedHello::new(held, None, &settings, SyncCalls);
            let found = find_candidate(SessionReference::of(&hello), &mut received);
            let found = run_sync(pin!(found)).unwrap();
            let is_stored = found.ok().map(|candidate| candidate.is_stored);
            assert_eq!(is_stored, expected, "{session_ticket:?}, {is_enabled}");
        }
    }
}
