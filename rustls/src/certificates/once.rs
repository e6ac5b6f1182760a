//! A value that is created on first use.

#[cfg(not(feature = "std"))]
use alloc::boxed::Box;
#[cfg(feature = "std")]
use std::sync::OnceLock;

#[cfg(not(feature = "std"))]
use once_cell::race::OnceBox;

/// A cell whose value is created on first use, and never replaced.
///
/// With `std`, other threads wait for the one that creates the value. Without it, several may
/// create one, and all use the first that is stored.
pub(crate) struct Once<T> {
    #[cfg(feature = "std")]
    cell: OnceLock<T>,
    #[cfg(not(feature = "std"))]
    cell: OnceBox<T>,
}

impl<T> Once<T> {
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(feature = "std")]
            cell: OnceLock::new(),
            #[cfg(not(feature = "std"))]
            cell: OnceBox::new(),
        }
    }

    /// Returns the value if it is initialized.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.cell.get()
    }

    /// Returns the value, created by `make` if necessary. `make` must not access this cell.
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
