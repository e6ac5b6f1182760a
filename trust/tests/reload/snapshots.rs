//! Tests that a handshake uses one verifier and one resolver from start to finish.

use std::sync::{Arc, Mutex};

use harness::peers::endpoints::{Endpoint, exchange, handshake};
use harness::verifiers::hooked::{Hook, Hooked};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::ServerCertVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::reload::kit::{Authority, PIECES, Setup, exchange_and, is_resumed, setups};

/// The IDs of the called objects, in order.
type Log = Arc<Mutex<Vec<u32>>>;

/// Logs each call to the inner object.
type Witness<T> = Hooked<T, Logged>;

#[derive(Debug)]
struct Logged {
    id: u32,
    log: Log,
}

impl Hook for Logged {
    fn called(&self, _: &'static str) -> bool {
        self.log.lock().unwrap().push(self.id);
        false
    }
}

/// An object that only refers to the one that is currently active.
type Replaceable<T> = Hooked<T, Current<T>>;

#[derive(Debug)]
struct Current<T: ?Sized>(Mutex<Arc<Witness<T>>>);

fn replaceable<T: ?Sized>(inner: Arc<T>, log: &Log) -> Arc<Replaceable<T>> {
    let (id, log) = (0, log.clone());
    let first = Hooked::new(inner.clone(), Logged { id, log });
    Hooked::new(inner, Current(Mutex::new(first)))
}

impl<T: ?Sized> Current<T> {
    fn replace(&self, inner: Arc<T>) {
        let mut current = self.0.lock().unwrap();
        let (id, log) = (current.hook.id + 1, current.hook.log.clone());
        *current = Hooked::new(inner, Logged { id, log });
    }
}

macro_rules! current {
    ($($of:ident: $current:ident;)*) => {$(
        impl Hook for Current<dyn $of> {
            fn called(&self, name: &'static str) -> bool {
                // called before a connection takes its snapshot, or to take it
                let early = [
                    "::current_verifier",
                    "ClientCertVerifier::offer_client_auth",
                    "ClientCertVerifier::root_hint_subjects",
                ];
                let is_early = early.iter().any(|early| name.ends_with(early));
                assert!(is_early, "{name} called instead of the current object's");
                false
            }

            fn $current(&self) -> Option<Arc<dyn $of>> {
                Some(self.0.lock().unwrap().clone())
            }
        }
    )*};
}

current! {
    ServerCertVerifier: current_server_verifier;
    ClientCertVerifier: current_client_verifier;
    ResolvesClientCert: current_resolver;
}

/// Both sides and all of their replaceable parts.
struct Scene {
    setup: Setup,
    old: Authority,
    new: Authority,
    /// The client's parts.
    server_verifier: Arc<Replaceable<dyn ServerCertVerifier>>,
    resolver: Arc<Replaceable<dyn ResolvesClientCert>>,
    /// The server's parts.
    client_verifier: Arc<Replaceable<dyn ClientCertVerifier>>,
    of_client: Log,
    of_resolver: Log,
    of_server: Log,
    client: Arc<rustls::ClientConfig>,
    server: Arc<rustls::ServerConfig>,
}

impl Scene {
    /// Creates a scene in which all certificates are from one authority.
    fn new(setup: Setup) -> Self {
        let (old, new) = (Authority::new("old"), Authority::new("new"));
        let provider = setup.provider;
        let (of_client, of_resolver, of_server) = (Log::default(), Log::default(), Log::default());
        let server_verifier = replaceable(old.server_verifier(provider), &of_client);
        let client_verifier = replaceable(old.client_verifier(provider), &of_server);
        let key: Arc<dyn ResolvesClientCert> = old.issue().certified(provider);
        let resolver = replaceable(key, &of_resolver);
        Self {
            client: setup.client_config(server_verifier.clone(), resolver.clone()),
            server: setup.server_config(client_verifier.clone(), old.issue().certified(provider)),
            setup,
            old,
            new,
            server_verifier,
            resolver,
            client_verifier,
            of_client,
            of_resolver,
            of_server,
        }
    }

    /// Replaces all parts, so that only the new authority is trusted and the client has a
    /// certificate from it.
    fn replace_all(&self) {
        let provider = self.setup.provider;
        let key = self.new.issue().certified(provider);
        self.server_verifier
            .hook
            .replace(self.new.server_verifier(provider));
        self.client_verifier
            .hook
            .replace(self.new.client_verifier(provider));
        self.resolver.hook.replace(key);
    }

    fn ends(&self) -> [Box<dyn Endpoint>; 2] {
        [
            self.setup.client(&self.client),
            self.setup.server(&self.server),
        ]
    }
}

fn take(log: &Log) -> Vec<u32> {
    std::mem::take(&mut *log.lock().unwrap())
}

/// Replaces everything at each point of the handshake. Each side keeps using the object that it
/// called first. The handshake succeeds if both sides had begun it before.
#[test]
fn a_handshake_uses_the_objects_that_were_active_at_its_beginning() {
    for setup in setups() {
        // the server begins once it has the whole ClientHello
        let (mut at, mut begun_before) = (0, 0);
        loop {
            let scene = Scene::new(setup);
            let [mut client, mut server] = scene.ends();
            let mut server_had_begun = false;
            let outcome = exchange_and(&mut *client, &mut *server, at, || {
                server_had_begun = !scene.of_server.lock().unwrap().is_empty();
                scene.replace_all();
            });
            let logs = [&scene.of_client, &scene.of_resolver, &scene.of_server].map(take);
            let [of_client, _, of_server] = &logs;
            for (log, id) in logs.iter().zip([0, 0, u32::from(!server_had_begun)]) {
                assert!(
                    log.iter().all(|called| *called == id),
                    "{setup:?} {at}: {logs:?}"
                );
            }
            assert!(!of_client.is_empty() && !of_server.is_empty());
            if server_had_begun {
                let moved = outcome.unwrap();
                begun_before += 1;
                if at + 1 == moved {
                    break;
                }
            } else {
                // the client presents a certificate from an authority that the server has never
                // trusted
                let error = outcome.unwrap_err();
                assert!(error.contains("UnknownIssuer"), "{setup:?} {at}: {error}");
            }
            at += 1;
        }
        assert!(begun_before > 6, "{setup:?}");
    }
}

/// A client's sessions belong to the objects active at the beginning of its handshake, not at the
/// arrival of the ticket.
#[test]
fn sessions_of_a_client_belong_to_the_objects_active_at_its_beginning() {
    type Replace = fn(&Scene);
    let replace_verifier: Replace = |scene| {
        let same_rules = scene.old.server_verifier(scene.setup.provider);
        scene.server_verifier.hook.replace(same_rules);
    };
    let replace_resolver: Replace = |scene| {
        let same_kind = scene.old.issue().certified(scene.setup.provider);
        scene.resolver.hook.replace(same_kind);
    };
    let replace_nothing: Replace = |_| {};
    for setup in setups() {
        for (replace, resumes) in [
            (replace_verifier, false),
            (replace_resolver, false),
            (replace_nothing, true),
        ] {
            // in the middle of the server's flight, and after the end
            for in_the_middle in [true, false] {
                let scene = Scene::new(setup);
                let [mut client, mut server] = scene.ends();
                let at = if in_the_middle {
                    PIECES + 2
                } else {
                    usize::MAX
                };
                exchange_and(&mut *client, &mut *server, at, || replace(&scene)).unwrap();
                if !in_the_middle {
                    replace(&scene);
                }
                let [mut client, mut server] = scene.ends();
                handshake(&mut *client, &mut *server);
                assert_eq!(is_resumed(&*client), resumes, "{setup:?} {in_the_middle}");
                // the new connection's sessions belong to the active objects
                let [mut client, mut server] = scene.ends();
                handshake(&mut *client, &mut *server);
                assert!(is_resumed(&*client), "{setup:?} {in_the_middle}");
            }
        }
    }
}

/// A server checks a session's client with the active verifier.
#[test]
fn a_server_resumes_with_the_active_verifier() {
    for setup in setups() {
        let scene = Scene::new(setup);
        let [mut client, mut server] = scene.ends();
        handshake(&mut *client, &mut *server);
        let [mut client, mut server] = scene.ends();
        handshake(&mut *client, &mut *server);
        assert!(is_resumed(&*client), "{setup:?}");

        let verifier = scene.new.client_verifier(setup.provider);
        scene.client_verifier.hook.replace(verifier);
        let [mut client, mut server] = scene.ends();
        // neither the session nor a full handshake is accepted
        let error = exchange(&mut *client, &mut *server).unwrap_err();
        assert!(error.contains("UnknownIssuer"), "{setup:?}: {error}");
    }
}
