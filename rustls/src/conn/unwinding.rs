//! The state of a connection after a panic. Verifiers, storages, loggers and crypto providers
//! belong to the application, and may panic at any point.
//!
//! An application that catches the panic may use the connection again. The code that panicked may
//! have been about to reject the peer, so the connection must not continue: it fails. Data that was
//! received or sealed before the panic is unchanged.
//!
//! Every public method that may reach the application's code through `&mut self` does so inside
//! [`fail_on_panic`] or a [`PanicGuard`]. The functions that such a method calls do not need
//! another guard. Three cases need no guard:
//!
//! - A method that takes `self`, or moves the connection out of it as `Acceptor::accept` does,
//!   drops the connection if it panics.
//! - A transport is called, and the warning of `unpolled` may be logged, between two operations,
//!   when the connection is consistent. After a panic there, the connection continues, as after a
//!   transport error.
//! - If a write fails, `WriteAccess::send` and the split `Sender` remove the session from the
//!   application's store. They first record the failure and take the session out, so that no later
//!   call can repeat the removal.

use core::mem;

/// A connection that can fail after a panic without calling the application's code. A second panic
/// would abort the process.
pub(crate) trait Abandon {
    fn abandon(&mut self);
}

/// Runs `operation`; a panic fails the connection.
// inlined, because most of its calls are in functions that run for each record
#[inline(always)]
pub(crate) fn fail_on_panic<T: Abandon, R>(
    connection: &mut T,
    operation: impl FnOnce(&mut T) -> R,
) -> R {
    let guard = PanicGuard(connection);
    let result = operation(guard.0);
    guard.disarm();
    result
}

/// A guard around an operation on a connection. A panic drops it, which fails the connection.
pub(crate) struct PanicGuard<'a, T: Abandon>(pub(crate) &'a mut T);

impl<T: Abandon> PanicGuard<'_, T> {
    #[inline(always)]
    pub(crate) fn disarm(self) {
        mem::forget(self);
    }
}

impl<T: Abandon> Drop for PanicGuard<'_, T> {
    #[cold]
    fn drop(&mut self) {
        self.0.abandon();
    }
}
