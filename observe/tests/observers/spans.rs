//! `Tracing`: one span for each handshake, recorded by a subscriber that keeps everything.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use harness::peers::configs::{ClientAuth, Versions};
use harness::peers::endpoints::Endpoint;
use rustls_observe::Tracing;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::kit::{Configs, cases, distrusting, label, name};

type Fields = BTreeMap<String, String>;

/// A span or an event.
#[derive(Clone, Debug, Default)]
struct Item {
    /// The name of the span, or the message of the event.
    name: String,
    level: String,
    fields: Fields,
    /// The name of the span around it.
    parent: Option<String>,
    is_closed: bool,
}

/// Records the spans and the events of one thread.
#[derive(Clone, Default)]
struct Capture {
    spans: Arc<Mutex<BTreeMap<u64, Item>>>,
    events: Arc<Mutex<Vec<Item>>>,
}

struct Visitor<'a>(&'a mut Fields);

impl tracing::field::Visit for Visitor<'_> {
    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Capture {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut span = Item {
            name: attributes.metadata().name().to_owned(),
            level: attributes.metadata().level().to_string(),
            parent: context
                .span(id)
                .unwrap()
                .parent()
                .map(|it| it.name().to_owned()),
            ..Item::default()
        };
        attributes.record(&mut Visitor(&mut span.fields));
        self.spans.lock().unwrap().insert(id.into_u64(), span);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut spans = self.spans.lock().unwrap();
        let span = spans.get_mut(&id.into_u64()).unwrap();
        values.record(&mut Visitor(&mut span.fields));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut item = Item {
            level: event.metadata().level().to_string(),
            parent: context.event_span(event).map(|it| it.name().to_owned()),
            ..Item::default()
        };
        event.record(&mut Visitor(&mut item.fields));
        item.name = item.fields.remove("message").unwrap();
        self.events.lock().unwrap().push(item);
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let mut spans = self.spans.lock().unwrap();
        spans.get_mut(&id.into_u64()).unwrap().is_closed = true;
    }
}

/// The spans and events of a test.
struct Captured {
    spans: Vec<Item>,
    events: Vec<Item>,
}

impl Captured {
    /// Returns the span of the only handshake on this side.
    fn handshake(&self, side: &str) -> &Item {
        let mut spans = self
            .spans
            .iter()
            .filter(|span| span.name == "tls.handshake" && span.fields["otel.kind"] == side);
        let span = spans.next().unwrap();
        assert!(spans.next().is_none());
        span
    }

    fn events<'a>(&'a self, of: &'a Item) -> impl Iterator<Item = &'a Item> {
        let id = &of.fields["rustls.connection_id"];
        let events = self.events.iter();
        events.filter(move |event| event.fields["rustls.connection_id"] == *id)
    }
}

/// Runs `test` in a span named `test`. Returns the spans and events that its observer creates.
fn capture(test: impl FnOnce(&Arc<Tracing>)) -> Captured {
    let capture = Capture::default();
    let subscriber = Registry::default().with(capture.clone());
    let tracing = Arc::new(Tracing::new());
    tracing::subscriber::with_default(subscriber, || {
        tracing::info_span!("test").in_scope(|| test(&tracing));
    });
    assert_eq!(tracing.open_spans(), 0);
    let spans: Vec<_> = capture.spans.lock().unwrap().values().cloned().collect();
    // a span is closed once nothing holds it
    assert!(spans.iter().all(|span| span.is_closed), "{spans:?}");
    let events = capture.events.lock().unwrap().clone();
    Captured { spans, events }
}

#[test]
fn a_finished_handshake_is_a_span_with_its_facts() {
    for (provider, versions) in cases() {
        let captured = capture(|tracing| {
            let configs = Configs::new(provider, versions, ClientAuth::Required);
            configs.observed_by(tracing.clone(), tracing.clone()).talk();
        });
        let suite = match versions {
            Versions::Tls12 => "TLS_ECDHE_ECDSA_WITH_",
            _ => "TLS_AES_",
        };
        for side in ["client", "server"] {
            let span = captured.handshake(side);
            let field = |name: &str| span.fields[name].as_str();
            assert_eq!(span.level, "INFO");
            assert_eq!(span.parent.as_deref(), Some("test"));
            assert_eq!(field("server.address"), name());
            assert_eq!(field("tls.protocol.name"), "tls");
            assert_eq!(field("tls.protocol.version"), label(versions));
            assert!(field("tls.cipher").starts_with(suite), "{span:?}");
            assert!(field("tls.curve").contains("25519"), "{span:?}");
            assert_eq!(field("tls.resumed"), "false");
            assert_eq!(field("tls.established"), "true");
            assert_eq!(field("tls.next_protocol"), "http/1.1");
            assert_eq!(field("rustls.carrier"), "records");
            assert_eq!(field("rustls.kind"), "full");
            assert_eq!(field("rustls.ech"), "not_offered");
            assert_eq!(field("rustls.early_data"), "not_offered");
            for bytes in ["rustls.sent_bytes", "rustls.received_bytes"] {
                assert!(field(bytes).parse::<u64>().unwrap() > 500, "{span:?}");
            }
            assert!(field("rustls.own_work_seconds").parse::<f64>().unwrap() > 0.0);
            assert_eq!(field("rustls.wait_seconds"), "0.0");
            for unknown in ["error.type", "otel.status_code", "rustls.fault"] {
                assert!(!span.fields.contains_key(unknown), "{span:?}");
            }
        }
    }
}

#[test]
fn signatures_and_certificates_are_fields_of_a_full_handshake() {
    for (provider, versions) in cases() {
        let captured = capture(|tracing| {
            let configs = Configs::new(provider, versions, ClientAuth::Required);
            configs.observed_by(tracing.clone(), tracing.clone()).talk();
        });
        for side in ["client", "server"] {
            let span = captured.handshake(side);
            for signature in ["rustls.server_signature", "rustls.client_signature"] {
                assert_eq!(span.fields[signature], "ECDSA_NISTP256_SHA256");
            }
            assert_eq!(span.fields["rustls.client_certificate"], "sent");
            assert_eq!(span.fields["rustls.peer_chain"], "verified");
        }
    }
}

#[test]
fn spans_and_events_carry_the_applications_number() {
    for (provider, versions) in cases() {
        let captured = capture(|tracing| {
            let configs = Configs::new(provider, versions, ClientAuth::None);
            let configs = configs.observed_by(tracing.clone(), tracing.clone());
            let mut pair = configs.connect();
            pair.client.conn.set_observer_context(7);
            pair.server.conn.set_observer_context(8);
            pair.handshake();
            pair.close();
        });
        for (side, context) in [("client", "7"), ("server", "8")] {
            let span = captured.handshake(side);
            assert_eq!(span.fields["rustls.context"], context);
            for event in captured.events(span) {
                assert_eq!(event.fields["rustls.context"], context, "{event:?}");
            }
        }
    }
}

#[test]
fn events_after_the_handshake_are_in_the_current_span() {
    for (provider, versions) in cases() {
        let captured = capture(|tracing| {
            let configs = Configs::new(provider, versions, ClientAuth::None);
            let configs = configs.observed_by(tracing.clone(), tracing.clone());
            configs.talk();
        });
        for side in ["client", "server"] {
            let span = captured.handshake(side);
            let events: Vec<_> = captured.events(span).collect();
            let closed = events.last().unwrap();
            assert_eq!(closed.name, "TLS connection closed");
            assert_eq!(closed.level, "DEBUG");
            assert_eq!(closed.fields["rustls.end"], "clean");
            assert_ne!(closed.fields["rustls.sent_bytes"], "0");
            assert_eq!(closed.parent.as_deref(), Some("test"));
            assert!(
                events.iter().any(|it| it.name == "TLS session ticket"),
                "{side}"
            );
        }
    }
}

#[test]
fn a_failed_handshake_is_a_span_with_an_error() {
    for (provider, versions) in cases() {
        let captured = capture(|tracing| {
            let configs = Configs::new(provider, versions, ClientAuth::None);
            let configs = configs.observed_by(tracing.clone(), tracing.clone());
            let mut pair = distrusting(configs, provider, versions).connect();
            pair.exchange().unwrap_err();
            let alert = pair.client.take_output();
            pair.server.receive(&alert).unwrap_err();
        });
        let expected = [
            (
                "client",
                "invalid_certificate.unknown_issuer",
                "rustls.alert_sent",
            ),
            (
                "server",
                "alert_received.unknown_ca",
                "rustls.alert_received",
            ),
        ];
        for (side, label, alert) in expected {
            let span = captured.handshake(side);
            let event = captured
                .events(span)
                .find(|it| it.name == "TLS connection failed");
            let event = event.unwrap();
            assert_eq!(event.level, "INFO");
            assert_eq!(event.parent.as_deref(), Some("tls.handshake"));
            assert_eq!(event.fields["rustls.stage"], "handshake");
            assert!(!event.fields["error.message"].is_empty());
            for fields in [&span.fields, &event.fields] {
                assert_eq!(fields["error.type"], label);
                assert_eq!(fields["rustls.fault"], "peer");
                assert_eq!(fields[alert], "unknown_ca");
                assert_eq!(fields["server.address"], name());
            }
            assert_eq!(span.fields["tls.established"], "false");
            assert_eq!(span.fields["otel.status_code"], "error");
        }
    }
}

#[test]
fn a_dropped_handshake_leaves_no_span() {
    for (provider, versions) in cases() {
        let captured = capture(|tracing| {
            let configs = Configs::new(provider, versions, ClientAuth::None);
            let configs = configs.observed_by(tracing.clone(), tracing.clone());
            let mut pairs: Vec<_> = (0..50).map(|_| configs.connect()).collect();
            for pair in &mut pairs {
                let hello = pair.client.take_output();
                pair.server.receive(&hello).unwrap();
            }
            assert_eq!(tracing.open_spans(), 100);
            drop(pairs);
            assert_eq!(tracing.open_spans(), 0);
        });
        let labels = captured.spans.iter().filter(|span| span.name != "test");
        let labels: Vec<_> = labels.map(|span| &span.fields["error.type"]).collect();
        assert_eq!(labels, ["dropped"; 100]);
    }
}

#[test]
fn no_span_is_kept_without_a_subscriber() {
    let (provider, versions) = cases().next().unwrap();
    let tracing = Arc::new(Tracing::new());
    let configs = Configs::new(provider, versions, ClientAuth::None);
    let configs = configs.observed_by(tracing.clone(), tracing.clone());
    drop(configs.connect());
    configs.talk();
    assert_eq!(tracing.open_spans(), 0);
}

#[test]
fn a_refused_ticket_is_an_event_of_the_handshake() {
    for (provider, versions) in cases() {
        let captured = capture(|tracing| {
            let mut configs = Configs::new(provider, versions, ClientAuth::None);
            configs.talk();
            configs.server.ticketer = provider.this_ticketer();
            configs.observed_by(tracing.clone(), tracing.clone()).talk();
        });
        let span = captured.handshake("server");
        let mut events = captured.events(span);
        let refused = events.find(|it| {
            it.fields
                .get("rustls.action")
                .is_some_and(|it| it == "refused")
        });
        let refused = refused.unwrap();
        assert_eq!(refused.parent.as_deref(), Some("tls.handshake"));
        assert_eq!(refused.fields["rustls.reason"], "unreadable_ticket");
        assert_eq!(span.fields["rustls.not_resumed"], "unreadable_ticket");
    }
}

/// A subscriber that calls the observer back from each of its methods, as one does that opens
/// connections itself.
struct CallsBack {
    registry: Registry,
    tracing: Arc<Tracing>,
}

impl CallsBack {
    fn registry(&self) -> &Registry {
        // takes all locks
        self.tracing.open_spans();
        &self.registry
    }
}

impl Subscriber for CallsBack {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.registry().enabled(metadata)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.registry().new_span(span)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.registry().record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.registry().record_follows_from(span, follows);
    }

    fn event(&self, event: &Event<'_>) {
        self.registry().event(event);
    }

    fn enter(&self, span: &Id) {
        self.registry().enter(span);
    }

    fn exit(&self, span: &Id) {
        self.registry().exit(span);
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.registry().clone_span(id)
    }

    fn try_close(&self, id: Id) -> bool {
        self.registry().try_close(id)
    }
}

#[test]
fn a_subscriber_may_call_the_observer() {
    for (provider, versions) in cases() {
        let tracing = Arc::new(Tracing::new());
        let subscriber = CallsBack {
            registry: Registry::default(),
            tracing: tracing.clone(),
        };
        tracing::subscriber::with_default(subscriber, || {
            let mut configs = Configs::new(provider, versions, ClientAuth::None);
            configs.server.ticketer = provider.this_ticketer();
            configs.talk();
            // the ticket is refused, which is an event of the handshake
            configs.server.ticketer = provider.this_ticketer();
            configs.observed_by(tracing.clone(), tracing.clone()).talk();
        });
        assert_eq!(tracing.open_spans(), 0);
    }
}
