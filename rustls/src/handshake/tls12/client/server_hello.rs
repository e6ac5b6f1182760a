//! The ServerHello (RFC 5246 §7.4.1.3), which selects the suite and the session.

use alloc::boxed::Box;

use super::State;
use super::finished::resumed_secret;
use super::in_progress::{Finishing, Handshake};
use super::resumption::resumes_session;
use super::server_auth::WaitCertificate;
use crate::config::handshake_kind::HandshakeKind;
use crate::config::observer::handshake::{NotResumed, SessionSource};
use crate::enums::{AlertDescription, Compression, ECPointFormat, ExtensionType, ProtocolVersion};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::client::sent_hello::SentHello;
use crate::handshake::transcript::Transcript;
use crate::keys::tls12::Randoms;
use crate::logging::debug;
use crate::msgs::server_hello::{ServerHello, ServerHelloExtensions};
use crate::suites::SupportedCipherSuite;

/// Continues with a new session, or resumes the offered one.
pub(super) fn read_server_hello(
    sent: Box<SentHello>,
    hello: &ServerHello<'_>,
    encoded: &[u8],
    cx: &mut ClientContext<'_>,
) -> Result<State, Failure> {
    let version = Some(ProtocolVersion::TLSv1_2);
    let suite = sent
        .offer
        .tls12_suite(hello.cipher_suite)
        .inspect_err(|_| cx.negotiated.version = version)?;
    // RFC 5246 §7.4.1.2: only the null method was offered
    if hello.compression != Compression::Null {
        return Err(PeerMisbehaved::SelectedUnofferedCompression.into());
    }
    check_extensions(&sent, &hello.extensions)?;

    cx.negotiated.version = version;
    let is_offered = sent.session.is_some() || sent.offer.tls12_session.is_some();
    let mut offer = sent.offer;
    let is_resumed = resumes_session(&mut offer, hello, suite)?;
    let facts = &mut cx.negotiated.facts;
    if let Some((session, _)) = &offer.tls12_session {
        facts.resumed_from = Some(match session.ticket() {
            Some(_) => SessionSource::Ticket,
            None => SessionSource::Storage,
        });
    } else if is_offered {
        facts.not_resumed = Some(NotResumed::RefusedByServer);
    }
    if let Some(selected) = hello.extensions.selected_protocol {
        offer.check_protocol(Some(selected))?;
        debug!("application protocol {}", selected.0.escape_ascii());
        cx.negotiated.alpn_protocol = Some(selected.0.to_vec());
    }
    debug!("cipher suite {:?}", suite.common.suite);
    cx.negotiated.suite = Some(SupportedCipherSuite::Tls12(suite));
    cx.negotiated.handshake_kind = Some(if is_resumed {
        debug!("resuming a session");
        HandshakeKind::Resumed
    } else {
        HandshakeKind::Full
    });

    let hash = suite.common.hash_provider;
    // RFC 5246 §7.4.8: a client's signature covers the messages, and may use a different hash
    // function
    let may_sign = !is_resumed && offer.config.client_auth().has_certs();
    let mut transcript = if may_sign {
        Transcript::start_keeping(hash, &sent.encoded)
    } else {
        Transcript::start(hash, &sent.encoded)
    };
    transcript.add(encoded);

    let randoms = Randoms {
        client: offer.random,
        server: hello.random,
    };
    let handshake = Box::new(Handshake {
        offer,
        suite,
        transcript,
        randoms,
        session_id: hello.legacy_session_id_echo,
        uses_extended_master_secret: hello.extensions.extended_master_secret_ack,
        announces_ticket: hello.extensions.session_ticket_ack,
        may_send_status: hello.extensions.status_request_ack,
    });
    match resumed_secret(&handshake, cx) {
        Some(master_secret) => Ok(Finishing::new(handshake, master_secret).next_state()),
        None => {
            // an offered session that the server did not accept is not in use
            *cx.session = None;
            Ok(State::WaitCertificate(WaitCertificate::new(handshake)))
        }
    }
}

fn check_extensions(
    sent: &SentHello,
    extensions: &ServerHelloExtensions<'_>,
) -> Result<(), Failure> {
    for typ in &extensions.received {
        // RFC 5746 §3.3: the signalling suite is equivalent to an empty renegotiation_info
        let is_offered = sent.offered.contains(*typ) || *typ == ExtensionType::RenegotiationInfo;
        // RFC 5246 §7.4.1.4: an unoffered extension is an unsupported_extension
        if !is_offered {
            return Err(PeerMisbehaved::UnsolicitedServerHelloExtension.into());
        }
    }
    // RFC 5746 §3.4: in the first handshake of a connection it must be empty, or handshake_failure
    if extensions
        .renegotiation_info
        .is_some_and(|info| !info.is_empty())
    {
        // no specific error exists for this
        return Err(Failure::new(
            Error::General("the ServerHello's renegotiation_info is not empty".into()),
            AlertDescription::HandshakeFailure,
        ));
    }
    // RFC 8422 §5.2: the uncompressed format must be in the list
    let formats = extensions.ec_point_formats.as_deref();
    if formats.is_some_and(|formats| !formats.contains(&ECPointFormat::Uncompressed)) {
        return Err(PeerMisbehaved::ServerHelloMustOfferUncompressedEcPoints.into());
    }
    let config = &sent.offer.config;
    if config.require_ems && !extensions.extended_master_secret_ack {
        return Err(PeerIncompatible::ExtendedMasterSecretExtensionRequired.into());
    }
    // raw public keys need TLS 1.3: here they would be mistaken for certificates
    if config.verifier().requires_raw_public_keys() || config.client_auth().only_raw_public_keys() {
        return Err(PeerIncompatible::IncorrectCertificateTypeExtension.into());
    }
    Ok(())
}
