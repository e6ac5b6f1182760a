//! The key derivation of RFC 5246, for both scripted peers.

use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::AeadKey;
use rustls::{CipherSuite, Side, SupportedCipherSuite, Tls12CipherSuite};

use crate::scripted::key_schedule::Transcript;
use crate::scripted::records::Keys;

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
    let hash = transcript.hash();
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
) -> Keys {
    let shape = suite.aead_alg.key_block_shape();
    let (key_len, iv_len) = (shape.enc_key_len, shape.fixed_iv_len);
    let mut block = vec![0; 2 * key_len + 2 * iv_len + shape.explicit_nonce_len];
    let seed = [randoms.server, randoms.client].concat();
    let prf = suite.prf_provider;
    prf.for_secret(&mut block, secret, b"key expansion", &seed);
    let (keys, rest) = block.split_at(2 * key_len);
    let (ivs, explicit) = rest.split_at(2 * iv_len);
    let index = usize::from(sender == Side::Server);
    let key = || AeadKey::new(&keys[index * key_len..][..key_len]);
    let iv = &ivs[index * iv_len..][..iv_len];
    Keys {
        encrypter: suite.aead_alg.encrypter(key(), iv, explicit),
        decrypter: suite.aead_alg.decrypter(key(), iv),
        hides_type: false,
    }
}
