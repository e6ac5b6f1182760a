//! A writer's access to a connection. A failed write also ends the handshake.

use alloc::boxed::Box;

use super::common_state::CommonState;
use super::unwinding::fail_on_panic;

/// A handshake that can be ended without access to the rest of the connection.
pub(crate) trait EndHandshake: Send + Sync {
    /// Drops all secrets of the handshake, and then removes the session, if any, from its store.
    fn end(&mut self);
}

/// Ends the handshake of a sending half. After the split, a TLS 1.2 session is all that can remain
/// of the handshake.
impl EndHandshake for Option<Box<dyn EndHandshake>> {
    fn end(&mut self) {
        if let Some(mut session) = self.take() {
            session.end();
        }
    }
}

/// The parts of a connection that its writers use.
pub(crate) struct WriteAccess<'a> {
    pub(super) common: &'a mut CommonState,
    handshake: &'a mut dyn EndHandshake,
}

impl<'a> WriteAccess<'a> {
    pub(super) fn new(common: &'a mut CommonState, handshake: &'a mut dyn EndHandshake) -> Self {
        Self { common, handshake }
    }

    /// Runs an operation that sends. A panic fails the connection. If the connection has failed,
    /// the handshake ends too, because the application might not use the connection again.
    #[inline(always)]
    pub(super) fn send<R>(&mut self, operation: impl FnOnce(&mut CommonState) -> R) -> R {
        let sent = fail_on_panic(self.common, operation);
        if self.common.has_failed() {
            self.handshake.end();
        }
        sent
    }
}
