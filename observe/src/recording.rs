//! Turns events into changes of metrics.

use core::time::Duration;

use rustls::client::EchStatus;
use rustls::observer::{
    ConnectionClosed, ConnectionFailed, EarlyData, HandshakeFacts, KeysUpdated, Observed,
    SessionEvent, TicketAction, TicketEvent, Traffic,
};

use crate::catalog::{ALERTS, FAILURES, Id, Named, cell};
use crate::names::{
    self, GROUPS, SCHEMES, SUITES, carrier, direction, direction_of_alert, kind, place, side,
    version,
};

/// Receives changes of metrics. Cells are those of [`cell`].
pub(crate) trait Sink {
    /// Adds to a counter.
    fn add(&self, cell: usize, amount: u64);

    /// Raises or lowers a gauge by one.
    fn shift(&self, cell: usize, rises: bool);

    /// Adds a duration.
    fn time(&self, cell: usize, took: Duration);

    /// Adds one to a metric that is keyed by text. The values are those of its labels.
    fn add_named(&self, named: &'static Named, values: [&'static str; 4]);
}

pub(crate) fn begun(sink: &impl Sink, connection: &Observed<'_>) {
    let side = side(connection.side);
    let carrier = carrier(connection.carrier);
    sink.add(cell(Id::HandshakesBegun, [side, carrier]), 1);
    sink.shift(cell(Id::HandshakesInProgress, [side]), true);
    sink.shift(cell(Id::ConnectionsOpen, [side]), true);
}

const FINISHED: usize = 0;
const FAILED: usize = 1;

pub(crate) fn finished(sink: &impl Sink, connection: &Observed<'_>, facts: &HandshakeFacts<'_>) {
    over(sink, connection, facts, FINISHED);
    let side = side(connection.side);
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
        sink.add(cell(Id::NotResumed, [side, names::not_resumed(reason)]), 1);
    }
    if let Some(certificate) = names::client_certificate(facts.client_certificate) {
        sink.add(cell(Id::ClientCertificates, [side, certificate]), 1);
    }
    if let Some(check) = names::peer_chain(facts.peer_chain) {
        sink.add(cell(Id::PeerChains, [side, check]), 1);
    }
}

/// Records the end of a handshake.
fn over(sink: &impl Sink, connection: &Observed<'_>, facts: &HandshakeFacts<'_>, outcome: usize) {
    let side = side(connection.side);
    let kind = kind(facts);
    let carrier = carrier(connection.carrier);
    let handshake = [side, carrier, outcome, version(facts), kind];
    sink.add(cell(Id::Handshakes, handshake), 1);
    sink.shift(cell(Id::HandshakesInProgress, [side]), false);
    if let Some(outcome) = names::early_data(facts.early_data) {
        sink.add(cell(Id::EarlyData, [side, outcome]), 1);
    }
    if let EarlyData::Rejected(reason) = facts.early_data {
        let reason = names::early_data_rejected(reason);
        sink.add(cell(Id::EarlyDataRejected, [side, reason]), 1);
    }
    let ech = match facts.ech {
        EchStatus::NotOffered => None,
        EchStatus::Grease => Some(0),
        EchStatus::Offered => Some(1),
        EchStatus::Accepted => Some(2),
        EchStatus::Rejected => Some(3),
    };
    if let Some(ech) = ech {
        sink.add(cell(Id::Ech, [ech]), 1);
    }
    if let Some(times) = &facts.durations {
        sink.time(cell(Id::Duration, [side, outcome, kind]), times.whole);
        sink.time(cell(Id::OwnWork, [side, outcome, kind]), times.own_work);
        // in the order of the label's values
        let waits = [
            times.certificate,
            times.session,
            times.verification,
            times.signature,
            times.ticket,
        ];
        for (operation, wait) in waits.into_iter().enumerate() {
            if !wait.is_zero() {
                sink.time(cell(Id::Wait, [side, operation]), wait);
            }
        }
    }
}

pub(crate) fn failed(sink: &impl Sink, connection: &Observed<'_>, failure: &ConnectionFailed<'_>) {
    let side = connection.side;
    let side_name = ["client", "server"][names::side(side)];
    let stage = if failure.during_handshake {
        over(sink, connection, &failure.handshake, FAILED);
        "handshake"
    } else {
        "traffic"
    };
    let cause = [side_name, stage, failure.fault.label(), failure.label];
    sink.add_named(&FAILURES, cause);
    if let Some((direction, alert)) = failure.alert.and_then(direction_of_alert) {
        sink.add_named(&ALERTS, [side_name, direction, alert, ""]);
    }
}

pub(crate) fn keys_updated(sink: &impl Sink, connection: &Observed<'_>, update: &KeysUpdated) {
    let update = [side(connection.side), direction(update.direction)];
    sink.add(cell(Id::KeyUpdates, update), 1);
}

pub(crate) fn ticket(sink: &impl Sink, event: &TicketEvent) {
    const ACTIONS: [TicketAction; 3] = [
        TicketAction::Made,
        TicketAction::Received,
        TicketAction::Refused,
    ];
    sink.add(cell(Id::Tickets, [place(&ACTIONS, &event.action)]), 1);
    if let Some(reason) = event.reason {
        sink.add(cell(Id::TicketsRefused, [names::not_resumed(reason)]), 1);
    }
}

pub(crate) fn session(sink: &impl Sink, connection: &Observed<'_>, event: &SessionEvent) {
    let outcome = if event.is_stored { 0 } else { 1 };
    sink.add(cell(Id::Sessions, [side(connection.side), outcome]), 1);
}

pub(crate) fn closed(sink: &impl Sink, connection: &Observed<'_>, closed: &ConnectionClosed) {
    let side = side(connection.side);
    sink.shift(cell(Id::ConnectionsOpen, [side]), false);
    let end = names::end(closed.end);
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

/// Implements [`Observer`](rustls::observer::Observer) for `$sink`, a [`Sink`].
macro_rules! observes {
    ($sink:ty) => {
        impl rustls::observer::Observer for $sink {
            fn handshake_begun(&self, connection: &rustls::observer::Observed<'_>) {
                $crate::recording::begun(self, connection);
            }

            fn handshake_finished(
                &self,
                connection: &rustls::observer::Observed<'_>,
                handshake: &rustls::observer::HandshakeFacts<'_>,
            ) {
                $crate::recording::finished(self, connection, handshake);
            }

            fn failed(
                &self,
                connection: &rustls::observer::Observed<'_>,
                failure: &rustls::observer::ConnectionFailed<'_>,
            ) {
                $crate::recording::failed(self, connection, failure);
            }

            fn keys_updated(
                &self,
                connection: &rustls::observer::Observed<'_>,
                update: &rustls::observer::KeysUpdated,
            ) {
                $crate::recording::keys_updated(self, connection, update);
            }

            fn ticket(
                &self,
                _: &rustls::observer::Observed<'_>,
                event: &rustls::observer::TicketEvent,
            ) {
                $crate::recording::ticket(self, event);
            }

            fn session(
                &self,
                connection: &rustls::observer::Observed<'_>,
                event: &rustls::observer::SessionEvent,
            ) {
                $crate::recording::session(self, connection, event);
            }

            fn closed(
                &self,
                connection: &rustls::observer::Observed<'_>,
                closed: &rustls::observer::ConnectionClosed,
            ) {
                $crate::recording::closed(self, connection, closed);
            }
        }
    };
}

pub(crate) use observes;
