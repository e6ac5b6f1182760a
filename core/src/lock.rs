//! The mutex of this library, with and without `std`.

#[cfg(feature = "std")]
pub use self::with_std::{Mutex, MutexGuard};
#[cfg(not(feature = "std"))]
pub use self::without_std::{Lock, MakeMutex, Mutex, MutexGuard, Poisoned};

#[cfg(feature = "std")]
mod with_std {
    pub use std::sync::MutexGuard;
    use std::sync::PoisonError;

    /// A `std::sync::Mutex`.
    #[derive(Debug)]
    pub struct Mutex<T>(std::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// Creates an unlocked mutex.
        pub fn new(data: T) -> Self {
            Self(std::sync::Mutex::new(data))
        }

        /// Waits for the lock, which is released when the guard is dropped.
        ///
        /// Returns `None` if a thread panicked while holding the lock.
        #[inline]
        pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.lock().ok()
        }

        /// Like [`Self::lock`], but ignores poisoning. Use it for data that is consistent after any
        /// panic.
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

    /// A lock that the application implements, together with the data that it protects.
    pub trait Lock<T>: Debug + Send + Sync {
        /// Waits for the lock, which is released when the guard is dropped.
        ///
        /// # Errors
        ///
        /// Returns [`Poisoned`] if the data may be inconsistent, for example after the holder
        /// panicked.
        fn lock(&self) -> Result<MutexGuard<'_, T>, Poisoned>;
    }

    /// Creates locks.
    pub trait MakeMutex {
        /// Creates an unlocked lock around `value`.
        fn make_mutex<T>(value: T) -> Arc<dyn Lock<T>>
        where
            T: Send + 'static;
    }

    /// Access to the data that a lock protects. Dropping it releases the lock.
    pub type MutexGuard<'a, T> = Box<dyn DerefMut<Target = T> + 'a>;

    /// The error returned by a lock whose data may be inconsistent.
    pub struct Poisoned;

    /// A mutex whose lock the application implements.
    #[derive(Debug)]
    pub struct Mutex<T>(Arc<dyn Lock<T>>);

    impl<T: Send + 'static> Mutex<T> {
        /// Protects `val` with a lock created by `M`.
        pub fn new<M>(val: T) -> Self
        where
            M: MakeMutex,
            T: Send + 'static,
        {
            Self(M::make_mutex(val))
        }

        /// Waits for the lock. Returns `None` if it is [`Poisoned`]. Dropping the guard releases
        /// the lock.
        pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.lock().ok()
        }

        /// The same as [`Self::lock`], because only the application's lock knows whether it is
        /// poisoned.
        #[doc(hidden)]
        pub fn lock_even_poisoned(&self) -> Option<MutexGuard<'_, T>> {
            self.lock()
        }
    }
}
