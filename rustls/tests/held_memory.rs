//! Memory that a connection holds when idle, for a slow peer, and for one that pads its records.
//!
//! This test is a separate program because the count is process-wide.

#[path = "memory/chains.rs"]
mod chains;
#[path = "memory/counting.rs"]
mod counting;

use std::io::{Read, Write};
use std::sync::Arc;
use std::task::{Context, Waker};

use harness::operations::{Plan, Slow, When};
use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, server_name, this,
};
use harness::peers::endpoints::Transfer;
use harness::peers::memory::Memory;
use harness::peers::pairs::this::Configs;
use harness::peers::pairs::this::buffered::Pair;
use harness::peers::pki;
use harness::providers::transparent::{self, Setup, TAG};
use harness::wire::client_hello::{ALPN, ClientHello, SIGNATURE_ALGORITHMS, SUPPORTED_GROUPS};
use harness::wire::{frame, record, u8_vec, u16_vec, u16s};
use rustls::certificates::{PeerChains, VerifiedChains};
use rustls::compress::{
    BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR, CompressionLevel, ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{
    Accepted, Acceptor, ProducesTickets, ResolvesServerCert, ServerSessionMemoryCache,
    WebPkiClientVerifier,
};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection};

use crate::counting::{heap, held_by, region};

#[test]
fn held_memory_is_proportional_to_received_bytes() {
    for provider in PROVIDERS {
        slow_handshakes(provider);
        slow_records(provider);
        half_closed(provider);
        ended_threads(provider);
        idle_connections(provider, Versions::Tls12);
        idle_connections(provider, Versions::Tls13);
    }
    padded_records();
    accepted_hellos();
    compression_bombs();
    chains::waiting();
    chains::stored();
    disconnected_peers();
    pending_tickets();
    pending_hellos();
}

/// A session is encoded when its ticket is created. So a server that waits for its ticketer does
/// not hold the client's certificates once for each ticket.
fn pending_tickets() {
    const TICKETS: usize = 255;
    const CHAIN: usize = 10_000;
    /// The number of tickets that are created at the same time.
    const AT_ONCE: usize = 4;
    let issuer = pki::root("Issuer", |_| {});
    let key = pki::key();
    let leaf = pki::leaf_of(&key, &issuer, |params| {
        let extension = rcgen::CustomExtension::from_oid_content(&[1, 3, 9999], vec![0; CHAIN]);
        params.custom_extensions.push(extension);
    });
    let mut server = server_trusting(Provider::Ring, &issuer);
    server.send_tls13_tickets = TICKETS;
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let client = client_with(Provider::Ring, Versions::Both, vec![leaf], key);
    let client = Arc::new(client);
    // the first or the last ticket never completes
    for ready in [0, TICKETS - 1] {
        let mut times = vec![When::Ready; ready];
        times.insert(0, When::Never);
        let plan = Arc::new(Plan::scheduled(times));
        let ticketer = Provider::Ring.this_ticketer();
        server.ticketer = Slow::<dyn ProducesTickets>::new(ticketer, &plan);
        let configs = Configs {
            client: client.clone(),
            server: Arc::new(server.clone()),
        };
        let (mut client, mut server) = configs.ends().unwrap();
        server.set_async(true);
        while client.is_handshaking() {
            feed(&mut server, &client.output());
            feed(&mut client, &server.output());
        }
        feed(&mut server, &client.output());
        let mut task = Context::from_waker(Waker::noop());
        for _ in 0..TICKETS {
            assert!(server.poll_operation(&mut task).is_pending());
        }
        let held = held_by(server);
        let most = (ready + 2 * AT_ONCE) * CHAIN * 11 / 10;
        assert!(held < most, "{ready} tickets are ready: {held} bytes");
    }
}

/// Certificates of disconnected peers do not accumulate, whether the server refused or accepted
/// them.
fn disconnected_peers() {
    const ROOM: usize = 4;
    let lasting = |params: &mut rcgen::CertificateParams| {
        params.not_after = rcgen::date_time_ymd(4000, 1, 1);
    };
    let [issuer, stranger] = ["Issuer", "Stranger"].map(|name| pki::root(name, lasting));
    let key = pki::key();
    let key_der = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    for provider in PROVIDERS {
        let mut server = server_trusting(provider, &issuer);
        server.peer_chains = Arc::new(PeerChains::new(ROOM));
        server.verified_chains = Arc::new(VerifiedChains::new(ROOM));
        server.session_storage = ServerSessionMemoryCache::new(ROOM);
        let server = Arc::new(server);

        for (issuer, accepted) in [(&stranger, false), (&issuer, true)] {
            let mut held = Vec::new();
            for number in 0..40 {
                let leaf = pki::leaf_of(&key, issuer, |params| {
                    lasting(params);
                    // serial numbers of equal length
                    params.serial_number = Some((0x4000_0000_u64 + number).into());
                });
                let chain = vec![leaf, issuer.der().clone()];
                let (versions, key) = (Versions::Both, key_der.clone_key());
                let configs = Configs {
                    client: client_with(provider, versions, chain, key).into(),
                    server: server.clone(),
                };
                assert_eq!(is_accepted(&configs), accepted);
                held.push(heap());
            }
            // signatures vary in length, and so do sessions with them
            let (after_some, in_the_end) = (held[10], held[39]);
            let is_flat = in_the_end.abs_diff(after_some) < 1024;
            assert!(is_flat, "{provider:?}, {accepted}: {held:?}");
        }
        assert!(server.peer_chains.stats().entries <= ROOM);
        assert_eq!(server.verified_chains.stats().entries, ROOM);
    }
}

/// True if the server completes a handshake.
fn is_accepted(configs: &Configs) -> bool {
    let (mut client, mut server) = configs.ends().unwrap();
    loop {
        let sent = client.output();
        let mut wire = &sent[..];
        while !wire.is_empty() {
            server.read_tls(&mut wire).unwrap();
            if server.process_new_packets().is_err() {
                return false;
            }
        }
        let wire = server.output();
        if wire.is_empty() {
            return !server.is_handshaking();
        }
        feed(&mut client, &wire);
    }
}

/// A server that waits for a callback about a ClientHello holds the message, and not the lists
/// decoded from it.
fn pending_hellos() {
    let plan = Arc::new(Plan::new(When::Never));
    let protocols = u16_vec(&u8_vec(b"x").repeat(32_000));
    let schemes: Vec<_> = (0x2000..0x2000 + 30_000).collect();
    let schemes = u16_vec(&u16s(&schemes));
    let tls13 = ClientHello::new().with(ALPN, protocols);
    let tls12 = ClientHello::tls12().with(SIGNATURE_ALGORITHMS, schemes);
    for (versions, hello) in [(Versions::Tls13, tls13), (Versions::Tls12, tls12)] {
        let hello = hello.message();
        let configs = Configs::new(versions, Provider::Ring.this(), KeyType::EcdsaP256);
        let mut server = (*configs.server).clone();
        let resolver = server.cert_resolver.clone();
        server.cert_resolver = Slow::<dyn ResolvesServerCert>::new(resolver, &plan);
        let mut conn = ServerConnection::new(server.into()).unwrap();
        conn.set_async(true);
        feed(&mut conn, &in_records(&hello, 1 << 14));
        for _ in 0..2 {
            assert!(conn.is_waiting());
            let mut task = Context::from_waker(Waker::noop());
            assert!(conn.poll_operation(&mut task).is_pending());
        }
        let held = held_by(conn);
        let most = hello.len() + 8192;
        assert!(held <= most, "{held} bytes for {}", hello.len());
    }
}

/// A connection that waits for its configuration holds the ClientHello, and decoded lists only if
/// the application has called for them.
fn accepted_hellos() {
    let protocols = (ALPN, u16_vec(&u8_vec(b"x").repeat(32_000)));
    let groups: Vec<_> = (0x2000..0x2000 + 30_000).collect();
    let schemes = (SIGNATURE_ALGORITHMS, u16_vec(&u16s(&groups)));
    let groups = (SUPPORTED_GROUPS, u16_vec(&u16s(&groups)));
    for (typ, body) in [protocols, groups, schemes] {
        let hello = ClientHello::new().with(typ, body).message();
        let records = in_records(&hello, 1 << 14);
        for is_read in [false, true] {
            let mut acceptor = Acceptor::default();
            let mut wire = &records[..];
            let accepted: Accepted = loop {
                acceptor.read_tls(&mut wire).unwrap();
                match acceptor.accept() {
                    Ok(Some(accepted)) => break accepted,
                    Ok(None) => {}
                    Err((error, _)) => panic!("{error}"),
                }
            };
            let view = accepted.client_hello();
            assert!(view.server_name().is_some());
            if typ == ALPN {
                assert_eq!(view.alpn().unwrap().count(), 32_000);
            }
            if is_read {
                let (groups, schemes) = (view.named_groups(), view.signature_schemes());
                let lens = (groups.map_or(0, <[_]>::len), schemes.len());
                assert_eq!(lens.0 == 30_000, typ == SUPPORTED_GROUPS);
                assert_eq!(lens.1 == 30_000, typ == SIGNATURE_ALGORITHMS);
            }
            let held = held_by(accepted);
            // a code point of two bytes takes four bytes in a decoded list
            let lists = if is_read && typ != ALPN { 4 << 15 } else { 0 };
            let most = hello.len() + 4096 + lists;
            assert!(held <= most, "{typ}: {held} bytes for {}", hello.len());
        }
    }
}

/// Certificates that decompress to megabytes and declare a window of that size. The memory used is
/// proportional to the 64 KiB that a Certificate may have.
fn compression_bombs() {
    const MOST: usize = 0x10_0000;
    for (compressor, decompressor) in [
        (BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR),
        (ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR),
    ] {
        let bomb = compressor
            .compress(vec![0; 1 << 22], CompressionLevel::Interactive)
            .unwrap();
        let mut output = vec![0; 0xffff];
        let region = region();
        assert!(decompressor.decompress(&bomb, &mut output).is_err());
        let taken = region.change().bytes_allocated;
        assert!(taken < MOST, "{decompressor:?} takes {taken} bytes");
    }
}

fn configs(provider: Provider) -> Configs {
    Configs::new(Versions::Tls13, provider.this(), KeyType::EcdsaP256)
}

/// Creates a server that accepts the clients that `issuer` has certified.
fn server_trusting(provider: Provider, issuer: &pki::Issuer) -> ServerConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(issuer.der().clone()).unwrap();
    let (roots, crypto) = (Arc::new(roots), provider.this());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, crypto.clone().into());
    let verifier = verifier.build().unwrap();
    this::server_verifying(Versions::Both, crypto, KeyType::EcdsaP256, verifier)
}

/// Creates a client with this chain and key.
fn client_with(
    provider: Provider,
    versions: Versions,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> ClientConfig {
    let key = CertifiedKey::from_der(chain, key, &provider.this()).unwrap();
    let (crypto, auth) = (provider.this(), ClientAuth::None);
    let mut config = this::client_of(versions, crypto, KeyType::EcdsaP256, auth);
    config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(key));
    config
}

fn connected(configs: &Configs) -> (ClientConnection, ServerConnection) {
    let (mut client, mut server) = configs.ends().unwrap();
    connect(&mut client, &mut server);
    (client, server)
}

fn connect(client: &mut ClientConnection, server: &mut ServerConnection) {
    while client.is_handshaking() || server.is_handshaking() || server.wants_write() {
        feed(server, &client.output());
        feed(client, &server.output());
    }
}

/// Processes input until nothing is left, as a program does after a readiness event.
fn feed<Data>(conn: &mut ConnectionCommon<Data>, mut wire: &[u8]) {
    while !wire.is_empty() {
        conn.read_tls(&mut wire).unwrap();
        conn.process_new_packets().unwrap();
    }
    conn.read_tls(&mut Memory::new(&[])).unwrap_err();
}

/// Fills the thread's pool with buffers of all lengths.
fn use_buffers(configs: &Configs) {
    let (mut client, mut server) = connected(configs);
    for (len, _) in product([1, 1000, 2000, 4000, 16_000, 64_000], 0..3) {
        client.writer().write_all(&vec![1; len]).unwrap();
        let mut plaintext = vec![0; len];
        let wire = client.output();
        let mut used = 0;
        for wire in wire.chunks(5_000) {
            feed(&mut server, wire);
            used += server.reader().read(&mut plaintext[used..]).unwrap_or(0);
        }
        assert_eq!(used, len);
    }
}

/// An idle connection holds no record buffer, in either role.
fn idle_connections(provider: Provider, versions: Versions) {
    const CONNECTIONS: usize = 16;
    /// The maximum size in bytes of an idle client's connection, including the connection itself,
    /// and of a server's.
    const CLIENT_LIMIT: usize = 3_000;
    const SERVER_LIMIT: usize = 2_300;

    let configs = Configs::new(versions, provider.this(), KeyType::EcdsaP256);
    let after_traffic = || {
        let mut pair = Pair::connect(&configs).unwrap();
        pair.exchange(&[3; 100_000], &mut Vec::new(), &mut [0; 40_000])
            .unwrap();
        (pair.client, pair.server)
    };
    // warm up: one-time setup of a process or thread is not part of a connection
    drop(after_traffic());
    let (clients, servers): (Vec<_>, Vec<_>) = (0..CONNECTIONS).map(|_| after_traffic()).unzip();
    let with_both = heap();
    drop(clients);
    let with_servers = heap();
    drop(servers);
    let after = heap();

    let each = |bytes: usize| bytes / CONNECTIONS;
    let (client, server) = (each(with_both - with_servers), each(with_servers - after));
    println!("{provider:?} {versions:?}: client {client}, server {server} bytes");
    assert!(client <= CLIENT_LIMIT, "client holds {client} bytes");
    assert!(server <= SERVER_LIMIT, "server holds {server} bytes");
}

/// A thread that ends frees its buffers.
fn ended_threads(provider: Provider) {
    const SHORTEST: usize = 256;
    let run = || {
        let used = std::thread::spawn(move || use_buffers(&configs(provider)));
        used.join().unwrap();
    };
    // warm up: the process sets some things up once
    run();
    let before = heap();
    for _ in 0..4 {
        run();
    }
    let left = heap().saturating_sub(before);
    assert!(left < SHORTEST, "{provider:?}: {left} bytes");
}

/// During the handshake, a connection that waits for the rest of a record holds a limited amount.
/// It is at most 2.25 times the bytes received plus 2 KiB, including the connection itself.
fn slow_handshakes(provider: Provider) {
    let configs = configs(provider);
    use_buffers(&configs);
    for protocols in [0, 50, 170] {
        let hello = client_hello(&configs.client, protocols);
        let in_three = in_records(&hello[5..], hello.len().div_ceil(3).min(16384));
        let third = hello.len() / 3;
        for (what, received) in [
            ("nothing", &[][..]),
            ("one byte", &hello[..1]),
            ("a header", &hello[..5]),
            ("half a hello", &hello[..hello.len() / 2]),
            ("nearly a hello", &hello[..hello.len() - 1]),
            ("a third", &in_three[..third + 10]),
            ("two thirds and a bit", &in_three[..2 * third + 20]),
            ("nearly three records", &in_three[..in_three.len() - 1]),
        ] {
            // all at once, byte by byte, and in between
            for piece in [usize::MAX, 1, 700] {
                let mut conn = Box::new(ServerConnection::new(configs.server.clone()).unwrap());
                for bytes in received.chunks(piece) {
                    feed(&mut conn, bytes);
                }
                assert!(conn.is_handshaking() && !conn.wants_write());
                let held = held_by(conn);
                let most = received.len() * 9 / 4 + 2048;
                let case = format!("{provider:?}, {what}");
                assert!(held <= most, "{case}: {held} bytes, {most} allowed");
            }
        }
    }
}

/// Creates a ClientHello with this many protocols of 250 bytes.
fn client_hello(config: &ClientConfig, protocols: usize) -> Vec<u8> {
    let mut config = config.clone();
    config.alpn_protocols = vec![vec![b'a'; 250]; protocols];
    let mut client = ClientConnection::new(Arc::new(config), server_name()).unwrap();
    client.output()
}

/// Splits the handshake messages in `payload` into records of `len` bytes. Record headers inside
/// `payload` do not matter, because the server does not parse that far.
fn in_records(payload: &[u8], len: usize) -> Vec<u8> {
    let fragments = payload.chunks(len);
    fragments
        .flat_map(|fragment| record(22, fragment))
        .collect()
}

/// After the handshake, the memory held is proportional to the received bytes, whether they are
/// part of a record or unread plaintext.
fn slow_records(provider: Provider) {
    let configs = configs(provider);
    use_buffers(&configs);
    for (len, part, most) in [
        (16_000, 1, 256),
        (16_000, 5, 256),
        (16_000, 1000, 1024),
        (16_000, 4000, 4096),
        (16_000, 15_000, 16_650),
        (2000, 1000, 2048),
        (700, 600, 1024),
        (100, 50, 256),
        (1, 1, 256),
    ] {
        let mut idle = None;
        // nothing or a partial record, also after data that was read or is unread
        for (with_part, with_data, is_read) in [
            (false, true, true),
            (true, false, true),
            (true, true, true),
            (false, true, false),
        ] {
            let (mut client, mut server) = connected(&configs);
            let mut wire = Vec::new();
            if with_data {
                client.writer().write_all(&vec![1; len]).unwrap();
                wire = client.output();
            }
            client.writer().write_all(&vec![2; len]).unwrap();
            let second = client.output();
            if with_part {
                wire.extend_from_slice(&second[..part]);
            }
            feed(&mut server, &wire);
            let mut plaintext = [0; 16_000];
            if with_data && is_read {
                server.reader().read_exact(&mut plaintext[..len]).unwrap();
            }
            let held = held_by(Box::new(server));
            let idle = *idle.get_or_insert(held);
            let most = match len {
                _ if is_read => most,
                // with the header and the tag of its record
                ..230 => 256,
                230..1000 => 1024,
                1000.. => (len + len / 4).min(16_650),
            };
            let most = idle + if with_part || !is_read { most } else { 0 };
            let case = format!("{provider:?}, {part} of {len}");
            assert!(held <= most, "{case}: {held} bytes, {idle} when idle");
        }
    }
}

/// A connection whose peer has closed holds nothing that was sent after the close_notify.
fn half_closed(provider: Provider) {
    const COUNT: usize = 20;
    let configs = configs(provider);
    use_buffers(&configs);
    let mut conns: Vec<_> = (0..COUNT).map(|_| connected(&configs)).collect();
    let before = heap();
    for (client, server) in &mut conns {
        client.writer().write_all(b"last").unwrap();
        client.send_close_notify();
        let wire = [&client.output()[..], b"\x17\x03\x03\xff\xff"].concat();
        assert_eq!(server.read_tls(&mut &wire[..]).unwrap(), wire.len());
        server.process_new_packets().unwrap();
        // earlier data is still there
        let mut plaintext = Vec::new();
        server.reader().read_to_end(&mut plaintext).unwrap();
        assert_eq!(plaintext, b"last");
    }
    let held = heap().saturating_sub(before);
    assert!(held < COUNT * 1024, "{provider:?}: {held} bytes");
}

/// Unread plaintext is limited by its length, and padding does not use memory. As with upstream,
/// the limit is 16 KiB of plaintext.
fn padded_records() {
    let configs = transparent::this::Configs::new(Setup::usual(ClientAuth::None));
    let (mut client, mut server) = (configs.client(), configs.server());
    connect(&mut client, &mut server);
    let inner = [&b"x\x17"[..], &[0; (1 << 14) - 1]].concat();
    let record = frame(23, &[&inner[..], &TAG].concat());

    let before = heap();
    let mut most = 0;
    let mut count = 0;
    'reading: loop {
        let mut rest = &record[..];
        while !rest.is_empty() {
            if server.read_tls(&mut rest).is_err() {
                break 'reading;
            }
            most = most.max(heap().saturating_sub(before));
            server.process_new_packets().unwrap();
        }
        count += 1;
    }
    assert!(most <= 64 * 1024, "{most} bytes");
    assert_eq!(count, 16 * 1024 + 1);
    let mut plaintext = Vec::new();
    let _ = server.reader().read_to_end(&mut plaintext);
    assert_eq!(plaintext, vec![b'x'; count]);
}
