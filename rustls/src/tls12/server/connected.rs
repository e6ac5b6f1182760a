//! After the handshake: no message is left but those that are refused.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::handshake::Handshake;
use super::sessions::forget_session;
use crate::handshake::{Failure, ServerContext};
use crate::msgs::client_hello::SessionId;
use crate::server::ServerConfig;
use crate::tls12::renegotiation;

/// The handshake is complete.
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

    /// A ClientHello has come.
    pub(super) fn refuse_renegotiation(self, cx: &mut ServerContext<'_>) -> Result<Self, Failure> {
        match renegotiation::refuse_renegotiation(cx) {
            Ok(()) => Ok(self),
            Err(failure) => Err(self.fail(failure)),
        }
    }

    /// The connection fails with this `failure`.
    pub(super) fn fail(self, failure: Failure) -> Failure {
        self.forget_session();
        failure
    }

    /// RFC 5246 §7.2.2: what a fatal alert has ended must not be resumed.
    ///
    /// That goes for connections whose client has shown with its Finished that it has the session. Others fail
    /// alone, as anybody may have seen the id.
    pub(super) fn forget_session(self) {
        if let Some(stored) = self.stored {
            forget_session(&stored.id, &stored.config);
        }
    }
}
