//! Rigged callbacks of a crypto provider: hash functions, key derivation, ciphers and randomness.

use std::sync::OnceLock;

use harness::peers::configs::Provider;
use harness::providers::suites::this::changed;
use harness::providers::{HookedCipher, leak};
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::crypto::tls12::Prf;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use rustls::crypto::{ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, hmac};
use rustls::{CipherSuite, CipherSuiteCommon, Error, SupportedCipherSuite, quic};

use super::application::{Bomb, Rigged};
use crate::bomb::{called, failure};

/// Returns ring's provider with one suite per version, and every part rigged.
pub(super) fn provider() -> CryptoProvider {
    static MADE: OnceLock<CryptoProvider> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

fn make() -> CryptoProvider {
    let mut provider = Provider::Ring.this();
    let suite = |suite| {
        let mut suites = provider.cipher_suites.iter();
        rigged_suite(*suites.find(|s| s.suite() == suite).unwrap())
    };
    provider.cipher_suites = vec![
        suite(CipherSuite::TLS13_AES_128_GCM_SHA256),
        suite(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ];
    for group in &mut provider.kx_groups {
        *group = leak(Rigged(*group));
    }
    provider.secure_random = leak(Rigged(provider.secure_random));
    provider
}

fn rigged_suite(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let rig = |common: &mut CipherSuiteCommon| {
        common.hash_provider = leak(Rigged(common.hash_provider));
    };
    changed(
        suite,
        |suite| {
            rig(&mut suite.common);
            suite.aead_alg = leak(hooked(suite.aead_alg));
            suite.prf_provider = leak(Rigged(suite.prf_provider));
        },
        |suite| {
            rig(&mut suite.common);
            suite.aead_alg = leak(hooked(suite.aead_alg));
            suite.hkdf_provider = leak(Rigged(suite.hkdf_provider));
            suite.quic = suite.quic.map(|quic| leak(Rigged(quic)) as _);
        },
    )
}

fn hooked<C>(inner: C) -> HookedCipher<C, Bomb> {
    HookedCipher { inner, hook: Bomb }
}

rigged! { SecureRandom, &'static dyn SecureRandom:
    fn fill(buf: &mut [u8]) -> Result<(), GetRandomFailed>, or Err(GetRandomFailed);
}

rigged! { Hash, &'static dyn Hash:
    #[rig] fn start() -> Box<dyn Context>;
    fn hash(data: &[u8]) -> Output;
    #[quiet] fn output_len() -> usize;
    #[quiet] fn algorithm() -> HashAlgorithm;
}

rigged! { Context, Box<dyn Context>:
    fn fork_finish() -> Output;
    #[rig] fn fork() -> Box<dyn Context>;
    with fn finish(self: Box<Self>) -> Output {
        called("Context::finish");
        self.0.finish()
    }

    fn update(&mut self, data: &[u8]) {
        called("Context::update");
        self.0.update(data);
    }
}

rigged! { Hkdf, &'static dyn Hkdf:
    #[rig] fn extract_from_zero_ikm(salt: Option<&[u8]>) -> Box<dyn HkdfExpander>;
    #[rig] fn extract_from_secret(salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander>;
    #[rig] fn expander_for_okm(okm: &OkmBlock) -> Box<dyn HkdfExpander>;
    fn hmac_sign(key: &OkmBlock, message: &[u8]) -> hmac::Tag;
}

rigged! { HkdfExpander, Box<dyn HkdfExpander>:
    fn expand_slice(info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError>;
    fn expand_block(info: &[&[u8]]) -> OkmBlock;
    #[quiet] fn hash_len() -> usize;
}

rigged! { Prf, &'static dyn Prf:
    fn for_key_exchange(
        output: &mut [u8; 48],
        kx: Box<dyn ActiveKeyExchange>,
        peer: &[u8],
        label: &[u8],
        seed: &[u8]
    ) -> Result<(), Error>, or Err(failure());
    fn for_secret(output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]);
}

rigged! { quic::Algorithm, &'static dyn quic::Algorithm:
    fn packet_key(key: AeadKey, iv: Iv) -> Box<dyn quic::PacketKey>;
    fn header_protection_key(key: AeadKey) -> Box<dyn quic::HeaderProtectionKey>;
    #[quiet] fn aead_key_len() -> usize;
}
