//! The observation of one connection: the facts for its observer, and the calls.
//!
//! Handlers note [facts](super::negotiated::ObservedFacts), and [record](Recorder) events. They
//! never call the observer: `conn::observing` does, for example after each message, and when the
//! connection fails or is dropped. So the observer never sees a half-updated connection.
//!
//! Once configured, a connection without an observer has no observation. With `std`, a thread keeps
//! the memory of some observations for later connections.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt::Write;
#[cfg(feature = "std")]
use core::panic::AssertUnwindSafe;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use core::{mem, net};

use pki_types::{IpAddr, ServerName};

use self::halves::Halves;
use self::times::Times;
use super::negotiated::Negotiated;
use super::wait::Call;
use crate::config::carrier::HandshakeCarrier;
use crate::config::observer::events::{
    Alert, ConnectionClosed, ConnectionFailed, Direction, End, Fault, KeysUpdated, SessionEvent,
    TicketAction, TicketEvent,
};
use crate::config::observer::handshake::{HandshakeFacts, NotResumed};
use crate::config::observer::{Observed, Observer};
use crate::enums::Side;
use crate::error::Error;
use crate::record::traffic::Traffic;
use crate::record::{receiver, sender};

mod halves;
#[cfg(feature = "std")]
mod pool;
mod times;

/// The number of observations so far, from which the next one gets its ID.
static OBSERVATIONS: AtomicUsize = AtomicUsize::new(0);

/// Events that have not been reported to the observer yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pending {
    pub(crate) tickets_made: u32,
    pub(crate) tickets_received: u32,
    pub(crate) sessions_stored: u32,
    pub(crate) sessions_not_stored: u32,
    pub(crate) receiving_keys: u32,
}

/// The last event of the handshake that has been reported to the observer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReportedStage {
    #[default]
    Nothing,
    Begun,
    Finished,
    Failed,
}

/// The current state of a connection, as events report it.
pub(crate) struct View<'a> {
    pub(crate) negotiated: &'a Negotiated,
    pub(crate) is_handshaking: bool,
    pub(crate) sent: Traffic,
    pub(crate) received: Traffic,
}

/// The end of a connection, or of one half of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ending {
    pub(crate) has_failed: bool,
    pub(crate) close_notify_sent: bool,
    pub(crate) close_notify_received: bool,
    pub(crate) seen_eof: bool,
    pub(crate) sent: Traffic,
    pub(crate) received: Traffic,
}

impl Ending {
    /// Returns the end of a connection whose halves ended as `self` and `other`.
    fn and(self, other: Self) -> Self {
        Self {
            has_failed: self.has_failed || other.has_failed,
            close_notify_sent: self.close_notify_sent || other.close_notify_sent,
            close_notify_received: self.close_notify_received || other.close_notify_received,
            seen_eof: self.seen_eof || other.seen_eof,
            sent: self.sent.and(other.sent),
            received: self.received.and(other.received),
        }
    }
}

/// The observer of one connection, and the description of the connection for its calls.
#[derive(Default)]
struct Subject {
    /// `None` if only the application's number is known, or if the observation is unused.
    observer: Option<Arc<dyn Observer>>,
    id: u64,
    context: u64,
    /// The side and the carrier of the connection. Set together with the observer.
    of: Option<(Side, HandshakeCarrier)>,
    /// The server's name, if `has_name`.
    name: String,
    has_name: bool,
    /// True once the connection is being dropped. With `std`, panics of the observer are then
    /// caught.
    is_dropped: bool,
}

impl Subject {
    /// Returns the observer with the arguments of its calls, or `None` if there is no observer.
    fn calls(&self) -> Option<Calls<'_>> {
        let (Some(observer), Some((side, carrier))) = (&self.observer, self.of) else {
            return None;
        };
        Some(Calls {
            observer: &**observer,
            observed: Observed {
                id: self.id,
                context: self.context,
                side,
                carrier: carrier.into(),
                server_name: self.has_name.then_some(&*self.name),
            },
            #[cfg(feature = "std")]
            is_dropped: self.is_dropped,
        })
    }
}

/// An observer with the arguments of its calls.
struct Calls<'a> {
    observer: &'a dyn Observer,
    observed: Observed<'a>,
    #[cfg(feature = "std")]
    is_dropped: bool,
}

impl Calls<'_> {
    /// Calls the observer.
    #[inline]
    fn call(&self, call: impl FnOnce(&dyn Observer, &Observed<'_>)) {
        #[cfg(feature = "std")]
        if self.is_dropped {
            let call = AssertUnwindSafe(|| call(self.observer, &self.observed));
            let _ = std::panic::catch_unwind(call);
            return;
        }
        call(self.observer, &self.observed);
    }

    /// Tells the observer that the handshake has begun, unless that has been reported.
    fn begun(&self, stage: &mut ReportedStage) {
        if *stage == ReportedStage::Nothing {
            // noted first, so that a panic does not repeat the event
            *stage = ReportedStage::Begun;
            self.call(|observer, observed| observer.handshake_begun(observed));
        }
    }

    fn keys(&self, direction: Direction) {
        let update = KeysUpdated { direction };
        self.call(|observer, observed| observer.keys_updated(observed, &update));
    }

    fn ticket(&self, action: TicketAction, reason: Option<NotResumed>) {
        let event = TicketEvent { action, reason };
        self.call(|observer, observed| observer.ticket(observed, &event));
    }

    fn session(&self, is_stored: bool) {
        let event = SessionEvent { is_stored };
        self.call(|observer, observed| observer.session(observed, &event));
    }

    fn pending(&self, pending: &Pending) {
        for _ in 0..pending.receiving_keys {
            self.keys(Direction::Receiving);
        }
        for _ in 0..pending.tickets_made {
            self.ticket(TicketAction::Made, None);
        }
        for _ in 0..pending.tickets_received {
            self.ticket(TicketAction::Received, None);
        }
        for _ in 0..pending.sessions_stored {
            self.session(true);
        }
        for _ in 0..pending.sessions_not_stored {
            self.session(false);
        }
    }
}

/// The observation of one connection.
#[derive(Default)]
pub(crate) struct Observation {
    subject: Subject,
    stage: ReportedStage,
    /// True once a refused ticket has been reported.
    has_reported_refusal: bool,
    /// Events that have not been reported yet; `None` if there are none.
    pub(crate) pending: Option<Pending>,
    pub(crate) times: Times,
    /// The end of a failed connection, as recorded just before it failed.
    pub(crate) before_failure: Option<Ending>,
    /// True if the application's code has panicked.
    pub(crate) has_panicked: bool,
    /// True if the application has taken the keys.
    pub(crate) is_extracted: bool,
    /// Shared with the other half of a split connection.
    halves: Option<Arc<Halves>>,
    /// The data sent and received before the connection was split.
    pub(crate) before_split: (Traffic, Traffic),
    /// True for an `Acceptor` whose connection has no configuration yet.
    pub(crate) is_accepting: bool,
    /// Record counters of an earlier connection, for reuse.
    pub(crate) counters: (Option<Box<sender::Counted>>, Option<Box<receiver::Counted>>),
}

impl Observation {
    /// Creates an observation without an observer, from the thread's pool if possible.
    pub(crate) fn new() -> Box<Self> {
        #[cfg(feature = "std")]
        let mut observation = pool::take();
        #[cfg(not(feature = "std"))]
        let mut observation = Box::<Self>::default();
        observation.subject.id = OBSERVATIONS.fetch_add(1, Ordering::Relaxed) as u64 + 1;
        observation
    }

    /// Clears an observation that is no longer needed. With `std`, returns its memory to the pool.
    #[cfg_attr(
        not(feature = "std"),
        expect(clippy::boxed_local, reason = "there is no pool for the box")
    )]
    pub(crate) fn put_back(mut self: Box<Self>) {
        // field by field, which is faster than replacing the whole struct
        let Self {
            subject,
            stage,
            has_reported_refusal,
            pending,
            times,
            before_failure,
            has_panicked,
            is_extracted,
            halves,
            before_split,
            is_accepting,
            // for the next connection
            counters: _,
        } = &mut *self;
        let mut name = mem::take(&mut subject.name);
        name.clear();
        // the application's observer may be dropped here
        *subject = Subject {
            name,
            ..Subject::default()
        };
        *stage = ReportedStage::default();
        *has_reported_refusal = false;
        *pending = None;
        *times = Default::default();
        *before_failure = None;
        *has_panicked = false;
        *is_extracted = false;
        *halves = None;
        *before_split = Default::default();
        *is_accepting = false;
        #[cfg(feature = "std")]
        pool::put_back(self);
    }

    /// Sets the observer. Replaces an earlier one, which must not have been called yet.
    pub(crate) fn set_observer(
        &mut self,
        observer: Arc<dyn Observer>,
        side: Side,
        carrier: HandshakeCarrier,
    ) {
        self.subject.observer = Some(observer);
        self.subject.of = Some((side, carrier));
    }

    /// Sets the application's number for the connection.
    pub(crate) fn set_context(&mut self, context: u64) {
        self.subject.context = context;
    }

    pub(crate) fn has_observer(&self) -> bool {
        self.subject.observer.is_some()
    }

    pub(crate) fn has_server_name(&self) -> bool {
        self.subject.has_name
    }

    pub(crate) fn set_server_name(&mut self, name: &str) {
        if !self.subject.has_name {
            self.subject.name.push_str(name);
            self.subject.has_name = true;
        }
    }

    /// Sets the name or the address with which a client was created.
    pub(crate) fn set_client_name(&mut self, name: &ServerName<'_>) {
        match name {
            ServerName::DnsName(name) => self.set_server_name(name.as_ref()),
            ServerName::IpAddress(address) => {
                // without `std`, pki_types has no conversion
                let address: net::IpAddr = match address {
                    IpAddr::V4(v4) => net::Ipv4Addr::from(*v4.as_ref()).into(),
                    IpAddr::V6(v6) => net::Ipv6Addr::from(*v6.as_ref()).into(),
                };
                // writing to a string cannot fail
                let _ = write!(self.subject.name, "{address}");
                self.subject.has_name = true;
            }
            _ => {}
        }
    }

    /// Copies the observation for the other half of a connection that is split. `traffic` was sent
    /// and received before the split.
    pub(crate) fn split(&mut self, traffic: (Traffic, Traffic)) -> Box<Self> {
        self.before_split = traffic;
        let halves = Arc::new(Halves::new());
        let mut other = Self::new();
        other.subject.observer = self.subject.observer.clone();
        other.subject.id = self.subject.id;
        other.subject.context = self.subject.context;
        other.subject.of = self.subject.of;
        if self.subject.has_name {
            other.set_server_name(&self.subject.name);
        }
        other.stage = self.stage;
        other.has_reported_refusal = self.has_reported_refusal;
        other.times = self.times;
        other.before_split = traffic;
        other.halves = Some(halves.clone());
        self.halves = Some(halves);
        other
    }

    /// True if [`Self::report`] has something to tell an observer.
    pub(crate) fn has_news(&self, negotiated: &Negotiated, is_handshaking: bool) -> bool {
        let has_stage = match self.stage {
            ReportedStage::Nothing => true,
            ReportedStage::Begun => !is_handshaking,
            ReportedStage::Finished | ReportedStage::Failed => false,
        };
        has_stage
            || self.pending.is_some()
            || negotiated.facts.refused_ticket.is_some() && !self.has_reported_refusal
    }

    /// Tells the observer that a client has begun its handshake.
    pub(crate) fn begin(&mut self) {
        if let Some(calls) = self.subject.calls() {
            calls.begun(&mut self.stage);
        }
    }

    /// Tells the observer what has happened since the last call.
    pub(crate) fn report(&mut self, view: &View<'_>) {
        self.report_news(view, !view.is_handshaking);
    }

    /// Tells the observer what has happened since the last call, and that the handshake has
    /// finished if it `has_finished`.
    fn report_news(&mut self, view: &View<'_>, has_finished: bool) {
        let Some(calls) = self.subject.calls() else {
            return;
        };
        calls.begun(&mut self.stage);
        // each event is noted before the call, so that a panic does not repeat it
        if !self.has_reported_refusal {
            if let Some(reason) = view.negotiated.facts.refused_ticket {
                self.has_reported_refusal = true;
                calls.ticket(TicketAction::Refused, Some(reason));
            }
        }
        if self.stage == ReportedStage::Begun && has_finished {
            self.stage = ReportedStage::Finished;
            self.times.finish();
            let facts = self.handshake(view);
            calls.call(|observer, observed| observer.handshake_finished(observed, &facts));
        }
        if let Some(pending) = self.pending.take() {
            calls.pending(&pending);
        }
    }

    /// Tells the observer that the keys of one direction were replaced.
    pub(crate) fn report_keys(&self, direction: Direction) {
        if let Some(calls) = self.subject.calls() {
            calls.keys(direction);
        }
    }

    /// Tells the observer about the failure of the connection, unless it has already been told.
    pub(crate) fn report_failure(&mut self, view: &View<'_>, error: &Error, alert: Option<Alert>) {
        let fault = match self.has_panicked {
            true => Fault::Application,
            false => Fault::of(error),
        };
        let alert = match error {
            Error::AlertReceived(alert) => Some(Alert::Received(*alert)),
            _ => alert,
        };
        self.fail(view, Some(error), error.label(), fault, alert);
    }

    /// Tells the observer that the connection was dropped before its handshake was complete.
    fn report_unfinished(&mut self, view: &View<'_>, seen_eof: bool) {
        let (label, fault) = match seen_eof {
            true => ("end_of_stream", Fault::Network),
            false => ("dropped", Fault::Application),
        };
        self.fail(view, None, label, fault, None);
    }

    fn fail(
        &mut self,
        view: &View<'_>,
        error: Option<&Error>,
        label: &'static str,
        fault: Fault,
        alert: Option<Alert>,
    ) {
        if self.stage == ReportedStage::Failed {
            return;
        }
        self.report_news(view, false);
        let during_handshake = self.stage != ReportedStage::Finished;
        self.stage = ReportedStage::Failed;
        if let Some(halves) = &self.halves {
            if !halves.fail() {
                return;
            }
        }
        self.times.finish();
        let failure = ConnectionFailed {
            handshake: self.handshake(view),
            during_handshake,
            error,
            label,
            fault,
            alert,
        };
        self.call(|observer, observed| observer.failed(observed, &failure));
    }

    /// Marks the failure as reported, because the other half failed first and reports it.
    pub(crate) fn leave_failure_to_other_half(&mut self) {
        self.stage = ReportedStage::Failed;
    }

    /// Tells the observer that the connection was dropped. Of two halves, only the last one does.
    /// With `std`, a panic of the observer is caught. `alert` is the alert of a failure that has
    /// not been reported yet.
    pub(crate) fn report_end(
        &mut self,
        view: &View<'_>,
        failed: Option<&Error>,
        alert: Option<Alert>,
        ending: Ending,
    ) {
        self.subject.is_dropped = true;
        match failed {
            Some(error) => self.report_failure(view, error, alert),
            None if view.is_handshaking && self.stage != ReportedStage::Finished => {
                self.report_unfinished(view, ending.seen_eof);
            }
            None if self.has_news(view.negotiated, view.is_handshaking) => self.report(view),
            None => {}
        }
        let ending = match &self.halves {
            Some(halves) => match halves.end(ending) {
                Some(whole) => whole,
                None => return,
            },
            None => ending,
        };
        let end = if ending.has_failed {
            End::Failed
        } else if self.is_extracted {
            End::Extracted
        } else if ending.close_notify_received {
            End::Clean
        } else if ending.seen_eof {
            End::Truncated
        } else if ending.close_notify_sent {
            End::Clean
        } else {
            End::Dropped
        };
        let closed = ConnectionClosed {
            end,
            close_notify_sent: ending.close_notify_sent,
            close_notify_received: ending.close_notify_received,
            sent: ending.sent,
            received: ending.received,
            age: self.times.age(),
        };
        self.call(|observer, observed| observer.closed(observed, &closed));
    }

    fn handshake<'a>(&self, view: &View<'a>) -> HandshakeFacts<'a> {
        let negotiated = view.negotiated;
        let facts = &negotiated.facts;
        HandshakeFacts {
            version: negotiated.version,
            cipher_suite: negotiated.suite.map(|suite| suite.suite()),
            group: negotiated.kx_group.map(|group| group.name()),
            server_signature: facts.server_signature,
            client_signature: facts.client_signature,
            kind: negotiated.handshake_kind,
            resumed_from: facts.resumed_from,
            not_resumed: facts.not_resumed,
            early_data: facts.early_data,
            ech: facts.ech_status(),
            alpn_protocol: negotiated.alpn_protocol.as_deref(),
            client_certificate: facts.client_certificate,
            peer_chain: facts.peer_chain,
            durations: self.times.durations(),
            sent: view.sent,
            received: view.received,
        }
    }

    fn call(&self, call: impl FnOnce(&dyn Observer, &Observed<'_>)) {
        if let Some(calls) = self.subject.calls() {
            calls.call(call);
        }
    }
}

/// The observation as handlers see it: they record events, if there is an observation.
pub(crate) struct Recorder<'a>(pub(crate) Option<&'a mut Observation>);

impl Recorder<'_> {
    /// Notes that an asynchronous call has returned, and that the handshake continues.
    pub(crate) fn call_returned(&mut self) {
        if let Some(observation) = &mut self.0 {
            observation.times.set_wait(None);
        }
    }

    /// Records events, which are reported later.
    #[inline]
    pub(crate) fn events(&mut self, record: impl FnOnce(&mut Pending)) {
        if let Some(observation) = &mut self.0 {
            record(observation.pending.get_or_insert_default());
        }
    }

    /// Records that a session was stored, or that it was not.
    pub(crate) fn session(&mut self, is_stored: bool) {
        self.events(|events| match is_stored {
            true => events.sessions_stored += 1,
            false => events.sessions_not_stored += 1,
        });
    }
}
