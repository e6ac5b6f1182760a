//! Counts allocations: none for a record sent or received by either API, and few for handshakes and
//! tickets. A stapled response takes no more bytes than a few copies of itself.
//!
//! This test has a program of its own because the count is for the whole process.

use std::alloc::System;
use std::io::{BufRead, Read, Write};
use std::ops::Range;
use std::sync::Arc;

use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, SERVER_NAME, Versions, server_name, this,
};
use harness::peers::endpoints::Transfer;
use harness::peers::pairs::this::{Configs, buffered, unbuffered};
use harness::wire::client_hello::{self, ClientHello, host_name};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::server::{
    Acceptor, ResolvesServerCert, ResolvesServerCertUsingSni, UnbufferedServerConnection,
};
use rustls::sign::CertifiedKey;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, ConnectionCommon, HandshakeKind, NamedGroup, ServerConfig};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Plaintext sizes on either side of each limit of the record layer.
const SIZES: [usize; 7] = [1, 64, 1400, 16383, 16384, 16385, 60_000];

const ROUNDS: usize = 50;

/// Warms up with a few calls of `round`, then asserts that many more allocate nothing.
fn assert_no_allocation(what: &str, mut round: impl FnMut()) {
    for _ in 0..10 {
        round();
    }
    let region = Region::new(ALLOCATOR);
    for _ in 0..ROUNDS {
        round();
    }
    let change = region.change();
    assert_eq!(
        (
            change.allocations,
            change.reallocations,
            change.deallocations
        ),
        (0, 0, 0),
        "{what}"
    );
}

/// One suite for each record framing: the TLS 1.3 nonce, the explicit nonce of TLS 1.2's GCM, and
/// the implicit nonce of its ChaCha20-Poly1305.
const SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];

/// The provider and suite of the connections that carry the records.
#[derive(Clone, Copy, Debug)]
struct Case {
    provider: Provider,
    suite: CipherSuite,
}

impl Case {
    /// The bytes around the payload: header and explicit nonce (RFC 5288 §3) before it, content
    /// type and tag behind it.
    fn room(self) -> (usize, usize) {
        match self.suite {
            CipherSuite::TLS13_AES_128_GCM_SHA256 => (5, 1 + 16),
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => (5 + 8, 16),
            _ => (5, 16),
        }
    }

    fn configs(self) -> Configs {
        let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let mut provider = self.provider.this();
        provider
            .cipher_suites
            .retain(|suite| suite.suite() == self.suite);
        let server = provider.clone();
        let versions = Versions::Both;
        Configs {
            client: Arc::new(this::client_of(versions, provider, key, auth)),
            server: Arc::new(this::server_of(versions, server, key, auth)),
        }
    }
}

#[test]
fn no_allocation_for_a_record() {
    for provider in PROVIDERS {
        for suite in SUITES {
            let case = Case { provider, suite };
            let pair = buffered::Pair::connect(&case.configs()).unwrap();
            let (mut client, mut server) = (pair.client, pair.server);
            for size in SIZES {
                by_buffered(case, size, &mut client, &mut server);
            }
            buffered_in_place(case, &mut client, &mut server);
            let pair = unbuffered::Pair::connect(&case.configs()).unwrap();
            let (mut client, mut server) = (pair.client, pair.server);
            for size in SIZES {
                by_unbuffered(case, size, &mut client, &mut server);
                to_vec_and_one_by_one(case, size, &mut client, &mut server);
            }
            unbuffered_in_place(case, &mut client, &mut server);
        }
        received_tickets(provider);
        handshakes(provider);
        stapled_responses(provider);
        certificates_by_name(provider);
    }
    // check that the counter counts at all
    let region = Region::new(ALLOCATOR);
    drop(Box::new([0u8; 100]));
    assert_ne!(region.change().allocations, 0);
}

/// The most allocations for a client that receives two tickets. Two per ticket last: the session
/// and the name under which the store finds it. The store also grows now and then.
const TWO_TICKETS_LIMIT: usize = 2 * 2 + 1;

/// Counts the client's allocations for two tickets: the first from a server, then later ones.
fn received_tickets(provider: Provider) {
    let Configs { client, server } = configs(provider);
    for round in 0..6 {
        let mut client = rustls::ClientConnection::new(client.clone(), server_name()).unwrap();
        let mut server = rustls::ServerConnection::new(server.clone()).unwrap();
        let mut wire = Vec::with_capacity(10_000);
        move_tls(&mut client, &mut server, &mut wire);
        move_tls(&mut server, &mut client, &mut wire);
        move_tls(&mut client, &mut server, &mut wire);
        assert!(!client.is_handshaking() && !server.is_handshaking());

        wire.clear();
        server.write_tls(&mut wire).unwrap();
        let before = client.tls13_tickets_received();
        let region = Region::new(ALLOCATOR);
        client.read_tls(&mut &wire[..]).unwrap();
        client.process_new_packets().unwrap();
        let change = region.change();
        assert_eq!(client.tls13_tickets_received() - before, 2);
        if round < 2 {
            // the thread's record buffers are allocated once
            continue;
        }
        assert!(
            change.allocations <= TWO_TICKETS_LIMIT,
            "{provider:?}: {change:?}"
        );
        assert!(change.reallocations <= 1, "{provider:?}: {change:?}");
    }
}

/// The most allocations of both sides together, for a full handshake without tickets and for a
/// resumed one.
const FULL_LIMIT: usize = 70;
const RESUMED_LIMIT: usize = 60;

/// Uses X25519, because the providers' post-quantum groups allocate more.
fn handshakes(provider: Provider) {
    let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    let mut crypto = provider.this();
    crypto
        .kx_groups
        .retain(|group| group.name() == NamedGroup::X25519);
    let client = Arc::new(this::client(crypto.clone(), key, auth));
    let mut server = this::server(crypto, key, auth);
    server.send_tls13_tickets = 2;
    let with_tickets = Arc::new(server.clone());
    server.send_tls13_tickets = 0;
    let without_tickets = Arc::new(server);

    // warm up: one-time setup and the thread's record buffers are not part of a handshake
    for _ in 0..4 {
        handshake(&client, &without_tickets, HandshakeKind::Full);
    }
    let full = handshake(&client, &without_tickets, HandshakeKind::Full);
    handshake(&client, &with_tickets, HandshakeKind::Full);
    handshake(&client, &without_tickets, HandshakeKind::Resumed);
    let resumed = handshake(&client, &without_tickets, HandshakeKind::Resumed);
    println!("{provider:?}: full {full}, resumed {resumed}");
    assert!(full <= FULL_LIMIT, "{provider:?}: {full}");
    assert!(resumed <= RESUMED_LIMIT, "{provider:?}: {resumed}");
}

/// Returns the allocations of a handshake and asserts its kind.
fn handshake(
    client: &Arc<rustls::ClientConfig>,
    server: &Arc<ServerConfig>,
    kind: HandshakeKind,
) -> usize {
    let mut wire = Vec::with_capacity(10_000);
    let region = Region::new(ALLOCATOR);
    let mut client = rustls::ClientConnection::new(client.clone(), server_name()).unwrap();
    let mut server = rustls::ServerConnection::new(server.clone()).unwrap();
    move_tls(&mut client, &mut server, &mut wire);
    move_tls(&mut server, &mut client, &mut wire);
    move_tls(&mut client, &mut server, &mut wire);
    let change = region.change();
    assert!(!client.is_handshaking() && !server.is_handshaking());
    assert_eq!(client.handshake_kind(), Some(kind));
    move_tls(&mut server, &mut client, &mut wire);
    change.allocations + change.reallocations
}

/// A stapled OCSP response is forwarded unparsed, however many certificates it contains. Each of
/// its bytes takes a few bytes on both sides together, and a longer response takes hardly more
/// allocations.
fn stapled_responses(provider: Provider) {
    /// The copies of a response: the message, records on both sides, the message again, and the
    /// verifier's copy.
    const COPIES: usize = 4;
    const STEP: usize = 12_000;
    /// The longest record buffer, which may not fit into the thread's pool.
    const POOLED: usize = 72 * 1024;

    for versions in [Versions::Tls12, Versions::Tls13] {
        let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let mut client = this::client_of(versions, provider.this(), key, auth);
        client.resumption = Resumption::disabled();
        let client = Arc::new(client);
        let identity = &key.identities().server;
        let costs = [1, 2, 3, 4, 5].map(|steps| {
            let response = vec![7; steps * STEP];
            let server = ServerConfig::builder_with_provider(Arc::new(provider.this()))
                .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
                .unwrap()
                .with_no_client_auth()
                .with_single_cert_with_ocsp(identity.chain.clone(), identity.key(), response)
                .unwrap();
            let server = Arc::new(server);
            // warm up: one-time setup is not part of a response
            cost(&client, &server);
            cost(&client, &server)
        });
        let summary = format!("{provider:?} {versions:?}: {costs:?}");
        assert!(
            costs[4].0 <= costs[0].0 + 4 * COPIES * STEP + POOLED,
            "{summary}"
        );
        assert!(costs[4].1 <= costs[0].1 + 10, "{summary}");
        println!("{summary}");
    }
}

/// Returns the bytes and the number of allocations of both sides in a handshake.
fn cost(client: &Arc<rustls::ClientConfig>, server: &Arc<ServerConfig>) -> (usize, usize) {
    let mut wire = Vec::with_capacity(100_000);
    let region = Region::new(ALLOCATOR);
    let mut client = rustls::ClientConnection::new(client.clone(), server_name()).unwrap();
    let mut server = rustls::ServerConnection::new(server.clone()).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        move_tls(&mut client, &mut server, &mut wire);
        move_tls(&mut server, &mut client, &mut wire);
    }
    let change = region.change();
    assert_eq!(client.handshake_kind(), Some(HandshakeKind::Full));
    (
        change.bytes_allocated,
        change.allocations + change.reallocations,
    )
}

fn move_tls<A, B>(
    from: &mut ConnectionCommon<A>,
    to: &mut ConnectionCommon<B>,
    wire: &mut Vec<u8>,
) {
    wire.clear();
    while from.wants_write() {
        from.write_tls(wire).unwrap();
    }
    to.input(wire);
}

/// Sends through `write`, `write_tls`, `read_tls`, `process_new_packets` and `read`.
fn by_buffered(
    case: Case,
    size: usize,
    client: &mut rustls::ClientConnection,
    server: &mut rustls::ServerConnection,
) {
    let plaintext = vec![7; size];
    let mut received = vec![0; size];
    let mut wire = Vec::with_capacity(2 * size + 1000);
    assert_no_allocation(&format!("{case:?} buffered {size}"), || {
        wire.clear();
        client.writer().write_all(&plaintext).unwrap();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let (mut rest, mut used) = (&wire[..], 0);
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            let waiting = server.process_new_packets().unwrap();
            let waiting = waiting.plaintext_bytes_to_read();
            let into = &mut received[used..used + waiting];
            server.reader().read_exact(into).unwrap();
            used += waiting;
        }
        assert_eq!(received, plaintext);
    });
    // the other direction, with vectored writes and without copying the plaintext out
    assert_no_allocation(&format!("{case:?} vectored {size}"), || {
        wire.clear();
        let (front, back) = plaintext.split_at(size / 2);
        let pieces = [front, back].map(std::io::IoSlice::new);
        assert_eq!(server.writer().write_vectored(&pieces).unwrap(), size);
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let (mut rest, mut used) = (&wire[..], 0);
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets().unwrap();
            let mut reader = client.reader();
            while let Ok(chunk) = reader.fill_buf() {
                let len = chunk.len();
                assert_eq!(chunk, &plaintext[used..used + len]);
                used += len;
                reader.consume(len);
            }
        }
        assert_eq!(used, size);
    });
}

/// Returns a buffer with the headroom and tailroom that the connection asks for around `plaintext`.
fn framed(room: rustls::InPlaceRoom, plaintext: &[u8]) -> (Vec<u8>, Range<usize>) {
    let payload = room.headroom..room.headroom + plaintext.len();
    let mut buf = vec![0; payload.end + room.tailroom];
    buf[payload.clone()].copy_from_slice(plaintext);
    (buf, payload)
}

fn buffered_in_place(
    case: Case,
    client: &mut rustls::ClientConnection,
    server: &mut rustls::ServerConnection,
) {
    let plaintext = [9; 16384];
    let room = client.in_place_room();
    assert_eq!((room.headroom, room.tailroom), case.room());
    let (mut buf, payload) = framed(room, &plaintext);
    let mut received = [0; 16384];
    assert_no_allocation(&format!("{case:?} buffered in place"), || {
        buf[payload.clone()].copy_from_slice(&plaintext);
        let record = client.encrypt_in_place(&mut buf, payload.clone()).unwrap();
        let mut rest = &buf[record];
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            server.process_new_packets().unwrap();
        }
        server.reader().read_exact(&mut received).unwrap();
        assert_eq!(received, plaintext);
    });
}

fn by_unbuffered(
    case: Case,
    size: usize,
    client: &mut UnbufferedClientConnection,
    server: &mut UnbufferedServerConnection,
) {
    let plaintext = vec![7; size];
    let mut wire = vec![0; 2 * size + 1000];
    assert_no_allocation(&format!("{case:?} unbuffered {size}"), || {
        let UnbufferedStatus { state, .. } = client.process_tls_records(&mut []);
        let Ok(ConnectionState::WriteTraffic(mut state)) = state else {
            panic!("{state:?}");
        };
        let len = state.encrypt(&plaintext, &mut wire).unwrap();
        assert_eq!(receive(server, &mut wire[..len], &plaintext), size);
    });
}

/// Encrypts into an empty `Vec`, which is allocated once with enough capacity. The receiver peeks
/// at each record before it opens it.
fn to_vec_and_one_by_one(
    case: Case,
    size: usize,
    client: &mut UnbufferedClientConnection,
    server: &mut UnbufferedServerConnection,
) {
    let plaintext = vec![7; size];
    let mut wire = Vec::new();
    let region = Region::new(ALLOCATOR);
    let len = encrypt_to_vec(client, &plaintext, &mut wire);
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations), (1, 0));
    assert_eq!(wire.len(), len, "zeroed more than is used");
    assert_eq!(receive(server, &mut wire, &plaintext), size);

    assert_no_allocation(&format!("{case:?} to a vec {size}"), || {
        assert_eq!(encrypt_to_vec(client, &plaintext, &mut wire), len);
        assert_eq!(wire.len(), len);
        let (mut rest, mut received) = (&mut wire[..], 0);
        while let Some(record) = server.peek_record(rest) {
            let (record_in, behind) = rest.split_at_mut(record.record_len);
            let data = &plaintext[received..received + record.max_payload];
            received += receive(server, record_in, data);
            rest = behind;
        }
        assert_eq!(received, size);
    });
}

fn encrypt_to_vec(
    client: &mut UnbufferedClientConnection,
    plaintext: &[u8],
    wire: &mut Vec<u8>,
) -> usize {
    let mut traffic = client.write_traffic().unwrap();
    traffic.encrypt_to_vec(plaintext, wire, 0).unwrap()
}

fn unbuffered_in_place(
    case: Case,
    client: &mut UnbufferedClientConnection,
    server: &mut UnbufferedServerConnection,
) {
    let plaintext = [9; 16384];
    let UnbufferedStatus { state, .. } = client.process_tls_records(&mut []);
    let Ok(ConnectionState::WriteTraffic(state)) = state else {
        panic!("{state:?}");
    };
    let (mut buf, payload) = framed(state.in_place_room(), &plaintext);
    assert_no_allocation(&format!("{case:?} unbuffered in place"), || {
        buf[payload.clone()].copy_from_slice(&plaintext);
        let UnbufferedStatus { state, .. } = client.process_tls_records(&mut []);
        let Ok(ConnectionState::WriteTraffic(mut state)) = state else {
            panic!("{state:?}");
        };
        let record = state.encrypt_in_place(&mut buf, payload.clone()).unwrap();
        assert_eq!(
            receive(server, &mut buf[record], &plaintext),
            plaintext.len()
        );
    });
}

/// Opens all records of `wire` in place and returns the length of their plaintext.
fn receive(
    server: &mut UnbufferedServerConnection,
    mut wire: &mut [u8],
    plaintext: &[u8],
) -> usize {
    let mut used = 0;
    while !wire.is_empty() {
        let UnbufferedStatus { discard, state } = server.process_tls_records(wire);
        let Ok(ConnectionState::ReadTraffic(mut state)) = state else {
            panic!("{state:?}");
        };
        while let Some(record) = state.next_record() {
            let record = record.unwrap();
            let end = used + record.payload.len();
            assert_eq!(record.payload, &plaintext[used..end]);
            used = end;
        }
        wire = wire.split_at_mut(discard).1;
    }
    used
}

/// A server looks up the certificate for a name spelled in capitals.
fn certificates_by_name(provider: Provider) {
    let identity = &KeyType::EcdsaP256.identities().server;
    let chain = identity.chain.clone();
    let key = CertifiedKey::from_der(chain, identity.key(), &provider.this()).unwrap();
    let mut resolver = ResolvesServerCertUsingSni::new();
    resolver.add(SERVER_NAME, key).unwrap();

    let name = host_name(SERVER_NAME.to_uppercase().as_bytes());
    let hello = ClientHello::new().with(client_hello::SERVER_NAME, name);
    let mut acceptor = Acceptor::default();
    acceptor.read_tls(&mut &hello.record()[..]).unwrap();
    let accepted = acceptor.accept().map_err(|(error, _)| error);
    let accepted = accepted.unwrap().expect("the ClientHello is complete");
    assert_no_allocation("a certificate by name", || {
        assert!(resolver.resolve(accepted.client_hello()).is_some());
    });
}

fn configs(provider: Provider) -> Configs {
    let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    Configs {
        client: Arc::new(this::client(provider.this(), key, auth)),
        server: Arc::new(this::server(provider.this(), key, auth)),
    }
}
