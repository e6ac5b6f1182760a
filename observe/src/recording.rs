//! Turns events into metric updates.

use core::time::Duration;

use rustls::observer::{
    Alert, ConnectionClosed, ConnectionFailed, EarlyData, HandshakeFacts, KeysUpdated, Observed,
    SessionEvent, TicketEvent, Traffic,
};

use crate::catalog::{ALERTS, FAILURES, Id, Named, cell};
use crate::names::{GROUPS, SCHEMES, SUITES, kind, place, version};

/// Receives metric updates. A `cell` is a number that [`cell`] returns.
pub(crate) trait Sink {
    /// Adds `amount` to a counter.
    fn add(&self, cell: usize, amount: u64);

    /// Raises or lowers a gauge by one.
    fn shift(&self, cell: usize, rises: bool);

    /// Adds the duration `took`.
    fn time(&self, cell: usize, took: Duration);

    /// Adds one to a metric that is keyed by text. `values` are the values of its labels.
    fn add_named(&self, named: &'static Named, values: [&'static str; 4]);
}

/// Returns the index of a label among the labels after the first one. Returns `None` for the first
/// label, which means that there is nothing to count.
fn after_first(label_index: usize) -> Option<usize> {
    label_index.checked_sub(1)
}

/// Returns the position of the side's label, which is the position of its variant.
fn side(connection: &Observed<'_>) -> usize {
    connection.side as usize
}

pub(crate) fn begun(sink: &impl Sink, connection: &Observed<'_>) {
    let side = side(connection);
    let carrier = connection.carrier.label_index();
    sink.add(cell(Id::HandshakesBegun, [side, carrier]), 1);
    sink.shift(cell(Id::HandshakesInProgress, [side]), true);
    sink.shift(cell(Id::ConnectionsOpen, [side]), true);
}

const FINISHED: usize = 0;
const FAILED: usize = 1;

pub(crate) fn finished(sink: &impl Sink, connection: &Observed<'_>, facts: &HandshakeFacts<'_>) {
    over(sink, connection, facts, FINISHED);
    let side = side(connection);
    if let Some(suite) = &facts.cipher_suite {
        sink.add(cell(Id::Suites, [side, place(&SUITES, suite)]), 1);
    }
    if let Some(group) = &facts.group {
        sink.add(cell(Id::Groups, [side, place(&GROUPS, group)]), 1);
    }
    let signers = [&facts.client_signature, &facts.server_signature];
    for (signer, scheme) in signers.into_iter().enumerate() {
        if let Some(scheme) = scheme {
            let scheme = place(&SCHEMES, scheme);
            sink.add(cell(Id::Signatures, [side, signer, scheme]), 1);
        }
    }
    if let Some(reason) = facts.not_resumed {
        sink.add(cell(Id::NotResumed, [side, reason.label_index()]), 1);
    }
    if let Some(certificate) = after_first(facts.client_certificate.label_index()) {
        sink.add(cell(Id::ClientCertificates, [side, certificate]), 1);
    }
    if let Some(check) = after_first(facts.peer_chain.label_index()) {
        sink.add(cell(Id::PeerChains, [side, check]), 1);
    }
}

/// Records the end of a handshake.
fn over(sink: &impl Sink, connection: &Observed<'_>, facts: &HandshakeFacts<'_>, outcome: usize) {
    let side = side(connection);
    let kind = kind(facts);
    let carrier = connection.carrier.label_index();
    let handshake = [side, carrier, outcome, version(facts), kind];
    sink.add(cell(Id::Handshakes, handshake), 1);
    sink.shift(cell(Id::HandshakesInProgress, [side]), false);
    if let Some(outcome) = after_first(facts.early_data.label_index()) {
        sink.add(cell(Id::EarlyData, [side, outcome]), 1);
    }
    if let EarlyData::Rejected(reason) = facts.early_data {
        let reason = reason.label_index();
        sink.add(cell(Id::EarlyDataRejected, [side, reason]), 1);
    }
    if let Some(ech) = after_first(facts.ech.label_index()) {
        sink.add(cell(Id::Ech, [ech]), 1);
    }
    if let Some(times) = &facts.durations {
        sink.time(cell(Id::Duration, [side, outcome, kind]), times.whole);
        sink.time(cell(Id::OwnWork, [side, outcome, kind]), times.own_work);
        // in the order of the label's values
        for (operation, (_, wait)) in times.waits().enumerate() {
            if !wait.is_zero() {
                sink.time(cell(Id::Wait, [side, operation]), wait);
            }
        }
    }
}

pub(crate) fn failed(sink: &impl Sink, connection: &Observed<'_>, failure: &ConnectionFailed<'_>) {
    let side = connection.side.label();
    let stage = if failure.during_handshake {
        over(sink, connection, &failure.handshake, FAILED);
        "handshake"
    } else {
        "traffic"
    };
    let cause = [side, stage, failure.fault.label(), failure.label];
    sink.add_named(&FAILURES, cause);
    if let Some(of @ (Alert::Sent(alert) | Alert::Received(alert))) = failure.alert {
        sink.add_named(&ALERTS, [side, of.label(), alert.label(), ""]);
    }
}

pub(crate) fn keys_updated(sink: &impl Sink, connection: &Observed<'_>, update: &KeysUpdated) {
    let direction = update.direction.label_index();
    sink.add(cell(Id::KeyUpdates, [side(connection), direction]), 1);
}

pub(crate) fn ticket(sink: &impl Sink, event: &TicketEvent) {
    let action = event.action.label_index();
    sink.add(cell(Id::Tickets, [action]), 1);
    if let Some(reason) = event.reason {
        sink.add(cell(Id::TicketsRefused, [reason.label_index()]), 1);
    }
}

pub(crate) fn session(sink: &impl Sink, connection: &Observed<'_>, event: &SessionEvent) {
    let outcome = if event.is_stored { 0 } else { 1 };
    sink.add(cell(Id::Sessions, [side(connection), outcome]), 1);
}

pub(crate) fn closed(sink: &impl Sink, connection: &Observed<'_>, closed: &ConnectionClosed) {
    let side = side(connection);
    sink.shift(cell(Id::ConnectionsOpen, [side]), false);
    let end = closed.end.label_index();
    sink.add(cell(Id::ConnectionsClosed, [side, end]), 1);
    if let Some(age) = closed.age {
        sink.time(cell(Id::ConnectionDuration, [side]), age);
    }
    for (direction, traffic) in [&closed.sent, &closed.received].into_iter().enumerate() {
        let Traffic { records, bytes, .. } = *traffic;
        sink.add(cell(Id::Records, [side, direction]), records);
        sink.add(cell(Id::Bytes, [side, direction]), bytes);
    }
}

/// Implements [`Observer`](rustls::observer::Observer) for `$observer`, whose method `sink` returns
/// a [`Sink`].
macro_rules! observes {
    ($observer:ty) => {
        impl rustls::observer::Observer for $observer {
            fn handshake_begun(&self, connection: &rustls::observer::Observed<'_>) {
                $crate::recording::begun(&self.sink(), connection);
            }

            fn handshake_finished(
                &self,
                connection: &rustls::observer::Observed<'_>,
                handshake: &rustls::observer::HandshakeFacts<'_>,
            ) {
                $crate::recording::finished(&self.sink(), connection, handshake);
            }

            fn failed(
                &self,
                connection: &rustls::observer::Observed<'_>,
                failure: &rustls::observer::ConnectionFailed<'_>,
            ) {
                $crate::recording::failed(&self.sink(), connection, failure);
            }

            fn keys_updated(
                &self,
                connection: &rustls::observer::Observed<'_>,
                update: &rustls::observer::KeysUpdated,
            ) {
                $crate::recording::keys_updated(&self.sink(), connection, update);
            }

            fn ticket(
                &self,
                _: &rustls::observer::Observed<'_>,
                event: &rustls::observer::TicketEvent,
            ) {
                $crate::recording::ticket(&self.sink(), event);
            }

            fn session(
                &self,
                connection: &rustls::observer::Observed<'_>,
                event: &rustls::observer::SessionEvent,
            ) {
                $crate::recording::session(&self.sink(), connection, event);
            }

            fn closed(
                &self,
                connection: &rustls::observer::Observed<'_>,
                closed: &rustls::observer::ConnectionClosed,
            ) {
                $crate::recording::closed(&self.sink(), connection, closed);
            }
        }
    };
}

pub(crate) use observes;
