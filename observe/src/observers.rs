//! Several observers as one.

use std::sync::Arc;

use rustls::observer::{
    ConnectionClosed, ConnectionFailed, HandshakeFacts, KeysUpdated, Observed, Observer,
    SessionEvent, TicketEvent,
};

/// Passes each event on to several observers, in order.
///
/// If one of them panics, later ones do not receive the event.
///
/// ```
/// use std::sync::Arc;
///
/// use rustls_observe::{Counters, Observers};
///
/// # fn configure(mut config: rustls::ServerConfig) {
/// let of_process = Arc::new(Counters::new());
/// let of_listener = Arc::new(Counters::new());
/// config.observer = Some(Arc::new(Observers(vec![of_process, of_listener])));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Observers(pub Vec<Arc<dyn Observer>>);

impl Observer for Observers {
    fn handshake_begun(&self, connection: &Observed<'_>) {
        for observer in &self.0 {
            observer.handshake_begun(connection);
        }
    }

    fn handshake_finished(&self, connection: &Observed<'_>, handshake: &HandshakeFacts<'_>) {
        for observer in &self.0 {
            observer.handshake_finished(connection, handshake);
        }
    }

    fn failed(&self, connection: &Observed<'_>, failure: &ConnectionFailed<'_>) {
        for observer in &self.0 {
            observer.failed(connection, failure);
        }
    }

    fn keys_updated(&self, connection: &Observed<'_>, update: &KeysUpdated) {
        for observer in &self.0 {
            observer.keys_updated(connection, update);
        }
    }

    fn ticket(&self, connection: &Observed<'_>, event: &TicketEvent) {
        for observer in &self.0 {
            observer.ticket(connection, event);
        }
    }

    fn session(&self, connection: &Observed<'_>, event: &SessionEvent) {
        for observer in &self.0 {
            observer.session(connection, event);
        }
    }

    fn closed(&self, connection: &Observed<'_>, closed: &ConnectionClosed) {
        for observer in &self.0 {
            observer.closed(connection, closed);
        }
    }
}
