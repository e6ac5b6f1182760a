//! Tests of tickets that take time: the order in which they are created, and a ticketer that is
//! disabled while it decrypts one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use harness::operations::ends::{APIS, Api};
use harness::operations::kinds::{KINDS, World};
use harness::operations::schedules::pump;
use harness::operations::{Plan, Slow, When, finish};
use harness::peers::configs::{KeyType, Provider, product, product3};
use harness::providers::tickets::this::Tickets;
use rustls::crypto::hmac::Tag;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};
use rustls::server::{ProducesTickets, ServerSessionMemoryCache, StoresServerSessions};
use rustls::version::TLS13;
use rustls::{
    CipherSuiteCommon, HandshakeKind, ServerConfig, SupportedCipherSuite, Tls13CipherSuite,
};

use crate::operations::deliver;

/// The calls of a server, in order.
type Calls = Arc<Mutex<Vec<String>>>;

/// A source of randomness whose calls are logged.
#[derive(Debug)]
struct Logged {
    inner: &'static dyn SecureRandom,
    calls: Calls,
}

impl SecureRandom for Logged {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        let call = format!("random, {} bytes", buf.len());
        self.calls.lock().unwrap().push(call);
        self.inner.fill(buf)
    }
}

/// The place where a server keeps its sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Tickets,
    Storage,
}

const PLACES: [Place; 2] = [Place::Tickets, Place::Storage];

/// Returns the configurations of a server that sends nine tickets, and of its client.
fn world_of(
    provider: CryptoProvider,
    place: Place,
    tickets: Arc<Tickets>,
    plan: &Arc<Plan>,
    api: Api,
) -> World {
    let server = &KeyType::EcdsaP256.identities().server;
    let mut server = ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(server.chain.clone(), server.key())
        .unwrap();
    server.send_tls13_tickets = 9;
    match place {
        Place::Tickets => server.ticketer = Slow::<dyn ProducesTickets>::new(tickets, plan),
        Place::Storage => {
            server.session_storage = Slow::<dyn StoresServerSessions>::new(tickets, plan);
        }
    }
    World {
        server: server.into(),
        ..KINDS[0].world(api, &Arc::new(Plan::new(When::NoFuture)))
    }
}

/// Connects, and returns the calls of a server that sends nine tickets. Calls after `possible`
/// tickets do not create any.
fn calls(place: Place, api: Api, possible: usize, when: When, is_async: bool) -> Vec<String> {
    let calls = Calls::default();
    let plan = Arc::new(Plan::new(when));
    let mut provider = Provider::Ring.this();
    provider.secure_random = Box::leak(Box::new(Logged {
        inner: provider.secure_random,
        calls: calls.clone(),
    }));
    let log = calls.clone();
    let make = move |session: &[u8]| {
        let mut calls = log.lock().unwrap();
        let call = format!("session, {} bytes", session.len());
        let made = calls.iter().filter(|made| **made == call).count();
        calls.push(call);
        (made < possible).then(|| b"ticket".to_vec())
    };
    let tickets = Arc::new(Tickets::new(3600, make, |_| None));
    let world = world_of(provider, place, tickets, &plan, api);
    let [mut client, mut server] = api.ends(&world, is_async);
    assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
    assert!(!server.is_handshaking());
    let received = client.tickets_received();
    assert_eq!(received as usize, possible, "{place:?} {api:?} {when:?}");
    let calls = calls.lock().unwrap();
    calls.clone()
}

/// A ticket is only created when there is room for it. The application's callbacks are called as in
/// rustls 0.23, in the same order.
#[test]
fn tickets_are_created_in_the_same_order_as_synchronous_ones() {
    for (place, api, possible) in product3(PLACES, APIS, [9, 0, 2]) {
        let expected = calls(place, api, possible, When::NoFuture, false);
        let sessions = expected.iter().filter(|call| call.starts_with("session"));
        let made = sessions.count();
        assert_eq!(made, (possible + 1).min(9), "{place:?} {api:?}");
        // one call draws the ticket_age_add of four tickets
        let drawn = expected.iter().filter(|call| **call == "random, 16 bytes");
        assert_eq!(drawn.count(), made.div_ceil(4), "{place:?} {api:?}");
        let sync = calls(place, api, possible, When::NoFuture, true);
        assert_eq!(sync, expected, "{place:?} {api:?}, {possible} tickets");
        // a future that fails may come after others have been started
        if possible == 9 {
            for when in [When::Ready, When::After(2)] {
                let asynchronous = calls(place, api, possible, when, true);
                assert_eq!(asynchronous, expected, "{place:?} {api:?} {when:?}");
            }
        }
    }
}

/// Each ticket has the nonce of its own session, no matter when the tickets before it are ready.
#[test]
fn tickets_that_are_ready_at_different_times_are_all_resumed() {
    use When::{After, NoFuture, Ready};
    // a client keeps eight tickets
    #[rustfmt::skip]
    let schedules = [
        [NoFuture, After(2), NoFuture, Ready, After(1), NoFuture, NoFuture, After(3)],
        [After(3), Ready, NoFuture, NoFuture, After(1), After(2), Ready, NoFuture],
    ];
    for (schedule, place) in product(schedules, PLACES) {
        let api = Api::Buffered;
        let mut world = KINDS[0].world(api, &Arc::new(Plan::new(NoFuture)));
        let plan = Arc::new(Plan::scheduled(schedule.into_iter().rev().collect()));
        let server = Arc::make_mut(&mut world.server);
        server.send_tls13_tickets = schedule.len();
        match place {
            Place::Tickets => {
                let ticketer = Provider::Ring.this_ticketer();
                server.ticketer = Slow::<dyn ProducesTickets>::new(ticketer, &plan);
            }
            Place::Storage => {
                let storage = ServerSessionMemoryCache::new(16);
                server.session_storage = Slow::<dyn StoresServerSessions>::new(storage, &plan);
            }
        }
        for connection in 0..=schedule.len() {
            let [mut client, mut server] = api.ends(&world, true);
            assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
            let kind = client.common().handshake_kind();
            let is_resumed = kind == Some(HandshakeKind::Resumed);
            assert_eq!(is_resumed, connection != 0, "{place:?} {schedule:?}");
            // later connections must use the tickets of the first
            Arc::make_mut(&mut world.server).send_tls13_tickets = 0;
        }
    }
}

/// An HKDF that counts the secrets of the key schedule that exist.
struct Counting {
    inner: &'static dyn Hkdf,
    held: Arc<AtomicUsize>,
}

struct Counted {
    inner: Box<dyn HkdfExpander>,
    held: Arc<AtomicUsize>,
}

impl Counting {
    fn count(&self, inner: Box<dyn HkdfExpander>) -> Box<dyn HkdfExpander> {
        self.held.fetch_add(1, Ordering::SeqCst);
        let held = self.held.clone();
        Box::new(Counted { inner, held })
    }
}

impl Hkdf for Counting {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.count(self.inner.extract_from_zero_ikm(salt))
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        self.count(self.inner.extract_from_secret(salt, secret))
    }

    /// These expanders are not counted, because they are derived from the secrets of the schedule.
    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        self.inner.expander_for_okm(okm)
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        self.inner.hmac_sign(key, message)
    }
}

impl HkdfExpander for Counted {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        self.inner.expand_slice(info, output)
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        self.inner.expand_block(info)
    }

    fn hash_len(&self) -> usize {
        self.inner.hash_len()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::SeqCst);
    }
}

/// All keys of the connection can be derived from the main secret. Tickets need only the resumption
/// secret.
#[test]
fn the_main_secret_is_dropped_before_tickets_are_created() {
    for (place, api) in product(PLACES, APIS) {
        let held = Arc::new(AtomicUsize::new(0));
        let mut provider = Provider::Ring.this();
        let mut suites = provider.cipher_suites.iter();
        let suite = suites.find_map(|suite| suite.tls13()).unwrap();
        let hkdf = Counting {
            inner: suite.hkdf_provider,
            held: held.clone(),
        };
        let suite = Tls13CipherSuite {
            common: CipherSuiteCommon {
                suite: suite.common.suite,
                hash_provider: suite.common.hash_provider,
                confidentiality_limit: suite.common.confidentiality_limit,
            },
            hkdf_provider: Box::leak(Box::new(hkdf)),
            ..*suite
        };
        provider.cipher_suites = vec![SupportedCipherSuite::Tls13(Box::leak(Box::new(suite)))];
        let plan = Arc::new(Plan::new(When::Never));
        let tickets = Arc::new(Tickets::of_len(100));
        let world = world_of(provider, place, tickets, &plan, api);
        let [mut client, mut server] = api.ends(&world, true);
        let mut most = 0;
        while !server.is_waiting() {
            deliver(&mut client, &mut server);
            for bytes in server.output() {
                most = most.max(held.load(Ordering::SeqCst));
                client.receive(&bytes).unwrap();
            }
        }
        assert!(most > 0, "{place:?} {api:?}");
        for _ in 0..2 {
            assert_eq!(held.load(Ordering::SeqCst), 0, "{place:?} {api:?}");
            assert!(server.poll_once().is_pending());
        }
    }
}

/// The ticketer is only called again for new tickets, as it is without waiting.
#[test]
fn a_ticketer_that_is_disabled_still_completes_its_decryption() {
    let mut waited = 0;
    for kind in KINDS.iter().filter(|kind| kind.is_resumed()) {
        for api in APIS.into_iter().filter(|api| kind.runs_over(*api)) {
            for is_disabled in [false, true] {
                let sync = Arc::new(Plan::new(When::NoFuture));
                let mut world = kind.world(api, &sync);
                let server = Arc::make_mut(&mut world.server);
                let [inner, other] = [(); 2].map(|()| server.ticketer.clone());
                let switched = Arc::new(Tickets::new(
                    inner.lifetime(),
                    move |plain| inner.encrypt(plain),
                    move |cipher| other.decrypt(cipher),
                ));
                switched.enable(server.ticketer.enabled());
                let plan = Arc::new(Plan::new(When::After(1)).only("decrypt"));
                server.ticketer = Slow::<dyn ProducesTickets>::new(switched.clone(), &plan);
                let [mut client, mut server] = api.ends(&world, false);
                assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);

                let [mut client, mut server] = api.ends(&world, true);
                while !server.is_waiting() && server.is_handshaking() {
                    deliver(&mut client, &mut server);
                    deliver(&mut server, &mut client);
                }
                if !server.is_waiting() {
                    continue;
                }
                waited += 1;
                if is_disabled {
                    switched.enable(false);
                }
                finish(|task| server.poll(task)).unwrap();
                assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
                let facts = server.facts();
                let context = format!("{kind:?} {api:?} {is_disabled} {facts}");
                assert!(facts.contains("Some(Resumed)"), "{context}");
            }
        }
    }
    assert!(waited > 0);
}
