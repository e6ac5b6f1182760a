//! The HelloRetryRequest (RFC 9846 §4.2.4), answered by a second ClientHello.

use alloc::boxed::Box;

use crate::conn::HandshakeKind;
use crate::enums::{ExtensionType, NamedGroup, ProtocolVersion};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::handshake::client::key_shares::KeyShares;
use crate::handshake::client::sent_hello::{Retry, SentHello};
use crate::handshake::client::version::check_legacy_version;
use crate::handshake::{ClientContext, Failure};
use crate::msgs::server_hello::HelloRetryRequest;
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};

/// Answers the first HelloRetryRequest; the caller refuses a second.
pub(crate) fn read_hello_retry_request(
    mut first: Box<SentHello>,
    request: HelloRetryRequest<'_>,
    encoded: &[u8],
    cx: &mut ClientContext<'_>,
) -> Result<Box<SentHello>, Failure> {
    let suite = check_request(&first, &request)?;
    let asked_for = match request.extensions.key_share {
        Some(group) => Some(requested_shares(&first, group)?),
        None => None,
    };
    // RFC 9846 §5.1: nothing may follow, since the server waits for our answer
    cx.transport.check_aligned()?;
    cx.negotiated.version = Some(ProtocolVersion::TLSv1_3);
    cx.negotiated.suite = Some(SupportedCipherSuite::Tls13(suite));
    cx.negotiated.handshake_kind = Some(HandshakeKind::FullWithHelloRetryRequest);
    let confirmation = request.extensions.encrypted_client_hello;
    if let Some(status) = first.check_ech_acceptance_in_retry(suite, encoded, confirmation)? {
        cx.data.ech_status = status;
    }

    let mut transcript = first.take_transcript(suite.common.hash_provider);
    transcript.replace_with_message_hash();
    transcript.add(encoded);

    let shares = asked_for
        .or_else(|| first.shares.take())
        .ok_or(PeerMisbehaved::IllegalHelloRetryRequestWithNoChanges)?;
    // RFC 9846 §4.3.2: the cookie goes back as it came. One that does not fit beside the other
    // extensions, 2^16 - 1 bytes in all, is refused. A session that does not fit is just not offered, except for
    // what an outer hello has in its place
    let cookie = request.extensions.cookie;
    let added = cookie.unwrap_or_default().len() + shares.len();
    let session_len = first.session.as_ref().map_or(0, |it| it.extension_len());
    if first.sent_len() - session_len + added > usize::from(u16::MAX) {
        return Err(InvalidMessage::MessageTooLarge.into());
    }
    let retry = Retry {
        suite,
        transcript,
        outer: first.outer,
    };
    // RFC 9846 §4.3.10: early data is over, and the second ClientHello is in the clear again
    cx.transport.drop_sending_secret();
    let session = first
        .session
        .and_then(|session| session.retried(suite, first.offer.config.current_time().ok()));
    SentHello::send_second(
        first.offer,
        shares,
        cookie,
        session,
        retry,
        first.ccs,
        cx.transport,
    )
    .map(Box::new)
    .map_err(Failure::from)
}

fn check_request(
    first: &SentHello,
    request: &HelloRetryRequest<'_>,
) -> Result<&'static Tls13CipherSuite, Error> {
    let extensions = &request.extensions;
    // RFC 9846 §4.2.4: the legacy fields as in a ServerHello, then the version. Compression and unknown
    // extensions were checked when the message was read
    if request.legacy_session_id_echo != first.offer.session_id {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithWrongSessionId.into());
    }
    if extensions.supported_version != Some(ProtocolVersion::TLSv1_3) {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithUnsupportedVersion.into());
    }
    check_legacy_version(request.legacy_version)?;
    // RFC 9846 §4.3: what was not offered is an unsupported_extension
    let ech = ExtensionType::EncryptedClientHello;
    if extensions.encrypted_client_hello.is_some() && !first.offered.contains(ech) {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch.into());
    }
    // RFC 9846 §4.2.4: the second ClientHello would be the first again
    if extensions.key_share.is_none() && extensions.cookie.is_none() {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithNoChanges.into());
    }
    // RFC 9846 §4.2.4: the suite is one of those offered
    first
        .offer
        .suite(request.cipher_suite)
        .map_err(|_| PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedCipherSuite.into())
}

/// The share that the server asks for.
fn requested_shares(first: &SentHello, group: NamedGroup) -> Result<KeyShares, Error> {
    // RFC 9846 §4.3.8: the group is not one whose share was sent
    if first
        .shares
        .as_ref()
        .is_some_and(|shares| shares.contains(group))
    {
        return Err(PeerMisbehaved::IllegalHelloRetryRequestWithOfferedGroup.into());
    }
    // RFC 9846 §4.3.8: but one that was offered
    let group = first
        .offer
        .offered_group(group)
        .ok_or(PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedNamedGroup)?;
    KeyShares::start_single(group)
}
