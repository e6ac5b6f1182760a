//! The reason why early data was accepted or not. The crate does not report it, so it is inferred.

use rustls::{HandshakeKind, ProtocolVersion};

use crate::carrier::Carrier;
use crate::failure::Failure;
use crate::observed::Observed;
use crate::options::Options;

/// Compares the reason with the expected one.
pub(crate) fn check(
    options: &Options,
    carrier: &dyn Carrier,
    accepted: bool,
    observed: &Observed,
) -> Result<(), Failure> {
    let Some(wanted) = options.expect.early_data_reason.as_deref() else {
        return Ok(());
    };
    let reason = if accepted {
        Some("accept")
    } else if carrier.facts().protocol_version() != Some(ProtocolVersion::TLSv1_3) {
        Some("protocol_version")
    } else if !options.enable_early_data {
        Some("disabled")
    } else if carrier.is_client() {
        of_client(carrier, observed)
    } else {
        None
    };
    match reason {
        Some(reason) if reason == wanted => Ok(()),
        // a resumed session reveals neither a HelloRetryRequest nor the reason for not offering
        // early data
        Some("peer_declined") | None => Err(Failure::Unsupported(format!(
            "whether early data was rejected for {wanted:?}"
        ))),
        Some(reason) => Err(Failure::expected("about early data", wanted, reason)),
    }
}

/// The reason why a client's early data was not accepted, or not even sent.
fn of_client(carrier: &dyn Carrier, observed: &Observed) -> Option<&'static str> {
    let is_retried =
        carrier.facts().handshake_kind() == Some(HandshakeKind::FullWithHelloRetryRequest);
    Some(match observed.early_data_of_offered_session {
        None => "no_session_offered",
        Some(0) => "unsupported_for_session",
        Some(_) if is_retried => "hello_retry_request",
        Some(_) if carrier.resumed() => "peer_declined",
        Some(_) => "session_not_resumed",
    })
}
