//! Recorded handshakes, message by message. They bring a new connection to any point.

use std::sync::{Arc, OnceLock};

use harness::peers::configs::{ClientAuth, Versions};
use harness::peers::endpoints::Endpoint;
use harness::peers::roles::{ROLES, Role};
use harness::providers::transparent::{Resumes, Setup};
use harness::scripted::recorded::flights::{Record, encode};
use harness::scripted::recorded::{self, Receiver};

/// A handshake with everything needed to repeat one side of it.
pub struct Conversation {
    recorded: &'static recorded::Conversation,
    /// The messages that the client receives, and the server.
    messages: [Vec<Record>; 2],
    /// The authenticated certificates of the server and of the client.
    leaves: [Option<Vec<u8>>; 2],
}

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

impl Conversation {
    fn new(setup: Setup, resumes: bool) -> Self {
        let recorded: &_ = Box::leak(Box::new(recorded::Conversation::new(setup, resumes)));
        let mut conversation = Self {
            recorded,
            messages: ROLES.map(|side| recorded.messages(side)),
            leaves: [None, None],
        };
        if !setup.trusts {
            conversation.leaves = ROLES.map(|side| {
                let end = conversation.staged(side, usize::MAX, Receiver::Buffered);
                end.peer_certificates().into_iter().next()
            });
        }
        conversation
    }

    /// The messages that this side receives, and records of other types.
    pub fn messages(&self, side: Role) -> &[Record] {
        &self.messages[side as usize]
    }

    /// The certificate that the peer of this side has proven to have, in a conversation with
    /// authentication.
    pub(super) fn leaf(&self, side: Role) -> Option<&[u8]> {
        self.leaves[side as usize].as_deref()
    }

    pub(super) fn server_config(&self) -> Arc<rustls::ServerConfig> {
        self.recorded.this.server.clone()
    }

    /// Creates a connection that has received the first `received` messages.
    pub(super) fn staged(
        &self,
        side: Role,
        received: usize,
        receiver: Receiver,
    ) -> Box<dyn Endpoint> {
        let mut end = self.recorded.endpoint(side, receiver);
        let messages = self.messages(side);
        let received = received.min(messages.len());
        end.receive(&encode(&messages[..received])).unwrap();
        end
    }
}
