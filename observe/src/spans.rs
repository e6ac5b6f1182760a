//! The observer for the crate `tracing`.

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::ProtocolVersion;
use rustls::observer::{
    Alert, ConnectionClosed, ConnectionFailed, EarlyData, Fault, HandshakeFacts, KeysUpdated,
    Observed, Observer, SessionEvent, TicketEvent,
};
use tracing::field::Empty;
use tracing::{Span, debug, info, info_span, warn};

use crate::names::{KINDS, group, kind, scheme, suite};

/// The number of maps that hold spans. There are several so that threads rarely wait for each
/// other.
const SHARDS: usize = 16;

/// Reports the events of connections to the subscriber of the crate [`tracing`](::tracing).
///
/// # The span
///
/// Each handshake is one span, `tls.handshake`, with level `INFO`. It lasts from
/// [`handshake_begun`](Observer::handshake_begun) until the handshake finishes or fails. Its parent
/// is the span that is current when it begins. The observer holds one span for each handshake in
/// progress, unless the subscriber disables it. The span is never entered: its lifetime is the
/// duration of the handshake. The time that this side worked is in the field
/// `rustls.own_work_seconds`.
///
/// Field names follow OpenTelemetry's semantic conventions where these define one. Most fields that
/// start with `rustls.` are named after those of [`Observed`], [`HandshakeFacts`],
/// [`ConnectionFailed`] and [`Durations`](rustls::observer::Durations).
///
/// | field | value |
/// |---|---|
/// | `otel.kind`, `otel.status_code` | `client` or `server`; `error` if the handshake failed |
/// | `server.address` | the server's name; on a server, the name that the client requested |
/// | `tls.protocol.name`, `tls.protocol.version` | `tls`; `1.2` or `1.3` |
/// | `tls.cipher`, `tls.curve` | IANA's name of the suite; the group's name in `NamedGroup` |
/// | `tls.resumed` | true if a session was resumed |
/// | `tls.established` | true if the handshake finished |
/// | `tls.next_protocol` | the application protocol |
/// | `error.type` | the [label](rustls::Error::label) of the failure |
/// | `rustls.connection_id`, `rustls.context` | the library's and the application's number |
/// | `rustls.carrier`, `rustls.kind` | the same values as the labels of metrics |
/// | `rustls.server_signature`, `rustls.client_signature` | signature schemes |
/// | `rustls.not_resumed`, `rustls.early_data`, `rustls.early_data_rejected` | labels |
/// | `rustls.ech`, `rustls.client_certificate`, `rustls.peer_chain` | labels |
/// | `rustls.fault`, `rustls.alert_sent`, `rustls.alert_received` | set by a failure |
/// | `rustls.sent_bytes`, `rustls.received_bytes` | bytes until the handshake was over |
/// | `rustls.own_work_seconds`, `rustls.wait_seconds` | durations |
///
/// # Events
///
/// The calls other than [`handshake_begun`](Observer::handshake_begun) and
/// [`handshake_finished`](Observer::handshake_finished) are events. Each has the fields
/// `rustls.connection_id` and `rustls.context`, and most fields of its struct. During the
/// handshake, events belong to its span; afterwards, to the span that is current. Their level is
/// `DEBUG`, except for failures: `WARN` if the fault is [`Fault::Local`], `INFO` otherwise.
///
/// ```
/// use std::sync::Arc;
///
/// use rustls_observe::Tracing;
///
/// # fn configure(mut config: rustls::ServerConfig) {
/// config.observer = Some(Arc::new(Tracing::new()));
/// # }
/// ```
#[derive(Default)]
pub struct Tracing {
    /// The spans of handshakes in progress, by connection.
    spans: [Mutex<HashMap<u64, Arc<Span>>>; SHARDS],
}

impl Tracing {
    /// Creates an observer for the subscriber that is current when events happen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of handshakes whose spans are open.
    pub fn open_spans(&self) -> usize {
        let shards = self.spans.iter();
        shards.map(|shard| lock(shard).len()).sum()
    }

    fn shard(&self, id: u64) -> MutexGuard<'_, HashMap<u64, Arc<Span>>> {
        lock(&self.spans[id as usize % SHARDS])
    }

    /// Returns the span of the connection's handshake, or the current one. No lock is held while
    /// the subscriber is called, because it may open connections itself. The map holds `Arc`s,
    /// because cloning a `Span` would also call the subscriber.
    fn span(&self, connection: &Observed<'_>) -> Arc<Span> {
        let span = self.shard(connection.id).get(&connection.id).cloned();
        span.unwrap_or_else(current)
    }

    /// Removes the span of a handshake that is over.
    fn take(&self, connection: &Observed<'_>) -> Option<Arc<Span>> {
        self.shard(connection.id).remove(&connection.id)
    }
}

/// Returns the current span.
fn current() -> Arc<Span> {
    Arc::new(Span::current())
}

/// Locks `shard`. Ignores poisoning: a panic under the lock leaves the map usable.
fn lock(shard: &Mutex<HashMap<u64, Arc<Span>>>) -> MutexGuard<'_, HashMap<u64, Arc<Span>>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Tracing {
    fn handshake_begun(&self, connection: &Observed<'_>) {
        let span = info_span!(
            "tls.handshake",
            otel.kind = connection.side.label(),
            otel.status_code = Empty,
            server.address = connection.server_name,
            tls.protocol.name = "tls",
            tls.protocol.version = Empty,
            tls.cipher = Empty,
            tls.curve = Empty,
            tls.resumed = Empty,
            tls.established = Empty,
            tls.next_protocol = Empty,
            error.r#type = Empty,
            rustls.connection_id = connection.id,
            rustls.context = connection.context,
            rustls.carrier = connection.carrier.label(),
            rustls.kind = Empty,
            rustls.server_signature = Empty,
            rustls.client_signature = Empty,
            rustls.not_resumed = Empty,
            rustls.early_data = Empty,
            rustls.early_data_rejected = Empty,
            rustls.ech = Empty,
            rustls.client_certificate = Empty,
            rustls.peer_chain = Empty,
            rustls.fault = Empty,
            rustls.alert_sent = Empty,
            rustls.alert_received = Empty,
            rustls.sent_bytes = Empty,
            rustls.received_bytes = Empty,
            rustls.own_work_seconds = Empty,
            rustls.wait_seconds = Empty,
        );
        if !span.is_disabled() {
            // dropped after the lock is released
            let _replaced = self
                .shard(connection.id)
                .insert(connection.id, Arc::new(span));
        }
    }

    fn handshake_finished(&self, connection: &Observed<'_>, handshake: &HandshakeFacts<'_>) {
        if let Some(span) = self.take(connection) {
            span.record("tls.established", true);
            record(&span, connection, handshake);
        }
    }

    fn failed(&self, connection: &Observed<'_>, failure: &ConnectionFailed<'_>) {
        let span = self.take(connection);
        if let Some(span) = &span {
            span.record("tls.established", false);
            span.record("otel.status_code", "error");
            span.record("error.type", failure.label);
            span.record("rustls.fault", failure.fault.label());
            let (sent, received) = alerts(failure.alert);
            span.record("rustls.alert_sent", sent);
            span.record("rustls.alert_received", received);
            record(span, connection, &failure.handshake);
        }
        let parent = span.unwrap_or_else(current);
        let (alert_sent, alert_received) = alerts(failure.alert);
        let error = failure.error.map(tracing::field::display);
        let stage = match failure.during_handshake {
            true => "handshake",
            false => "traffic",
        };
        macro_rules! event {
            ($level:ident) => {
                $level!(
                    parent: &*parent,
                    rustls.connection_id = connection.id,
                    rustls.context = connection.context,
                    rustls.stage = stage,
                    rustls.fault = failure.fault.label(),
                    rustls.alert_sent = alert_sent,
                    rustls.alert_received = alert_received,
                    server.address = connection.server_name,
                    error.r#type = failure.label,
                    error.message = error,
                    "TLS connection failed"
                )
            };
        }
        match failure.fault {
            Fault::Local => event!(warn),
            _ => event!(info),
        }
    }

    fn keys_updated(&self, connection: &Observed<'_>, update: &KeysUpdated) {
        debug!(
            parent: &*self.span(connection),
            rustls.connection_id = connection.id,
            rustls.context = connection.context,
            rustls.direction = update.direction.label(),
            "TLS keys updated"
        );
    }

    fn ticket(&self, connection: &Observed<'_>, event: &TicketEvent) {
        debug!(
            parent: &*self.span(connection),
            rustls.connection_id = connection.id,
            rustls.context = connection.context,
            rustls.action = event.action.label(),
            rustls.reason = event.reason.map(|reason| reason.label()),
            "TLS session ticket"
        );
    }

    fn session(&self, connection: &Observed<'_>, event: &SessionEvent) {
        debug!(
            parent: &*self.span(connection),
            rustls.connection_id = connection.id,
            rustls.context = connection.context,
            rustls.is_stored = event.is_stored,
            "TLS session"
        );
    }

    fn closed(&self, connection: &Observed<'_>, closed: &ConnectionClosed) {
        let parent = self.take(connection).unwrap_or_else(current);
        debug!(
            parent: &*parent,
            rustls.connection_id = connection.id,
            rustls.context = connection.context,
            rustls.end = closed.end.label(),
            rustls.sent_bytes = closed.sent.bytes,
            rustls.sent_records = closed.sent.records,
            rustls.received_bytes = closed.received.bytes,
            rustls.received_records = closed.received.records,
            rustls.age_seconds = closed.age.map(|age| age.as_secs_f64()),
            "TLS connection closed"
        );
    }
}

/// Records the facts of a handshake that is over.
fn record(span: &Span, connection: &Observed<'_>, facts: &HandshakeFacts<'_>) {
    // a server may learn the name, and an application may set its number, after the span was
    // created
    span.record("server.address", connection.server_name);
    span.record("rustls.context", connection.context);
    let version = match facts.version {
        Some(ProtocolVersion::TLSv1_2) => Some("1.2"),
        Some(ProtocolVersion::TLSv1_3) => Some("1.3"),
        _ => None,
    };
    span.record("tls.protocol.version", version);
    span.record("tls.cipher", facts.cipher_suite.map(suite));
    span.record("tls.curve", facts.group.map(group));
    let protocol = facts.alpn_protocol.map(String::from_utf8_lossy);
    span.record("tls.next_protocol", protocol.as_deref());
    if facts.kind.is_some() {
        let kind = KINDS[kind(facts)];
        span.record("tls.resumed", kind.starts_with("resumed"));
        span.record("rustls.kind", kind);
    }
    span.record(
        "rustls.server_signature",
        facts.server_signature.map(scheme),
    );
    span.record(
        "rustls.client_signature",
        facts.client_signature.map(scheme),
    );
    let not_resumed = facts.not_resumed.map(|reason| reason.label());
    span.record("rustls.not_resumed", not_resumed);
    span.record("rustls.early_data", facts.early_data.label());
    if let EarlyData::Rejected(reason) = facts.early_data {
        span.record("rustls.early_data_rejected", reason.label());
    }
    span.record("rustls.ech", facts.ech.label());
    span.record(
        "rustls.client_certificate",
        facts.client_certificate.label(),
    );
    span.record("rustls.peer_chain", facts.peer_chain.label());
    span.record("rustls.sent_bytes", facts.sent.bytes);
    span.record("rustls.received_bytes", facts.received.bytes);
    if let Some(times) = &facts.durations {
        span.record("rustls.own_work_seconds", times.own_work.as_secs_f64());
        let waits: Duration = times.waits().map(|(_, wait)| wait).sum();
        span.record("rustls.wait_seconds", waits.as_secs_f64());
    }
}

/// Returns the names of the alerts sent and received.
fn alerts(alert: Option<Alert>) -> (Option<&'static str>, Option<&'static str>) {
    match alert {
        Some(Alert::Sent(sent)) => (Some(sent.label()), None),
        Some(Alert::Received(received)) => (None, Some(received.label())),
        _ => (None, None),
    }
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracing")
            .field("open_spans", &self.open_spans())
            .finish()
    }
}
