//! The TLS 1.2 key derivation (RFC 5246), for both scripted peers.

use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::AeadKey;
use rustls::{CipherSuite, Side, SupportedCipherSuite, Tls12CipherSuite};

use super::Session;
use crate::scripted::key_schedule::Transcript;
use crate::scripted::records::Keys;

pub(super) struct Secrets {
    /// The suites of a provider are static.
    pub(super) suite: &'static Tls12CipherSuite,
    /// The randoms of client and server.
    pub(super) randoms: [[u8; 32]; 2],
    /// The master secret, once there is one.
    pub(super) master: Option<[u8; 48]>,
}

impl Secrets {
    /// Creates the secrets for the suite with this name in `provider`, and with the resumed
    /// session's master secret, if any.
    pub(super) fn new(
        provider: &CryptoProvider,
        name: CipherSuite,
        randoms: [[u8; 32]; 2],
        session: Option<&Session>,
    ) -> Self {
        let mut suites = provider.cipher_suites.iter();
        match suites.find(|suite| suite.suite() == name) {
            Some(SupportedCipherSuite::Tls12(suite)) => Self {
                suite,
                randoms,
                master: session.map(|session| session.master_secret),
            },
            _ => panic!("no {name:?}"),
        }
    }

    /// RFC 5246 §8.1, or RFC 7627 §4 with a session hash: derives the master secret.
    pub(super) fn agree(&mut self, pre_master_secret: &[u8], session_hash: Option<Vec<u8>>) {
        let (label, seed) = match session_hash {
            Some(hash) => ("extended master secret", hash),
            None => ("master secret", self.randoms.concat()),
        };
        let prf = self.suite.prf_provider;
        let secret = self.master.insert([0; 48]);
        prf.for_secret(secret, pre_master_secret, label.as_bytes(), &seed);
    }

    /// RFC 5246 §7.4.9: the verify_data in the Finished of `sender`, once there are keys.
    pub(super) fn verify_data(&self, sender: Side, transcript: &Transcript) -> Option<Vec<u8>> {
        let label = match sender {
            Side::Client => "client finished",
            Side::Server => "server finished",
        };
        let mut data = vec![0; 12];
        let prf = self.suite.prf_provider;
        let hash = transcript.hash();
        prf.for_secret(&mut data, &self.master?, label.as_bytes(), &hash);
        Some(data)
    }

    /// RFC 5246 §6.3: the keys for the records of `sender`, once there are any.
    pub(super) fn keys(&self, sender: Side) -> Option<Keys> {
        let (aead, [client, server]) = (self.suite.aead_alg, self.randoms);
        let shape = aead.key_block_shape();
        let (key_len, iv_len) = (shape.enc_key_len, shape.fixed_iv_len);
        let mut block = vec![0; 2 * key_len + 2 * iv_len + shape.explicit_nonce_len];
        let seed = [server, client].concat();
        let prf = self.suite.prf_provider;
        prf.for_secret(&mut block, &self.master?, b"key expansion", &seed);
        let (keys, rest) = block.split_at(2 * key_len);
        let (ivs, explicit) = rest.split_at(2 * iv_len);
        let index = usize::from(sender == Side::Server);
        let key = || AeadKey::new(&keys[index * key_len..][..key_len]);
        let iv = &ivs[index * iv_len..][..iv_len];
        Some(Keys {
            encrypter: aead.encrypter(key(), iv, explicit),
            decrypter: aead.decrypter(key(), iv),
            hides_type: false,
        })
    }
}
