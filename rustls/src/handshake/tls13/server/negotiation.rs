//! The handling of a TLS 1.3 ClientHello: from RECVD_CH to NEGOTIATED, or to a HelloRetryRequest
//! (RFC 9846 Appendix A.2).

use alloc::boxed::Box;
use alloc::sync::Arc;

use rustls_core::crypto::SupportedKxGroup;

use super::early_data;
use super::flight::{Agreed, Authentication};
use super::hello_checks::{check_hello, check_legacy_version};
use super::parameters::{Parameters, Selection, select_signer};
use super::resumption::find_session;
use super::retry::{Retry, check_second_hello, send_hello_retry_request};
use super::tickets::TicketKind;
use crate::config::session::server_auth::ServerAuth;
use crate::config::settings::ServerSettings;
use crate::config::sign::CertifiedKey;
use crate::handshake::ServerContext;
use crate::handshake::negotiated::{HandshakeKind, Negotiated};
use crate::handshake::server::answers::{Answers, Stop};
use crate::handshake::server::certificate::resolve_certificate;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::EarlySecret;
use crate::logging::{debug, trace};
use crate::msgs::client_hello::ClientHello;
use crate::msgs::pre_shared_key::OfferedPsks;
use crate::suites::SupportedCipherSuite;

/// The result of a ClientHello.
#[allow(clippy::large_enum_variant)] // destructured at once: a box would only allocate
pub(crate) enum Negotiation<'a> {
    /// All parameters are negotiated. Nothing was sent yet.
    Agreed(Agreed<'a>),
    /// A HelloRetryRequest was sent.
    Retry(Box<Retry>),
}

/// Checks `hello` and negotiates parameters, or sends a HelloRetryRequest. If an answer takes time,
/// the caller repeats the call with it.
///
/// `retry` is the state of an earlier HelloRetryRequest.
pub(crate) fn negotiate<'a>(
    hello: &'a ClientHello<'a>,
    encoded: &[u8],
    config: &ServerSettings,
    retry: &mut Option<Box<Retry>>,
    answers: &mut Answers,
    cx: &mut ServerContext<'_>,
) -> Result<Negotiation<'a>, Stop> {
    check_legacy_version(hello)?;
    config.carrier.check_session_id(hello.legacy_session_id)?;
    let server_name = &cx.data.server_name;
    trace!("choosing a certificate for {server_name:?}");
    let schemes = hello.extensions.signature_algorithms.as_deref();
    let schemes = schemes.unwrap_or(&[]);
    let certified_key = resolve_certificate(hello, schemes, server_name.as_ref(), config, answers)?;
    let selection = Selection::new(hello, retry.as_deref(), config)?;
    cx.negotiated.suite = Some(SupportedCipherSuite::Tls13(selection.suite));
    check_hello(hello)?;
    if let Some(retry) = retry {
        check_second_hello(hello, retry)?;
    }

    // RFC 9846 §4.3.10: early data that is not accepted is skipped
    let skipped_early_data = match selection.client_share {
        _ if !hello.extensions.early_data => None,
        // the session, and its limit, is only read later
        Some(_) => Some(early_data::skipped_limit(config, 0)),
        None => {
            let of_ticket = offered_early_data(hello, config, answers)?;
            Some(early_data::skipped_limit(config, of_ticket))
        }
    };
    cx.transport.skip_early_data(skipped_early_data);

    match selection.client_share {
        Some(client_share) => {
            let parameters = Parameters::new(hello, &selection, client_share, config)
                .inspect_err(|_| report_exchange(selection.group, cx.negotiated))?;
            cx.transport
                .set_peer_parameters(&hello.extensions.transport_parameters)
                .inspect_err(|_| report_selected(&parameters, cx.negotiated))?;
            agree(
                hello,
                encoded,
                parameters,
                certified_key,
                retry.as_deref_mut(),
                config,
                answers,
                cx,
            )
            .map(Negotiation::Agreed)
        }
        None => {
            if hello.extensions.early_data {
                debug!("the client's early data is not accepted: a HelloRetryRequest is needed");
            }
            let Selection { suite, group, .. } = selection;
            let server_name = server_name.clone();
            let retry =
                send_hello_retry_request(hello, encoded, server_name, suite, group, cx.transport)?;
            cx.negotiated.handshake_kind = Some(HandshakeKind::FullWithHelloRetryRequest);
            Ok(Negotiation::Retry(Box::new(retry)))
        }
    }
}

/// Reports the selected parameters of a ClientHello that is rejected because of others. rustls 0.23
/// rejects it after the ServerHello, so its accessors report these parameters, too.
fn report_selected(parameters: &Parameters<'_>, negotiated: &mut Negotiated) {
    report_exchange(parameters.group, negotiated);
    negotiated.alpn_protocol = parameters.alpn_protocol.clone();
}

/// Like [`report_selected`], before the application protocol is selected.
fn report_exchange(group: &'static dyn SupportedKxGroup, negotiated: &mut Negotiated) {
    negotiated.kx_group = Some(group);
    negotiated.handshake_kind.get_or_insert(HandshakeKind::Full);
}

/// Returns the amount of early data that may follow `hello`, or 0 if its session is not in the
/// storage.
fn offered_early_data(
    hello: &ClientHello<'_>,
    config: &ServerSettings,
    answers: &mut Answers,
) -> Result<u32, Stop> {
    let offered = hello.extensions.pre_shared_key.as_ref();
    // RFC 9846 §4.3.10: early data belongs to the first session
    let first = offered.and_then(|offered| offered.identities.first());
    match (first, TicketKind::of(config)) {
        (Some(first), Some(kind)) => kind.early_data_size(first.identity, config, answers),
        _ => Ok(0),
    }
}

/// Selects the authentication of the server: a session that `hello` offers, or `certified_key`.
#[allow(clippy::too_many_arguments)] // they are what a ClientHello is answered with
fn agree<'a>(
    hello: &'a ClientHello<'a>,
    encoded: &[u8],
    parameters: Parameters<'a>,
    certified_key: Arc<CertifiedKey>,
    retry: Option<&mut Retry>,
    config: &ServerSettings,
    answers: &mut Answers,
    cx: &mut ServerContext<'_>,
) -> Result<Agreed<'a>, Stop> {
    debug!(
        "cipher suite {:?}, group {:?}",
        parameters.suite.common.suite,
        parameters.group.name()
    );
    if let Some(protocol) = &parameters.alpn_protocol {
        debug!("application protocol {}", protocol.escape_ascii());
    }
    let is_retried = retry.is_some();
    // RFC 9846 §4.3.11.2: binders cover everything before them
    let (bound, binders) = split_at_binders(hello, encoded);
    let of_retry = || retry.and_then(|retry| retry.transcript.take());
    let mut transcript = match answers.transcript.take() {
        Some(transcript) => transcript,
        None => match of_retry() {
            None => Transcript::start(parameters.suite.common.hash_provider, bound),
            Some(mut transcript) => {
                transcript.add(bound);
                transcript
            }
        },
    };
    let server = ServerAuth::new(&certified_key, config);
    let server_auth = server.id;
    let sessions = find_session(
        hello,
        &mut transcript,
        &parameters,
        &server,
        config,
        answers,
        cx,
    );
    let found = match sessions {
        Err(Stop::Waits(answer)) => {
            answers.transcript = Some(transcript);
            return Err(Stop::Waits(answer));
        }
        others => others?,
    };
    if hello.extensions.early_data && found.is_none() {
        debug!("the client's early data is not accepted: no session is resumed");
    }
    let (authentication, early_secret) = match found {
        Some((resumed, early_secret)) => (Authentication::Session(resumed), early_secret),
        None => (
            Authentication::Certificate {
                signer: select_signer(hello, &certified_key)
                    .inspect_err(|_| report_selected(&parameters, cx.negotiated))?,
                certified_key,
            },
            EarlySecret::new(parameters.suite, None),
        ),
    };
    transcript.add(binders);
    Ok(Agreed {
        hello,
        is_retried,
        parameters,
        authentication,
        server_auth,
        early_secret,
        transcript,
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
