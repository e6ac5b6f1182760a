//! How long and how much a cache keeps.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::UnixTime;
use rustls_core::time_provider::{DefaultTimeProvider, TimeProvider};

/// What a [`LoadingCache`](super::LoadingCache) goes by.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// For how long something is handed out before it is loaded again. Zero: nothing is kept.
    /// [`Duration::MAX`]: nothing ever gets too old.
    pub(crate) lifetime: Duration,
    /// For how long the old is handed out after a failed attempt to replace it, before the next attempt.
    pub(crate) retry_interval: Duration,
    /// Whether each call looks whether the source has changed.
    pub(crate) check_for_changes: bool,
    /// How many entries are kept.
    pub(crate) capacity: usize,
    pub(crate) time_provider: Arc<dyn TimeProvider>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(24 * 60 * 60),
            retry_interval: Duration::from_secs(60),
            check_for_changes: false,
            capacity: 64,
            time_provider: Arc::new(DefaultTimeProvider),
        }
    }
}

impl Policy {
    pub(super) fn is_off(&self) -> bool {
        self.lifetime.is_zero()
    }

    pub(super) fn now(&self) -> Option<UnixTime> {
        self.time_provider.current_time()
    }

    /// Whether what was loaded at `then` is within its lifetime `now`.
    pub(super) fn is_young(&self, then: Option<UnixTime>, now: Option<UnixTime>) -> bool {
        self.lifetime == Duration::MAX || is_within(self.lifetime, then, now)
    }

    /// Whether it is too early for another attempt after one that failed at `then`.
    pub(super) fn is_soon_after(&self, then: Option<UnixTime>, now: Option<UnixTime>) -> bool {
        is_within(self.retry_interval.min(self.lifetime), then, now)
    }
}

/// An age that is not known, or negative as after a clock was set back, is within nothing.
fn is_within(span: Duration, then: Option<UnixTime>, now: Option<UnixTime>) -> bool {
    let (Some(then), Some(now)) = (then, now) else {
        return false;
    };
    now.as_secs()
        .checked_sub(then.as_secs())
        .is_some_and(|age| Duration::from_secs(age) < span)
}
