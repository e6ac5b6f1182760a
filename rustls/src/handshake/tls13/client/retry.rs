//! The HelloRetryRequest (RFC 9846 §4.2.4), and the second ClientHello that it causes.

use alloc::boxed::Box;

use super::server_hello::check_legacy_version;
use crate::config::handshake_kind::HandshakeKind;
use crate::config::observer::handshake::{EarlyData, EarlyDataRejected, NotResumed};
use crate::enums::{ExtensionType, NamedGroup, ProtocolVersion};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::client::key_shares::KeyShares;
use crate::handshake::client::sent_hello::{ReceivedRetry, SentHello};
use crate::msgs::server_hello::HelloRetryRequest;
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};

/// Replies to the first HelloRetryRequest. The caller rejects a second one.
pub(crate) fn read_hello_retry_request(
    mut first: Box<SentHello>,
    request: HelloRetryRequest<'_>,
    encoded: &[u8],
    cx: &mut ClientContext<'_>,
) -> Result<Box<SentHello>, Failure> {
    check_request(&first, &request)?;
    // RFC 9846 §5.1: nothing may follow, because the server waits for the client's reply
    cx.transport.check_aligned()?;
    cx.negotiated.version = Some(ProtocolVersion::TLSv1_3);
    let suite = check_selected(&first, &request)?;
    cx.negotiated.suite = Some(SupportedCipherSuite::Tls13(suite));
    cx.negotiated.handshake_kind = Some(HandshakeKind::FullWithHelloRetryRequest);
    let requested_shares = match request.extensions.key_share {
        Some(group) => Some(start_requested_exchange(&first, group)?),
        None => None,
    };
    let confirmation = request.extensions.encrypted_client_hello;
    if let Some(status) = first.check_ech_acceptance_in_retry(suite, encoded, confirmation)? {
        cx.negotiated.facts.ech = Some(status);
    }

    let mut transcript = first.take_transcript(suite.common.hash_provider);
    transcript.replace_with_message_hash();
    transcript.add(encoded);

    let shares = requested_shares
        .or_else(|| first.shares.take())
        .ok_or(PeerMisbehaved::IllegalHelloRetryRequestWithNoChanges)?;
    // RFC 9846 §4.3.2: the cookie is returned unchanged. The handshake fails if it does not fit
    // together with the other extensions, which have 2^16 - 1 bytes. A session that does not fit is
    // simply not offered; the fake PSK of an outer hello cannot be left out
    let cookie = request.extensions.cookie;
    let added = cookie.unwrap_or_default().len() + shares.len();
    let session_len = first.session.as_ref().map_or(0, |it| it.extension_len());
    if first.sent_len() - session_len + added > usize::from(u16::MAX) {
        return Err(InvalidMessage::MessageTooLarge.into());
    }
    let retry = ReceivedRetry {
        suite,
        transcript,
        outer: first.outer,
    };
    // RFC 9846 §4.3.10: early data has ended, and the second ClientHello is sent in the clear
    cx.transport.drop_sending_secret();
    let facts = &mut cx.negotiated.facts;
    if facts.early_data == EarlyData::Offered {
        facts.early_data = EarlyData::Rejected(EarlyDataRejected::HelloRetryRequest);
    }
    let had_session = first.session.is_some();
    let session = first
        .session
        .and_then(|session| session.retried(suite, first.offer.config.current_time().ok()));
    if had_session && session.is_none() {
        facts.not_resumed = Some(NotResumed::OtherCipherSuite);
    }
    let has_session = session.is_some();
    let second = SentHello::send_second(
        first.offer,
        shares,
        cookie,
        session,
        retry,
        first.ccs,
        cx.transport,
    )?;
    if has_session && second.session.is_none() {
        facts.not_resumed = Some(NotResumed::TooLong);
    }
    Ok(Box::new(second))
}

/// Checks the version and the legacy fields, and that the server requests a change.
fn check_request(first: &SentHello, request: &HelloRetryRequest<'_>) -> Result<(), Error> {
    let extensions = &request.extensions;
    // RFC 9846 §4.2.4: the legacy fields are checked like those of a ServerHello. Decoding has
    // checked compression, and rejected unknown extensions
    if request.legacy_session_id_echo != first.offer.session_id {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithWrongSessionId.into());
    }
    if extensions.supported_version != Some(ProtocolVersion::TLSv1_3) {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithUnsupportedVersion.into());
    }
    check_legacy_version(request.legacy_version)?;
    // RFC 9846 §4.2.4: otherwise the second ClientHello would equal the first
    if extensions.key_share.is_none() && extensions.cookie.is_none() {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithNoChanges.into());
    }
    // RFC 9846 §4.3.8: the client must not have sent a share for the group already
    let sent = first.shares.as_ref();
    let has_share = |group| sent.is_some_and(|shares| shares.contains(group));
    if extensions.key_share.is_some_and(has_share) {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithOfferedGroup.into());
    }
    Ok(())
}

/// Returns the cipher suite that the request selects, which must have been offered. Also rejects an
/// ECH extension that does not reply to one.
fn check_selected(
    first: &SentHello,
    request: &HelloRetryRequest<'_>,
) -> Result<&'static Tls13CipherSuite, Error> {
    let extensions = &request.extensions;
    // RFC 9846 §4.3: an unoffered extension is an unsupported_extension
    let ech = ExtensionType::EncryptedClientHello;
    if extensions.encrypted_client_hello.is_some() && !first.offered.contains(ech) {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch.into());
    }
    // RFC 9846 §4.2.4: the suite must have been offered
    first
        .offer
        .suite(request.cipher_suite)
        .map_err(|_| PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedCipherSuite.into())
}

/// Starts the key exchange that the server requests.
fn start_requested_exchange(first: &SentHello, group: NamedGroup) -> Result<KeyShares, Error> {
    // RFC 9846 §4.3.8: the group must have been offered
    let group = first
        .offer
        .offered_group(group)
        .ok_or(PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedNamedGroup)?;
    KeyShares::start_single(group)
}
