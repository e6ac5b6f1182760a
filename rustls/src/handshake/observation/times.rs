//! Measures a handshake (its duration, this side's work and its waits) and the connection's age.
//! Without `std` there is no clock, and nothing is measured.

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
        activity: Activity,
        /// The time since the handshake began in which this side was not working on it.
        paused: Duration,
        sums: Durations,
    }

    /// The current activity of this side.
    #[derive(Clone, Copy, Debug, Default)]
    enum Activity {
        /// The handshake has not begun.
        #[default]
        Nothing,
        /// This side is processing messages.
        Work,
        /// This side has handled all received messages, and finished the last one at this time.
        Idle(Instant),
        /// This side has been waiting for a call since this time.
        Wait(Call, Instant),
        /// The handshake is over.
        Over,
    }

    impl Times {
        /// Starts to measure the age of the connection.
        pub(crate) fn create(&mut self) {
            self.created = Some(Instant::now());
        }

        /// Starts the handshake, and this side's work on it, as of the time of [`Self::create`].
        pub(crate) fn start_handshake(&mut self) {
            self.begun = self.created;
            self.activity = Activity::Work;
        }

        /// Starts to measure this side's work on messages, unless the handshake is waiting or over.
        /// The handshake's duration also starts here, unless it has started before.
        pub(crate) fn start_work(&mut self) {
            match self.activity {
                Activity::Nothing => self.begun = Some(Instant::now()),
                Activity::Idle(_) => self.end_pause(Instant::now()),
                Activity::Work | Activity::Wait(..) | Activity::Over => return,
            }
            self.activity = Activity::Work;
        }

        /// Stops measuring this side's work on messages.
        pub(crate) fn end_work(&mut self) {
            if let Activity::Work = self.activity {
                self.activity = Activity::Idle(Instant::now());
            }
        }

        /// Starts to measure a wait for `call`, during which this side is not working. `None` ends
        /// the wait, and the measurement of work continues.
        pub(crate) fn set_wait(&mut self, call: Option<Call>) {
            match (self.activity, call) {
                (Activity::Over, _) => {}
                (Activity::Wait(before, _), Some(call)) if before == call => {}
                (_, Some(call)) => self.start_wait(call),
                (Activity::Wait(..), None) => self.end_wait(),
                (_, None) => {}
            }
        }

        #[cold]
        fn start_wait(&mut self, call: Call) {
            let now = Instant::now();
            self.end_pause(now);
            self.activity = Activity::Wait(call, now);
        }

        #[cold]
        fn end_wait(&mut self) {
            self.end_pause(Instant::now());
            self.activity = Activity::Work;
        }

        /// Adds the time in which this side was not working, until `now`, to the sums.
        fn end_pause(&mut self, now: Instant) {
            match self.activity {
                Activity::Nothing | Activity::Work | Activity::Over => {}
                Activity::Idle(start) => self.paused += now.duration_since(start),
                Activity::Wait(call, start) => {
                    let sum = match call {
                        Call::Certificate => &mut self.sums.certificate,
                        Call::Session => &mut self.sums.session,
                        Call::Verification => &mut self.sums.verification,
                        Call::Signature => &mut self.sums.signature,
                        Call::Ticket => &mut self.sums.ticket,
                    };
                    let wait = now.duration_since(start);
                    *sum += wait;
                    self.paused += wait;
                }
            }
        }

        /// Ends the measurements of the handshake. Later calls have no effect on them.
        pub(crate) fn finish(&mut self) {
            if let Activity::Over = self.activity {
                return;
            }
            if let Some(begun) = self.begun {
                let now = Instant::now();
                self.end_pause(now);
                self.sums.whole = now.duration_since(begun);
                self.sums.own_work = self.sums.whole.saturating_sub(self.paused);
            }
            self.activity = Activity::Over;
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
