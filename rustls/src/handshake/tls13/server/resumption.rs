//! Chooses the session that a ClientHello resumes (RFC 9846 §2.2, §4.3.11).
//!
//! Cipher suite, group and protocol are selected first. Sessions that do not fit the selection are
//! ignored. Of the first few sessions, the first that fits is chosen, and the client must prove
//! that it has the session's key.

use alloc::vec::Vec;
use core::pin::pin;

use pki_types::UnixTime;
use rustls_core::provider::CryptoProvider;
use smallvec::SmallVec;

use super::early_data::EarlyDataOffer;
use super::parameters::{Parameters, accepts_resumption};
use super::ticket_kind::TicketKind;
use crate::callbacks::CallMode;
use crate::certificates::{Acceptance, ChainKind, PeerChain};
use crate::config::observer::handshake::{EarlyDataRejected, NotResumed, SessionSource};
use crate::config::session::server_auth::ServerAuth;
use crate::config::session::value::{SessionValue, Tls13Session};
use crate::error::PeerMisbehaved;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::server::held_hello::ReceivedHello;
use crate::handshake::transcript::Transcript;
use crate::handshake::wait::Call;
use crate::keys::tls13::EarlySecret;
use crate::logging::debug;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::pre_shared_key::{PskBinderEntry, PskIdentity};
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};

/// The maximum number of offered sessions to look up. Most clients offer one, and each lookup may
/// access a remote storage.
const MAX_IDENTITIES: usize = 4;

pub(super) struct Resumed {
    /// The `selected_identity`.
    pub(super) index: u16,
    /// The time of the full handshake with which the session began, in seconds since 1970.
    pub(super) authenticated_at: u64,
    pub(super) client_chain: Option<PeerChain>,
    pub(super) client_acceptance: Option<Acceptance>,
    pub(super) application_data: Vec<u8>,
    /// The number of bytes of early data to accept, or the reason for rejecting it.
    pub(super) early_data_limit: Result<u32, EarlyDataRejected>,
}

impl Resumed {
    /// Passes the session's properties to the connection's accessors.
    pub(super) fn report(self, provider: &CryptoProvider, cx: &mut ServerContext<'_>) {
        if let Some(chain) = self.client_chain {
            cx.negotiated.set_expected_peer(chain, provider);
            if self.early_data_limit.is_ok() {
                // a session with early data was removed from its storage, so nobody else can offer
                // it
                cx.negotiated.prove_peer();
            }
        }
        cx.data.set_received_resumption_data(self.application_data);
    }
}

/// The first sessions that a client offers, in its order, up to [`MAX_IDENTITIES`].
pub(super) struct OfferedSessions<'a> {
    offered: SmallVec<[OfferedPsk<'a>; MAX_IDENTITIES]>,
    /// True if the client also offers psk_dhe_ke.
    are_usable: bool,
    /// True if the client offers early data, which belongs to the first session.
    has_early_data: bool,
}

/// A PSK identity and its binder.
type OfferedPsk<'a> = (PskIdentity<'a>, PskBinderEntry<'a>);

impl<'a> OfferedSessions<'a> {
    /// Returns `None` if `hello` offers no session.
    pub(super) fn of(hello: &ClientHello<'a>) -> Option<Self> {
        let extensions = &hello.extensions;
        let offered = extensions.pre_shared_key.as_ref()?;
        let pairs = offered.identities.iter().zip(&offered.binders);
        let pairs = pairs.take(MAX_IDENTITIES);
        Some(Self {
            offered: pairs
                .map(|(identity, binder)| (*identity, *binder))
                .collect(),
            are_usable: accepts_resumption(extensions),
            has_early_data: extensions.early_data,
        })
    }
}

/// The result of [`find_session`].
#[derive(Default)]
pub(super) struct FoundSession {
    /// The session, and its early secret.
    pub(super) session: Option<(Resumed, EarlySecret)>,
    /// The early data limit in the first session that the client offers, or 0 if that is unknown.
    pub(super) first_early_data_size: u32,
    /// The last reason for not resuming an offered session. `None` if one is resumed.
    pub(super) not_resumed: Option<NotResumed>,
    /// The source of the session.
    pub(super) source: Option<SessionSource>,
}

impl FoundSession {
    /// Notes and logs the reason for not resuming a session.
    fn refuse(&mut self, reason: NotResumed) {
        debug!("a session is not resumed: {reason}");
        self.not_resumed = Some(reason);
    }
}

/// Finds the session that the client resumes. `server` is the server's current certificate.
/// `transcript` ends before the binders.
///
/// # Errors
///
/// Returns [`PeerMisbehaved::IncorrectBinder`] if the binder of the chosen session is wrong.
pub(super) async fn find_session<M: CallMode>(
    received: &mut ReceivedHello<'_, '_, M>,
    offered: &OfferedSessions<'_>,
    transcript: &mut Transcript,
    parameters: &Parameters<'_>,
    server: &ServerAuth<'_>,
) -> Result<FoundSession, Failure> {
    let mut found = FoundSession::default();
    if !offered.are_usable {
        found.refuse(NotResumed::NoKeyExchangeMode);
        return Ok(found);
    }
    let config = received.config;
    let now = config.current_time();
    let (Some(kind), Ok(now)) = (TicketKind::of(config), now) else {
        found.refuse(NotResumed::NoSessions);
        return Ok(found);
    };
    let suite = parameters.suite;
    for (index, (identity, binder)) in offered.offered.iter().enumerate() {
        let Some(value) = kind.find(identity.identity, received).await else {
            found.refuse(match kind {
                TicketKind::Sealed => NotResumed::UnreadableTicket,
                TicketKind::Stored => NotResumed::NotStored,
            });
            continue;
        };
        let Ok(session) = Tls13Session::read(&value) else {
            found.refuse(NotResumed::OtherFormat);
            continue;
        };
        if index == 0 {
            found.first_early_data_size = session.max_early_data_size;
        }
        if let Err(reason) = check_suitable(&session, kind, suite, server, received, now) {
            found.refuse(reason);
            continue;
        }
        // RFC 9846 §4.3.11: the binder of the chosen session, and of no other, is validated before
        // the PSK is accepted
        let early_secret = EarlySecret::new(suite, Some(session.psk));
        if !early_secret.is_resumption_binder(transcript.current(), binder.0) {
            return Err(PeerMisbehaved::IncorrectBinder.into());
        }
        let accepting = pin!(session.facts.accept_client(config, now, M::CALLBACKS));
        let accepted = received.hello.wait(Call::Verification, accepting).await;
        let Some(client) = accepted else {
            found.refuse(NotResumed::ClientNotAccepted);
            return Ok(found);
        };
        // the verifier supports only one kind, and has just accepted this chain
        let chain_kind = ChainKind::new(config.verifier().requires_raw_public_keys());
        let offer = EarlyDataOffer {
            offers_early_data: offered.has_early_data,
            is_first: index == 0,
            obfuscated_ticket_age: identity.obfuscated_ticket_age,
            session: &session,
            kind,
        };
        let resumed = Resumed {
            index: index as u16, // below MAX_IDENTITIES
            early_data_limit: offer.accepted_limit(parameters, config, now),
            authenticated_at: session.facts.authenticated_at,
            // shared only after the client's Finished, because anybody can replay a ClientHello
            // with its binder
            client_chain: session.facts.client_chain.to_chain(chain_kind),
            client_acceptance: client.acceptance,
            application_data: session.facts.application_data.to_vec(),
        };
        found.session = Some((resumed, early_secret));
        found.not_resumed = None;
        found.source = Some(match kind {
            TicketKind::Sealed => SessionSource::Ticket,
            TicketKind::Stored => SessionSource::Storage,
        });
        return Ok(found);
    }
    Ok(found)
}

/// Checks that `session` may be resumed by this handshake.
///
/// # Errors
///
/// Returns the reason if it may not.
fn check_suitable<M>(
    session: &Tls13Session<'_>,
    kind: TicketKind,
    suite: &'static Tls13CipherSuite,
    server: &ServerAuth<'_>,
    received: &ReceivedHello<'_, '_, M>,
    now: UnixTime,
) -> Result<(), NotResumed> {
    let config = received.config;
    let mut suites = config.provider.cipher_suites.iter();
    let before = suites.find(|suite| suite.suite() == session.suite);
    // RFC 9846 §4.7.1: the cipher suite must have the same hash
    let has_hash = before
        .and_then(SupportedCipherSuite::tls13)
        .is_some_and(|before| suite.can_resume_from(before).is_some());
    let has_psk_of_hash = session.psk.len() == suite.common.hash_provider.output_len();
    if !has_hash || !has_psk_of_hash {
        return Err(NotResumed::OtherCipherSuite);
    }
    if !config.carrier.accepts_session_over(session.carrier) {
        return Err(NotResumed::OtherCarrier);
    }
    let server_name = received.server_name;
    let lifetime = kind.lifetime(config);
    session
        .facts
        .check_fit(config, server, server_name, lifetime, now)
}
