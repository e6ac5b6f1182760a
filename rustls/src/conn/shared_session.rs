//! The TLS 1.2 session of a split connection. Either half may invalidate it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};

use super::write_access::EndHandshake;
use crate::handshake::SessionInUse;

/// A session. The first half to fail removes it from the session store.
#[derive(Clone)]
pub(super) struct SharedSession(Arc<Shared>);

struct Shared {
    session: Box<dyn SessionInUse>,
    is_forgotten: AtomicBool,
}

impl SharedSession {
    pub(super) fn new(session: Box<dyn SessionInUse>) -> Self {
        Self(Arc::new(Shared {
            session,
            is_forgotten: AtomicBool::new(false),
        }))
    }
}

impl SessionInUse for SharedSession {
    /// Does nothing if the other half has already forgotten the session, because the store may have
    /// a newer one by now.
    fn forget(&self) {
        if !self.0.is_forgotten.swap(true, Ordering::Relaxed) {
            self.0.session.forget();
        }
    }
}

impl EndHandshake for SharedSession {
    fn end(&mut self) {
        self.forget();
    }
}
