//! Rigged callbacks of a crypto provider: hash functions, key derivation, ciphers and randomness.

use std::sync::OnceLock;

use harness::configs::Provider;
use rustls::crypto::cipher::{
    AeadKey, EncryptError, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape,
    MessageDecrypter, MessageEncrypter, OutboundPlainMessage, Tls12AeadAlgorithm,
    Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::crypto::tls12::Prf;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use rustls::crypto::{ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, hmac};
use rustls::{
    CipherSuite, CipherSuiteCommon, ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion,
    SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite, quic,
};

use super::application::Rigged;
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
                aead_alg: Box::leak(Box::new(Rigged(suite.aead_alg))),
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
                aead_alg: Box::leak(Box::new(Rigged(suite.aead_alg))),
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

impl Tls13AeadAlgorithm for Rigged<&'static dyn Tls13AeadAlgorithm> {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        called("Tls13AeadAlgorithm::encrypter");
        Box::new(Rigged(self.0.encrypter(key, iv)))
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        called("Tls13AeadAlgorithm::decrypter");
        Box::new(Rigged(self.0.decrypter(key, iv)))
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv)
    }
}

impl Tls12AeadAlgorithm for Rigged<&'static dyn Tls12AeadAlgorithm> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        called("Tls12AeadAlgorithm::encrypter");
        Box::new(Rigged(self.0.encrypter(key, iv, extra)))
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        called("Tls12AeadAlgorithm::decrypter");
        Box::new(Rigged(self.0.decrypter(key, iv)))
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        self.0.key_block_shape()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv, explicit)
    }
}

impl MessageEncrypter for Rigged<Box<dyn MessageEncrypter>> {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        if called("MessageEncrypter::encrypt") {
            return Err(EncryptError::Failed);
        }
        self.0.encrypt(msg, seq, out)
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        if called("MessageEncrypter::encrypt_in_place") {
            return Err(EncryptError::Failed);
        }
        self.0.encrypt_in_place(typ, version, payload_len, seq, out)
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        self.0.encrypted_payload_len(payload_len)
    }

    fn payload_offset(&self) -> usize {
        self.0.payload_offset()
    }
}

impl MessageDecrypter for Rigged<Box<dyn MessageDecrypter>> {
    fn decrypt<'a>(
        &mut self,
        msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        if called("MessageDecrypter::decrypt") {
            return Err(Error::DecryptError);
        }
        self.0.decrypt(msg, seq)
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
