//! Measures a handshake: its duration, this side's work and its waits. Without `std` there is no
//! clock, and nothing is measured.

use super::{Call, Duration};
use crate::config::observer::handshake::Durations;

#[cfg(feature = "std")]
mod clock {
    use std::time::Instant;

    use super::{Call, Duration, Durations};

    /// The times at which measurements started, and the durations measured so far.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Times {
        created: Option<Instant>,
        begun: Option<Instant>,
        /// The time at which the current work on messages started.
        working: Option<Instant>,
        /// The current wait, and the time at which it started.
        waiting: Option<(Call, Instant)>,
        is_over: bool,
        sums: Durations,
    }

    impl Times {
        /// Starts to measure the age of the connection.
        pub(crate) fn create(&mut self) {
            self.created = Some(Instant::now());
        }

        /// Makes the handshake, and this side's work on it, start at the time of [`Self::create`].
        pub(crate) fn start_handshake(&mut self) {
            self.begun = self.created;
            self.working = self.created;
        }

        /// Starts to measure this side's work on messages, unless the handshake is waiting or over.
        /// The handshake's duration also starts here, unless it has started before.
        pub(crate) fn start_work(&mut self) {
            if !self.is_over && self.waiting.is_none() {
                let now = Instant::now();
                self.begun.get_or_insert(now);
                self.working = Some(now);
            }
        }

        /// Stops measuring this side's work on messages.
        pub(crate) fn end_work(&mut self) {
            if self.working.is_some() {
                self.end_work_at(Instant::now());
            }
        }

        fn end_work_at(&mut self, now: Instant) {
            if let Some(start) = self.working.take() {
                self.sums.own_work += now.duration_since(start);
            }
        }

        /// Starts to measure a wait for `call`, during which this side does not work. `None` ends
        /// the wait.
        #[inline]
        pub(crate) fn set_wait(&mut self, call: Option<Call>) {
            if self.waiting.map(|(call, _)| call) != call && !self.is_over {
                self.set_wait_at(call, Instant::now());
            }
        }

        #[cold]
        fn set_wait_at(&mut self, call: Option<Call>, now: Instant) {
            if call.is_some() {
                self.end_work_at(now);
            }
            if let Some((call, start)) = self.waiting.take() {
                let sum = match call {
                    Call::Certificate => &mut self.sums.certificate,
                    Call::Session => &mut self.sums.session,
                    Call::Verification => &mut self.sums.verification,
                    Call::Signature => &mut self.sums.signature,
                    Call::Ticket => &mut self.sums.ticket,
                };
                *sum += now.duration_since(start);
            }
            self.waiting = call.map(|call| (call, now));
        }

        /// Ends the measurements of the handshake. Later calls have no effect on them.
        pub(crate) fn finish(&mut self) {
            if self.is_over {
                return;
            }
            let now = Instant::now();
            self.end_work_at(now);
            self.set_wait_at(None, now);
            self.is_over = true;
            if let Some(begun) = self.begun {
                self.sums.whole = now.duration_since(begun);
            }
        }

        pub(crate) fn durations(&self) -> Option<Durations> {
            Some(self.sums)
        }

        pub(crate) fn age(&self) -> Option<Duration> {
            Some(self.created?.elapsed())
        }
    }
}

#[cfg(feature = "std")]
pub(crate) use clock::Times;

/// Measures nothing, because there is no clock without `std`.
#[cfg(not(feature = "std"))]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times;

#[cfg(not(feature = "std"))]
impl Times {
    pub(crate) fn create(&mut self) {}

    pub(crate) fn start_handshake(&mut self) {}

    pub(crate) fn start_work(&mut self) {}

    pub(crate) fn end_work(&mut self) {}

    pub(crate) fn set_wait(&mut self, _: Option<Call>) {}

    pub(crate) fn finish(&mut self) {}

    pub(crate) fn durations(&self) -> Option<Durations> {
        None
    }

    pub(crate) fn age(&self) -> Option<Duration> {
        None
    }
}
