//! Recorded handshakes, message by message. They bring a new connection to any point.

use std::sync::OnceLock;

use harness::peers::configs::{ClientAuth, Versions};
use harness::providers::transparent::{Resumes, Setup};
use harness::scripted::recorded::Conversation;

/// The index of the conversation with compressed certificates.
pub(super) const COMPRESSING: usize = 2;

/// All conversations. Corpora refer to them by number, so append new ones at the end.
pub fn conversations() -> &'static [Conversation] {
    static MADE: OnceLock<Vec<Conversation>> = OnceLock::new();
    MADE.get_or_init(|| {
        // a change that was accepted must not fail the handshake later
        let authenticated = Setup::unhashed(ClientAuth::Required);
        let tls12 = |setup: Setup| setup.with_versions([Versions::Tls12; 2]);
        let required = authenticated.trusting();
        let absent = Setup::unhashed(ClientAuth::OptionalAbsent).trusting();
        let none = Setup::unhashed(ClientAuth::None).trusting();
        let tls12_tickets = tls12(required).resuming(Resumes::Tickets);
        let first = |setup| Conversation::new(setup, false);
        let resumed = |setup| Conversation::new(setup, true);
        vec![
            first(authenticated),
            first(tls12(authenticated)),
            first(required.compressing()),
            first(absent.with_retry()),
            first(none.resuming(Resumes::Tickets)),
            resumed(none.resuming(Resumes::Stored)),
            resumed(none.with_early_data()),
            resumed(none.with_early_data().with_retry()),
            first(tls12_tickets),
            resumed(tls12_tickets),
            resumed(tls12(absent).resuming(Resumes::Stored)),
            first(none.with_versions([Versions::Both, Versions::Tls12])),
            first(none.with_versions([Versions::Both; 2])),
            first(none.with_versions([Versions::Tls12, Versions::Both])),
        ]
    })
}
