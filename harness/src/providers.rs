//! Crypto providers whose suites differ from the genuine ones: keys that wear out early, ciphers
//! that call a hook. [`ffdhe`] has finite-field groups, which the genuine providers do not have;
//! [`transparent`] has a provider without encryption and randomness; [`tickets`] has ticketers made
//! from functions; [`suites`] changes parts of suites; [`constant`] has groups and signing keys
//! with constant results.

pub mod constant;
pub mod ffdhe;
pub mod suites;
pub mod tickets;
pub mod transparent;

use std::any::Any;
use std::sync::Mutex;

use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::{
    AeadKey, EncryptError, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape,
    MessageDecrypter, MessageEncrypter, OutboundPlainMessage, Tls12AeadAlgorithm,
    Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::{ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion, SupportedCipherSuite};

use crate::peers::configs::Provider;
use crate::verifiers::hooked::Hook;

/// Leaks `value`, because parts of a provider must be static. The value stays referenced, so that
/// the leak detection of fuzz targets ignores it even if its provider is dropped.
pub fn leak<T: Send + Sync + 'static>(value: T) -> &'static T {
    static LEAKED: Mutex<Vec<&'static (dyn Any + Send + Sync)>> = Mutex::new(Vec::new());

    let leaked: &T = Box::leak(Box::new(value));
    LEAKED.lock().unwrap().push(leaked);
    leaked
}

/// Returns `provider`, with suites whose keys may protect only `limit` records.
pub fn provider_with_limit(provider: Provider, limit: u64) -> CryptoProvider {
    let mut provider = provider.this();
    for suite in &mut provider.cipher_suites {
        *suite = suites::this::changed(
            *suite,
            |suite| suite.common.confidentiality_limit = limit,
            |suite| suite.common.confidentiality_limit = limit,
        );
    }
    provider
}

/// Returns `provider` with a single TLS 1.3 suite, which fails to seal the types in `refused`.
///
/// # Panics
///
/// Panics if `provider` has no TLS 1.3 suite.
pub fn provider_that_refuses(
    provider: Provider,
    refused: &'static [ContentType],
) -> CryptoProvider {
    let mut provider = provider.this();
    let suites = provider.cipher_suites.iter();
    let suite = suites.filter_map(|suite| suite.tls13()).next().unwrap();
    provider.cipher_suites = vec![hooked(suite.into(), Refuses(refused))];
    provider
}

/// Creates a suite like `suite`, whose record ciphers call a hook.
pub fn hooked(
    suite: SupportedCipherSuite,
    hook: impl Hook + Clone + 'static,
) -> SupportedCipherSuite {
    let hook_of_tls13 = hook.clone();
    suites::this::changed(
        suite,
        |suite| {
            let inner = suite.aead_alg;
            suite.aead_alg = leak(HookedCipher { inner, hook });
        },
        |suite| {
            let (inner, hook) = (suite.aead_alg, hook_of_tls13);
            suite.aead_alg = leak(HookedCipher { inner, hook });
        },
    )
}

/// Fails to seal these types.
#[derive(Clone, Debug)]
struct Refuses(&'static [ContentType]);

impl Hook for Refuses {
    fn called(&self, _: &'static str) -> bool {
        false
    }

    fn seals(&self, _: &'static str, typ: ContentType) -> bool {
        self.0.contains(&typ)
    }
}

/// Wraps a TLS 1.2 or TLS 1.3 cipher, an encrypter or a decrypter, and calls a hook when it is
/// used.
pub struct HookedCipher<C, H> {
    pub inner: C,
    pub hook: H,
}

impl<C, H: Clone> HookedCipher<C, H> {
    fn around<D>(&self, inner: D) -> HookedCipher<D, H> {
        let hook = self.hook.clone();
        HookedCipher { inner, hook }
    }
}

macro_rules! hooked_algorithm {
    ($of:ident, $iv:ty $(, $extra:ident)?; $shape:ident -> $out:ty) => {
        impl<H: Hook + Clone + 'static> $of for HookedCipher<&'static dyn $of, H> {
            fn encrypter(
                &self,
                key: AeadKey,
                iv: $iv,
                $($extra: &[u8],)?
            ) -> Box<dyn MessageEncrypter> {
                self.hook.called(concat!(stringify!($of), "::encrypter"));
                Box::new(self.around(self.inner.encrypter(key, iv, $($extra)?)))
            }

            fn decrypter(&self, key: AeadKey, iv: $iv) -> Box<dyn MessageDecrypter> {
                self.hook.called(concat!(stringify!($of), "::decrypter"));
                Box::new(self.around(self.inner.decrypter(key, iv)))
            }

            fn $shape(&self) -> $out {
                self.inner.$shape()
            }

            fn extract_keys(
                &self,
                key: AeadKey,
                iv: $iv,
                $($extra: &[u8],)?
            ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
                if self.hook.called(concat!(stringify!($of), "::extract_keys")) {
                    return Err(UnsupportedOperationError);
                }
                self.inner.extract_keys(key, iv, $($extra)?)
            }
        }
    };
}

hooked_algorithm!(Tls13AeadAlgorithm, Iv; key_len -> usize);
hooked_algorithm!(Tls12AeadAlgorithm, &[u8], explicit; key_block_shape -> KeyBlockShape);

impl<H: Hook> MessageEncrypter for HookedCipher<Box<dyn MessageEncrypter>, H> {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        if self.hook.seals("MessageEncrypter::encrypt", msg.typ) {
            return Err(EncryptError::Failed);
        }
        let sealed = self.inner.encrypt(msg, seq, out);
        self.hook.returns("MessageEncrypter::encrypt");
        sealed
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        version: ProtocolVersion,
        payload_len: usize,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        if self.hook.seals("MessageEncrypter::encrypt_in_place", typ) {
            return Err(EncryptError::Failed);
        }
        let inner = &mut self.inner;
        let sealed = inner.encrypt_in_place(typ, version, payload_len, seq, out);
        self.hook.returns("MessageEncrypter::encrypt_in_place");
        sealed
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        self.inner.encrypted_payload_len(payload_len)
    }

    fn payload_offset(&self) -> usize {
        self.inner.payload_offset()
    }
}

impl<H: Hook> MessageDecrypter for HookedCipher<Box<dyn MessageDecrypter>, H> {
    fn decrypt<'a>(
        &mut self,
        msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        if self.hook.called("MessageDecrypter::decrypt") {
            return Err(Error::DecryptError);
        }
        let opened = self.inner.decrypt(msg, seq);
        self.hook.returns("MessageDecrypter::decrypt");
        opened
    }
}
