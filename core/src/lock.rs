//! The one kind of lock that this library needs, with and without `std`.

#[cfg(feature = "std")]
pub use self::with_std::{Mutex, MutexGuard};
#[cfg(not(feature = "std"))]
pub use self::without_std::{Lock, MakeMutex, Mutex, MutexGuard, Poisoned};

#[cfg(feature = "std")]
mod with_std {
    pub use std::sync::MutexGuard;
    use std::sync::PoisonError;

    /// Data behind a lock: that of the standard library.
    #[derive(Debug)]
    pub struct Mutex<T>(std::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// A lock that nobody holds.
        pub fn new(data: T) -> Self {
            Self(std::sync::Mutex::new(data))
        }

        /// Waits for the lock, and takes it until the guard is dropped.
        ///
        /// `None` when a thread has panicked while it held it.
        #[inline]
        pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.lock().ok()
        }

        /// The same, for data that is consistent even when a thread has panicked.
        #[doc(hidden)]
        pub fn lock_even_poisoned(&self) -> Option<MutexGuard<'_, T>> {
            Some(self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }
}

#[cfg(not(feature = "std"))]
mod without_std {
    use alloc::boxed::Box;
    use alloc::sync::Arc;
    use core::fmt::Debug;
    use core::ops::DerefMut;

    /// A lock of the application's, with the data behind it.
    pub trait Lock<T>: Debug + Send + Sync {
        /// Waits for the lock, and takes it until the guard is dropped.
        ///
        /// # Errors
        ///
        /// [`Poisoned`] when the data may be inconsistent, as after a panic of whoever held it.
        fn lock(&self) -> Result<MutexGuard<'_, T>, Poisoned>;
    }

    /// Makes locks.
    pub trait MakeMutex {
        /// Puts `value` behind a lock that nobody holds.
        fn make_mutex<T>(value: T) -> Arc<dyn Lock<T>>
        where
            T: Send + 'static;
    }

    /// Access to the data behind a lock. Dropping it opens the lock.
    pub type MutexGuard<'a, T> = Box<dyn DerefMut<Target = T> + 'a>;

    /// A lock whose data may be inconsistent.
    pub struct Poisoned;

    /// Data behind a lock of the application's.
    #[derive(Debug)]
    pub struct Mutex<T>(Arc<dyn Lock<T>>);

    impl<T: Send + 'static> Mutex<T> {
        /// Puts `val` behind a lock that `M` makes.
        pub fn new<M>(val: T) -> Self
        where
            M: MakeMutex,
            T: Send + 'static,
        {
            Self(M::make_mutex(val))
        }

        /// Waits for the lock, and takes it until the guard is dropped. `None` when it is [`Poisoned`].
        pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.lock().ok()
        }

        /// The same. The application's lock knows best.
        #[doc(hidden)]
        pub fn lock_even_poisoned(&self) -> Option<MutexGuard<'_, T>> {
            self.lock()
        }
    }
}
