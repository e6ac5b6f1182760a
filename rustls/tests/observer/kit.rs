//! An observer that keeps its events as lines of text.

use std::sync::{Arc, Mutex};

use rustls::observer::{
    ConnectionClosed, ConnectionFailed, HandshakeFacts, KeysUpdated, Observed, Observer,
    SessionEvent, TicketEvent,
};

/// Keeps each event as a line: its name, and what it says apart from times and amounts.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<Vec<String>>);

impl Lines {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Takes the lines since the last call.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Observer for Lines {
    fn handshake_begun(&self, connection: &Observed<'_>) {
        let (side, carrier) = (connection.side, connection.carrier.label());
        let name = connection.server_name;
        self.push(format!("begun {side:?} {carrier} {name:?}"));
    }

    fn handshake_finished(&self, _: &Observed<'_>, handshake: &HandshakeFacts<'_>) {
        self.push(format!("finished {:?}", handshake.kind.unwrap()));
    }

    fn failed(&self, _: &Observed<'_>, failure: &ConnectionFailed<'_>) {
        let stage = match failure.during_handshake {
            true => "in handshake",
            false => "later",
        };
        let (label, fault, alert) = (failure.label, failure.fault.label(), failure.alert);
        self.push(format!("failed {stage} {label} {fault} {alert:?}"));
    }

    fn keys_updated(&self, _: &Observed<'_>, update: &KeysUpdated) {
        self.push(format!("keys {}", update.direction.label()));
    }

    fn ticket(&self, _: &Observed<'_>, event: &TicketEvent) {
        let reason = event.reason.map_or("", |reason| reason.label());
        self.push(format!("ticket {} {reason}", event.action.label()));
    }

    fn session(&self, _: &Observed<'_>, event: &SessionEvent) {
        self.push(format!("session stored {}", event.is_stored));
    }

    fn closed(&self, _: &Observed<'_>, closed: &ConnectionClosed) {
        self.push(format!("closed {}", closed.end.label()));
    }
}
