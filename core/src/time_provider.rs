//! Where the current time comes from.

use core::fmt::Debug;

use pki_types::UnixTime;

/// A clock: it dates the verification of certificates and the age of session tickets.
///
/// Without `std` there is no clock to fall back to, and every configuration needs one.
pub trait TimeProvider: Debug + Send + Sync {
    /// The current wall-clock time, or `None` when it is not known.
    ///
    /// A handshake that needs the time and gets none fails with
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
