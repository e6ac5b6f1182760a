//! The settings of a cache: for example its lifetime, its capacity and its clock.

use std::sync::Arc;
use std::time::Duration;

use pki_types::UnixTime;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};

/// The settings of a [`LoadingCache`](super::LoadingCache).
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The time until a value is stale. If zero, nothing is cached. If [`Duration::MAX`], nothing
    /// becomes stale.
    pub(crate) lifetime: Duration,
    /// The time after a failed attempt to replace a value in which lookups return the old value,
    /// unless the source has changed. It is never longer than the lifetime.
    pub(crate) retry_interval: Duration,
    /// True if each call checks the source for changes.
    pub(crate) check_for_changes: bool,
    /// The maximum number of entries. Entries that are being loaded may exceed it.
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

    /// True if a value loaded at `then` is not stale.
    pub(super) fn is_young(&self, then: Option<UnixTime>, now: Option<UnixTime>) -> bool {
        self.lifetime == Duration::MAX || is_within(self.lifetime, then, now)
    }

    /// True if it is too early to try again after a failure at `then`.
    pub(super) fn is_soon_after(&self, then: Option<UnixTime>, now: Option<UnixTime>) -> bool {
        is_within(self.retry_interval.min(self.lifetime), then, now)
    }
}

/// True if less than `span` has passed from `then` to `now`, in whole seconds. False if a time is
/// unknown, or if `then` is in the future because the clock was set back.
fn is_within(span: Duration, then: Option<UnixTime>, now: Option<UnixTime>) -> bool {
    let (Some(then), Some(now)) = (then, now) else {
        return false;
    };
    now.as_secs()
        .checked_sub(then.as_secs())
        .is_some_and(|age| Duration::from_secs(age) < span)
}
