//! The negotiation of TLS 1.3: from RECVD_CH to NEGOTIATED, or to a HelloRetryRequest (RFC 9846
//! Appendix A.2). Negotiation sends nothing. It changes nothing in the connection except the
//! properties that its accessors and its observer report.

use alloc::boxed::Box;
use alloc::sync::Arc;

use pki_types::DnsName;
use rustls_core::crypto::SupportedKxGroup;

use super::early_data;
use super::flight::{Agreed, Authentication, Reply};
use super::hello_checks::{check_hello, check_legacy_version};
use super::parameters::{HelloFacts, Parameters, Selection, select_signer};
use super::resumption::{FoundSession, OfferedSessions, find_session};
use super::retry::{Retry, RetryNeeded, check_second_hello};
use super::ticket_kind::TicketKind;
use crate::callbacks::{CallMode, Callbacks, Called};
use crate::config::handshake_kind::HandshakeKind;
use crate::config::observer::handshake::{EarlyData, EarlyDataRejected};
use crate::config::session::server_auth::ServerAuth;
use crate::config::settings::ServerSettings;
use crate::config::sign::CertifiedKey;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::negotiated::Negotiated;
use crate::handshake::server::certificate::{require_certificate, resolve_certificate};
use crate::handshake::server::held_hello::ReceivedHello;
use crate::handshake::tls13::certificate_compression::choose_compressor;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::EarlySecret;
use crate::logging::debug;
use crate::msgs::client_extensions::CertificateStatusRequest;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::pre_shared_key::OfferedPsks;
use crate::suites::{SupportedCipherSuite, Tls13CipherSuite};

/// The decision on a ClientHello.
#[allow(clippy::large_enum_variant)] // destructured immediately: a box would only allocate
pub(crate) enum Decision<'a> {
    Agreed(Agreed<'a>),
    Retry(RetryNeeded),
}

impl Decision<'_> {
    /// Copies what the decision borrows from the ClientHello.
    pub(crate) fn into_owned(self) -> Decision<'static> {
        match self {
            Self::Agreed(agreed) => Decision::Agreed(agreed.into_owned()),
            Self::Retry(retry) => Decision::Retry(retry),
        }
    }
}

/// Runs the checks that come before the choice of a certificate, and calls the resolver to choose
/// one.
pub(crate) fn resolve(
    hello: &ClientHello<'_>,
    server_name: Option<&DnsName<'_>>,
    config: &ServerSettings,
    callbacks: Callbacks,
) -> Result<Called<Option<Arc<CertifiedKey>>>, Failure> {
    check_legacy_version(hello)?;
    config.carrier.check_session_id(hello.legacy_session_id)?;
    Ok(resolve_certificate(
        hello,
        None,
        server_name,
        config,
        callbacks,
    ))
}

/// Checks the ClientHello and negotiates parameters. `resolved` is the result of the resolver.
/// Calls the application in the same order as rustls 0.23.
///
/// `retry` is the state of an earlier HelloRetryRequest.
pub(crate) async fn negotiate<'a, M: CallMode>(
    received: &mut ReceivedHello<'_, 'a, M>,
    resolved: Option<Arc<CertifiedKey>>,
    retry: Option<Box<Retry>>,
    negotiated: &mut Negotiated,
) -> Result<Decision<'a>, Failure> {
    let certified_key = require_certificate(resolved)?;
    let config = received.config;
    let encoded = received.hello.encoded();
    let hello = received.hello.get()?;
    let selection = Selection::new(hello, retry.as_deref(), config)?;
    negotiated.suite = Some(SupportedCipherSuite::Tls13(selection.suite));
    check_hello(hello)?;
    if let Some(retry) = &retry {
        check_second_hello(hello, retry)?;
    }
    let Some(client_share) = selection.client_share else {
        return require_retry(received, &selection, negotiated)
            .await
            .map(Decision::Retry);
    };
    let parameters = Parameters::new(hello, &selection, client_share, config)
        .inspect_err(|_| report_exchange(selection.group, negotiated))?;
    let transport_parameters = &hello.extensions.transport_parameters;
    config
        .carrier
        .check_peer_parameters(transport_parameters)
        .inspect_err(|_| report_selected(&parameters, negotiated))?;
    received.transport_parameters = *transport_parameters;
    log_parameters(&parameters);

    let facts = HelloFacts::of(hello);
    let offered = OfferedSessions::of(hello);
    // RFC 9846 §4.3.11.2: binders cover everything before them
    let (bound, binders) = split_at_binders(hello, encoded);
    let is_retried = retry.is_some();
    let mut transcript = start_transcript(retry, parameters.suite, bound);
    let server = ServerAuth::new(&certified_key, config);
    let server_auth = server.id;
    let found = match &offered {
        None => FoundSession::default(),
        Some(offered) => {
            find_session(received, offered, &mut transcript, &parameters, &server).await?
        }
    };
    let observed = &mut negotiated.facts;
    observed.resumed_from = found.source;
    observed.not_resumed = found.not_resumed;
    observed.refused_ticket = found.not_resumed;
    let skipped_early_data = facts
        .offers_early_data
        .then(|| early_data::skipped_limit(config, found.first_early_data_size));
    if facts.offers_early_data && found.session.is_none() {
        reject_early_data(EarlyDataRejected::NotResumed, negotiated);
    }
    let (authentication, early_secret) = match found.session {
        Some((resumed, early_secret)) => (Authentication::Session(resumed), early_secret),
        None => {
            let authentication = authenticate(received.hello.get()?, certified_key, config)
                .inspect_err(|_| report_selected(&parameters, negotiated))?;
            (authentication, EarlySecret::new(parameters.suite, None))
        }
    };
    transcript.add(binders);
    Ok(Decision::Agreed(Agreed {
        reply: Reply {
            facts,
            is_retried,
            parameters,
            authentication,
            server_auth,
            skipped_early_data,
        },
        early_secret,
        transcript,
    }))
}

/// Reports the parameters selected for a ClientHello that is rejected because of other parameters.
/// rustls 0.23 rejects it after the ServerHello, so its accessors report them, too.
fn report_selected(parameters: &Parameters<'_>, negotiated: &mut Negotiated) {
    report_exchange(parameters.group, negotiated);
    negotiated.alpn_protocol = parameters.alpn_protocol.clone();
}

/// Like [`report_selected`], but without the application protocol.
fn report_exchange(group: &'static dyn SupportedKxGroup, negotiated: &mut Negotiated) {
    negotiated.kx_group = Some(group);
    negotiated.handshake_kind.get_or_insert(HandshakeKind::Full);
}

/// Prepares a HelloRetryRequest. If the client offers early data, looks up the limit in its ticket.
async fn require_retry<M: CallMode>(
    received: &mut ReceivedHello<'_, '_, M>,
    selection: &Selection<'_>,
    negotiated: &mut Negotiated,
) -> Result<RetryNeeded, Failure> {
    let config = received.config;
    let encoded = received.hello.encoded();
    let hello = received.hello.get()?;
    let Selection { suite, group, .. } = *selection;
    let retry = Retry::new(hello, encoded, suite, group, received.server_name.cloned());
    let legacy_session_id = hello.legacy_session_id;
    let skipped_early_data = if hello.extensions.early_data {
        // RFC 9846 §4.3.10: early data belongs to the first session
        let offered = hello.extensions.pre_shared_key.as_ref();
        let first = offered.and_then(|offered| offered.identities.first().copied());
        let of_ticket = match (first, TicketKind::of(config)) {
            (Some(first), Some(kind)) => kind.early_data_size(first.identity, received).await,
            _ => 0,
        };
        reject_early_data(EarlyDataRejected::HelloRetryRequest, negotiated);
        Some(early_data::skipped_limit(config, of_ticket))
    } else {
        None
    };
    negotiated.handshake_kind = Some(HandshakeKind::FullWithHelloRetryRequest);
    Ok(RetryNeeded {
        retry,
        legacy_session_id,
        skipped_early_data,
    })
}

/// Notes and logs the reason for rejecting early data.
fn reject_early_data(reason: EarlyDataRejected, negotiated: &mut Negotiated) {
    debug!("the client's early data is not accepted: {reason}");
    negotiated.facts.early_data = EarlyData::Rejected(reason);
}

fn log_parameters(parameters: &Parameters<'_>) {
    debug!(
        "cipher suite {:?}, group {:?}",
        parameters.suite.common.suite,
        parameters.group.name()
    );
    if let Some(protocol) = &parameters.alpn_protocol {
        debug!("application protocol {}", protocol.escape_ascii());
    }
}

/// Starts the transcript with `bound`, the ClientHello without its binders. After a
/// HelloRetryRequest, continues the existing transcript.
fn start_transcript(
    retry: Option<Box<Retry>>,
    suite: &'static Tls13CipherSuite,
    bound: &[u8],
) -> Transcript {
    match retry {
        None => Transcript::start(suite.common.hash_provider, bound),
        Some(retry) => {
            let mut transcript = retry.transcript;
            transcript.add(bound);
            transcript
        }
    }
}

/// Prepares the authentication with a certificate: chooses the signature scheme and the compressor.
fn authenticate(
    hello: &ClientHello<'_>,
    certified_key: Arc<CertifiedKey>,
    config: &ServerSettings,
) -> Result<Authentication, Error> {
    let extensions = &hello.extensions;
    Ok(Authentication::Certificate {
        signer: select_signer(hello, &certified_key)?,
        certified_key,
        requests_ocsp_response: extensions.status_request == Some(CertificateStatusRequest::Ocsp),
        compressor: choose_compressor(
            extensions.compress_certificate.as_deref(),
            &config.cert_compressors,
        ),
    })
}

/// Splits the encoded ClientHello before its binders, which end it. Without binders, the second
/// part is empty.
fn split_at_binders<'a>(hello: &ClientHello<'_>, encoded: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let offered = &hello.extensions.pre_shared_key;
    let binders_len = offered.as_ref().map_or(0, OfferedPsks::binders_len);
    // this never saturates: the binders were decoded from this encoding
    encoded.split_at(encoded.len().saturating_sub(binders_len))
}
