//! A value that is made when it is first asked for, and kept.

#[cfg(not(feature = "std"))]
use alloc::boxed::Box;
#[cfg(feature = "std")]
use std::sync::OnceLock;

#[cfg(not(feature = "std"))]
use once_cell::race::OnceBox;

/// A cell that is filled once, from whichever thread asks first.
///
/// With `std`, the threads that ask at the same time wait for the one that makes the value. Without, each makes
/// one, and all of them get the first that was ready.
pub(crate) struct Once<T> {
    #[cfg(feature = "std")]
    cell: OnceLock<T>,
    #[cfg(not(feature = "std"))]
    cell: OnceBox<T>,
}

impl<T> Once<T> {
    /// An empty cell.
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(feature = "std")]
            cell: OnceLock::new(),
            #[cfg(not(feature = "std"))]
            cell: OnceBox::new(),
        }
    }

    /// The value, once there is one.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.cell.get()
    }

    /// The value, which `make` makes if there is none. `make` must not ask for it.
    #[inline]
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        #[cfg(feature = "std")]
        return self.cell.get_or_init(make);
        #[cfg(not(feature = "std"))]
        return self.cell.get_or_init(|| Box::new(make()));
    }
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self::new()
    }
}
