//! Counts allocations: none for a record sent or received by either API, or by the halves of a
//! split connection, and few for handshakes and tickets. A stapled response takes no more bytes
//! than a few copies of itself.
//!
//! This test is a separate program because the count is process-wide.

#[path = "memory/counting.rs"]
mod counting;

use std::io::{BufRead, Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::peers::callbacks::this::{ClientKey, ServerKey};
use harness::peers::configs::{
    ClientAuth, Identities, Identity, KeyType, PROVIDERS, Provider, SERVER_NAME, Versions, product,
    this,
};
use harness::peers::endpoints::Transfer;
use harness::peers::pairs::this::{Configs, buffered, unbuffered};
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::{self, ClientHello, host_name};
use rustls::client::{
    ClientConnectionData, Resumption, UnbufferedClientConnection, WebPkiServerVerifier,
};
use rustls::observer::{ConnectionClosed, HandshakeFacts, Observed, Observer};
use rustls::server::{
    Acceptor, ResolvesServerCert, ResolvesServerCertUsingSni, ServerConnectionData,
    UnbufferedServerConnection, WebPkiClientVerifier,
};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::split::{Receiver, Sender};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus, WriteTraffic};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CipherSuite, ConnectionCommon, HandshakeKind, NamedGroup, ServerConfig, SignatureAlgorithm,
    SignatureScheme,
};

use crate::counting::{assert_counting, assert_no_allocation, region};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// Plaintext sizes just below and above each limit of the record layer.
const SIZES: [usize; 7] = [1, 64, 1400, 16383, 16384, 16385, 60_000];

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
    /// Returns the bytes around the payload: header and explicit nonce (RFC 5288 §3) before it,
    /// content type and tag after it.
    fn room(self) -> (usize, usize) {
        match self.suite {
            CipherSuite::TLS13_AES_128_GCM_SHA256 => (5, 1 + 16),
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => (5 + 8, 16),
            _ => (5, 16),
        }
    }

    fn configs(self) -> Configs {
        let provider = this::provider_of(self.provider, self.suite);
        Configs::new(Versions::Both, provider, KEY_TYPE)
    }
}

/// Sends from a connection or half to another, and asserts that this allocates nothing.
macro_rules! by_buffered {
    ($what:expr, $size:expr, $from:expr, $to:expr) => {{
        let (what, size, from, to) = ($what, $size, $from, $to);
        let plaintext = vec![7; size];
        let mut received = vec![0; size];
        let mut wire = Vec::with_capacity(2 * size + 1000);
        assert_no_allocation(&format!("{what} buffered {size}"), || {
            wire.clear();
            from.writer().write_all(&plaintext).unwrap();
            while from.wants_write() {
                from.write_tls(&mut wire).unwrap();
            }
            let (mut rest, mut used) = (&wire[..], 0);
            while !rest.is_empty() {
                to.read_tls(&mut rest).unwrap();
                let state = to.process_new_packets().unwrap();
                let end = used + state.plaintext_bytes_to_read();
                to.reader().read_exact(&mut received[used..end]).unwrap();
                used = end;
            }
            assert_eq!(received, plaintext);
        });
        // opened into the memory of the application
        received.resize(size + 1, 0);
        assert_no_allocation(&format!("{what} opened into memory {size}"), || {
            wire.clear();
            from.writer().write_all(&plaintext).unwrap();
            while from.wants_write() {
                from.write_tls(&mut wire).unwrap();
            }
            let (mut rest, mut used) = (&wire[..], 0);
            while !rest.is_empty() {
                to.read_tls(&mut rest).unwrap();
                used += to
                    .process_new_packets_into(&mut received[used..])
                    .unwrap()
                    .0;
            }
            assert_eq!(received[..used], plaintext);
        });
        // with vectored writes and without copying the received plaintext
        assert_no_allocation(&format!("{what} vectored {size}"), || {
            wire.clear();
            let (front, back) = plaintext.split_at(size / 2);
            let pieces = [front, back].map(std::io::IoSlice::new);
            assert_eq!(from.writer().write_vectored(&pieces).unwrap(), size);
            while from.wants_write() {
                from.write_tls(&mut wire).unwrap();
            }
            let (mut rest, mut used) = (&wire[..], 0);
            while !rest.is_empty() {
                to.read_tls(&mut rest).unwrap();
                to.process_new_packets().unwrap();
                let mut reader = to.reader();
                while let Ok(chunk) = reader.fill_buf() {
                    let len = chunk.len();
                    assert_eq!(chunk, &plaintext[used..used + len]);
                    used += len;
                    reader.consume(len);
                }
            }
            assert_eq!(used, size);
        });
    }};
}

#[test]
fn records_cause_no_allocation() {
    for provider in PROVIDERS {
        for suite in SUITES {
            let case = Case { provider, suite };
            let pair = buffered::Pair::connect(&case.configs()).unwrap();
            let (mut client, mut server) = (pair.client, pair.server);
            let what = format!("{case:?}");
            for size in SIZES {
                by_buffered!(&what, size, &mut client, &mut server);
                by_buffered!(&what, size, &mut server, &mut client);
            }
            buffered_in_place(case, &mut client, &mut server);
            for to in SUITES {
                relayed(case, Case { suite: to, ..case });
            }
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
        connections_that_may_wait(provider);
        observed_connections(provider);
        stapled_responses(provider);
        certificates_by_name(provider);
        halves(provider, Versions::Tls12);
        halves(provider, Versions::Tls13);
    }
    assert_counting();
}

/// The most allocations for a client that receives two tickets. Each ticket causes two that last:
/// the session and the name under which the store keeps it. The store also grows at times.
const TWO_TICKETS_LIMIT: usize = 2 * 2 + 1;

/// Counts the client's allocations for two tickets: the first from a server, then later ones.
fn received_tickets(provider: Provider) {
    let configs = Configs::new(Versions::Tls13, provider.this(), KEY_TYPE);
    for round in 0..6 {
        let (mut client, mut server) = configs.ends().unwrap();
        let mut wire = Vec::with_capacity(10_000);
        move_tls(&mut client, &mut server, &mut wire);
        move_tls(&mut server, &mut client, &mut wire);
        move_tls(&mut client, &mut server, &mut wire);
        assert!(!client.is_handshaking() && !server.is_handshaking());

        wire.clear();
        server.write_tls(&mut wire).unwrap();
        let before = client.tls13_tickets_received();
        let region = region();
        client.read_tls(&mut &wire[..]).unwrap();
        client.process_new_packets().unwrap();
        let change = region.change();
        assert_eq!(client.tls13_tickets_received() - before, 2);
        if round < 2 {
            // the thread's record buffers are allocated once
            continue;
        }
        let (most, count) = (TWO_TICKETS_LIMIT, change.allocations);
        assert!(count <= most, "{provider:?}: {change:?}");
        assert!(change.reallocations <= 1, "{provider:?}: {change:?}");
    }
}

/// The most allocations of both sides together, for a full handshake without tickets and for a
/// resumed one.
const FULL_LIMIT: usize = 70;
const RESUMED_LIMIT: usize = 60;

/// Uses X25519, because the providers' post-quantum groups allocate more.
fn handshakes(provider: Provider) {
    let mut crypto = provider.this();
    let groups = &mut crypto.kx_groups;
    groups.retain(|group| group.name() == NamedGroup::X25519);
    let with_tickets = Configs::new(Versions::Tls13, crypto, KEY_TYPE);
    let mut server = (*with_tickets.server).clone();
    server.send_tls13_tickets = 0;
    let without_tickets = Configs {
        client: with_tickets.client.clone(),
        server: Arc::new(server),
    };

    // warm up: one-time setup and the thread's record buffers are not part of a handshake
    let cost = |configs, kind| cost(configs, kind, false);
    for _ in 0..4 {
        cost(&without_tickets, HandshakeKind::Full);
    }
    let (_, full) = cost(&without_tickets, HandshakeKind::Full);
    cost(&with_tickets, HandshakeKind::Full);
    cost(&without_tickets, HandshakeKind::Resumed);
    let (_, resumed) = cost(&without_tickets, HandshakeKind::Resumed);
    println!("{provider:?}: full {full}, resumed {resumed}");
    assert!(full <= FULL_LIMIT, "{provider:?}: {full}");
    assert!(resumed <= RESUMED_LIMIT, "{provider:?}: {resumed}");
}

/// A stapled OCSP response is forwarded unparsed, however many certificates it contains. Both sides
/// together allocate a few bytes for each of its bytes, and a longer response hardly causes more
/// allocations.
fn stapled_responses(provider: Provider) {
    /// The copies of a response: the message, records on both sides, the message again, and the
    /// verifier's copy.
    const COPIES: usize = 4;
    const STEP: usize = 12_000;
    /// The length of the longest record buffer, for which the thread's pool may have no place.
    const POOLED: usize = 72 * 1024;

    for versions in [Versions::Tls12, Versions::Tls13] {
        let mut client = this::client_of(versions, provider.this(), KEY_TYPE, ClientAuth::None);
        client.resumption = Resumption::disabled();
        let client = Arc::new(client);
        let identity = &KEY_TYPE.identities().server;
        let costs = [1, 2, 3, 4, 5].map(|steps| {
            let response = vec![7; steps * STEP];
            let server = ServerConfig::builder_with_provider(Arc::new(provider.this()))
                .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
                .unwrap()
                .with_no_client_auth()
                .with_single_cert_with_ocsp(identity.chain.clone(), identity.key(), response)
                .unwrap();
            let configs = Configs {
                client: client.clone(),
                server: Arc::new(server),
            };
            // warm up: one-time setup is not part of a response
            cost(&configs, HandshakeKind::Full, false);
            cost(&configs, HandshakeKind::Full, false)
        });
        let summary = format!("{provider:?} {versions:?}: {costs:?}");
        let most = costs[0].0 + 4 * COPIES * STEP + POOLED;
        assert!(costs[4].0 <= most, "{summary}");
        assert!(costs[4].1 <= costs[0].1 + 10, "{summary}");
        println!("{summary}");
    }
}

/// Connections that may wait allocate no more than others, unless a callback can cause a wait.
fn connections_that_may_wait(provider: Provider) {
    for (versions, auth) in product(Versions::EACH, [ClientAuth::None, ClientAuth::Required]) {
        for (has_tickets, has_own_callbacks) in product([false, true], [false, true]) {
            // its signatures have a fixed length
            let key = KeyType::Ed25519;
            let mut server = this::server_of(versions, provider.this(), key, auth);
            if has_tickets {
                server.ticketer = provider.this_ticketer();
            }
            let mut client = this::client_of(versions, provider.this(), key, auth);
            if has_own_callbacks {
                let Identities {
                    server: own,
                    client: theirs,
                    ..
                } = key.identities();
                let certified = |identity: &Identity| {
                    let key = provider
                        .this()
                        .key_provider
                        .load_private_key(identity.key());
                    let key = Arc::new(OwnKey(key.unwrap()));
                    Arc::new(CertifiedKey::new(identity.chain.clone(), key))
                };
                let own = certified(own);
                server.cert_resolver = ServerKey::by(move |_| Some(own.clone()));
                if auth.is_presented() {
                    client.client_auth_cert_resolver = ClientKey::new(Some(certified(theirs)));
                }
            }
            let resuming = Configs {
                client: Arc::new(client.clone()),
                server: Arc::new(server.clone()),
            };
            client.resumption = Resumption::disabled();
            if has_own_callbacks {
                // a session is not resumed without a copy of the ClientHello, unless the verifier
                // says that it never waits
                if auth.is_presented() {
                    let webpki = WebPkiClientVerifier::builder_with_provider(
                        this::roots(key),
                        provider.this().into(),
                    );
                    let verifier = Verifier::like_client_verifier(webpki.build().unwrap());
                    let verifier = Arc::new(verifier);
                    let resolver = server.cert_resolver;
                    server = this::server_verifying(versions, provider.this(), key, verifier);
                    server.cert_resolver = resolver;
                }
                let webpki = WebPkiServerVerifier::builder_with_provider(
                    this::roots(key),
                    provider.this().into(),
                );
                let verifier = Verifier::like_server_verifier(webpki.build().unwrap());
                let verifier = Arc::new(verifier);
                client.dangerous().set_certificate_verifier(verifier);
            }
            let full = Configs {
                client: Arc::new(client),
                server: Arc::new(server),
            };
            cost(&resuming, HandshakeKind::Full, false);
            for (configs, kind) in [
                (&full, HandshakeKind::Full),
                (&resuming, HandshakeKind::Resumed),
            ] {
                let [sync, may_wait] = [false, true].map(|is_async| {
                    // the stores grow at times
                    let costs = (0..6).map(|_| cost(configs, kind, is_async).1);
                    costs.min().unwrap()
                });
                let what = format!("{provider:?} {versions:?} {auth:?} {kind:?} {has_tickets}");
                assert_eq!(may_wait, sync, "{what} {has_own_callbacks}");
            }
        }
    }
}

/// An observer that counts.
#[derive(Debug, Default)]
struct Counts {
    finished: AtomicUsize,
    closed: AtomicUsize,
}

impl Observer for Counts {
    fn handshake_finished(&self, connection: &Observed<'_>, handshake: &HandshakeFacts<'_>) {
        assert!(connection.server_name.is_some() && handshake.version.is_some());
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    fn closed(&self, _: &Observed<'_>, closed: &ConnectionClosed) {
        assert!(closed.sent.bytes != 0 && closed.received.bytes != 0);
        self.closed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Connections with an observer allocate no more than others: its memory stays with the thread.
fn observed_connections(provider: Provider) {
    // its signatures have a fixed length
    let key = KeyType::Ed25519;
    for versions in Versions::EACH {
        let resuming = Configs::new(versions, provider.this(), key);
        let mut client = (*resuming.client).clone();
        client.resumption = Resumption::disabled();
        let full = Configs {
            client: Arc::new(client),
            server: resuming.server.clone(),
        };
        cost(&resuming, HandshakeKind::Full, false);
        for (configs, kind) in [
            (&full, HandshakeKind::Full),
            (&resuming, HandshakeKind::Resumed),
        ] {
            let counts = Arc::new(Counts::default());
            let mut observed = Configs {
                client: configs.client.clone(),
                server: configs.server.clone(),
            };
            Arc::make_mut(&mut observed.client).observer = Some(counts.clone());
            Arc::make_mut(&mut observed.server).observer = Some(counts.clone());
            let [without, with] = [configs, &observed].map(|configs| {
                // the stores grow at times
                (0..6).map(|_| cost(configs, kind, false)).min().unwrap()
            });
            assert_eq!(with, without, "{provider:?} {versions:?} {kind:?}");
            assert_eq!(counts.finished.load(Ordering::Relaxed), 2 * 6);
            assert_eq!(counts.closed.load(Ordering::Relaxed), 2 * 6);
        }
        // and their records none
        let mut observed = resuming;
        let counts = Arc::new(Counts::default());
        Arc::make_mut(&mut observed.client).observer = Some(counts.clone());
        Arc::make_mut(&mut observed.server).observer = Some(counts);
        let pair = buffered::Pair::connect(&observed).unwrap();
        let (mut client, mut server) = (pair.client, pair.server);
        for size in SIZES {
            by_buffered!("observed", size, &mut client, &mut server);
            by_buffered!("observed", size, &mut server, &mut client);
        }
    }
}

/// A key of an application for rustls 0.23.
#[derive(Debug)]
struct OwnKey(Arc<dyn SigningKey>);

#[derive(Debug)]
struct OwnSigner(Box<dyn Signer>);

impl SigningKey for OwnKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(OwnSigner(self.0.choose_scheme(offered)?)))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

impl Signer for OwnSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        self.0.sign(message)
    }

    fn scheme(&self) -> SignatureScheme {
        self.0.scheme()
    }
}

/// Returns the bytes and the number of allocations of both sides in a handshake of this kind.
fn cost(configs: &Configs, kind: HandshakeKind, is_async: bool) -> (usize, usize) {
    let mut wire = Vec::with_capacity(100_000);
    let region = region();
    let (mut client, mut server) = configs.ends().unwrap();
    client.set_async(is_async);
    server.set_async(is_async);
    while client.is_handshaking() || server.is_handshaking() {
        move_tls(&mut client, &mut server, &mut wire);
        move_tls(&mut server, &mut client, &mut wire);
    }
    let change = region.change();
    assert_eq!(client.handshake_kind(), Some(kind));
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

/// Exchanges records between the halves of a split connection.
fn halves(provider: Provider, versions: Versions) {
    let what = format!("halves, {provider:?} {versions:?}");
    let pair = buffered::Pair::connect(&Configs::new(versions, provider.this(), KEY_TYPE)).unwrap();
    let (mut sender, _) = pair.client.into_split().unwrap();
    let (_, mut receiver) = pair.server.into_split().unwrap();
    for size in SIZES {
        by_buffered!(&what, size, &mut sender, &mut receiver);
        halves_in_the_callers_buffers(&what, size, &mut sender, &mut receiver);
    }
}

fn halves_in_the_callers_buffers(
    what: &str,
    size: usize,
    sender: &mut Sender,
    receiver: &mut Receiver<ServerConnectionData>,
) {
    let plaintext = vec![7; size];
    let mut wire = vec![0; 2 * size + 1000];
    let open = |receiver: &mut Receiver<ServerConnectionData>, wire: &mut [u8]| {
        let (mut done, mut used) = (0, 0);
        while done < wire.len() {
            let record = receiver.open_in_place(&mut wire[done..]).unwrap();
            done += record.discard;
            used += record.payload.len();
        }
        used
    };
    assert_no_allocation(&format!("{what} encrypt {size}"), || {
        let len = sender.encrypt(&plaintext, &mut wire).unwrap();
        assert_eq!(open(receiver, &mut wire[..len]), size);
    });
    let room = sender.in_place_room();
    let size = Ord::min(size, room.max_payload);
    assert_no_allocation(&format!("{what} in place {size}"), || {
        let payload = room.headroom..room.headroom + size;
        let record = sender.encrypt_in_place(&mut wire, payload).unwrap();
        assert_eq!(open(receiver, &mut wire[record]), size);
    });
}

/// Returns a buffer with `plaintext` and the headroom and tailroom that the connection needs.
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

/// Passes records on from one pair to another, where they lie if both have the same suite. Only the
/// proxy's connections are counted.
fn relayed(from: Case, to: Case) {
    const PASSES: usize = 3;
    const ROUNDS: usize = 40;

    let mut front = buffered::Pair::connect(&from.configs()).unwrap();
    let mut back = buffered::Pair::connect(&to.configs()).unwrap();
    for size in SIZES {
        let plaintext = vec![7; size];
        let mut relayed = Vec::with_capacity(PASSES * ROUNDS * (2 * size + 1000));
        for pass in 0..PASSES {
            let mut wire = Vec::new();
            for _ in 0..ROUNDS {
                front.client.writer().write_all(&plaintext).unwrap();
                wire.extend(front.client.output());
            }
            let (mut rest, mut counted) = (&wire[..], None);
            while !rest.is_empty() {
                // before, buffers grow with the length of the reads
                if rest.len() < wire.len() / 2 {
                    counted.get_or_insert_with(region);
                }
                front.server.read_tls_for(&mut rest, 1 << 16).unwrap();
                front.server.process_new_packets().unwrap();
                let mut reader = front.server.reader();
                back.client.writer().write_received(&mut reader).unwrap();
                while back.client.wants_write() {
                    back.client.write_tls(&mut relayed).unwrap();
                }
            }
            // the buffers are allocated before the last pass
            if let Some(region) = counted.filter(|_| pass == PASSES - 1) {
                let change = region.change();
                let count = change.allocations + change.reallocations;
                assert_eq!(count, 0, "{from:?} to {to:?}, {size}");
            }
        }
        let mut rest = &relayed[..];
        let mut plain = Vec::new();
        while !rest.is_empty() {
            back.server.read_tls(&mut rest).unwrap();
            back.server.process_new_packets().unwrap();
            while back.server.reader().write_to(&mut plain).unwrap() != 0 {}
        }
        assert!(plain == vec![7; PASSES * ROUNDS * size]);

        assert_no_allocation(&format!("{to:?} read from a socket {size}"), || {
            let mut rest = &plaintext[..];
            relayed.clear();
            while back.server.writer().read_from(&mut rest).unwrap() != 0 {
                while back.server.wants_write() {
                    back.server.write_tls(&mut relayed).unwrap();
                }
            }
        });
    }
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
        let len = write_traffic(client)
            .encrypt(&plaintext, &mut wire)
            .unwrap();
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
    let region = region();
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

fn write_traffic(
    client: &mut UnbufferedClientConnection,
) -> WriteTraffic<'_, ClientConnectionData> {
    match client.process_tls_records(&mut []).state {
        Ok(ConnectionState::WriteTraffic(traffic)) => traffic,
        other => panic!("{other:?}"),
    }
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
    let (mut buf, payload) = framed(write_traffic(client).in_place_room(), &plaintext);
    assert_no_allocation(&format!("{case:?} unbuffered in place"), || {
        buf[payload.clone()].copy_from_slice(&plaintext);
        let mut traffic = write_traffic(client);
        let record = traffic.encrypt_in_place(&mut buf, payload.clone()).unwrap();
        let received = receive(server, &mut buf[record], &plaintext);
        assert_eq!(received, plaintext.len());
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
    let identity = &KEY_TYPE.identities().server;
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
