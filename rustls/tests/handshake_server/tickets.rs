//! Tests of NewSessionTicket: when it is sent, how often, and with which content.

use std::sync::{Arc, Mutex};

use harness::providers::tickets::this::Tickets;
use harness::scripted::{ScriptedClient, Ticket};
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::pki_types::UnixTime;
use rustls::server::{NoServerSessionStorage, StoresServerSessions};
use rustls::{HandshakeType, ServerConfig};

use crate::handshake_server::client_auth::authenticate;
use crate::handshake_server::servers::{Identity, PROVIDERS, Setup, ours_with};

/// Creates a ticketer that does not encrypt, and fails for sessions of more than `max_len` bytes.
fn plain(lifetime: u32, max_len: usize) -> Arc<Tickets> {
    let encrypt = move |plain: &[u8]| (plain.len() <= max_len).then(|| plain.to_vec());
    Arc::new(Tickets::new(lifetime, encrypt, |_| None))
}

/// A storage that tests can inspect.
#[derive(Debug, Default)]
struct Storage(Mutex<Vec<(Vec<u8>, Vec<u8>)>>);

impl StoresServerSessions for Storage {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.0.lock().unwrap().push((key, value));
        true
    }

    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn can_cache(&self) -> bool {
        true
    }
}

/// The encoding of a session, as a plain ticketer and a storage see it.
struct Session {
    suite: u16,
    psk: Vec<u8>,
    age_add: u32,
    max_early_data_size: u32,
    carrier: usize,
    issued_at: u64,
    authenticated_at: u64,
    client_auth: [usize; 4],
    server_auth: [usize; 4],
    alpn_protocol: Vec<u8>,
    server_name: Vec<u8>,
    /// The rules of the verifier, and the two times between which it accepts the client.
    client_acceptance: Vec<u8>,
    client_chain: Vec<Vec<u8>>,
}

impl Session {
    fn read(bytes: &[u8]) -> Self {
        let mut value = Reader(bytes);
        assert_eq!(value.number(1), 5, "format");
        assert_eq!(value.u16(), 0x0304, "version");
        let mut read = Self {
            suite: value.u16(),
            psk: value.vector(1).to_vec(),
            age_add: value.number(4) as u32,
            max_early_data_size: value.number(4) as u32,
            carrier: value.number(1),
            issued_at: value.number(8) as u64,
            authenticated_at: value.number(8) as u64,
            client_auth: [0; 4].map(|_| value.number(8)),
            server_auth: [0; 4].map(|_| value.number(8)),
            alpn_protocol: value.vector(1).to_vec(),
            server_name: value.vector(1).to_vec(),
            client_acceptance: Vec::new(),
            client_chain: Vec::new(),
        };
        assert!(value.vector(2).is_empty(), "application data");
        read.client_acceptance = value.vector(1).to_vec();
        let mut chain = Reader(value.vector(3));
        while !chain.is_empty() {
            read.client_chain.push(chain.vector(3).to_vec());
        }
        assert!(value.is_empty());
        read
    }
}

fn resumable() -> ClientHello {
    ClientHello::new().and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]))
}

/// Returns the tickets that a client receives after sending `hello`.
fn tickets_for(hello: ClientHello, config: ServerConfig) -> (ScriptedClient, Vec<Ticket>) {
    let server = Box::new(ours_with(config));
    let mut client = ScriptedClient::new(server, &PROVIDERS[0].this(), hello);
    client.flight.clear();
    client.finish().unwrap();
    let tickets = client.tickets();
    assert_eq!(tickets.len(), client.flight.len());
    // RFC 9846 §4.3.10: no ticket allows early data
    assert!(tickets.iter().all(|it| it.max_early_data_size.is_none()));
    (client, tickets)
}

fn sealing_config(lifetime: u32) -> ServerConfig {
    let mut config = Setup::new(PROVIDERS[0]).our_config();
    config.ticketer = plain(lifetime, 1 << 20);
    config
}

#[test]
fn a_sealed_ticket_contains_the_session() {
    let mut config = sealing_config(100);
    config.alpn_protocols = [b"h2".to_vec()].into();
    let hello = resumable().with(ALPN, protocols(&[b"h2"]));
    let (client, tickets) = tickets_for(hello, config);

    // RFC 9846 §4.7.1: nonces, age_add and keys differ
    let [first, second] = &tickets[..] else {
        panic!("{} tickets", tickets.len())
    };
    assert_ne!(first.nonce, second.nonce);
    // wolfSSL 5.5 accepts no more
    assert_eq!([first.nonce.len(), second.nonce.len()], [8, 8]);
    assert_ne!(first.age_add, second.age_add);
    for ticket in [first, second] {
        assert_eq!(ticket.lifetime, 100);
        let session = Session::read(&ticket.ticket);
        assert_eq!(session.suite, 0x1301);
        assert_eq!(session.psk, client.ticket_psk(&ticket.nonce));
        assert_eq!(session.age_add, ticket.age_add);
        assert_eq!(session.alpn_protocol, b"h2");
        assert_eq!(session.server_name, b"localhost");
        assert!(session.client_chain.is_empty());
        assert!(session.client_acceptance.is_empty());
        let now = UnixTime::now().as_secs();
        assert!(session.issued_at <= now && now - session.issued_at < 60);
        assert_eq!(session.authenticated_at, session.issued_at);
        assert_eq!(session.client_auth, [0; 4]);
        assert_ne!(session.server_auth, [0; 4]);
        assert_eq!(session.max_early_data_size, 0);
        assert_eq!(session.carrier, 0, "records");
    }
}

#[test]
fn a_ticket_contains_the_certificates_of_the_client() {
    let identity = Identity::new();
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.client_certs = identity.chain();
    let mut config = setup.our_config();
    config.ticketer = sealing_config(100).ticketer;

    let server = Box::new(ours_with(config));
    let mut client = ScriptedClient::new(server, &setup.provider.this(), resumable());
    authenticate(&mut client, &identity).unwrap();
    client.finish().unwrap();

    let ticket = client.tickets().pop().unwrap();
    let session = Session::read(&ticket.ticket);
    assert_eq!(session.client_chain, [identity.cert.to_vec()]);
    assert_eq!(session.client_acceptance.len(), 32 + 8 + 8);
    assert_ne!(session.client_auth, [0; 4]);
}

#[test]
fn no_ticket_is_valid_for_more_than_a_week() {
    // RFC 9846 §4.7.1
    for (configured, sent) in [(0, 0), (604_800, 604_800), (604_801, 604_800)] {
        let (_, tickets) = tickets_for(resumable(), sealing_config(configured));
        assert_eq!(tickets[0].lifetime, sent);
    }
}

#[test]
fn a_stored_session_is_found_by_its_ticket() {
    let storage = Arc::new(Storage::default());
    let mut config = Setup::new(PROVIDERS[0]).our_config();
    config.session_storage = storage.clone();
    let (client, tickets) = tickets_for(resumable(), config);

    let stored = storage.0.lock().unwrap();
    assert_eq!((tickets.len(), stored.len()), (2, 2));
    assert_ne!(tickets[0].ticket, tickets[1].ticket);
    for (ticket, (key, value)) in tickets.iter().zip(&*stored) {
        assert_eq!(&ticket.ticket, key);
        assert_eq!((key.len(), ticket.lifetime), (32, 86_400));
        let session = Session::read(value);
        assert_eq!(session.psk, client.ticket_psk(&ticket.nonce));
    }
}

#[test]
fn no_tickets_are_sent_if_they_cannot_be_used() {
    // no place to store a session
    let mut nowhere = Setup::new(PROVIDERS[0]).our_config();
    nowhere.session_storage = Arc::new(NoServerSessionStorage {});
    assert_eq!(tickets_for(resumable(), nowhere).1.len(), 0);

    // a session that is too large
    let mut small = sealing_config(100);
    small.ticketer = plain(100, 10);
    assert_eq!(tickets_for(resumable(), small).1.len(), 0);

    // RFC 9846 §4.3.9: clients that do not offer resumption, or only without a key exchange
    let without_modes = tickets_for(ClientHello::new(), sealing_config(100));
    assert_eq!(without_modes.1.len(), 0);
    let psk_ke = ClientHello::new().and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[0]));
    assert_eq!(tickets_for(psk_ke, sealing_config(100)).1.len(), 0);
}

#[test]
fn upstream_sends_tickets_to_the_same_clients() {
    for hello in [
        ClientHello::new(),
        resumable(),
        ClientHello::new().and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[0])),
        ClientHello::new().and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[0, 1])),
    ] {
        let setup = Setup::new(PROVIDERS[0]);
        let [ours, theirs] = setup.both().map(|server| {
            let mut client = ScriptedClient::new(server, &setup.provider.this(), hello.clone());
            client.finish().unwrap();
            client.flight_types()
        });
        assert_eq!(ours, theirs);
        assert!(ours.contains(&HandshakeType::Finished));
    }
}
