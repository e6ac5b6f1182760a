//! Rigged callbacks of a crypto provider: hash functions, key derivation, ciphers and randomness.

use std::sync::OnceLock;

use harness::peers::configs::Provider;
use harness::providers::HookedCipher;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::crypto::tls12::Prf;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use rustls::crypto::{ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, hmac};
use rustls::{
    CipherSuite, CipherSuiteCommon, Error, SupportedCipherSuite, Tls12CipherSuite,
    Tls13CipherSuite, quic,
};

use super::application::{Bomb, Rigged};
use crate::bomb::{called, fails};

/// ring's provider with one suite per version, and every part rigged.
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
        *group = Box::leak(Box::new(Rigged(*group)));
    }
    provider.secure_random = Box::leak(Box::new(Rigged(provider.secure_random)));
    provider
}

fn rigged_suite(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
        suite: common.suite,
        hash_provider: Box::leak(Box::new(Rigged(common.hash_provider))),
        confidentiality_limit: common.confidentiality_limit,
    };
    match suite {
        SupportedCipherSuite::Tls13(suite) => {
            let suite: &'static Tls13CipherSuite = Box::leak(Box::new(Tls13CipherSuite {
                common: common(&suite.common),
                hkdf_provider: Box::leak(Box::new(Rigged(suite.hkdf_provider))),
                aead_alg: Box::leak(Box::new(hooked(suite.aead_alg))),
                quic: suite
                    .quic
                    .map(|quic| &*Box::leak(Box::new(Rigged(quic))) as &dyn quic::Algorithm),
            }));
            suite.into()
        }
        SupportedCipherSuite::Tls12(suite) => {
            let suite: &'static Tls12CipherSuite = Box::leak(Box::new(Tls12CipherSuite {
                common: common(&suite.common),
                kx: suite.kx,
                sign: suite.sign,
                aead_alg: Box::leak(Box::new(hooked(suite.aead_alg))),
                prf_provider: Box::leak(Box::new(Rigged(suite.prf_provider))),
            }));
            suite.into()
        }
    }
}

impl SecureRandom for Rigged<&'static dyn SecureRandom> {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        if called("SecureRandom::fill") {
            return Err(GetRandomFailed);
        }
        self.0.fill(buf)
    }
}

impl Hash for Rigged<&'static dyn Hash> {
    fn start(&self) -> Box<dyn Context> {
        called("Hash::start");
        Box::new(Rigged(self.0.start()))
    }

    fn hash(&self, data: &[u8]) -> Output {
        called("Hash::hash");
        self.0.hash(data)
    }

    fn output_len(&self) -> usize {
        self.0.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.0.algorithm()
    }
}

impl Context for Rigged<Box<dyn Context>> {
    fn fork_finish(&self) -> Output {
        called("hash::Context::fork_finish");
        self.0.fork_finish()
    }

    fn fork(&self) -> Box<dyn Context> {
        called("hash::Context::fork");
        Box::new(Rigged(self.0.fork()))
    }

    fn finish(self: Box<Self>) -> Output {
        called("hash::Context::finish");
        self.0.finish()
    }

    fn update(&mut self, data: &[u8]) {
        called("hash::Context::update");
        self.0.update(data);
    }
}

impl Hkdf for Rigged<&'static dyn Hkdf> {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        called("Hkdf::extract_from_zero_ikm");
        Box::new(Rigged(self.0.extract_from_zero_ikm(salt)))
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        called("Hkdf::extract_from_secret");
        Box::new(Rigged(self.0.extract_from_secret(salt, secret)))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        called("Hkdf::expander_for_okm");
        Box::new(Rigged(self.0.expander_for_okm(okm)))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> hmac::Tag {
        called("Hkdf::hmac_sign");
        self.0.hmac_sign(key, message)
    }
}

impl HkdfExpander for Rigged<Box<dyn HkdfExpander>> {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        called("HkdfExpander::expand_slice");
        self.0.expand_slice(info, output)
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        called("HkdfExpander::expand_block");
        self.0.expand_block(info)
    }

    fn hash_len(&self) -> usize {
        self.0.hash_len()
    }
}

fn hooked<C>(inner: C) -> HookedCipher<C, Bomb> {
    HookedCipher { inner, hook: Bomb }
}

impl Prf for Rigged<&'static dyn Prf> {
    fn for_key_exchange(
        &self,
        output: &mut [u8; 48],
        kx: Box<dyn ActiveKeyExchange>,
        peer: &[u8],
        label: &[u8],
        seed: &[u8],
    ) -> Result<(), Error> {
        fails("Prf::for_key_exchange")?;
        self.0.for_key_exchange(output, kx, peer, label, seed)
    }

    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
        called("Prf::for_secret");
        self.0.for_secret(output, secret, label, seed);
    }
}

impl quic::Algorithm for Rigged<&'static dyn quic::Algorithm> {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn quic::PacketKey> {
        called("quic::Algorithm::packet_key");
        self.0.packet_key(key, iv)
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn quic::HeaderProtectionKey> {
        called("quic::Algorithm::header_protection_key");
        self.0.header_protection_key(key)
    }

    fn aead_key_len(&self) -> usize {
        self.0.aead_key_len()
    }
}
