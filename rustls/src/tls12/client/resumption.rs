//! Which session a ClientHello offers to resume, by its id (RFC 5246 §7.3) or by its ticket (RFC 5077), and
//! which ones are kept.

use alloc::boxed::Box;
use alloc::sync::Arc;

use pki_types::ServerName;

use super::finished::Finishing;
use crate::client::{ClientConfig, Tls12ClientSessionValue, Tls12Resumption};
use crate::enums::ProtocolVersion;
use crate::error::PeerMisbehaved;
use crate::handshake::client::offer::Offer;
use crate::handshake::settings::ClientSettings;
use crate::msgs::client_hello::SessionId;
use crate::msgs::server_hello::ServerHello;
use crate::session::chain::PeerChain;
use crate::session::client::ClientSessionCommon;
use crate::suites::Tls12CipherSuite;

/// How long a session lasts if the server does not say, in seconds: the upper limit that RFC 5246 §F.1.4
/// suggests.
const USUAL_LIFETIME: u32 = 24 * 60 * 60;

/// The session with `server_name` that may be resumed under `config`, if there is one. Its suite may be
/// one that is not offered any more.
pub(crate) fn stored_session(
    config: &ClientSettings,
    server_name: &ServerName<'_>,
) -> Option<Tls12ClientSessionValue> {
    let resumption = &config.resumption;
    if resumption.tls12_resumption == Tls12Resumption::Disabled {
        return None;
    }
    let mut session = resumption.store.as_ref()?.tls12_session(server_name)?;
    if !config.versions.contains(ProtocolVersion::TLSv1_2) {
        return None;
    }
    if resumption.tls12_resumption == Tls12Resumption::SessionIdOnly {
        session.drop_ticket();
    }
    let now = config.current_time().ok()?;
    let is_usable = session.is_resumable()
        && !session.common().has_expired(now)
        && session
            .common()
            .is_of(config.verifier(), config.client_auth())
        && (session.uses_extended_master_secret() || !config.require_ems);
    is_usable.then_some(session)
}

/// The session that the ServerHello resumes, or `None` if it starts a new one. One that was offered in vain is
/// kept: another machine of the server may know it.
///
/// # Errors
///
/// The server resumes what was not offered, or on other terms than before.
pub(super) fn resumed_session(
    offer: &mut Offer,
    hello: &ServerHello<'_>,
    suite: &'static Tls12CipherSuite,
) -> Result<Option<Tls12ClientSessionValue>, PeerMisbehaved> {
    let offered = offer.tls12_session.take();
    let is_echo = !offer.session_id.is_empty() && hello.legacy_session_id_echo == offer.session_id;
    let Some(session) = offered else {
        // RFC 9846 §4.2.2: the id that was sent for middleboxes names no session
        return if is_echo {
            Err(PeerMisbehaved::ServerEchoedCompatibilitySessionId)
        } else {
            Ok(None)
        };
    };
    if !is_echo {
        return Ok(None);
    }
    check_terms(&session, hello, suite)?;
    Ok(Some(session))
}

/// The terms on which a session goes on are those that it started with.
fn check_terms(
    session: &Tls12ClientSessionValue,
    hello: &ServerHello<'_>,
    suite: &'static Tls12CipherSuite,
) -> Result<(), PeerMisbehaved> {
    // RFC 5246 §7.4.1.3: the suite is that of the session
    if session.suite() != suite {
        return Err(PeerMisbehaved::ResumptionOfferedWithVariedCipherSuite);
    }
    // RFC 7627 §5.3: the extended master secret is used in both handshakes or in neither
    if session.uses_extended_master_secret() != hello.extensions.extended_master_secret_ack {
        return Err(PeerMisbehaved::ResumptionOfferedWithVariedEms);
    }
    Ok(())
}

/// A stored session that a connection offers, goes on with, or has started.
pub(crate) struct SessionInUse {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
}

impl SessionInUse {
    /// The session with the server of `offer`.
    pub(crate) fn of(offer: &Offer) -> Box<Self> {
        Box::new(Self {
            config: offer.config.config().clone(),
            server_name: offer.server_name.clone(),
        })
    }
}

/// RFC 5246 §7.2.2: the session of a connection that has failed is not resumed.
pub(crate) fn forget(session: Option<&SessionInUse>) {
    let Some(session) = session else {
        return;
    };
    if let Some(store) = &session.config.resumption.store {
        store.remove_tls12_session(&session.server_name);
    }
}

/// Keeps the session of a complete handshake, if the server has given it an id or a ticket. Returns whether it is
/// kept now, and was not before.
pub(super) fn store_session(finishing: &Finishing, server_chain: Option<&PeerChain>) -> bool {
    let handshake = &finishing.handshake;
    let config = &handshake.offer.config;
    let (ticket, lifetime) = match &finishing.ticket {
        Some(ticket) => (Some(&ticket.bytes[..]), ticket.lifetime_hint),
        None => (None, 0),
    };
    // what is resumed is stored already: only a new ticket changes it
    let has_news = ticket.is_some() || !(finishing.is_resumed || handshake.session_id.is_empty());
    let Some(store) = &config.resumption.store else {
        return false;
    };
    if !has_news || config.resumption.tls12_resumption == Tls12Resumption::Disabled {
        return false;
    }
    let (Some(server_chain), Some(verification), Ok(now)) = (
        server_chain,
        handshake.offer.verification,
        config.current_time(),
    ) else {
        return false;
    };
    // RFC 5077 §3.3: a hint of zero says nothing
    let lifetime = match lifetime {
        0 => USUAL_LIFETIME,
        secs => secs,
    };
    let common = ClientSessionCommon::new(
        server_chain.clone(),
        config.verifier(),
        config.client_auth(),
        verification,
        now,
        lifetime,
    );
    // the id of a session that goes on by a ticket was made up by this side
    let session_id = if finishing.is_resumed {
        SessionId::EMPTY
    } else {
        handshake.session_id
    };
    let value = Tls12ClientSessionValue::new(
        common,
        handshake.suite,
        session_id,
        ticket,
        finishing.master_secret.session_secret().clone(),
        finishing.master_secret.is_extended(),
    );
    store.set_tls12_session(handshake.offer.server_name.clone(), value);
    !finishing.is_resumed
}
