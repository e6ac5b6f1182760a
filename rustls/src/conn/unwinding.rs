//! What a panic leaves of a connection: verifiers, storages, loggers and crypto providers are the application's, and
//! may panic in the middle of anything.
//!
//! Whoever catches that may use the connection again. It must not go on from the middle then, least of all as if the
//! code that has panicked had agreed: so it has failed. What was received or sealed before is as it was.
//!
//! What leads to code of the application's goes through [`whole`] or an [`Unfinished`]; that costs nothing until there is a
//! panic.

use core::mem;

use super::common_state::CommonState;
use super::driver::Driver;

/// What can be given up without a call of the application's code, since a second panic would end the process.
pub(crate) trait Abandon {
    fn abandon(&mut self);
}

impl Abandon for CommonState {
    fn abandon(&mut self) {
        self.give_up();
    }
}

impl<Data> Abandon for Driver<Data> {
    /// The handshake's secrets go with the next call, as after a write that has failed.
    fn abandon(&mut self) {
        self.common.give_up();
    }
}

/// Has `act` done as a whole or, if it panics, the connection failed.
pub(crate) fn whole<T: Abandon, R>(connection: &mut T, act: impl FnOnce(&mut T) -> R) -> R {
    let unfinished = Unfinished(connection);
    let result = act(unfinished.0);
    unfinished.finish();
    result
}

/// A connection in the middle of something. Dropped by a panic, it gives the connection up.
///
/// For the functions that are run for each record: as closures for [`whole`] they would not be inlined.
pub(crate) struct Unfinished<'a, T: Abandon>(pub(crate) &'a mut T);

impl<T: Abandon> Unfinished<'_, T> {
    #[inline(always)]
    pub(crate) fn finish(self) {
        mem::forget(self);
    }
}

impl<T: Abandon> Drop for Unfinished<'_, T> {
    #[cold]
    fn drop(&mut self) {
        self.0.abandon();
    }
}
