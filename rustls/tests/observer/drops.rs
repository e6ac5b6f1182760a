//! Connections that are dropped at any step, also by a panic, and observers that panic themselves.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use harness::peers::configs::{ClientAuth, PROVIDERS, Provider, Versions, product, product3};
use harness::peers::endpoints::{Endpoint, handshake};
use harness::peers::events::Events;
use harness::peers::roles::{ROLES, Role};
use harness::verifiers::this::Verifier;
use rustls::observer::{
    ConnectionClosed, ConnectionFailed, End, HandshakeFacts, KeysUpdated, Observed, Observer,
    SessionEvent, TicketEvent,
};

use super::pairs::{Api, Pair, RECORDS, Wire, closed, failed, lines};
use super::reasons::rebuild;

/// Moves at most `flights` flights, the first of which is the client's. Returns false if nothing
/// was left to move.
fn step([client, server]: &mut [Wire; 2], flights: usize) -> bool {
    for flight in 0..flights {
        let (from, to): (&mut Wire, &mut Wire) = match flight % 2 {
            0 => (&mut *client, &mut *server),
            _ => (&mut *server, &mut *client),
        };
        let bytes = from.take_output();
        if bytes.is_empty() {
            return false;
        }
        to.receive(&bytes).unwrap();
    }
    true
}

#[test]
fn a_connection_dropped_in_its_handshake_is_reported_as_failed() {
    let apis = [&RECORDS[..], &[Api::Quic]].concat();
    for ((provider, versions), api) in product(product(PROVIDERS, Versions::EACH), apis) {
        if api == Api::Quic && versions == Versions::Tls12 {
            continue;
        }
        let pair = Pair::of(provider, versions);
        for flights in 0.. {
            let mut ends = pair.ends([api; 2]);
            let goes_on = step(&mut ends, flights);
            let handshaking = ends.each_ref().map(|end| end.is_handshaking());
            drop(ends);
            let events = [pair.of_client.take_one(), pair.of_server.take_one()];
            for (events, is_handshaking) in events.iter().zip(handshaking) {
                assert_eq!(failed(events).is_some(), is_handshaking);
                if is_handshaking {
                    let expected = "failed in handshake: dropped application; closed dropped";
                    assert!(lines(events).ends_with(expected), "{}", lines(events));
                }
            }
            if !goes_on {
                break;
            }
        }
    }
}

/// The payload of planned panics.
struct Planned;

fn panics() {
    // without the message that `panic!` prints
    resume_unwind(Box::new(Planned));
}

#[track_caller]
fn expect_panic<T>(call: impl FnOnce() -> T) {
    let panic = catch_unwind(AssertUnwindSafe(call)).err();
    assert!(panic.expect("a panic").is::<Planned>());
}

/// Connections on the stack of a panic report their end.
#[test]
fn a_panic_of_the_application_drops_connections_as_usual() {
    for (versions, flights) in product(Versions::EACH, 0..5) {
        let pair = Pair::of(Provider::AwsLc, versions);
        let mut ends = pair.ends([Api::Buffered; 2]);
        step(&mut ends, flights);
        expect_panic(move || {
            let _ends = ends;
            panics();
        });
        let _ = (pair.of_client.take_one(), pair.of_server.take_one());
    }
}

/// A synchronous callback panics. The failure is reported once the connection is dropped.
#[test]
fn a_panic_in_a_verifier_is_reported_as_the_applications_fault() {
    let apis = [Api::Buffered, Api::Unbuffered, Api::Accepted, Api::Quic];
    let cases = product3(PROVIDERS, Versions::EACH, apis);
    for ((provider, versions, api), role) in product(cases, ROLES) {
        if api == Api::Quic && versions == Versions::Tls12 {
            continue;
        }
        let crypto = provider.this();
        let verifier = Verifier::checking_signatures(crypto.signature_verification_algorithms)
            .with_certificates(|_| {
                panics();
                Ok(())
            });
        let verifier = Arc::new(verifier);
        let auth = ClientAuth::Required;
        let pair = Pair::with(provider, versions, auth, |client, server| match role {
            Role::Client => client.dangerous().set_certificate_verifier(verifier),
            Role::Server => rebuild(server, crypto, versions, verifier),
        });
        let mut ends = pair.ends([api; 2]);
        expect_panic(|| while step(&mut ends, 2) {});
        drop(ends);
        let events = [pair.of_client.take_one(), pair.of_server.take_one()];
        let lines = lines(&events[role as usize]);
        let expected = match api {
            Api::Quic => {
                "failed in handshake: general application, sent InternalError; closed failed"
            }
            _ => "failed in handshake: general application; closed failed",
        };
        assert!(lines.ends_with(expected), "{lines}");
    }
}

/// An observer that keeps events like [`Events`], and then panics in the methods of a set.
#[derive(Debug)]
struct Panicking {
    events: Arc<Events>,
    /// A bit for each method.
    methods: AtomicUsize,
    count: AtomicUsize,
}

const METHODS: usize = 7;

impl Panicking {
    fn new(methods: usize) -> Arc<Self> {
        Arc::new(Self {
            events: Events::new(),
            methods: AtomicUsize::new(methods),
            count: AtomicUsize::new(0),
        })
    }

    fn called(&self, method: usize) {
        if self.methods.load(Ordering::Relaxed) & (1 << method) != 0 {
            self.count.fetch_add(1, Ordering::Relaxed);
            panics();
        }
    }
}

impl Observer for Panicking {
    fn handshake_begun(&self, connection: &Observed<'_>) {
        self.events.handshake_begun(connection);
        self.called(0);
    }

    fn handshake_finished(&self, connection: &Observed<'_>, handshake: &HandshakeFacts<'_>) {
        self.events.handshake_finished(connection, handshake);
        self.called(1);
    }

    fn failed(&self, connection: &Observed<'_>, failure: &ConnectionFailed<'_>) {
        self.events.failed(connection, failure);
        self.called(2);
    }

    fn keys_updated(&self, connection: &Observed<'_>, update: &KeysUpdated) {
        self.events.keys_updated(connection, update);
        self.called(3);
    }

    fn ticket(&self, connection: &Observed<'_>, event: &TicketEvent) {
        self.events.ticket(connection, event);
        self.called(4);
    }

    fn session(&self, connection: &Observed<'_>, event: &SessionEvent) {
        self.events.session(connection, event);
        self.called(5);
    }

    fn closed(&self, connection: &Observed<'_>, closed: &ConnectionClosed) {
        self.events.closed(connection, closed);
        self.called(6);
    }
}

/// Runs a connection until a call panics, or a forged record ends the connection of `side`. Returns
/// true if a call panicked.
fn run(ends: &mut Option<[Wire; 2]>, side: usize, make: impl FnOnce() -> [Wire; 2]) -> bool {
    let run = || {
        let ends = ends.insert(make());
        while step(ends, 2) {}
        let [client, server] = ends;
        client.send(b"data");
        server.refresh_traffic_keys();
        while step(ends, 2) {}
        let forged = [&[23, 3, 3, 0, 40][..], &[9; 40]].concat();
        ends[side].receive(&forged).unwrap_err();
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(()) => false,
        Err(panic) => {
            assert!(panic.is::<Planned>());
            true
        }
    }
}

/// A panic in any method fails the connection, like one in a verifier, and a panic in the last
/// events is caught. The rules of [`Events`] hold in any case.
#[test]
fn an_observer_may_panic_in_any_method() {
    let apis = [Api::Buffered, Api::Unbuffered, Api::Accepted, Api::Split];
    for (side, api, methods) in product3([0, 1], apis, 1..1 << METHODS) {
        let pair = Pair::of(Provider::AwsLc, Versions::Tls13);
        let observer = Panicking::new(methods);
        let pair = match side {
            0 => pair.edit(|client| client.observer = Some(observer.clone()), |_| ()),
            _ => pair.edit(|_| (), |server| server.observer = Some(observer.clone())),
        };
        // the last event comes after all calls
        let panics_in_failed = methods & !(1 << 2 | 1 << 6) == 0;
        let mut ends = None;
        let panicked = run(&mut ends, side, || pair.ends([api; 2]));
        // a server that panics while an `Acceptor` accepts it is dropped
        if let (true, Some(ends)) = (panicked && api != Api::Accepted, &mut ends) {
            // the connection has failed, and reports the same from now on
            let end = &mut ends[side];
            let error = end.process().unwrap_err();
            let expected = match panics_in_failed {
                true => "DecryptError",
                false => "has panicked",
            };
            assert!(error.contains(expected), "{error}");
            assert_eq!(end.process(), Err(error));
        }
        let is_made = ends.is_some();
        drop(ends);
        let events = observer.events.take_one();
        let what = format!("{side} {api:?} {methods:#b}: {}", lines(&events));
        assert_ne!(observer.count.load(Ordering::Relaxed), 0, "{what}");
        if is_made {
            let failed = failed(&events).expect(&what);
            let fault = match panicked && !panics_in_failed {
                true => "application",
                false => "peer",
            };
            assert_eq!(failed.fault.label(), fault, "{what}");
            let is_failed = closed(&events).end == End::Failed;
            assert!(is_failed || failed.error.is_none(), "{what}");
            assert!(is_failed || api == Api::Accepted, "{what}");
            assert!(!closed(&events).close_notify_sent, "{what}");
        }
        // other connections still work
        observer.methods.store(0, Ordering::Relaxed);
        let mut ends = None;
        assert!(!run(&mut ends, side, || pair.ends([api; 2])));
        drop(ends);
        let _ = observer.events.take_one();
    }
}

/// A second panic would abort the process.
#[test]
fn an_observer_may_panic_while_a_panic_drops_the_connection() {
    for versions in Versions::EACH {
        let pair = Pair::of(Provider::AwsLc, versions);
        let observer = Panicking::new(0);
        let pair = pair.edit(
            |client| client.observer = Some(observer.clone()),
            |server| server.observer = Some(observer.clone()),
        );
        let mut ends = pair.ends([Api::Buffered; 2]);
        step(&mut ends, 1);
        observer
            .methods
            .store((1 << METHODS) - 1, Ordering::Relaxed);
        expect_panic(move || {
            let _ends = ends;
            panics();
        });
        // each side failed and closed
        assert_eq!(observer.count.load(Ordering::Relaxed), 4);
        assert_eq!(observer.events.take().len(), 2);
    }
}

/// The memory of observations belongs to threads, and connections move between them.
#[test]
fn connections_may_end_on_other_threads() {
    let pair = Pair::of(Provider::AwsLc, Versions::Tls13);
    let connections = 40;
    for _ in 0..connections {
        let pair = pair.clone();
        let (mut client, mut server) = (pair.client.buffered(), pair.server.buffered());
        handshake(&mut client, &mut server);
        let client = client.conn;
        thread::spawn(move || drop(client)).join().unwrap();
    }
    for events in [&pair.of_client, &pair.of_server] {
        let all = events.take();
        assert_eq!(all.len(), connections);
        let mut ids: Vec<_> = all.iter().map(|events| events[0].of.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), connections);
        for events in &all {
            assert_eq!(events[0].of.server_name.as_deref(), Some("server.example"));
        }
    }
}

/// A thread's local variables may hold connections, which end after those of the observer's memory.
#[test]
fn connections_may_end_with_their_thread() {
    thread_local! {
        static LAST: std::cell::RefCell<Vec<Box<dyn Endpoint>>> = const {
            std::cell::RefCell::new(Vec::new())
        };
    }
    let pair = Pair::of(Provider::AwsLc, Versions::Tls13);
    let of_thread = pair.clone();
    let run = move || {
        // before and after the memory is first used
        LAST.with_borrow_mut(|last| last.reserve(2));
        let [client, server] = of_thread.ends([Api::Buffered; 2]);
        LAST.with_borrow_mut(|last| {
            last.push(Box::new(client));
            last.push(Box::new(server));
        });
    };
    thread::spawn(run).join().unwrap();
    let _ = (pair.of_client.take_one(), pair.of_server.take_one());
}
