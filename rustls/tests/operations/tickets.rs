//! Tickets that take time: the order in which they are made.

use std::sync::{Arc, Mutex};

use harness::operations::ends::{APIS, Api};
use harness::operations::kinds::{KINDS, World};
use harness::operations::schedules::pump;
use harness::operations::{Plan, Slow, When};
use harness::peers::configs::{KeyType, Provider};
use harness::providers::tickets::this::Tickets;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};
use rustls::server::{ProducesTickets, StoresServerSessions};
use rustls::version::TLS13;

/// The calls of a server, in order.
type Calls = Arc<Mutex<Vec<String>>>;

/// Randomness whose calls are logged.
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

/// The place of the sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Tickets,
    Storage,
}

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

/// Connects, and returns the calls of a server that sends nine tickets. The calls after `possible`
/// tickets make none.
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
    let calls = calls.lock().unwrap();
    calls.clone()
}

/// A ticket is only made when there is room for it. The application sees the calls of rustls 0.23,
/// in its order.
#[test]
fn tickets_are_made_in_the_order_of_synchronous_ones() {
    for place in [Place::Tickets, Place::Storage] {
        for api in APIS {
            for possible in [9, 0, 2] {
                let expected = calls(place, api, possible, When::NoFuture, false);
                let sessions = expected.iter().filter(|call| call.starts_with("session"));
                assert_eq!(sessions.count(), (possible + 1).min(9), "{place:?} {api:?}");
                let at_once = calls(place, api, possible, When::NoFuture, true);
                assert_eq!(at_once, expected, "{place:?} {api:?}, {possible} tickets");
                // a future that fails may come after others have been started
                if possible == 9 {
                    for when in [When::Ready, When::After(2)] {
                        let over_time = calls(place, api, possible, when, true);
                        assert_eq!(over_time, expected, "{place:?} {api:?} {when:?}");
                    }
                }
            }
        }
    }
}
