//! The secrets of a test, and the search for them in freed memory.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bench_allocator::record_freed;
use harness::peers::configs::{Provider, product};
use rustls::crypto::tls13::OkmBlock;
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::server::ProducesTickets;
use rustls::{Error, KeyLog, NamedGroup, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

#[cfg(unix)]
use crate::dead_stack::Stacks;

/// All recorded secrets. Its capacity suffices, so that none of them is in memory that a test
/// frees.
static SECRETS: Mutex<Vec<Secret>> = Mutex::new(Vec::new());

/// The randoms of client and server of each TLS 1.2 connection.
static RANDOMS: Mutex<Vec<[[u8; 32]; 2]>> = Mutex::new(Vec::new());

/// Held by the running test.
static ALONE: Mutex<()> = Mutex::new(());

/// The longest recorded part; of longer secrets, only this many leading bytes are kept.
const MAX_LEN: usize = 96;

struct Secret {
    name: &'static str,
    bytes: [u8; MAX_LEN],
    len: usize,
    client_random: [u8; 32],
}

pub(crate) fn record(name: &'static str, secret: &[u8]) {
    record_with_random(name, secret, &[0; 32]);
}

/// Copies the secret into its place, because a copy on the stack could get into freed memory.
fn record_with_random(name: &'static str, secret: &[u8], client_random: &[u8]) {
    let mut secrets = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(secrets.len() < secrets.capacity(), "no room");
    secrets.push(Secret {
        name,
        bytes: [0; MAX_LEN],
        len: Ord::min(secret.len(), MAX_LEN),
        client_random: client_random.try_into().unwrap(),
    });
    let recorded = secrets.last_mut().unwrap();
    recorded.bytes[..recorded.len].copy_from_slice(&secret[..recorded.len]);
}

/// Records the randoms in the first flights of both sides.
pub(crate) fn record_randoms(hellos: [&[u8]; 2]) {
    // the headers of record and message, legacy_version
    let randoms = hellos.map(|hello| *hello[11..].first_chunk().unwrap());
    let mut all = RANDOMS.lock().unwrap();
    assert!(all.len() < all.capacity(), "no room");
    all.push(randoms);
}

/// The names of the secrets that `work`, whose connections have `suite`, leaves in freed memory.
pub(crate) fn left_by(
    provider: Provider,
    suite: SupportedCipherSuite,
    work: impl FnOnce(),
) -> BTreeSet<&'static str> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    *SECRETS.lock().unwrap_or_else(PoisonError::into_inner) = Vec::with_capacity(1 << 15);
    *RANDOMS.lock().unwrap_or_else(PoisonError::into_inner) = Vec::with_capacity(1 << 10);
    let ((), freed) = record_freed(work);
    match suite {
        SupportedCipherSuite::Tls13(suite) => expand_tls13(provider, suite),
        SupportedCipherSuite::Tls12(suite) => expand_tls12(provider, suite),
    }
    let secrets = core::mem::take(&mut *SECRETS.lock().unwrap());
    assert!(secrets.len() >= 4, "{} secrets", secrets.len());
    // ring leaves the outputs of its HMAC on the stack, block by block. Its types have spare room,
    // whose bytes carry parts of that stack along.
    let part_len = match provider {
        Provider::AwsLc => 16,
        Provider::Ring => MAX_LEN,
    };
    let found = search(&freed, &secrets, part_len).into_iter();
    found.map(|(name, _)| name).collect()
}

/// The secrets that `work` leaves on its stacks: the name of each, the call, and the distance from
/// the end of its stack.
#[cfg(unix)]
pub(crate) fn left_on_stacks(
    work: impl FnOnce(&mut Stacks),
) -> BTreeSet<(&'static str, &'static str, usize)> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    *SECRETS.lock().unwrap_or_else(PoisonError::into_inner) = Vec::with_capacity(1 << 15);
    let mut stacks = Stacks::default();
    work(&mut stacks);
    let secrets = core::mem::take(&mut *SECRETS.lock().unwrap());
    assert!(secrets.len() >= 4, "{} secrets", secrets.len());
    let mut left = BTreeSet::new();
    for (call, stack) in &stacks.0 {
        let found = search(stack, &secrets, 16).into_iter();
        left.extend(found.map(|(name, at)| (name, *call, stack.len() - at)));
    }
    left
}

/// True if `work` leaves at least a part of `secret`.
pub(crate) fn leaves(secret: &[u8], work: impl FnOnce()) -> bool {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ((), freed) = record_freed(work);
    let part_len = Ord::min(secret.len(), 12);
    let mut parts = secret.windows(part_len);
    parts.any(|part| freed.windows(part_len).any(|window| window == part))
}

/// No pad, and those of HMAC (RFC 2104 §2): a secret XORed with one is as good as the secret.
const PADS: [u8; 3] = [0, 0x36, 0x5c];

/// The names of the secrets whose first or last `part_len` bytes, or all bytes if fewer, are in
/// `memory`, XORed with one of [`PADS`]; and their places.
fn search(memory: &[u8], secrets: &[Secret], part_len: usize) -> BTreeSet<(&'static str, usize)> {
    let mut parts: HashMap<[u8; 2], Vec<(Vec<u8>, &'static str)>> = HashMap::new();
    for (secret, pad) in product(secrets, PADS) {
        let bytes = &secret.bytes[..secret.len];
        let part = Ord::min(bytes.len(), part_len);
        for part in [&bytes[..part], &bytes[bytes.len() - part..]] {
            let part: Vec<u8> = part.iter().map(|byte| byte ^ pad).collect();
            let key = [part[0], part[1]];
            parts.entry(key).or_default().push((part, secret.name));
        }
    }
    let mut begins = vec![false; 1 << 16];
    for key in parts.keys() {
        begins[usize::from(u16::from_be_bytes(*key))] = true;
    }
    let mut left = BTreeSet::new();
    for (at, pair) in memory.windows(2).enumerate() {
        let key = [pair[0], pair[1]];
        if begins[usize::from(u16::from_be_bytes(key))] {
            let found = parts[&key]
                .iter()
                .filter(|(part, _)| memory[at..].starts_with(part));
            left.extend(found.map(|(_, name)| (*name, at)));
        }
    }
    left
}

/// The secrets logged under names that contain `name`, each with the client's random.
fn logged(name: &str) -> Vec<(Vec<u8>, [u8; 32])> {
    let secrets = SECRETS.lock().unwrap();
    let secrets = secrets.iter().filter(|secret| secret.name.contains(name));
    secrets
        .map(|secret| (secret.bytes[..secret.len].to_vec(), secret.client_random))
        .collect()
}

/// Adds the secrets that TLS 1.3 derives from the logged ones, up to two key updates later.
fn expand_tls13(provider: Provider, suite: &'static Tls13CipherSuite) {
    let expand = |secret: &[u8], label: &str, len: usize| {
        let label_len = 6 + label.len() as u8;
        let info: [&[u8]; 4] = [
            &[0, len as u8, label_len],
            b"tls13 ",
            label.as_bytes(),
            &[0],
        ];
        let expander = suite.hkdf_provider.expander_for_okm(&OkmBlock::new(secret));
        let mut output = vec![0; len];
        expander.expand_slice(&info, &mut output).unwrap();
        output
    };
    let key_len = suite.aead_alg.key_len();
    // ring keeps the key in its cipher type, which it does not zeroize; with ChaCha20 most of that
    // type is spare room
    let zeroizes_key = matches!(provider, Provider::AwsLc);
    let zeroizes_iv = zeroizes_key || key_len == 16;
    for (mut secret, _) in logged("_TRAFFIC_SECRET") {
        let hash_len = secret.len();
        record("finished_key", &expand(&secret, "finished", hash_len));
        record("quic ku", &expand(&secret, "quic ku", hash_len));
        for _ in 0..3 {
            if zeroizes_iv {
                record("write_iv", &expand(&secret, "iv", 12));
                record("quic iv", &expand(&secret, "quic iv", 12));
            }
            if zeroizes_key {
                record("write_key", &expand(&secret, "key", key_len));
                record("quic key", &expand(&secret, "quic key", key_len));
            }
            secret = expand(&secret, "traffic upd", hash_len);
            record("a later traffic secret", &secret);
        }
    }
}

/// Adds the key blocks of TLS 1.2 that belong to the logged secrets (RFC 5246 §6.3).
fn expand_tls12(provider: Provider, suite: &'static Tls12CipherSuite) {
    let shape = suite.aead_alg.key_block_shape();
    let len = 2 * (shape.enc_key_len + shape.fixed_iv_len);
    let mut found = 0;
    for (secret, client_random) in logged("CLIENT_RANDOM") {
        let randoms = RANDOMS.lock().unwrap();
        let of_connection = randoms.iter().find(|[client, _]| *client == client_random);
        let Some([client, server]) = of_connection else {
            continue;
        };
        found += 1;
        let seed = [*server, *client].concat();
        let mut block = vec![0; len];
        suite
            .prf_provider
            .for_secret(&mut block, &secret, b"key expansion", &seed);
        // the end of one key and the start of the next: ring stores them apart
        record(
            "key block",
            &block[..2 * shape.enc_key_len][shape.enc_key_len - 8..][..16],
        );
        // as in TLS 1.3: ring's type contains it
        if shape.fixed_iv_len == 12 && matches!(provider, Provider::AwsLc) {
            record("client write IV", &block[2 * shape.enc_key_len..][..12]);
            record("server write IV", &block[2 * shape.enc_key_len + 12..]);
        }
    }
    // tests of unbuffered connections record no randoms
    let has_randoms = !RANDOMS.lock().unwrap().is_empty();
    assert_eq!(found != 0, has_randoms, "{found} key blocks");
}

/// A key log that records its secrets.
#[derive(Debug)]
pub(crate) struct Log;

impl KeyLog for Log {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
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
        record_with_random(label, secret, client_random);
    }
}

/// A group that records the shared secrets of another one.
pub(crate) struct Group(pub(crate) &'static dyn SupportedKxGroup);

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Exchange(self.0.start()?)))
    }

    fn start_and_complete(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let completed = self.0.start_and_complete(share)?;
        record_shared(&completed.secret);
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
        record_shared(&secret);
        Ok(secret)
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        self.0.hybrid_component()
    }

    fn complete_hybrid_component(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        let secret = self.0.complete_hybrid_component(share)?;
        record_shared(&secret);
        Ok(secret)
    }

    fn pub_key(&self) -> &[u8] {
        self.0.pub_key()
    }

    fn group(&self) -> NamedGroup {
        self.0.group()
    }
}

/// Records a shared secret. In a hybrid group its first and last bytes belong to the two
/// components.
fn record_shared(secret: &SharedSecret) {
    record("shared secret", secret.secret_bytes());
}

/// A ticketer that records the secrets in the tickets of another one. It also checks that a forgery
/// of each returning ticket is rejected.
#[derive(Debug)]
pub(crate) struct Tickets(pub(crate) Arc<dyn ProducesTickets>);

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        self.0.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        // format, version and cipher suite; then in TLS 1.3 a PSK with its length, in TLS 1.2 the
        // master secret
        let (header, rest) = plain.split_at(5);
        if header[1..3] == [3, 4] {
            let len = usize::from(rest[0]);
            assert!([32, 48].contains(&len));
            record("PSK of a ticket", &rest[1..][..len]);
        } else {
            record("master secret of a ticket", &rest[..48]);
        }
        self.0.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        // if a library left the forgery's plaintext, it would be that of the ticket
        let mut forged = cipher.to_vec();
        *forged.last_mut()? ^= 0x55;
        assert!(self.0.decrypt(&forged).is_none());
        self.0.decrypt(cipher)
    }
}
