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
    const SERVER: Test = Some("a_server_has_a_reason_against_each_session");
    const CLIENT: Test = Some("a_client_has_a_reason_not_to_offer_a_session");
    const EMS: Test = Some("a_client_may_require_an_extended_master_secret_of_a_session");
    const QUIC: Test = Some("a_session_belongs_to_its_version_of_quic");
    match reason {
        NotResumed::NoSessions => [SERVER, CLIENT],
        NotResumed::UnreadableTicket => [SERVER, NEVER],
        NotResumed::NotStored => [SERVER, NEVER],
        NotResumed::OtherFormat => [SERVER, Some("a_client_without_tickets_does_not_offer_one")],
        NotResumed::OtherCipherSuite => [SERVER, CLIENT],
        NotResumed::OtherCarrier => [QUIC, QUIC],
        NotResumed::Expired => [SERVER, CLIENT],
        NotResumed::TooLongAgo => [Some("a_chain_of_sessions_ends_too_long_ago"), NEVER],
        NotResumed::OtherServerName => [Some("a_session_belongs_to_its_server_name"), NEVER],
        NotResumed::OtherPolicy => [SERVER, CLIENT],
        NotResumed::OtherCertificate => [SERVER, NEVER],
        NotResumed::ClientNotAccepted => [
            Some("a_client_that_is_no_longer_accepted_is_a_reason"),
            NEVER,
        ],
        NotResumed::NoExtendedMasterSecret => [
            Some("a_session_without_extended_master_secret_is_a_reason"),
            EMS,
        ],
        NotResumed::NoKeyExchangeMode => [
            Some("a_client_that_offers_no_key_exchange_with_its_session_is_a_reason"),
            NEVER,
        ],
        NotResumed::VersionDisabled => [NEVER, CLIENT],
        NotResumed::TooLong => [NEVER, Some("a_ticket_may_be_too_long_to_offer")],
        NotResumed::RefusedByServer => [NEVER, SERVER],
    }
}

/// Returns the tests in which a server and a client report `reason`.
fn early_data_rejected(reason: EarlyDataRejected) -> [Test; 2] {
    const EARLY: Test = Some("early_data_is_rejected_for_a_reason");
    match reason {
        EarlyDataRejected::ByServer => [NEVER, EARLY],
        EarlyDataRejected::ByApplication => [Some("an_application_may_reject_early_data"), NEVER],
        EarlyDataRejected::NotResumed => [EARLY, EARLY],
        EarlyDataRejected::HelloRetryRequest => [EARLY, EARLY],
        EarlyDataRejected::NotAllowed => [EARLY, NEVER],
        EarlyDataRejected::OtherSession => [Some("another_session_is_a_reason"), NEVER],
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
