//! No secret of a connection is left in memory that was given back: secrets are zeroized, wherever they were.
//!
//! A key log tells the secrets of both ends, and what they expand to is computed here; a group and a ticketer that
//! look on tell the others. All that both ends give back from the first byte to the last is searched for them.
//!
//! A program of its own, as it has an allocator of its own, in which one test runs at a time. What the cryptographic
//! libraries keep of a key for themselves is their business.

use core::hint::black_box;
use std::collections::BTreeSet;
use std::fmt;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use bench_allocator::{KeepsFreed, record_freed};
use harness::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions, server_name, this};
use rustls::crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::hpke::HpkePrivateKey;
use rustls::crypto::tls13::OkmBlock;
use rustls::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, CryptoProvider, SharedSecret, SupportedKxGroup, hmac,
};
use rustls::server::{NoServerSessionStorage, ProducesTickets};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, Error, HandshakeKind, KeyLog, NamedGroup,
    ServerConfig, ServerConnection, SupportedCipherSuite, quic,
};

#[global_allocator]
static ALLOCATOR: KeepsFreed = KeepsFreed;

/// All secrets that were heard of, with their names. There is room for them all: none is in memory that this test gives
/// back.
static SECRETS: Mutex<Vec<Secret>> = Mutex::new(Vec::new());

/// Held by the test that runs.
static ALONE: Mutex<()> = Mutex::new(());

struct Secret {
    name: &'static str,
    bytes: [u8; 64],
    len: usize,
}

fn hear(name: &'static str, secret: &[u8]) {
    let mut secrets = SECRETS.lock().unwrap();
    assert!(secrets.len() < secrets.capacity());
    let mut bytes = [0; 64];
    bytes[..secret.len()].copy_from_slice(secret);
    let len = secret.len();
    secrets.push(Secret { name, bytes, len });
}

/// Hears what a key log is told.
#[derive(Debug)]
struct Log;

impl KeyLog for Log {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        const LABELS: [&str; 8] = [
            "CLIENT_RANDOM",
            "CLIENT_EARLY_TRAFFIC_SECRET",
            "EARLY_EXPORTER_SECRET",
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            "CLIENT_TRAFFIC_SECRET_0",
            "SERVER_TRAFFIC_SECRET_0",
            "EXPORTER_SECRET",
        ];
        let label = LABELS.into_iter().find(|known| *known == label).unwrap();
        hear(label, secret);
    }
}

/// Hears the shared secrets of another group.
struct Group(&'static dyn SupportedKxGroup);

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Exchange(self.0.start()?)))
    }

    fn start_and_complete(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let completed = self.0.start_and_complete(share)?;
        hear("shared secret", completed.secret.secret_bytes());
        Ok(completed)
    }

    fn name(&self) -> NamedGroup {
        self.0.name()
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

struct Exchange(Box<dyn ActiveKeyExchange>);

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        let secret = self.0.complete(share)?;
        hear("shared secret", secret.secret_bytes());
        Ok(secret)
    }

    fn pub_key(&self) -> &[u8] {
        self.0.pub_key()
    }

    fn group(&self) -> NamedGroup {
        self.0.group()
    }
}

/// Hears what is in the tickets of another ticketer.
#[derive(Debug)]
struct Tickets(Arc<dyn ProducesTickets>);

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        self.0.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        // format, version and cipher suite; behind them TLS 1.3 has a PSK with its length, TLS 1.2 the master secret
        let (header, rest) = plain.split_at(5);
        if header[1..3] == [3, 4] {
            let len = usize::from(rest[0]);
            assert_eq!(len, 32);
            hear("PSK of a ticket", &rest[1..][..len]);
        } else {
            hear("master secret of a ticket", &rest[..48]);
        }
        self.0.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.0.decrypt(cipher)
    }
}

/// How sessions are resumed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sessions {
    Tickets,
    /// With early data, where there is any.
    Stored,
}

/// What carries the handshakes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    Records,
    Quic,
}

fn configs(
    provider: Provider,
    versions: Versions,
    auth: ClientAuth,
    sessions: Sessions,
) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let mut crypto: CryptoProvider = provider.this();
    crypto.cipher_suites.retain(|suite| {
        let suite = format!("{:?}", suite.suite());
        [
            "TLS13_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        ]
        .contains(&&suite[..])
    });
    let mut groups = crypto.kx_groups.iter().copied();
    let x25519 = groups.find(|group| group.name() == NamedGroup::X25519);
    let x25519 = x25519.unwrap();
    crypto.kx_groups = vec![Box::leak(Box::new(Group(x25519)))];
    let key_type = KeyType::EcdsaP256;
    let mut client = this::client_of(versions, crypto.clone(), key_type, auth);
    client.key_log = Arc::new(Log);
    let mut server = this::server_of(versions, crypto, key_type, auth);
    server.key_log = Arc::new(Log);
    if sessions == Sessions::Tickets {
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.ticketer = Arc::new(Tickets(match provider {
            Provider::AwsLc => rustls::crypto::aws_lc_rs::Ticketer::new().unwrap(),
            Provider::Ring => rustls::crypto::ring::Ticketer::new().unwrap(),
        }));
    } else {
        client.enable_early_data = true;
        // neither carrier refuses it
        server.max_early_data_size = u32::MAX;
    }
    (Arc::new(client), Arc::new(server))
}

fn pass<A, B>(from: &mut ConnectionCommon<A>, to: &mut ConnectionCommon<B>) {
    let mut wire = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut wire).unwrap();
    }
    let mut wire = &wire[..];
    while !wire.is_empty() {
        to.read_tls(&mut wire).unwrap();
        to.process_new_packets().unwrap();
    }
}

/// A connection from its beginning to its end.
fn connect(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> HandshakeKind {
    let mut client = ClientConnection::new(client.clone(), server_name()).unwrap();
    let mut server = ServerConnection::new(server.clone()).unwrap();
    if let Some(mut early_data) = client.early_data() {
        early_data.write_all(b"early").unwrap();
    }
    for _ in 0..3 {
        pass(&mut client, &mut server);
        pass(&mut server, &mut client);
    }
    client
        .export_keying_material([0; 32], b"label", None)
        .unwrap();
    let is_tls13 = client.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
    for _ in 0..2 {
        client.writer().write_all(b"data").unwrap();
        pass(&mut client, &mut server);
        assert_eq!(server.reader().read(&mut [0; 10]).unwrap(), 4);
        server.writer().write_all(b"data").unwrap();
        pass(&mut server, &mut client);
        assert_eq!(client.reader().read(&mut [0; 10]).unwrap(), 4);
        if is_tls13 {
            client.refresh_traffic_keys().unwrap();
        }
    }
    client.send_close_notify();
    pass(&mut client, &mut server);
    client.handshake_kind().unwrap()
}

/// A connection over QUIC from its beginning to two key updates.
fn connect_quic(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> HandshakeKind {
    let version = quic::Version::V1;
    let parameters = || b"parameters".to_vec();
    let client = quic::ClientConnection::new(client.clone(), version, server_name(), parameters());
    let server = quic::ServerConnection::new(server.clone(), version, parameters());
    let mut ends = [
        quic::Connection::from(client.unwrap()),
        quic::Connection::from(server.unwrap()),
    ];
    let mut nexts = Vec::new();
    for _ in 0..3 {
        for from in [0, 1] {
            drop(black_box(ends[from].zero_rtt_keys()));
            loop {
                let mut bytes = Vec::new();
                let change = ends[from].write_hs(&mut bytes);
                ends[1 - from].read_hs(&bytes).unwrap();
                match change {
                    Some(quic::KeyChange::Handshake { keys }) => drop(black_box(keys)),
                    Some(quic::KeyChange::OneRtt { keys, next }) => {
                        drop(black_box(keys));
                        nexts.push(next);
                    }
                    None if bytes.is_empty() => break,
                    None => {}
                }
            }
        }
    }
    assert_eq!(nexts.len(), 2);
    for next in &mut nexts {
        for _ in 0..2 {
            drop(black_box(next.next_packet_keys()));
        }
    }
    let [client, _server] = ends;
    client
        .export_keying_material([0; 32], b"label", None)
        .unwrap();
    client.handshake_kind().unwrap()
}

/// Adds what TLS 1.3 expands the logged secrets to.
fn expand_secrets(provider: Provider) {
    let suites = provider.this().cipher_suites;
    let mut suites = suites.iter().filter_map(SupportedCipherSuite::tls13);
    let suite = suites.find(|suite| suite.common.hash_provider.output_len() == 32);
    let hkdf = suite.unwrap().hkdf_provider;
    let expand = |secret: &[u8], label: &str, len: u8| {
        let label_len = 6 + label.len() as u8;
        let info: [&[u8]; 4] = [&[0, len, label_len], b"tls13 ", label.as_bytes(), &[0]];
        let expander = hkdf.expander_for_okm(&OkmBlock::new(secret));
        let mut output = vec![0; len.into()];
        expander.expand_slice(&info, &mut output).unwrap();
        output
    };
    let logged: Vec<_> = {
        let secrets = SECRETS.lock().unwrap();
        let secrets = secrets.iter();
        secrets
            .map(|secret| (secret.name, secret.bytes[..secret.len].to_vec()))
            .filter(|(name, _)| name.contains("_TRAFFIC_SECRET"))
            .collect()
    };
    for (_, secret) in logged {
        hear("finished_key", &expand(&secret, "finished", 32));
        hear(
            "the next traffic secret",
            &expand(&secret, "traffic upd", 32),
        );
        hear("write_iv", &expand(&secret, "iv", 12));
        hear("quic iv", &expand(&secret, "quic iv", 12));
        hear("quic ku", &expand(&secret, "quic ku", 32));
        // ring has the key in the type that it encrypts with, and does not zeroize that
        if matches!(provider, Provider::AwsLc) {
            hear("write_key", &expand(&secret, "key", 16));
            hear("quic key", &expand(&secret, "quic key", 16));
        }
    }
}

/// The names of the secrets that are left when connections of these kinds were there.
fn left(
    provider: Provider,
    over: Over,
    versions: Versions,
    auth: ClientAuth,
    sessions: Sessions,
) -> BTreeSet<&'static str> {
    *SECRETS.lock().unwrap() = Vec::with_capacity(512);
    let (kinds, freed) = record_freed(|| {
        let (client, server) = configs(provider, versions, auth, sessions);
        [0; 3].map(|_| match over {
            Over::Records => connect(&client, &server),
            Over::Quic => connect_quic(&client, &server),
        })
    });
    let [full, resumed @ ..] = kinds;
    assert_eq!(full, HandshakeKind::Full);
    assert_eq!(resumed, [HandshakeKind::Resumed; 2]);
    if versions == Versions::Tls13 {
        expand_secrets(provider);
    }
    let secrets = core::mem::take(&mut *SECRETS.lock().unwrap());
    assert!(secrets.len() >= 8, "{} secrets", secrets.len());
    let is_left = |secret: &&Secret| {
        let bytes = &secret.bytes[..secret.len];
        freed.windows(bytes.len()).any(|window| window == bytes)
    };
    let left = secrets.iter().filter(is_left);
    left.map(|secret| secret.name).collect()
}

#[test]
fn no_secret_is_left_in_memory_that_was_given_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for provider in PROVIDERS {
        for (over, versions) in [
            (Over::Records, Versions::Tls13),
            (Over::Records, Versions::Tls12),
            (Over::Quic, Versions::Tls13),
        ] {
            for auth in [ClientAuth::None, ClientAuth::Required] {
                for sessions in [Sessions::Tickets, Sessions::Stored] {
                    let left = left(provider, over, versions, auth, sessions);
                    assert!(
                        left.is_empty(),
                        "{provider:?} {over:?} {versions:?} {auth:?} {sessions:?}: {left:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn each_type_that_holds_a_secret_zeroizes_it() {
    const SECRET: [u8; 32] = *b"thirty-two bytes, as many as can";

    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_left = |work: fn()| {
        let ((), freed) = record_freed(work);
        let mut windows = freed.windows(12);
        windows.any(|window| SECRET.starts_with(window))
    };
    // nobody zeroizes a plain vector
    assert!(is_left(|| drop(black_box(SECRET.to_vec()))));
    let types: [(&str, fn()); 7] = [
        ("OkmBlock", || {
            drop(black_box(Box::new(OkmBlock::new(&SECRET))))
        }),
        ("Tag", || drop(black_box(Box::new(hmac::Tag::new(&SECRET))))),
        ("SharedSecret", || {
            drop(black_box(SharedSecret::from(SECRET.to_vec())))
        }),
        ("SharedSecret, copied", || {
            drop(black_box(SharedSecret::from(&SECRET[..])))
        }),
        ("AeadKey", || {
            drop(black_box(Box::new(AeadKey::from(SECRET))))
        }),
        ("Iv", || {
            let iv = *SECRET.first_chunk().unwrap();
            drop(black_box(Box::new(Iv::new(iv))));
        }),
        ("HpkePrivateKey", || {
            drop(black_box(HpkePrivateKey::from(SECRET.to_vec())))
        }),
    ];
    for (name, work) in types {
        assert!(!is_left(work), "{name}");
    }
}

#[test]
fn no_private_key_of_hpke_is_left_in_memory_that_was_given_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for hpke in ALL_SUPPORTED_SUITES {
        let (inner_bytes, freed) = record_freed(|| {
            let (public_key, private_key) = hpke.generate_key_pair().unwrap();
            let (enc, sealed) = hpke.seal(b"", b"", b"text", &public_key).unwrap();
            let opened = hpke.open(&enc, b"", b"", &sealed, &private_key);
            assert_eq!(opened.unwrap(), b"text");
            let (enc, mut sealer) = hpke.setup_sealer(b"", &public_key).unwrap();
            let mut opener = hpke.setup_opener(&enc, b"", &private_key).unwrap();
            let sealed = sealer.seal(b"", b"text").unwrap();
            assert_eq!(opener.open(b"", &sealed).unwrap(), b"text");
            // the outer ones of X25519 are clamped in one copy and not in another
            *private_key.secret_bytes()[8..].first_chunk::<16>().unwrap()
        });
        let mut windows = freed.windows(inner_bytes.len());
        assert!(!windows.any(|window| window == inner_bytes), "{hpke:?}");
    }
}
