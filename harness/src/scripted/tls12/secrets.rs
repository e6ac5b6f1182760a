//! The key derivation of RFC 5246, for both scripted peers.

use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::{AeadKey, MessageDecrypter, MessageEncrypter};
use rustls::{CipherSuite, Side, SupportedCipherSuite, Tls12CipherSuite};

/// A TLS 1.2 suite. The suites of a provider are static.
pub(super) type Suite = &'static Tls12CipherSuite;

/// The suite of `provider` with this name.
pub(super) fn find_suite(provider: &CryptoProvider, name: CipherSuite) -> Suite {
    let mut suites = provider.cipher_suites.iter();
    match suites.find(|suite| suite.suite() == name) {
        Some(SupportedCipherSuite::Tls12(suite)) => suite,
        _ => panic!("no {name:?}"),
    }
}

/// The handshake messages so far.
#[derive(Default)]
pub(super) struct Transcript(Vec<u8>);

impl Transcript {
    pub(super) fn add(&mut self, messages: &[u8]) {
        self.0.extend_from_slice(messages);
    }

    pub(super) fn hash(&self, suite: Suite) -> Vec<u8> {
        suite.common.hash_provider.hash(&self.0).as_ref().to_vec()
    }

    /// The messages that a client's CertificateVerify signs (RFC 5246 §7.4.8).
    pub(super) fn messages(&self) -> &[u8] {
        &self.0
    }
}

/// The randoms of client and server.
#[derive(Clone, Copy)]
pub(super) struct Randoms {
    pub(super) client: [u8; 32],
    pub(super) server: [u8; 32],
}

/// RFC 5246 §8.1, or RFC 7627 §4 with a session hash.
pub(super) fn master_secret(
    suite: Suite,
    pre_master_secret: &[u8],
    randoms: &Randoms,
    session_hash: Option<&[u8]>,
) -> [u8; 48] {
    let mut secret = [0; 48];
    let (label, seed) = match session_hash {
        Some(hash) => ("extended master secret", hash.to_vec()),
        None => ("master secret", [randoms.client, randoms.server].concat()),
    };
    let prf = suite.prf_provider;
    prf.for_secret(&mut secret, pre_master_secret, label.as_bytes(), &seed);
    secret
}

/// RFC 5246 §7.4.9: the verify_data in the Finished of `sender`.
pub(super) fn verify_data(
    suite: Suite,
    secret: &[u8; 48],
    sender: Side,
    transcript: &Transcript,
) -> Vec<u8> {
    let label = match sender {
        Side::Client => "client finished",
        Side::Server => "server finished",
    };
    let mut data = vec![0; 12];
    let hash = transcript.hash(suite);
    let prf = suite.prf_provider;
    prf.for_secret(&mut data, secret, label.as_bytes(), &hash);
    data
}

/// RFC 5246 §6.3: the keys for the records of `sender`.
pub(super) fn direction_keys(
    suite: Suite,
    secret: &[u8; 48],
    randoms: &Randoms,
    sender: Side,
) -> DirectionKeys {
    let shape = suite.aead_alg.key_block_shape();
    let (key_len, iv_len) = (shape.enc_key_len, shape.fixed_iv_len);
    let mut block = vec![0; 2 * key_len + 2 * iv_len + shape.explicit_nonce_len];
    let seed = [randoms.server, randoms.client].concat();
    let prf = suite.prf_provider;
    prf.for_secret(&mut block, secret, b"key expansion", &seed);
    let (keys, rest) = block.split_at(2 * key_len);
    let (ivs, explicit) = rest.split_at(2 * iv_len);
    let index = match sender {
        Side::Client => 0,
        Side::Server => 1,
    };
    DirectionKeys {
        suite,
        key: keys[index * key_len..][..key_len].to_vec(),
        iv: ivs[index * iv_len..][..iv_len].to_vec(),
        explicit: explicit.to_vec(),
    }
}

/// The keys that protect the records of one direction.
pub(in crate::scripted) struct DirectionKeys {
    suite: Suite,
    key: Vec<u8>,
    iv: Vec<u8>,
    explicit: Vec<u8>,
}

impl DirectionKeys {
    pub(in crate::scripted) fn encrypter(&self) -> Box<dyn MessageEncrypter> {
        let key = AeadKey::new(&self.key);
        self.suite.aead_alg.encrypter(key, &self.iv, &self.explicit)
    }

    pub(in crate::scripted) fn decrypter(&self) -> Box<dyn MessageDecrypter> {
        self.suite
            .aead_alg
            .decrypter(AeadKey::new(&self.key), &self.iv)
    }
}
