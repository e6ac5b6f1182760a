//! The ServerHello (RFC 9846 §4.2.3), which selects the suite and the key exchange.

use alloc::boxed::Box;

use rustls_core::crypto::tls13::OkmBlock;

use super::encrypted_extensions::WaitEncryptedExtensions;
use super::in_progress::{EarlyDataState, FinishedKeys, Handshake};
use crate::config::observer::handshake::{EarlyData, EarlyDataRejected, NotResumed, SessionSource};
use crate::enums::{AlertDescription, Compression, ExtensionType, ProtocolVersion};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::client::offered::OfferedExtensions;
use crate::handshake::client::offered_session::OfferedSession;
use crate::handshake::client::sent_hello::SentHello;
use crate::handshake::negotiated::ObservedFacts;
use crate::keys::tls13::EarlySecret;
use crate::logging::debug;
use crate::msgs::extensions::{ExtensionContext, allowed_in};
use crate::msgs::server_hello::ServerHello;
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};

/// Completes the key exchange, and derives the handshake keys.
pub(super) fn read_server_hello(
    mut sent: Box<SentHello>,
    hello: &ServerHello<'_>,
    encoded: &[u8],
    cx: &mut ClientContext<'_>,
) -> Result<WaitEncryptedExtensions, Failure> {
    let version = Some(ProtocolVersion::TLSv1_3);
    let suite = check_suite(&sent, hello).inspect_err(|_| cx.negotiated.version = version)?;
    if hello.compression != Compression::Null {
        return Err(PeerMisbehaved::SelectedUnofferedCompression.into());
    }
    if let Some(status) = sent.check_ech_acceptance(suite, encoded)? {
        cx.negotiated.facts.ech = Some(status);
    }
    check_extensions_offered(&sent.offered, &hello.extensions.received)?;
    cx.negotiated.version = version;
    cx.negotiated.suite = Some(SupportedCipherSuite::Tls13(suite));
    check_extensions_allowed(&hello.extensions.received)?;
    let server_share = hello
        .extensions
        .key_share
        .as_ref()
        .ok_or_else(|| missing_key_share(hello))?;
    debug!(
        "cipher suite {:?}, group {:?}",
        suite.common.suite, server_share.group
    );
    let is_offered = sent.session.is_some();
    #[cfg(feature = "tls12")]
    let is_offered = is_offered || sent.offer.tls12_session.is_some();
    let resumed = resumed_session(sent.session.take(), hello.extensions.pre_shared_key, suite)?;
    if resumed.is_some() {
        debug!("resuming a session");
    }
    note_session(is_offered, resumed.is_some(), &mut cx.negotiated.facts);

    let mut transcript = sent.take_transcript(suite.common.hash_provider);
    transcript.add(encoded);

    let (early_secret, session, early_data) = match resumed {
        // RFC 9846 §4.3.10: the server may accept early data only with the suite it was sent with
        Some(it) if it.with_early_data && it.value.suite() == suite => {
            (it.early_secret, Some(it.value), EarlyDataState::Offered)
        }
        Some(it) => {
            let facts = &mut cx.negotiated.facts;
            if facts.early_data == EarlyData::Offered {
                let reason = EarlyDataRejected::OtherCipherSuite;
                facts.early_data = EarlyData::Rejected(reason);
            }
            (it.early_secret, Some(it.value), EarlyDataState::No)
        }
        None => (EarlySecret::new(suite, None), None, EarlyDataState::No),
    };
    let is_session_id_echoed = hello.legacy_session_id_echo == sent.offer.session_id;
    let shares = sent.shares.ok_or(PeerMisbehaved::WrongGroupForKeyShare)?;
    if shares.contains(server_share.group) {
        cx.negotiated.kx_group = sent.offer.offered_group(server_share.group);
    }
    let secret = shares.complete(server_share, early_secret)?;
    // boxed separately, because an idle connection needs much less
    let mut handshake = Box::new(Handshake {
        offer: sent.offer,
        offered: sent.offered,
        suite,
        transcript,
        secret,
        session,
        early_data,
        client_secret: OkmBlock::new(&[]),
        finished_keys: FinishedKeys::empty(),
        is_session_id_echoed,
    });
    let mut server_secret = OkmBlock::new(&[]);
    handshake.derive_traffic_secrets(&mut server_secret);
    // RFC 9846 §E.4: before the client's first protected record, which may be an alert
    sent.ccs.send_once(cx.transport);
    handshake.install_keys(&server_secret, cx.transport)?;
    Ok(WaitEncryptedExtensions::new(handshake))
}

/// Notes whether the server resumes the offered session. If it does not, it also rejects early
/// data.
fn note_session(is_offered: bool, is_resumed: bool, facts: &mut ObservedFacts) {
    if is_resumed {
        facts.resumed_from = Some(SessionSource::Ticket);
        return;
    }
    if is_offered {
        facts.not_resumed = Some(NotResumed::RefusedByServer);
    }
    if facts.early_data == EarlyData::Offered {
        facts.early_data = EarlyData::Rejected(EarlyDataRejected::NotResumed);
    }
}

fn check_suite(
    sent: &SentHello,
    hello: &ServerHello<'_>,
) -> Result<&'static Tls13CipherSuite, PeerMisbehaved> {
    // RFC 9846 §4.2.3: the suite must have been offered for TLS 1.3
    let suite = sent.offer.suite(hello.cipher_suite)?;
    // RFC 9846 §4.2.4: and must be that of the HelloRetryRequest
    match sent.retry_suite {
        Some(chosen) if chosen != suite => {
            Err(PeerMisbehaved::SelectedDifferentCipherSuiteAfterRetry)
        }
        _ => Ok(suite),
    }
}

fn missing_key_share(hello: &ServerHello<'_>) -> Failure {
    let error = PeerMisbehaved::MissingKeyShare;
    match hello.extensions.pre_shared_key {
        // RFC 9846 §4.3.11: this contradicts the only mode offered in psk_key_exchange_modes
        Some(_) => Failure::new(error, AlertDescription::IllegalParameter),
        None => error.into(),
    }
}

/// Returns the session that the server agrees to resume.
fn resumed_session(
    offered: Option<Box<OfferedSession>>,
    selected_identity: Option<u16>,
    suite: &'static Tls13CipherSuite,
) -> Result<Option<Box<OfferedSession>>, PeerMisbehaved> {
    let Some(selected_identity) = selected_identity else {
        return Ok(None);
    };
    // RFC 9846 §4.3.11: the identity must have been offered, and only one was
    let Some(session) = offered.filter(|_| selected_identity == 0) else {
        return Err(PeerMisbehaved::SelectedInvalidPsk);
    };
    // RFC 9846 §4.3.11: the suite must have the session's hash
    if !session.value.has_hash_of(suite) {
        return Err(PeerMisbehaved::ResumptionOfferedWithIncompatibleCipherSuite);
    }
    Ok(Some(session))
}

fn check_extensions_offered(
    offered: &OfferedExtensions,
    received: &[ExtensionType],
) -> Result<(), PeerMisbehaved> {
    // RFC 9846 §4.3: an unoffered extension is an unsupported_extension
    match received.iter().all(|typ| offered.contains(*typ)) {
        true => Ok(()),
        false => Err(PeerMisbehaved::UnsolicitedServerHelloExtension),
    }
}

fn check_extensions_allowed(received: &[ExtensionType]) -> Result<(), PeerMisbehaved> {
    // RFC 9846 §4.3: extensions that belong in other messages are rejected, too
    let mut received = received.iter();
    match received.all(|typ| allowed_in(*typ, ExtensionContext::ServerHello)) {
        true => Ok(()),
        false => Err(PeerMisbehaved::UnexpectedCleartextExtension),
    }
}

/// Checks the legacy_version of a server that selected TLS 1.3.
pub(crate) fn check_legacy_version(version: ProtocolVersion) -> Result<(), Error> {
    // RFC 9846 §4.2.3: any value but 0x0303 is a protocol_version alert
    match version {
        ProtocolVersion::TLSv1_2 => Ok(()),
        _ => Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into()),
    }
}
