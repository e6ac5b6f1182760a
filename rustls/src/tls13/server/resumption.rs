//! Which session a ClientHello resumes (RFC 9846 §2.2, §4.3.11), if any.
//!
//! Cipher suite, group and protocol are chosen first; a session that does not go with them is as good as
//! unknown. Of those that do, the first is chosen, and the client must prove that it has its key.

use alloc::vec::Vec;

use pki_types::UnixTime;

use super::early_data;
use super::parameters::Parameters;
use super::tickets::TicketKind;
use crate::crypto::CryptoProvider;
use crate::enums::PskKeyExchangeMode;
use crate::error::PeerMisbehaved;
use crate::handshake::ServerContext;
use crate::handshake::settings::ServerSettings;
use crate::handshake::transcript::Transcript;
use crate::logging::debug;
use crate::msgs::client_extensions::ClientExtensions;
use crate::msgs::client_hello::ClientHello;
use crate::session::chain::{ChainKind, PeerChain};
use crate::session::server_auth::ServerAuth;
use crate::session::value::{SessionValue, Tls13Session};
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};
use crate::tls13::key_schedule::EarlySecret;

/// How many of the offered sessions are looked for. Clients offer one; each may cost a look into a storage
/// that is far away.
const MAX_IDENTITIES: usize = 4;

/// A session that is resumed.
pub(super) struct Resumed {
    /// `selected_identity`.
    pub(super) index: u16,
    /// When its secrets were agreed on with certificates, in seconds since 1970.
    pub(super) authenticated_at: u64,
    pub(super) client_chain: Option<PeerChain>,
    pub(super) application_data: Vec<u8>,
    /// How many bytes of early data are accepted, if any.
    pub(super) early_data_limit: Option<u32>,
}

impl Resumed {
    /// Has the connection report what is known from the session.
    pub(super) fn report(self, provider: &CryptoProvider, cx: &mut ServerContext<'_>) {
        if let Some(chain) = self.client_chain {
            cx.negotiated.set_expected_peer(chain, provider);
            if self.early_data_limit.is_some() {
                // a session that allows early data is taken out of its storage: nobody can offer it again
                cx.negotiated.prove_peer();
            }
        }
        cx.data.set_received_resumption_data(&self.application_data);
    }
}

/// Finds the session that `hello` resumes with the server `server`, and what its key becomes. `transcript` ends before
/// the binders.
///
/// # Errors
///
/// [`PeerMisbehaved::IncorrectBinder`].
pub(super) fn find_session(
    hello: &ClientHello<'_>,
    transcript: &mut Transcript,
    parameters: &Parameters<'_>,
    server: &ServerAuth<'_>,
    config: &ServerSettings,
    cx: &mut ServerContext<'_>,
) -> Result<Option<(Resumed, EarlySecret)>, PeerMisbehaved> {
    let extensions = &hello.extensions;
    let (Some(offered), true) = (&extensions.pre_shared_key, accepts_resumption(extensions)) else {
        return Ok(None);
    };
    let (Some(kind), Ok(now)) = (TicketKind::of(config), config.current_time()) else {
        return Ok(None);
    };
    let suite = parameters.suite;
    let pairs = offered.identities.iter().zip(&offered.binders);
    for (index, (identity, binder)) in pairs.enumerate().take(MAX_IDENTITIES) {
        let Some(value) = kind.find(identity.identity, config) else {
            continue;
        };
        let Ok(session) = Tls13Session::read(&value) else {
            continue;
        };
        if index == 0 && extensions.early_data {
            let limit = early_data::skipped_limit(config, session.max_early_data_size);
            cx.transport.skip_early_data(Some(limit));
        }
        if !is_suitable(&session, kind, suite, server, config, cx, now) {
            continue;
        }
        // RFC 9846 §4.3.11: the binder is validated before the key is accepted; of the chosen session only
        let early_secret = EarlySecret::new(suite, Some(session.psk));
        if !early_secret.is_resumption_binder(transcript.current(), binder.0) {
            return Err(PeerMisbehaved::IncorrectBinder);
        }
        if !session.facts.client_is_accepted(config, now) {
            debug!("the client's certificate is not accepted any longer");
            return Ok(None);
        }
        // the verifier is for one kind, and has just accepted it
        let chain_kind = ChainKind::new(config.verifier().requires_raw_public_keys());
        let offer = early_data::Offer {
            hello,
            is_first: index == 0,
            obfuscated_ticket_age: identity.obfuscated_ticket_age,
            session: &session,
            kind,
        };
        let resumed = Resumed {
            index: index as u16, // below MAX_IDENTITIES
            early_data_limit: offer.accepted_limit(parameters, config, cx.data, now),
            authenticated_at: session.facts.authenticated_at,
            client_chain: session
                .facts
                .client_chain
                .share(chain_kind, &config.peer_chains),
            application_data: session.facts.application_data.to_vec(),
        };
        return Ok(Some((resumed, early_secret)));
    }
    Ok(None)
}

/// RFC 9846 §4.3.9: a mode that the client does not list must not be selected, and a PSK without a key exchange
/// is none of ours.
pub(super) fn accepts_resumption(extensions: &ClientExtensions<'_>) -> bool {
    let modes = extensions.psk_key_exchange_modes.as_deref();
    modes.is_some_and(|modes| modes.contains(&PskKeyExchangeMode::PskDheKe))
}

/// True if `session` may be resumed here and now.
fn is_suitable(
    session: &Tls13Session<'_>,
    kind: TicketKind,
    suite: &'static Tls13CipherSuite,
    server: &ServerAuth<'_>,
    config: &ServerSettings,
    cx: &ServerContext<'_>,
    now: UnixTime,
) -> bool {
    let mut suites = config.provider.cipher_suites.iter();
    let before = suites.find(|suite| suite.suite() == session.suite);
    // RFC 9846 §4.7.1: only with a cipher suite of the same hash
    let has_hash = before
        .and_then(SupportedCipherSuite::tls13)
        .is_some_and(|before| suite.can_resume_from(before).is_some());
    let has_psk_of_hash = session.psk.len() == suite.common.hash_provider.output_len();
    let server_name = cx.data.server_name.as_ref();
    let lifetime = kind.lifetime(config);
    let fits = session
        .facts
        .fits(config, server, server_name, lifetime, now);
    let has_carrier = config.carrier.goes_with_session_of(session.carrier);
    has_hash && has_psk_of_hash && fits && has_carrier
}
