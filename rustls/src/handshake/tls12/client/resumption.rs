//! Chooses the session to offer in a ClientHello, by ID (RFC 5246 §7.3) or ticket (RFC 5077), and
//! stores new sessions.

use alloc::boxed::Box;
use alloc::sync::Arc;

use pki_types::{ServerName, UnixTime};

use super::in_progress::Finishing;
use crate::certificates::PeerChain;
use crate::config::client::ClientConfig;
use crate::config::observer::handshake::NotResumed;
use crate::config::session::client::{
    ClientSessionCommon, Tls12ClientSessionValue, Tls12Resumption,
};
use crate::config::settings::ClientSettings;
use crate::enums::ProtocolVersion;
use crate::error::PeerMisbehaved;
use crate::handshake::SessionInUse;
use crate::handshake::client::offer::Offer;
use crate::handshake::negotiated::ObservedFacts;
use crate::handshake::observation::Recorder;
use crate::msgs::server_hello::ServerHello;
use crate::suites::Tls12CipherSuite;

/// The default lifetime of a session in seconds, if the server specifies none: the upper limit that
/// RFC 5246 §F.1.4 suggests.
const USUAL_LIFETIME: u32 = 24 * 60 * 60;

/// Returns the session with `server_name` that may be resumed under `config`, and the current time.
/// The session's suite may no longer be offered.
pub(crate) fn stored_session(
    config: &ClientSettings,
    server_name: &ServerName<'_>,
    facts: &mut ObservedFacts,
) -> Option<(Tls12ClientSessionValue, UnixTime)> {
    let resumption = &config.resumption;
    if resumption.tls12_resumption == Tls12Resumption::Disabled {
        return None;
    }
    let mut session = resumption.store.as_ref()?.tls12_session(server_name)?;
    let usable = check_usable(&mut session, config);
    match usable {
        Ok(now) => Some((session, now)),
        Err(reason) => {
            facts.not_resumed = Some(reason);
            None
        }
    }
}

/// Checks that `session` may be offered, and drops its ticket if the configuration uses only IDs.
/// Returns the current time.
///
/// # Errors
///
/// Returns the reason if it may not.
fn check_usable(
    session: &mut Tls12ClientSessionValue,
    config: &ClientSettings,
) -> Result<UnixTime, NotResumed> {
    if !config.versions.contains(ProtocolVersion::TLSv1_2) {
        return Err(NotResumed::VersionDisabled);
    }
    if config.resumption.tls12_resumption == Tls12Resumption::SessionIdOnly {
        session.drop_ticket();
    }
    let now = config.current_time().map_err(|_| NotResumed::NoSessions)?;
    let common = session.common();
    if !session.is_resumable() {
        Err(NotResumed::OtherFormat)
    } else if common.has_expired(now) {
        Err(NotResumed::Expired)
    } else if !common.belongs_to(config.verifier(), config.client_auth()) {
        Err(NotResumed::OtherPolicy)
    } else if !session.uses_extended_master_secret() && config.require_ems {
        Err(NotResumed::NoExtendedMasterSecret)
    } else {
        Ok(now)
    }
}

/// True if the ServerHello resumes the session in `offer`. Otherwise, removes the session from the
/// offer, but not from the store, because another machine behind the same name may still accept it.
///
/// # Errors
///
/// Returns an error if the server resumes a session that was not offered, or changes its
/// parameters.
pub(super) fn resumes_session(
    offer: &mut Offer,
    hello: &ServerHello<'_>,
    suite: &'static Tls12CipherSuite,
) -> Result<bool, PeerMisbehaved> {
    let is_echo = !offer.session_id.is_empty() && hello.legacy_session_id_echo == offer.session_id;
    if !is_echo {
        offer.tls12_session = None;
        return Ok(false);
    }
    let Some((session, _)) = &offer.tls12_session else {
        // RFC 9846 §4.2.2: the ID for middlebox compatibility does not name a session
        return Err(PeerMisbehaved::ServerEchoedCompatibilitySessionId);
    };
    check_unchanged_parameters(session, hello, suite)?;
    Ok(true)
}

/// Checks that the parameters of a resumed session have not changed.
fn check_unchanged_parameters(
    session: &Tls12ClientSessionValue,
    hello: &ServerHello<'_>,
    suite: &'static Tls12CipherSuite,
) -> Result<(), PeerMisbehaved> {
    // RFC 5246 §7.4.1.3: the suite must be the session's
    if session.suite() != suite {
        return Err(PeerMisbehaved::ResumptionOfferedWithVariedCipherSuite);
    }
    // RFC 7627 §5.3: both handshakes or none must use the extended master secret
    if session.uses_extended_master_secret() != hello.extensions.extended_master_secret_ack {
        return Err(PeerMisbehaved::ResumptionOfferedWithVariedEms);
    }
    Ok(())
}

/// A session's entry in the client's store.
pub(crate) struct StoreEntry {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
}

impl StoreEntry {
    /// Returns the entry for the server that receives `offer`.
    pub(crate) fn of(offer: &Offer) -> Box<Self> {
        Box::new(Self {
            config: offer.config.config().clone(),
            server_name: offer.server_name.clone(),
        })
    }
}

impl SessionInUse for StoreEntry {
    fn forget(&self) {
        if let Some(store) = &self.config.resumption.store {
            store.remove_tls12_session(&self.server_name);
        }
    }
}

/// Stores the session of a complete handshake: a new one if it has an ID or a ticket, a resumed one
/// only with a new ticket. Returns true if a new session was stored.
pub(super) fn store_session(
    finishing: &mut Finishing,
    server_chain: Option<&PeerChain>,
    recorder: &mut Recorder<'_>,
) -> bool {
    let resumed = finishing.handshake.offer.tls12_session.take();
    let is_resumed = resumed.is_some();
    let (ticket, lifetime) = match finishing.ticket.take() {
        Some(ticket) => (Some(ticket.bytes), ticket.lifetime_hint),
        None => (None, 0),
    };
    let handshake = &finishing.handshake;
    let config = &handshake.offer.config;
    // a resumed session is already stored, and only a new ticket changes it
    let is_new = ticket.is_some() || !(is_resumed || handshake.session_id.is_empty());
    if !is_new {
        return false;
    }
    let store = config.resumption.store.as_ref();
    let is_enabled = config.resumption.tls12_resumption != Tls12Resumption::Disabled;
    let Some(store) = store.filter(|_| is_enabled) else {
        recorder.session(false);
        return false;
    };
    // RFC 5077 §3.3: a hint of zero means that the lifetime is unspecified
    let lifetime = match lifetime {
        0 => USUAL_LIFETIME,
        secs => secs,
    };
    let value = match (resumed, ticket) {
        // read the clock once: a new ticket may count as slightly older than it is
        (Some((session, offered_at)), Some(ticket)) => {
            Some(session.renewed(ticket, offered_at, lifetime))
        }
        (_, ticket) => new_session(finishing, server_chain, ticket, lifetime),
    };
    recorder.session(value.is_some());
    let Some(value) = value else {
        return false;
    };
    store.set_tls12_session(handshake.offer.server_name.clone(), value);
    !is_resumed
}

/// Returns the session of a full handshake. Returns `None` if the time, the server's chain or its
/// verification is unknown.
fn new_session(
    finishing: &Finishing,
    server_chain: Option<&PeerChain>,
    ticket: Option<Arc<[u8]>>,
    lifetime: u32,
) -> Option<Tls12ClientSessionValue> {
    let handshake = &finishing.handshake;
    let config = &handshake.offer.config;
    let common = ClientSessionCommon::new(
        server_chain?.clone(),
        config.verifier(),
        config.client_auth(),
        handshake.offer.verification?,
        config.current_time().ok()?,
        lifetime,
    );
    Some(Tls12ClientSessionValue::new(
        common,
        handshake.suite,
        handshake.session_id,
        ticket,
        finishing.master_secret.session_secret().clone(),
        finishing.master_secret.is_extended(),
    ))
}
