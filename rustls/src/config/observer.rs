//! Observers of connections, for metrics and traces.
//!
//! [`handshake`] defines the facts of a handshake, and [`events`] the content of all other events.
//! `handshake::observation` collects the facts.

pub(crate) mod events;
pub(crate) mod handshake;
mod label;
#[cfg(all(test, feature = "std"))]
mod tests;

use core::fmt::Debug;

use self::events::{ConnectionClosed, ConnectionFailed, KeysUpdated, SessionEvent, TicketEvent};
use self::handshake::HandshakeFacts;
use crate::config::carrier;
use crate::enums::Side;

/// Receives the events of connections: handshakes, failures, tickets, sessions, key updates and
/// closures.
///
/// [`ClientConfig::observer`](crate::ClientConfig::observer) and
/// [`ServerConfig::observer`](crate::ServerConfig::observer) set it, so it sees connections of any
/// framework, through any API. Implement the methods you need; the others do nothing.
///
/// # Order
///
/// A connection calls, in this order:
///
/// 1. [`handshake_begun`](Self::handshake_begun), once;
/// 2. either [`handshake_finished`](Self::handshake_finished) or [`failed`](Self::failed), once: an
///    abandoned handshake also counts as failed;
/// 3. [`failed`](Self::failed), at most once, after a finished handshake;
/// 4. [`closed`](Self::closed), once, when the connection is dropped.
///
/// All other methods are called between the first and the last of these.
///
/// # Calls
///
/// A connection calls its observer on the thread that drives it, without holding a lock, and after
/// its own state is complete. A slow observer slows the connection down. A panic fails the
/// connection, like a panic in a verifier. While a connection is being dropped, panics are caught
/// and ignored (only with `std`).
///
/// The halves of a [split](crate::split) connection call the observer on their own threads, perhaps
/// at the same time. The half that fails reports the failure. The half that is dropped last reports
/// the end.
///
/// # Example
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use rustls::observer::{ConnectionFailed, HandshakeFacts, Observed, Observer};
///
/// #[derive(Debug, Default)]
/// struct Handshakes {
///     finished: AtomicU64,
///     failed: AtomicU64,
/// }
///
/// impl Observer for Handshakes {
///     fn handshake_finished(&self, _: &Observed<'_>, _: &HandshakeFacts<'_>) {
///         self.finished.fetch_add(1, Ordering::Relaxed);
///     }
///
///     fn failed(&self, _: &Observed<'_>, failure: &ConnectionFailed<'_>) {
///         if failure.during_handshake {
///             self.failed.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// # fn configure(mut config: rustls::ServerConfig) {
/// config.observer = Some(std::sync::Arc::new(Handshakes::default()));
/// # }
/// ```
pub trait Observer: Debug + Send + Sync {
    /// A handshake begins: a client is created, or a server has read the ClientHello.
    ///
    /// A server that never receives a ClientHello calls this just before [`failed`](Self::failed).
    /// So does a constructor that returns an error.
    fn handshake_begun(&self, connection: &Observed<'_>) {
        let _ = connection;
    }

    /// The handshake is complete on this side.
    fn handshake_finished(&self, connection: &Observed<'_>, handshake: &HandshakeFacts<'_>) {
        let _ = (connection, handshake);
    }

    /// The connection has failed, or was dropped before its handshake was complete.
    ///
    /// After a panic, this is called when the connection is dropped.
    fn failed(&self, connection: &Observed<'_>, failure: &ConnectionFailed<'_>) {
        let _ = (connection, failure);
    }

    /// The keys of one direction were replaced (TLS 1.3, RFC 9846 §4.7.3). Not called over QUIC,
    /// which replaces keys itself.
    fn keys_updated(&self, connection: &Observed<'_>, update: &KeysUpdated) {
        let _ = (connection, update);
    }

    /// A session ticket was created, received or refused. If a client offers several tickets, only
    /// the last refusal is reported.
    fn ticket(&self, connection: &Observed<'_>, event: &TicketEvent) {
        let _ = (connection, event);
    }

    /// A session was stored, or could not be.
    fn session(&self, connection: &Observed<'_>, event: &SessionEvent) {
        let _ = (connection, event);
    }

    /// The connection was dropped. This is its last event.
    fn closed(&self, connection: &Observed<'_>, closed: &ConnectionClosed) {
        let _ = (connection, closed);
    }
}

/// The connection that an event is about.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Observed<'a> {
    /// A number that is unique within the process, to correlate the events of one connection. On
    /// 32-bit platforms, numbers are reused after 2^32.
    pub id: u64,
    /// The application's number for the connection, as set by
    /// [`set_observer_context`](crate::CommonState::set_observer_context), or 0.
    pub context: u64,
    /// This side of the connection.
    pub side: Side,
    /// The carrier of the TLS messages.
    pub carrier: Carrier,
    /// The server's name. On a client, this is the name or the address that the connection was
    /// created with. On a server, it is the name in the ClientHello, or `None` if the ClientHello
    /// has none or has not arrived.
    pub server_name: Option<&'a str>,
}

/// The layer below the handshake, which carries its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carrier {
    /// Records over a stream (RFC 9846 §5).
    Records,
    /// QUIC (RFC 9001).
    Quic,
}

impl From<carrier::HandshakeCarrier> for Carrier {
    fn from(carrier: carrier::HandshakeCarrier) -> Self {
        match carrier {
            carrier::HandshakeCarrier::Records => Self::Records,
            carrier::HandshakeCarrier::Quic(_) => Self::Quic,
        }
    }
}
