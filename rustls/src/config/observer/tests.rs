//! Each reason has a test that produces it in a handshake. A new reason does not compile without
//! one.

use std::fs;
use std::path::Path;
use std::vec::Vec;

use super::handshake::{EarlyDataRejected, NotResumed};

/// The name of a test in `rustls/tests/observer/reasons.rs`; `None` if this side never reports the
/// reason.
type Test = Option<&'static str>;

const NEVER: Test = None;

/// Returns the tests in which a server and a client report `reason`.
fn not_resumed(reason: NotResumed) -> [Test; 2] {
    const SERVER: Test = Some("a_server_reports_why_it_does_not_resume_a_session");
    const CLIENT: Test = Some("a_client_reports_why_it_does_not_offer_a_session");
    const EMS: Test =
        Some("a_client_reports_a_session_without_the_required_extended_master_secret");
    const QUIC: Test = Some("another_version_of_quic_is_reported_as_the_reason");
    match reason {
        NotResumed::NoSessions => [SERVER, CLIENT],
        NotResumed::UnreadableTicket => [SERVER, NEVER],
        NotResumed::NotStored => [SERVER, NEVER],
        NotResumed::OtherFormat => [
            SERVER,
            Some("a_client_that_uses_no_tickets_reports_a_session_of_another_format"),
        ],
        NotResumed::OtherCipherSuite => [SERVER, CLIENT],
        NotResumed::OtherCarrier => [QUIC, QUIC],
        NotResumed::Expired => [SERVER, CLIENT],
        NotResumed::TooLongAgo => [
            Some("a_chain_of_sessions_that_began_too_long_ago_is_not_resumed"),
            NEVER,
        ],
        NotResumed::OtherServerName => {
            [Some("another_server_name_is_reported_as_the_reason"), NEVER]
        }
        NotResumed::OtherPolicy => [SERVER, CLIENT],
        NotResumed::OtherCertificate => [SERVER, NEVER],
        NotResumed::ClientNotAccepted => [
            Some("a_client_that_is_no_longer_accepted_is_reported_as_the_reason"),
            NEVER,
        ],
        NotResumed::NoExtendedMasterSecret => [
            Some("a_missing_extended_master_secret_is_reported_as_the_reason"),
            EMS,
        ],
        NotResumed::NoKeyExchangeMode => [
            Some("a_missing_key_exchange_mode_is_reported_as_the_reason"),
            NEVER,
        ],
        NotResumed::VersionDisabled => [NEVER, CLIENT],
        NotResumed::TooLong => [
            NEVER,
            Some("a_client_reports_a_ticket_that_is_too_long_to_offer"),
        ],
        NotResumed::RefusedByServer => [NEVER, SERVER],
    }
}

/// Returns the tests in which a server and a client report `reason`.
fn early_data_rejected(reason: EarlyDataRejected) -> [Test; 2] {
    const EARLY: Test = Some("both_sides_report_why_early_data_was_rejected");
    match reason {
        EarlyDataRejected::ByServer => [NEVER, EARLY],
        EarlyDataRejected::ByApplication => [
            Some("early_data_rejected_by_the_application_is_reported"),
            NEVER,
        ],
        EarlyDataRejected::NotResumed => [EARLY, EARLY],
        EarlyDataRejected::HelloRetryRequest => [EARLY, EARLY],
        EarlyDataRejected::NotAllowed => [EARLY, NEVER],
        EarlyDataRejected::OtherSession => [
            Some("early_data_of_another_session_is_reported_as_rejected"),
            NEVER,
        ],
        EarlyDataRejected::OtherCipherSuite => [EARLY, EARLY],
        EarlyDataRejected::OtherProtocol => [EARLY, NEVER],
        EarlyDataRejected::OtherCarrier => [
            Some("a_session_of_another_carrier_has_no_early_data"),
            NEVER,
        ],
        EarlyDataRejected::Replayable => [EARLY, NEVER],
        EarlyDataRejected::TicketAge => [EARLY, NEVER],
    }
}

#[test]
fn each_reason_has_a_test_with_a_handshake() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/observer/reasons.rs");
    let source = fs::read_to_string(path).unwrap();
    let of_sessions = NotResumed::ALL.iter().map(|reason| {
        let text = std::format!("NotResumed::{reason:?}");
        (text, not_resumed(*reason))
    });
    let of_early_data = EarlyDataRejected::ALL.iter().map(|reason| {
        let text = std::format!("EarlyDataRejected::{reason:?}");
        (text, early_data_rejected(*reason))
    });
    for (text, tests) in of_sessions.chain(of_early_data) {
        let tests: Vec<_> = tests.into_iter().flatten().collect();
        assert!(!tests.is_empty(), "{text} cannot happen");
        assert!(mentions(&source, &text), "{text}");
        for test in tests {
            let header = std::format!("#[test]\nfn {test}() {{");
            assert!(source.contains(&header), "{test}");
        }
    }
}

/// True if `source` has `text`, and not only as the beginning of a longer name.
fn mentions(source: &str, text: &str) -> bool {
    let mut after = source
        .match_indices(text)
        .map(|(at, _)| &source[at + text.len()..]);
    after.any(|after| !after.starts_with(|next: char| next.is_alphanumeric()))
}
