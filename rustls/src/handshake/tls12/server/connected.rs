//! The state after the handshake, in which the only handshake message is a refused renegotiation.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::handshake::Handshake;
use super::resumption::forget_session;
use crate::config::server::ServerConfig;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::tls12::renegotiation;
use crate::msgs::client_hello::SessionId;

/// The state of a complete handshake.
pub(crate) struct Connected {
    /// The session, if it is in the storage.
    stored: Option<Box<StoredSession>>,
}

struct StoredSession {
    config: Arc<ServerConfig>,
    id: SessionId,
}

impl Connected {
    pub(super) fn new(handshake: Handshake) -> Self {
        let stored = handshake.is_stored.then(|| StoredSession {
            config: handshake.config.into_config(),
            id: handshake.session_id,
        });
        Self {
            stored: stored.map(Box::new),
        }
    }

    /// Answers a ClientHello on an established connection.
    pub(super) fn refuse_renegotiation(self, cx: &mut ServerContext<'_>) -> Result<Self, Failure> {
        match renegotiation::refuse_renegotiation(cx) {
            Ok(()) => Ok(self),
            Err(failure) => Err(self.fail(failure)),
        }
    }

    /// Removes the session from the storage, and returns `failure`.
    pub(super) fn fail(self, failure: Failure) -> Failure {
        self.forget_session();
        failure
    }

    /// Removes the session from the storage. RFC 5246 §7.2.2: a session ended by a fatal alert must
    /// not be resumed.
    ///
    /// This is only done after the client's Finished has proved that it has the session. Before
    /// that, anybody who has seen the id could remove the session.
    pub(super) fn forget_session(self) {
        if let Some(stored) = self.stored {
            forget_session(&stored.id, &stored.config);
        }
    }
}
