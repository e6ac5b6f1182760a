//! A provider whose ciphers fail to seal, for this crate.

use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::{
    AeadKey, EncryptError, Iv, MessageDecrypter, MessageEncrypter, OutboundPlainMessage,
    Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::{
    CipherSuiteCommon, ConnectionTrafficSecrets, ContentType, ProtocolVersion, Tls13CipherSuite,
};

use crate::configs::Provider;

/// A cipher that fails to seal some content types.
struct Refusing {
    inner: &'static dyn Tls13AeadAlgorithm,
    refused: &'static [ContentType],
}

impl Tls13AeadAlgorithm for Refusing {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Refuses {
            inner: self.inner.encrypter(key, iv),
            refused: self.refused,
        })
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        self.inner.decrypter(key, iv)
    }

    fn key_len(&self) -> usize {
        self.inner.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.inner.extract_keys(key, iv)
    }
}

struct Refuses {
    inner: Box<dyn MessageEncrypter>,
    refused: &'static [ContentType],
}

impl MessageEncrypter for Refuses {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        if self.refused.contains(&msg.typ) {
            return Err(EncryptError::Failed);
        }
        self.inner.encrypt(msg, seq, out)
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        if self.refused.contains(&typ) {
            return Err(EncryptError::Failed);
        }
        self.inner
            .encrypt_in_place(typ, version, payload_len, seq, out)
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        self.inner.encrypted_payload_len(payload_len)
    }

    fn payload_offset(&self) -> usize {
        self.inner.payload_offset()
    }
}

/// Returns `provider` with a single TLS 1.3 suite, which fails to seal the types in `refused`.
///
/// # Panics
///
/// If `provider` has no suite of TLS 1.3.
pub fn provider_that_refuses(
    provider: Provider,
    refused: &'static [ContentType],
) -> CryptoProvider {
    let mut provider = provider.this();
    let suites = provider.cipher_suites.iter();
    let suite = suites.filter_map(|suite| suite.tls13()).next().unwrap();
    let suite: &'static Tls13CipherSuite = Box::leak(Box::new(Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: suite.common.hash_provider,
            confidentiality_limit: suite.common.confidentiality_limit,
        },
        hkdf_provider: suite.hkdf_provider,
        aead_alg: Box::leak(Box::new(Refusing {
            inner: suite.aead_alg,
            refused,
        })),
        quic: None,
    }));
    provider.cipher_suites = vec![suite.into()];
    provider
}
