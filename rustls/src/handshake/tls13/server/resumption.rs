//! The choice of the session that a ClientHello resumes (RFC 9846 §2.2, §4.3.11).
//!
//! Cipher suite, group and protocol are selected first. Sessions that do not fit these are ignored.
//! The first session that fits is chosen, and the client must prove that it has its key.

use alloc::boxed::Box;
use alloc::vec::Vec;

use pki_types::UnixTime;
use rustls_core::operation::BoxFuture;
use rustls_core::provider::CryptoProvider;

use super::early_data;
use super::parameters::Parameters;
use super::tickets::TicketKind;
use crate::asking::Asking;
use crate::certificates::{Acceptance, ChainKind, PeerChain};
use crate::config::session::client_auth::AcceptedClient;
use crate::config::session::server_auth::ServerAuth;
use crate::config::session::stored::ServerSessionValue;
use crate::config::session::value::{SessionValue, Tls13Session};
use crate::config::settings::ServerSettings;
use crate::enums::PskKeyExchangeMode;
use crate::error::PeerMisbehaved;
use crate::handshake::ServerContext;
use crate::handshake::server::answers::{Answers, Stop};
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::EarlySecret;
use crate::logging::debug;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::ClientHello;
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};

/// The maximum number of offered sessions to look up. Clients offer one, and each lookup may access
/// a remote storage.
const MAX_IDENTITIES: usize = 4;

/// A session that is resumed.
pub(super) struct Resumed {
    /// The `selected_identity`.
    pub(super) index: u16,
    /// The time at which the session authenticated with certificates, in seconds since 1970.
    pub(super) authenticated_at: u64,
    pub(super) client_chain: Option<PeerChain>,
    pub(super) client_acceptance: Option<Acceptance>,
    pub(super) application_data: Vec<u8>,
    /// The number of bytes of early data to accept, if any.
    pub(super) early_data_limit: Option<u32>,
}

impl Resumed {
    /// Passes the facts in the session to the accessors of the connection.
    pub(super) fn report(self, provider: &CryptoProvider, cx: &mut ServerContext<'_>) {
        if let Some(chain) = self.client_chain {
            cx.negotiated.set_expected_peer(chain, provider);
            if self.early_data_limit.is_some() {
                // a session with early data was removed from its storage, so nobody else can offer
                // it
                cx.negotiated.prove_peer();
            }
        }
        cx.data.set_received_resumption_data(&self.application_data);
    }
}

/// Returns the session that `hello` resumes, and its early secret. `server` is the server's
/// certificate. `transcript` ends before the binders. If an answer takes time, the caller repeats
/// the call with it.
///
/// # Errors
///
/// Returns [`PeerMisbehaved::IncorrectBinder`] if the binder of the chosen session is wrong.
pub(super) fn find_session(
    hello: &ClientHello<'_>,
    transcript: &mut Transcript,
    parameters: &Parameters<'_>,
    server: &ServerAuth<'_>,
    config: &ServerSettings,
    answers: &mut Answers,
    cx: &mut ServerContext<'_>,
) -> Result<Option<(Resumed, EarlySecret)>, Stop> {
    let extensions = &hello.extensions;
    let Some(offered) = &extensions.pre_shared_key else {
        return Ok(None);
    };
    if !accepts_resumption(extensions) {
        debug!("no session is resumed: the client does not offer psk_dhe_ke");
        return Ok(None);
    }
    let now = answers.now(|| config.current_time().ok());
    let (Some(kind), Some(now)) = (TicketKind::of(config), now) else {
        debug!("no session is resumed: there is no ticketer or storage, or the time is unknown");
        return Ok(None);
    };
    let suite = parameters.suite;
    let pairs = offered.identities.iter().zip(&offered.binders);
    for (index, (identity, binder)) in pairs.enumerate().take(MAX_IDENTITIES) {
        let ticket = identity.identity;
        let found = answers.session(
            index,
            kind.lookup(),
            || kind.start_to_find(ticket, config),
            || kind.find(ticket, config),
        )?;
        let Some(value) = found else {
            match kind {
                TicketKind::Sealed => debug!("a ticket cannot be opened"),
                TicketKind::Stored => debug!("the session of a ticket is not in the storage"),
            }
            continue;
        };
        let Ok(session) = Tls13Session::read(&value) else {
            debug!("a session is not resumed: it is not a TLS 1.3 session in the current format");
            continue;
        };
        if index == 0 && extensions.early_data {
            let limit = early_data::skipped_limit(config, session.max_early_data_size);
            cx.transport.skip_early_data(Some(limit));
        }
        if let Err(reason) = check_suitable(&session, kind, suite, server, config, cx, now) {
            debug!("a session is not resumed: {reason}");
            continue;
        }
        // RFC 9846 §4.3.11: the binder of the chosen session, and of no other, is validated before
        // the PSK is accepted
        let early_secret = EarlySecret::new(suite, Some(session.psk));
        if !early_secret.is_resumption_binder(transcript.current(), binder.0) {
            return Err(PeerMisbehaved::IncorrectBinder.into());
        }
        let accepted = answers.client(
            index,
            || accept_client(&value, config, now),
            || session.facts.accept_client_now(config, now),
        )?;
        let Some(client) = accepted else {
            debug!("the client's certificate is no longer accepted");
            return Ok(None);
        };
        // the verifier supports one kind only, and has just accepted this chain
        let chain_kind = ChainKind::new(config.verifier().requires_raw_public_keys());
        let offer = early_data::Offer {
            hello,
            is_first: index == 0,
            obfuscated_ticket_age: identity.obfuscated_ticket_age,
            session: &session,
            kind,
        };
        let early_data_limit = offer.accepted_limit(parameters, config, cx.data, now);
        if let (Err(reason), true) = (early_data_limit, extensions.early_data) {
            debug!("the client's early data is not accepted: {reason}");
        }
        let resumed = Resumed {
            index: index as u16, // below MAX_IDENTITIES
            early_data_limit: early_data_limit.ok(),
            authenticated_at: session.facts.authenticated_at,
            // shared after the client's Finished: anybody can replay a ClientHello with its binder
            client_chain: session.facts.client_chain.to_chain(chain_kind),
            client_acceptance: client.acceptance,
            application_data: session.facts.application_data.to_vec(),
        };
        return Ok(Some((resumed, early_secret)));
    }
    Ok(None)
}

/// Verifies the client of the session `value` again, perhaps over some time.
fn accept_client(
    value: &ServerSessionValue,
    config: &ServerSettings,
    now: UnixTime,
) -> BoxFuture<Option<AcceptedClient>> {
    let (value, config) = (value.clone(), config.clone());
    Box::pin(async move {
        let session = Tls13Session::read(&value).ok()?;
        let facts = &session.facts;
        facts.accept_client(&config, now, Asking::MayWait).await
    })
}

/// True if the client offers the mode psk_dhe_ke (RFC 9846 §4.3.9). PSKs without a key exchange are
/// not supported.
pub(super) fn accepts_resumption(extensions: &ClientExtensions<'_>) -> bool {
    let modes = extensions.psk_key_exchange_modes.as_deref();
    modes.is_some_and(|modes| modes.contains(&PskKeyExchangeMode::PskDheKe))
}

/// Checks that `session` may be resumed by this handshake.
///
/// # Errors
///
/// Returns the reason for the log.
fn check_suitable(
    session: &Tls13Session<'_>,
    kind: TicketKind,
    suite: &'static Tls13CipherSuite,
    server: &ServerAuth<'_>,
    config: &ServerSettings,
    cx: &ServerContext<'_>,
    now: UnixTime,
) -> Result<(), &'static str> {
    let mut suites = config.provider.cipher_suites.iter();
    let before = suites.find(|suite| suite.suite() == session.suite);
    // RFC 9846 §4.7.1: the cipher suite must have the same hash
    let has_hash = before
        .and_then(SupportedCipherSuite::tls13)
        .is_some_and(|before| suite.can_resume_from(before).is_some());
    let has_psk_of_hash = session.psk.len() == suite.common.hash_provider.output_len();
    if !has_hash || !has_psk_of_hash {
        return Err("the cipher suite has another hash");
    }
    if !config.carrier.accepts_session_over(session.carrier) {
        return Err("it was created over another version of QUIC");
    }
    let server_name = cx.data.server_name.as_ref();
    let lifetime = kind.lifetime(config);
    session
        .facts
        .check_fit(config, server, server_name, lifetime, now)
}
