//! The times of a handshake. Without `std` there is no clock for them.

use super::{Call, Duration};
use crate::config::observer::handshake::Durations;

#[cfg(feature = "std")]
mod clock {
    use std::time::Instant;

    use super::{Call, Duration, Durations};

    /// The times of a handshake.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Times {
        created: Option<Instant>,
        begun: Option<Instant>,
        /// The start of the present work on messages.
        working: Option<Instant>,
        /// The present wait and its start.
        waiting: Option<(Call, Instant)>,
        is_over: bool,
        sums: Durations,
    }

    impl Times {
        /// Starts the connection's age.
        pub(crate) fn create(&mut self) {
            self.created = Some(Instant::now());
        }

        /// Starts a piece of work on messages, unless they have to wait. The first one starts the
        /// handshake.
        pub(crate) fn start_work(&mut self) {
            if !self.is_over && self.waiting.is_none() {
                let now = Instant::now();
                self.begun.get_or_insert(now);
                self.working = Some(now);
            }
        }

        /// Ends the piece of work.
        pub(crate) fn end_work(&mut self) {
            if let Some(start) = self.working.take() {
                self.sums.own_work += start.elapsed();
            }
        }

        /// Ends the work and starts waiting for `call`, or ends a wait.
        pub(crate) fn set_wait(&mut self, call: Option<Call>) {
            if self.waiting.map(|(call, _)| call) == call || self.is_over {
                return;
            }
            if call.is_some() {
                self.end_work();
            }
            let now = Instant::now();
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

        /// Ends the times of the handshake.
        pub(crate) fn finish(&mut self) {
            if self.is_over {
                return;
            }
            self.end_work();
            self.set_wait(None);
            self.is_over = true;
            if let Some(begun) = self.begun {
                self.sums.whole = begun.elapsed();
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

/// No times.
#[cfg(not(feature = "std"))]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times;

#[cfg(not(feature = "std"))]
impl Times {
    pub(crate) fn create(&mut self) {}

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
