//! Real endpoints for the programs in the manual. A code block with a connection ends with a hidden
//! call to a function here, which runs the program, with both providers and all versions where they
//! matter.

use std::fmt::Debug;
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread;

use pki_types::EchConfigListBytes;
use rustls::crypto::blocks::{Aead, AeadError, Tag};
use rustls::crypto::cipher::{
    AeadKey, Iv, MessageEncrypter, NONCE_LEN, Nonce, OutboundPlainMessage,
};
use rustls::operation::BoxFuture;
use rustls::server::{ClientHello, NoServerSessionStorage, ServerSessionMemoryCache};
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::{
    ClientConfig, ClientConnection, CommonState, Connection, ContentType, Error, HandshakeKind,
    IoState, ProtocolVersion, RootCertStore, ServerConfig, ServerConnection, SignatureScheme,
    Stream, StreamOwned,
};
use rustls_provider_aws_lc::cipher_suite::TLS13_AES_256_GCM_SHA384;
use rustls_provider_aws_lc::ticket_aead;

use crate::operations::ends::{Api, End};
use crate::operations::kinds::{KINDS, World};
use crate::operations::schedules::pump;
use crate::operations::{Plan, Slow, When, finish};
use crate::peers::configs::this::{client_of, roots, server_of};
use crate::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3, server_name,
};
use crate::peers::os::loopback;
use crate::peers::pairs::this::Configs;
use crate::peers::pairs::this::buffered::{Pair, hand_over, take_in};
use crate::scripted::ech::{EchKey, SUITES};

const VERSIONS: [Versions; 2] = [Versions::Tls12, Versions::Tls13];

/// The lengths of the application's writes.
const LENS: [usize; 9] = [1, 1000, 5, 16_384, 16_384, 300, 16_384, 16_384, 7];

fn configs(provider: Provider, versions: Versions) -> Configs {
    Configs::new(versions, provider.this(), KeyType::EcdsaP256)
}

fn pair(provider: Provider, versions: Versions) -> Pair {
    Pair::connect(&configs(provider, versions)).unwrap()
}

/// Bytes that differ from their neighbours.
fn data(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

/// Reads all data in `wire`.
fn received(server: &mut ServerConnection, mut wire: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while !wire.is_empty() {
        server.read_tls(&mut wire).unwrap();
        server.process_new_packets().unwrap();
        let _ = server.reader().read_to_end(&mut all);
    }
    all
}

/// Runs a program from `in_place` that sends a file chunk by chunk, and returns false at its end.
pub fn sends_chunks<E: Debug>(
    send_chunk: impl Fn(
        &mut ClientConnection,
        &mut Vec<u8>,
        &mut Cursor<Vec<u8>>,
        &mut Vec<u8>,
    ) -> Result<bool, E>,
) {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let mut pair = pair(provider, versions);
        let (mut buffer, mut wire) = (Vec::new(), Vec::new());
        let mut file = Cursor::new(data(60_000));
        while send_chunk(&mut pair.client, &mut buffer, &mut file, &mut wire).unwrap() {
            // creates output from the connection itself
            let _ = pair.client.refresh_traffic_keys();
        }
        assert!(received(&mut pair.server, &wire) == data(60_000));
    }
}

/// Runs a program from `in_place` that forwards all waiting plaintext.
pub fn forwards(forward: impl Fn(&mut ServerConnection, &mut Vec<u8>) -> io::Result<()>) {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let mut pair = pair(provider, versions);
        let mut forwarded = Vec::new();
        let mut pass = |pair: &mut Pair| {
            let mut wire = Vec::new();
            hand_over(&mut pair.client, &mut wire).unwrap();
            let mut wire = &wire[..];
            while !wire.is_empty() {
                pair.server.read_tls(&mut wire).unwrap();
                pair.server.process_new_packets().unwrap();
                forward(&mut pair.server, &mut forwarded).unwrap();
            }
            std::mem::take(&mut forwarded)
        };
        for len in LENS {
            pair.client.writer().write_all(&data(len)).unwrap();
            assert!(pass(&mut pair) == data(len));
        }
        pair.client.send_close_notify();
        assert!(pass(&mut pair).is_empty());
    }
}

/// Runs the program of `rustls::relay::forward`, a proxy whose sockets do not block.
pub fn relays(
    on_event: impl Fn(
        &mut StreamOwned<ServerConnection, TcpStream>,
        &mut StreamOwned<ClientConnection, TcpStream>,
    ) -> io::Result<bool>,
) {
    for (provider, from, to) in product3(PROVIDERS, VERSIONS, VERSIONS) {
        let (to_front, to_back) = (pair(provider, from), pair(provider, to));
        let ((left, front), (back, right)) = (loopback().unwrap(), loopback().unwrap());
        let mut left = StreamOwned::new(*to_front.client, left);
        let mut right = StreamOwned::new(*to_back.server, right);
        let client = thread::spawn(move || {
            left.write_all(&data(300_000)).unwrap();
            left.conn.send_close_notify();
            left.flush().unwrap();
            let mut answer = Vec::new();
            left.read_to_end(&mut answer).unwrap();
            assert!(answer == data(300_000));
        });
        let server = thread::spawn(move || {
            let mut request = Vec::new();
            right.read_to_end(&mut request).unwrap();
            right.write_all(&request).unwrap();
            right.conn.send_close_notify();
            right.flush().unwrap();
        });
        let mut front = StreamOwned::new(*to_front.server, front);
        let mut back = StreamOwned::new(*to_back.client, back);
        for socket in [&front.sock, &back.sock] {
            socket.set_nonblocking(true).unwrap();
        }
        while on_event(&mut front, &mut back).unwrap() {
            thread::yield_now();
        }
        client.join().unwrap();
        server.join().unwrap();
    }
}

/// Runs programs from `choosing_an_api` for an event loop, called when a socket is readable and
/// writable. A stream that is cut off is an error.
pub fn serves_events(
    readable: impl Fn(
        &mut ServerConnection,
        &mut TcpStream,
        Box<dyn FnMut(&[u8]) + Send>,
    ) -> io::Result<()>,
    writable: impl Fn(&mut ServerConnection, &mut TcpStream) -> io::Result<()>,
) {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let (mut socket, far) = loopback().unwrap();
        socket.set_nonblocking(true).unwrap();
        let Configs { client, server } = configs(provider, versions);
        let talk = thread::spawn(move || {
            let (mut client, mut far) = (connection(client), far);
            let mut stream = Stream::new(&mut client, &mut far);
            stream.write_all(&data(50_000)).unwrap();
            stream.flush().unwrap();
            let mut answer = vec![0; 30_000];
            stream.read_exact(&mut answer).unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
            answer
        });
        let mut server = ServerConnection::new(server).unwrap();
        let all = Arc::new(Mutex::new(Vec::new()));
        let mut has_answered = false;
        while !server.process_new_packets().unwrap().peer_has_closed() {
            let collected = all.clone();
            let collect = move |chunk: &[u8]| collected.lock().unwrap().extend_from_slice(chunk);
            readable(&mut server, &mut socket, Box::new(collect)).unwrap();
            if all.lock().unwrap().len() == 50_000 && !has_answered {
                server.writer().write_all(&data(30_000)).unwrap();
                has_answered = true;
            }
            writable(&mut server, &mut socket).unwrap();
            thread::yield_now();
        }
        assert!(*all.lock().unwrap() == data(50_000));
        assert!(talk.join().unwrap() == data(30_000));
    }
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let (mut socket, mut far) = loopback().unwrap();
        let mut pair = pair(provider, versions);
        let mut wire = Vec::new();
        pair.client.writer().write_all(b"data").unwrap();
        hand_over(&mut pair.client, &mut wire).unwrap();
        far.write_all(&wire).unwrap();
        drop(far);
        let cut_off = readable(&mut pair.server, &mut socket, Box::new(|_| {}));
        assert_eq!(cut_off.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}

fn connection(config: Arc<ClientConfig>) -> ClientConnection {
    ClientConnection::new(config, server_name()).unwrap()
}

/// Runs a program from `choosing_by_client_hello` that accepts a client and chooses its
/// configuration.
pub fn accepts<E: ToString>(
    accept: impl Fn(
        &mut TcpStream,
        Box<dyn Fn(&ClientHello<'_>) -> Arc<ServerConfig>>,
    ) -> Result<ServerConnection, E>,
) {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let (mut near, mut far) = loopback().unwrap();
        let configs = configs(provider, versions);
        let client = configs.client.clone();
        let talk = thread::spawn(move || {
            let mut client = connection(client);
            let mut stream = Stream::new(&mut client, &mut far);
            stream.write_all(b"request").unwrap();
            let mut answer = [0; 6];
            stream.read_exact(&mut answer).unwrap();
            answer
        });
        let config = configs.server.clone();
        let choose = move |hello: &ClientHello<'_>| {
            assert_eq!(hello.server_name(), Some("server.example"));
            config.clone()
        };
        let accepted = accept(&mut near, Box::new(choose));
        let mut server = accepted.map_err(|error| error.to_string()).unwrap();
        let mut stream = Stream::new(&mut server, &mut near);
        let mut request = [0; 7];
        stream.read_exact(&mut request).unwrap();
        stream.write_all(b"answer").unwrap();
        assert_eq!((&request, &talk.join().unwrap()), (b"request", b"answer"));

        let (mut near, mut far) = loopback().unwrap();
        far.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let config = configs.server;
        let refused = accept(&mut near, Box::new(move |_| config.clone()));
        assert!(refused.is_err());
        drop(near);
        let mut alert = [0; 2];
        far.read_exact(&mut alert).unwrap();
        assert_eq!(alert, [21, 3]);
    }
}

/// Runs programs from `early_data` for a client that send a request as early data and the rest of
/// it later.
pub fn sends_early(
    send_early: impl Fn(&mut ClientConnection, &[u8]) -> io::Result<usize>,
    send_rest: impl Fn(&mut ClientConnection, &[u8], usize) -> io::Result<()>,
) {
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (provider, accepts) in product(PROVIDERS, [true, false]) {
        let (configs, rejecting) = with_early_data(provider);
        Pair::connect(&configs).unwrap();
        let mut client = connection(configs.client);
        let server = if accepts { configs.server } else { rejecting };
        let mut server = ServerConnection::new(server).unwrap();
        let sent = send_early(&mut client, REQUEST).unwrap();
        assert_ne!(sent, 0);
        let mut all = handshake(&mut client, &mut server);
        assert_eq!(client.is_early_data_accepted(), accepts);
        send_rest(&mut client, REQUEST, sent).unwrap();
        let mut wire = Vec::new();
        hand_over(&mut client, &mut wire).unwrap();
        all.extend(received(&mut server, &wire));
        assert_eq!(all, REQUEST);
    }
    // without a session
    let (configs, _) = with_early_data(PROVIDERS[0]);
    assert_eq!(
        send_early(&mut connection(configs.client), REQUEST).unwrap(),
        0
    );
}

/// Configurations with early data, and the configuration of a server that rejects early data but
/// resumes.
fn with_early_data(provider: Provider) -> (Configs, Arc<ServerConfig>) {
    let mut configs = configs(provider, Versions::Tls13);
    Arc::make_mut(&mut configs.client).enable_early_data = true;
    let server = Arc::make_mut(&mut configs.server);
    server.session_storage = ServerSessionMemoryCache::new(8);
    server.max_early_data_size = 1000;
    let mut rejecting = server.clone();
    rejecting.max_early_data_size = 0;
    (configs, rejecting.into())
}

/// Completes the handshake. Returns the early data that the server accepted.
fn handshake(client: &mut ClientConnection, server: &mut ServerConnection) -> Vec<u8> {
    let (mut wire, mut early) = (Vec::new(), Vec::new());
    while client.wants_write() || server.wants_write() {
        hand_over(client, &mut wire).unwrap();
        take_in(server, &wire, &mut []).unwrap();
        if let Some(mut reader) = server.early_data() {
            reader.read_to_end(&mut early).unwrap();
        }
        hand_over(server, &mut wire).unwrap();
        take_in(client, &wire, &mut []).unwrap();
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    early
}

/// The service in `operations` that holds a program's key.
#[derive(Debug)]
pub struct Keeper(Box<dyn Signer>);

impl Keeper {
    /// Returns a future that is ready at its third poll.
    pub fn sign(&self, message: Vec<u8>) -> BoxFuture<Result<Vec<u8>, Error>> {
        self.0.sign_async(&message).unwrap()
    }
}

/// Runs a program from `operations` whose key is in a service.
pub fn signs(key: impl Fn(Keeper) -> Arc<dyn SigningKey>) {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let plan = Arc::new(Plan::new(When::After(2)));
        let identity = &KeyType::EcdsaP256.identities().server;
        let loader = provider.this().key_provider;
        let kept = Slow::new(loader.load_private_key(identity.key()).unwrap(), &plan);
        let scheme = SignatureScheme::ECDSA_NISTP256_SHA256;
        let key = key(Keeper(kept.choose_scheme(&[scheme]).unwrap()));
        let certified = CertifiedKey::new(identity.chain.clone(), key);

        let auth = ClientAuth::None;
        let mut server = server_of(versions, provider.this(), KeyType::EcdsaP256, auth);
        server.cert_resolver = Arc::new(SingleCertAndKey::from(certified));
        let client = configs(provider, versions).client;
        let world = World {
            client,
            server: server.into(),
        };
        for is_async in [false, true] {
            let [mut client, mut server] = Api::Buffered.ends(&world, is_async);
            let [_, result] = pump(&mut client, &mut server);
            assert_eq!(result.is_ok(), is_async);
            assert_eq!(!server.is_handshaking(), is_async);
        }
        assert!(plan.futures().contains("sign"));
    }
}

/// Runs a program from `operations` that continues a connection after a wait.
pub fn advances(
    advance: impl Fn(&mut Connection, &mut Context<'_>) -> Poll<Result<IoState, Error>>,
) {
    for kind in KINDS.iter().filter(|kind| !kind.is_resumed()) {
        let plan = Arc::new(Plan::new(When::After(2)));
        let world = kind.world(Api::Buffered, &plan);
        let [End::Buffered(mut client), End::Buffered(mut server)] =
            Api::Buffered.ends(&world, true)
        else {
            panic!("the ends are not buffered");
        };
        let move_on = |from: &mut Connection, to: &mut Connection| {
            let mut wire = Vec::new();
            while from.wants_write() {
                from.write_tls(&mut wire).unwrap();
            }
            let mut wire = &wire[..];
            while !wire.is_empty() {
                to.read_tls(&mut wire).unwrap();
                let state = finish(|task| advance(to, task)).unwrap();
                assert!(!state.is_waiting());
            }
        };
        while client.wants_write() || server.wants_write() {
            move_on(&mut client, &mut server);
            move_on(&mut server, &mut client);
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        assert!(plan.futures().contains("sign"));
    }
}

/// Runs a program from `certificates` that returns the DNS names of a client's certificate.
pub fn reads_names<E: Debug>(names: impl Fn(&CommonState) -> Result<Vec<&str>, E>) {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        for (auth, count) in [(ClientAuth::Required, 1), (ClientAuth::None, 0)] {
            let configs = Configs {
                client: client_of(versions, provider.this(), KeyType::EcdsaP256, auth).into(),
                server: server_of(versions, provider.this(), KeyType::EcdsaP256, auth).into(),
            };
            let pair = Pair::connect(&configs).unwrap();
            assert_eq!(names(&pair.server).unwrap().len(), count, "{auth:?}");
        }
    }
}

/// Runs a program from `sessions` that lets machines with the same secret open each other's
/// tickets.
pub fn shares_sessions<E: Debug>(
    share_sessions: impl Fn(&mut ServerConfig, &[u8]) -> Result<(), E>,
) {
    for (provider, versions) in product(PROVIDERS, VERSIONS) {
        let Configs { client, server } = configs(provider, versions);
        let kinds = [HandshakeKind::Full, HandshakeKind::Resumed].map(|expected| {
            // another machine
            let mut server = (*server).clone();
            server.session_storage = Arc::new(NoServerSessionStorage {});
            share_sessions(&mut server, &[7; 32]).unwrap();
            let client = client.clone();
            let server = server.into();
            let pair = Pair::connect(&Configs { client, server }).unwrap();
            (pair.server.handshake_kind(), Some(expected))
        });
        for (kind, expected) in kinds {
            assert_eq!(kind, expected, "{provider:?} {versions:?}");
        }
    }
}

/// Runs a program from `encrypted_client_hello` that offers ECH with a server's configurations.
pub fn offers_ech<E: Debug>(
    config: impl Fn(EchConfigListBytes<'_>, RootCertStore) -> Result<ClientConfig, E>,
) {
    for suite in SUITES {
        let key = EchKey::new(7, "public.example", suite);
        let roots = (*roots(KeyType::EcdsaP256)).clone();
        let config = config(EchConfigListBytes::from(key.config.list()), roots).unwrap();
        let mut client = connection(config.into());
        let mut hello = Vec::new();
        hand_over(&mut client, &mut hello).unwrap();
        let has = |name: &[u8]| hello.windows(name.len()).any(|part| part == name);
        assert!(has(b"public.example") && !has(b"server.example"));
    }
}

/// An AEAD for the program in `writing_a_provider`.
pub struct AnyAead(Box<dyn Aead>);

impl Aead for AnyAead {
    fn seal_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<Tag, AeadError> {
        self.0.seal_in_place(nonce, aad, text)
    }

    fn open_in_place(&self, nonce: Nonce, aad: &[u8], text: &mut [u8]) -> Result<usize, AeadError> {
        self.0.open_in_place(nonce, aad, text)
    }
}

/// Compares the records of an encrypter from `writing_a_provider` with those of a provider.
pub fn encrypts<E: MessageEncrypter>(encrypter: impl Fn(AnyAead, Iv) -> E) {
    let (key, iv) = (|| AeadKey::from([7; AeadKey::MAX_LEN]), [3; NONCE_LEN]);
    let mut ported = encrypter(AnyAead(Box::new(ticket_aead(key()))), iv.into());
    let suite = TLS13_AES_256_GCM_SHA384.tls13().unwrap();
    let mut own = suite.aead_alg.encrypter(key(), iv.into());
    for (seq, len) in (0..).zip(LENS) {
        let payload = data(len);
        let records = [&mut ported as &mut dyn MessageEncrypter, &mut *own].map(|encrypter| {
            let msg = OutboundPlainMessage {
                typ: ContentType::ApplicationData,
                version: ProtocolVersion::TLSv1_2,
                payload: payload[..].into(),
            };
            let mut record = vec![0; encrypter.encrypted_payload_len(len)];
            assert_eq!(
                encrypter.encrypt(msg, seq, &mut record).unwrap(),
                record.len()
            );
            record
        });
        assert!(records[0] == records[1], "{len} bytes");
    }
}
