//! The source of the current time.

use core::fmt::Debug;

use pki_types::UnixTime;

/// A clock for certificate verification and the age of sessions.
///
/// Without `std` there is no default clock, so the application must supply one for every
/// configuration.
pub trait TimeProvider: Debug + Send + Sync {
    /// Returns the current wall-clock time, or `None` if it is unknown.
    ///
    /// If the time is unknown, no session is resumed, and verifying a peer's certificate fails with
    /// [`Error::FailedToGetCurrentTime`](crate::error::Error::FailedToGetCurrentTime).
    fn current_time(&self) -> Option<UnixTime>;
}

/// The clock of the operating system.
#[derive(Debug)]
#[cfg(feature = "std")]
pub struct DefaultTimeProvider;

#[cfg(feature = "std")]
impl TimeProvider for DefaultTimeProvider {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::now())
    }
}
