//! Rigged callbacks of an application: verifiers, resolvers, keys, storages, tickets, clocks, logs
//! and compression.

use std::fmt;
use std::sync::Arc;

use harness::verifiers::hooked::Hook;
use pki_types::{ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, ResolvesClientCert, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::compress::{
    CertCompressor, CertDecompressor, CompressionFailed, CompressionLevel, DecompressionFailed,
};
use rustls::crypto::{ActiveKeyExchange, SupportedKxGroup};
use rustls::server::{
    ClientHello, ProducesTickets, ResolvesServerCert, ServerSessionMemoryCache,
    StoresServerSessions,
};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{
    CertificateCompressionAlgorithm, Error, KeyLog, NamedGroup, NoKeyLog, SignatureAlgorithm,
    SignatureScheme,
};

use crate::bomb::{called, fails};

/// Calls the bomb before it does its work.
pub(super) struct Rigged<T>(pub(super) T);

impl<T> fmt::Debug for Rigged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rigged")
    }
}

/// The bomb as the hook of a verifier or a cipher.
#[derive(Clone, Debug)]
pub(super) struct Bomb;

impl Hook for Bomb {
    fn called(&self, name: &'static str) -> bool {
        called(name)
    }
}

impl ResolvesServerCert for Rigged<Arc<CertifiedKey>> {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        hello.server_name()?;
        (!called("ResolvesServerCert::resolve")).then(|| self.0.clone())
    }

    fn only_raw_public_keys(&self) -> bool {
        called("ResolvesServerCert::only_raw_public_keys")
    }
}

impl ResolvesClientCert for Rigged<Arc<CertifiedKey>> {
    fn current_resolver(&self) -> Option<Arc<dyn ResolvesClientCert>> {
        called("ResolvesClientCert::current_resolver");
        None
    }

    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        (!called("ResolvesClientCert::resolve")).then(|| self.0.clone())
    }

    fn only_raw_public_keys(&self) -> bool {
        called("ResolvesClientCert::only_raw_public_keys")
    }

    fn has_certs(&self) -> bool {
        !called("ResolvesClientCert::has_certs")
    }
}

impl SigningKey for Rigged<Arc<dyn SigningKey>> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        if called("SigningKey::choose_scheme") {
            return None;
        }
        Some(Box::new(Rigged(self.0.choose_scheme(offered)?)))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        called("SigningKey::public_key");
        self.0.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        called("SigningKey::algorithm");
        self.0.algorithm()
    }
}

impl Signer for Rigged<Box<dyn Signer>> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        fails("Signer::sign")?;
        self.0.sign(message)
    }

    fn scheme(&self) -> SignatureScheme {
        called("Signer::scheme");
        self.0.scheme()
    }
}

impl KeyLog for Rigged<Arc<NoKeyLog>> {
    fn log(&self, _: &str, _: &[u8], _: &[u8]) {
        called("KeyLog::log");
    }

    fn will_log(&self, _: &str) -> bool {
        !called("KeyLog::will_log")
    }
}

impl TimeProvider for Rigged<Arc<DefaultTimeProvider>> {
    fn current_time(&self) -> Option<UnixTime> {
        if called("TimeProvider::current_time") {
            return None;
        }
        self.0.current_time()
    }
}

impl StoresServerSessions for Rigged<Arc<ServerSessionMemoryCache>> {
    fn can_cache(&self) -> bool {
        !called("StoresServerSessions::can_cache")
    }

    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        !called("StoresServerSessions::put") && self.0.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        if called("StoresServerSessions::get") {
            return None;
        }
        self.0.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        if called("StoresServerSessions::take") {
            return None;
        }
        self.0.take(key)
    }
}

impl ProducesTickets for Rigged<Arc<dyn ProducesTickets>> {
    fn enabled(&self) -> bool {
        !called("ProducesTickets::enabled")
    }

    fn lifetime(&self) -> u32 {
        if called("ProducesTickets::lifetime") {
            return 0;
        }
        self.0.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        if called("ProducesTickets::encrypt") {
            return None;
        }
        self.0.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        if called("ProducesTickets::decrypt") {
            return None;
        }
        self.0.decrypt(cipher)
    }
}

impl ClientSessionStore for Rigged<Arc<ClientSessionMemoryCache>> {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        if !called("ClientSessionStore::set_kx_hint") {
            self.0.set_kx_hint(name, group);
        }
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        if called("ClientSessionStore::kx_hint") {
            return None;
        }
        self.0.kx_hint(name)
    }

    fn set_tls12_session(&self, name: ServerName<'static>, value: Tls12ClientSessionValue) {
        if !called("ClientSessionStore::set_tls12_session") {
            self.0.set_tls12_session(name, value);
        }
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        if called("ClientSessionStore::tls12_session") {
            return None;
        }
        self.0.tls12_session(name)
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        if !called("ClientSessionStore::remove_tls12_session") {
            self.0.remove_tls12_session(name);
        }
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, value: Tls13ClientSessionValue) {
        if !called("ClientSessionStore::insert_tls13_ticket") {
            self.0.insert_tls13_ticket(name, value);
        }
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        if called("ClientSessionStore::take_tls13_ticket") {
            return None;
        }
        self.0.take_tls13_ticket(name)
    }
}

impl CertCompressor for Rigged<&'static dyn CertCompressor> {
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        if called("CertCompressor::compress") {
            return Err(CompressionFailed);
        }
        self.0.compress(input, level)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        called("CertCompressor::algorithm");
        self.0.algorithm()
    }
}

impl CertDecompressor for Rigged<&'static dyn CertDecompressor> {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        if called("CertDecompressor::decompress") {
            return Err(DecompressionFailed);
        }
        self.0.decompress(input, output)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        called("CertDecompressor::algorithm");
        self.0.algorithm()
    }
}

impl SupportedKxGroup for Rigged<&'static dyn SupportedKxGroup> {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        fails("SupportedKxGroup::start")?;
        Ok(Box::new(Rigged(self.0.start()?)))
    }

    fn name(&self) -> NamedGroup {
        self.0.name()
    }
}

impl ActiveKeyExchange for Rigged<Box<dyn ActiveKeyExchange>> {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<rustls::crypto::SharedSecret, Error> {
        fails("ActiveKeyExchange::complete")?;
        self.0.complete(peer)
    }

    fn pub_key(&self) -> &[u8] {
        called("ActiveKeyExchange::pub_key");
        self.0.pub_key()
    }

    fn group(&self) -> NamedGroup {
        self.0.group()
    }
}
