//! The source of the current time.

use core::fmt::Debug;

use pki_types::UnixTime;

/// A clock for certificate verification and the age of session tickets.
///
/// Without `std` there is no default clock, and every configuration needs one.
pub trait TimeProvider: Debug + Send + Sync {
    /// Returns the current wall-clock time, or `None` if it is unknown.
    ///
    /// If the time is unknown, a handshake that needs it fails with
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
