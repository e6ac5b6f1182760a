//! An observer that keeps the events of each connection, and checks the rules that hold for all of
//! them: their order and number, and what they say together.
//!
//! With the environment variable `HARNESS_OBSERVER=checks`, all configurations that this package
//! creates for this crate have such an observer, and a broken rule ends the process. So any test
//! also tests the observer.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustls::client::EchStatus;
use rustls::observer::{
    Alert, Carrier, ClientCertificate, ConnectionClosed, ConnectionFailed, Durations, EarlyData,
    End, Fault, HandshakeFacts, KeysUpdated, NotResumed, Observed, Observer, PeerChainCheck,
    SessionEvent, SessionSource, TicketAction, TicketEvent, Traffic,
};
use rustls::{
    CipherSuite, Error, HandshakeKind, NamedGroup, ProtocolVersion, Side, SignatureScheme,
};

/// An event, and the connection as the event describes it.
#[derive(Clone, Debug)]
pub struct Event {
    pub of: Of,
    pub what: What,
}

/// The connection of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Of {
    pub id: u64,
    pub context: u64,
    pub side: Side,
    pub carrier: Carrier,
    pub server_name: Option<String>,
}

#[derive(Clone, Debug)]
pub enum What {
    Begun,
    Finished(Facts),
    Failed(Failed),
    KeysUpdated(KeysUpdated),
    Ticket(TicketEvent),
    Session(SessionEvent),
    Closed(ConnectionClosed),
}

/// Owned [`HandshakeFacts`].
#[derive(Clone, Debug)]
pub struct Facts {
    pub version: Option<ProtocolVersion>,
    pub cipher_suite: Option<CipherSuite>,
    pub group: Option<NamedGroup>,
    pub server_signature: Option<SignatureScheme>,
    pub client_signature: Option<SignatureScheme>,
    pub kind: Option<HandshakeKind>,
    pub resumed_from: Option<SessionSource>,
    pub not_resumed: Option<NotResumed>,
    pub early_data: EarlyData,
    pub ech: EchStatus,
    pub alpn_protocol: Option<Vec<u8>>,
    pub client_certificate: ClientCertificate,
    pub peer_chain: PeerChainCheck,
    pub durations: Durations,
    pub sent: Traffic,
    pub received: Traffic,
}

impl From<&HandshakeFacts<'_>> for Facts {
    fn from(facts: &HandshakeFacts<'_>) -> Self {
        Self {
            version: facts.version,
            cipher_suite: facts.cipher_suite,
            group: facts.group,
            server_signature: facts.server_signature,
            client_signature: facts.client_signature,
            kind: facts.kind,
            resumed_from: facts.resumed_from,
            not_resumed: facts.not_resumed,
            early_data: facts.early_data,
            ech: facts.ech,
            alpn_protocol: facts.alpn_protocol.map(<[u8]>::to_vec),
            client_certificate: facts.client_certificate,
            peer_chain: facts.peer_chain,
            durations: facts.durations.expect("there is a clock"),
            sent: facts.sent,
            received: facts.received,
        }
    }
}

/// An owned [`ConnectionFailed`].
#[derive(Clone, Debug)]
pub struct Failed {
    pub handshake: Facts,
    pub during_handshake: bool,
    pub error: Option<Error>,
    pub label: &'static str,
    pub fault: Fault,
    pub alert: Option<Alert>,
}

impl fmt::Display for Event {
    /// Prints the event without numbers and times.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Begun => f.write_str("begun"),
            What::Finished(facts) => {
                write!(f, "finished")?;
                facts.kind.map_or(Ok(()), |kind| write!(f, " {kind:?}"))
            }
            What::Failed(failed) => {
                let stage = match failed.during_handshake {
                    true => "in handshake",
                    false => "later",
                };
                write!(
                    f,
                    "failed {stage}: {} {}",
                    failed.label,
                    failed.fault.label()
                )?;
                match failed.alert {
                    Some(Alert::Sent(alert)) => write!(f, ", sent {alert:?}"),
                    Some(Alert::Received(alert)) => write!(f, ", received {alert:?}"),
                    _ => Ok(()),
                }
            }
            What::KeysUpdated(update) => write!(f, "keys {}", update.direction.label()),
            What::Ticket(event) => {
                write!(f, "ticket {}", event.action.label())?;
                let reason = event.reason.map(NotResumed::label);
                reason.map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            What::Session(event) => f.write_str(match event.is_stored {
                true => "session stored",
                false => "session not stored",
            }),
            What::Closed(closed) => write!(f, "closed {}", closed.end.label()),
        }
    }
}

/// Prints events in a line.
pub fn lines(events: &[Event]) -> String {
    let lines: Vec<_> = events.iter().map(Event::to_string).collect();
    lines.join("; ")
}

/// The maximum number of events kept for a connection. Its last one is kept in any case.
const MOST: usize = 1000;

/// The observer.
#[derive(Default)]
pub struct Events {
    connections: Mutex<BTreeMap<u64, Vec<Event>>>,
    /// True if a broken rule ends the process, and connections are forgotten once closed.
    is_strict: bool,
    broken: Mutex<Vec<String>>,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Events {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Takes the events of all connections, which must be closed.
    ///
    /// # Panics
    ///
    /// Panics if a connection is not closed, or a rule was broken.
    #[track_caller]
    pub fn take(&self) -> Vec<Vec<Event>> {
        let connections = std::mem::take(&mut *lock(&self.connections));
        let connections: Vec<_> = connections.into_values().collect();
        self.check_rules();
        for events in &connections {
            let last = events.last().map(|event| &event.what);
            assert!(matches!(last, Some(What::Closed(_))), "{events:#?}");
        }
        connections
    }

    /// Takes the events of the only connection, which must be closed.
    ///
    /// # Panics
    ///
    /// Panics if there is not exactly one closed connection, or a rule was broken.
    #[track_caller]
    pub fn take_one(&self) -> Vec<Event> {
        let mut connections = self.take();
        assert_eq!(connections.len(), 1, "{connections:#?}");
        connections.remove(0)
    }

    /// Returns the events of the only connection so far.
    ///
    /// # Panics
    ///
    /// Panics if there are several, or a rule was broken.
    #[track_caller]
    pub fn so_far(&self) -> Vec<Event> {
        self.check_rules();
        let connections = lock(&self.connections);
        assert!(connections.len() <= 1, "{connections:#?}");
        connections.values().flatten().cloned().collect()
    }

    /// # Panics
    ///
    /// Panics if a rule was broken.
    #[track_caller]
    pub fn check_rules(&self) {
        let broken = std::mem::take(&mut *lock(&self.broken));
        assert!(broken.is_empty(), "{broken:#?}");
    }

    fn push(&self, observed: &Observed<'_>, what: What) {
        let event = Event {
            of: Of {
                id: observed.id,
                context: observed.context,
                side: observed.side,
                carrier: observed.carrier,
                server_name: observed.server_name.map(str::to_owned),
            },
            what,
        };
        let mut connections = lock(&self.connections);
        let events = connections.entry(event.of.id).or_default();
        if let Err(rule) = check(events, &event) {
            let broken = format!("{rule}: {event:?} after {events:?}");
            if self.is_strict {
                // a panic might be caught, or be what a test expects
                let _ = writeln!(std::io::stderr(), "an observer's rule is broken: {broken}");
                std::process::exit(101);
            }
            lock(&self.broken).push(broken);
        }
        let is_closed = matches!(event.what, What::Closed(_));
        if self.is_strict && is_closed {
            let id = event.of.id;
            connections.remove(&id);
        } else if events.len() < MOST || is_closed {
            events.push(event);
        }
    }
}

impl Observer for Events {
    fn handshake_begun(&self, connection: &Observed<'_>) {
        self.push(connection, What::Begun);
    }

    fn handshake_finished(&self, connection: &Observed<'_>, handshake: &HandshakeFacts<'_>) {
        self.push(connection, What::Finished(handshake.into()));
    }

    fn failed(&self, connection: &Observed<'_>, failure: &ConnectionFailed<'_>) {
        let failed = Failed {
            handshake: (&failure.handshake).into(),
            during_handshake: failure.during_handshake,
            error: failure.error.cloned(),
            label: failure.label,
            fault: failure.fault,
            alert: failure.alert,
        };
        self.push(connection, What::Failed(failed));
    }

    fn keys_updated(&self, connection: &Observed<'_>, update: &KeysUpdated) {
        self.push(connection, What::KeysUpdated(*update));
    }

    fn ticket(&self, connection: &Observed<'_>, event: &TicketEvent) {
        self.push(connection, What::Ticket(*event));
    }

    fn session(&self, connection: &Observed<'_>, event: &SessionEvent) {
        self.push(connection, What::Session(*event));
    }

    fn closed(&self, connection: &Observed<'_>, closed: &ConnectionClosed) {
        self.push(connection, What::Closed(*closed));
    }
}

/// Checks `event` of a connection that had the events `before`.
///
/// # Errors
///
/// Returns the rule that it breaks.
fn check(before: &[Event], event: &Event) -> Result<(), &'static str> {
    let rule = |holds: bool, rule| if holds { Ok(()) } else { Err(rule) };
    let of = &event.of;
    let Some(first) = before.first() else {
        return rule(
            matches!(event.what, What::Begun),
            "the first event is `begun`",
        );
    };
    rule(
        (first.of.side, first.of.carrier) == (of.side, of.carrier),
        "a connection does not change its side or carrier",
    )?;
    rule(
        first.of.server_name.is_none() || first.of.server_name == of.server_name,
        "a server name does not change",
    )?;
    let finished = before.iter().find_map(|event| match &event.what {
        What::Finished(facts) => Some(facts),
        _ => None,
    });
    let failed = before.iter().find_map(|event| match &event.what {
        What::Failed(failed) => Some(failed),
        _ => None,
    });
    let is_closed = |event: &Event| matches!(event.what, What::Closed(_));
    rule(!before.iter().any(is_closed), "`closed` is the last event")?;
    match &event.what {
        What::Begun => Err("a handshake begins once"),
        What::Finished(facts) => {
            rule(
                finished.is_none() && failed.is_none(),
                "a handshake finishes or fails once",
            )?;
            check_finished(facts, of)
        }
        What::Failed(now) => {
            rule(failed.is_none(), "a connection fails once")?;
            rule(
                now.during_handshake == finished.is_none(),
                "a failure is later than the handshake if that has finished",
            )?;
            if let Some(facts) = finished {
                rule(
                    is_more(facts, now.handshake.sent, now.handshake.received),
                    "the traffic does not shrink",
                )?;
            }
            check_durations(&now.handshake)?;
            check_failed(now)
        }
        What::KeysUpdated(_) => rule(
            finished.is_some() && of.carrier == Carrier::Records,
            "keys are updated after the handshake",
        ),
        What::Ticket(ticket) => {
            let side = match ticket.action {
                TicketAction::Received => Side::Client,
                _ => Side::Server,
            };
            rule(of.side == side, "a server makes and refuses tickets")?;
            let is_refused = ticket.action == TicketAction::Refused;
            rule(
                is_refused == ticket.reason.is_some(),
                "only a refused ticket has a reason",
            )
        }
        What::Session(_) => Ok(()),
        What::Closed(closed) => {
            rule(
                finished.is_some() || failed.is_some(),
                "a handshake has finished or failed before the end",
            )?;
            if let Some(failed) = failed {
                rule(
                    failed.error.is_none() || closed.end == End::Failed,
                    "a connection with an error ends as failed",
                )?;
            }
            let ended_by_error = failed.is_some_and(|failed| failed.error.is_some());
            rule(
                ended_by_error || closed.end != End::Failed,
                "an error is reported before the end",
            )?;
            let is_clean = closed.close_notify_sent || closed.close_notify_received;
            rule(
                is_clean || closed.end != End::Clean,
                "a close_notify makes a clean end",
            )?;
            if let Some(facts) = finished {
                rule(
                    is_more(facts, closed.sent, closed.received),
                    "the traffic does not shrink",
                )?;
            }
            rule(closed.age.is_some(), "there is a clock")
        }
    }
}

fn is_more(facts: &Facts, sent: Traffic, received: Traffic) -> bool {
    let is_more = |a: Traffic, b: Traffic| a.records <= b.records && a.bytes <= b.bytes;
    is_more(facts.sent, sent) && is_more(facts.received, received)
}

fn check_finished(facts: &Facts, of: &Of) -> Result<(), &'static str> {
    let rule = |holds: bool, rule| if holds { Ok(()) } else { Err(rule) };
    let is_resumed = facts.kind == Some(HandshakeKind::Resumed);
    let is_tls13 = facts.version == Some(ProtocolVersion::TLSv1_3);
    rule(
        facts.version.is_some() && facts.cipher_suite.is_some() && facts.kind.is_some(),
        "version, suite and kind of a finished handshake are known",
    )?;
    rule(
        facts.group.is_some() == (is_tls13 || !is_resumed),
        "a key exchange has a group",
    )?;
    rule(
        facts.server_signature.is_some() != is_resumed,
        "a server signs unless a session is resumed",
    )?;
    rule(
        facts.client_signature.is_some() == (facts.client_certificate == ClientCertificate::Sent),
        "a client with a certificate signs",
    )?;
    rule(
        !is_resumed || facts.client_certificate == ClientCertificate::NotRequested,
        "a resumed handshake has no certificates",
    )?;
    rule(
        facts.resumed_from.is_some() == is_resumed,
        "a resumed session has a source",
    )?;
    rule(
        !is_resumed || facts.not_resumed.is_none(),
        "a resumed session has no reason",
    )?;
    let has_chain = match of.side {
        Side::Client => !is_resumed,
        Side::Server => facts.client_certificate == ClientCertificate::Sent,
    };
    rule(
        has_chain == (facts.peer_chain != PeerChainCheck::None),
        "the peer's chain is verified or known",
    )?;
    rule(
        facts.early_data != EarlyData::Offered,
        "early data is accepted or rejected in the end",
    )?;
    rule(
        facts.early_data != EarlyData::Accepted || is_resumed,
        "early data belongs to a resumed session",
    )?;
    let is_some = |traffic: Traffic| traffic.bytes != 0;
    rule(
        is_some(facts.sent) && is_some(facts.received),
        "a handshake sends and receives",
    )?;
    check_durations(facts)
}

/// Checks the durations as far as that is possible without a clock.
fn check_durations(facts: &Facts) -> Result<(), &'static str> {
    let Durations {
        whole, own_work, ..
    } = facts.durations;
    match own_work + waits(&facts.durations) <= whole {
        true => Ok(()),
        false => Err("work and waits are parts of the whole"),
    }
}

/// Returns the time of all waits.
pub fn waits(durations: &Durations) -> std::time::Duration {
    durations.waits().map(|(_, wait)| wait).sum()
}

fn check_failed(failed: &Failed) -> Result<(), &'static str> {
    let rule = |holds: bool, rule| if holds { Ok(()) } else { Err(rule) };
    let Some(error) = &failed.error else {
        rule(
            failed.during_handshake,
            "only an unfinished handshake fails without an error",
        )?;
        return rule(
            matches!(
                (failed.label, failed.fault),
                ("end_of_stream", Fault::Network) | ("dropped", Fault::Application)
            ),
            "an unfinished handshake has a label",
        );
    };
    rule(failed.label == error.label(), "the label is the error's")?;
    let is_received = matches!(failed.alert, Some(Alert::Received(_)));
    let expected = match error {
        Error::AlertReceived(alert) => Some(Alert::Received(*alert)),
        _ => failed.alert.filter(|_| !is_received),
    };
    rule(failed.alert == expected, "a received alert is the error")?;
    let is_others = matches!(
        failed.fault,
        Fault::Peer | Fault::Local | Fault::Application
    );
    rule(is_others, "an error is not the network's fault")
}

/// Returns the observer of all connections of this process, if their rules should be checked.
pub fn events_of_process() -> Option<Arc<dyn Observer>> {
    static EVENTS: OnceLock<Option<Arc<Events>>> = OnceLock::new();
    let events = EVENTS.get_or_init(|| {
        let wanted = std::env::var("HARNESS_OBSERVER").ok()?;
        assert_eq!(wanted, "checks");
        Some(Arc::new(Events {
            is_strict: true,
            ..Events::default()
        }))
    });
    events.clone().map(|events| events as Arc<dyn Observer>)
}
