//! Rigged callbacks of an application: verifiers, resolvers, keys, storages, tickets, clocks, logs
//! and compression.

use std::fmt;
use std::sync::Arc;

use harness::peers::events::Events;
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
use rustls::observer::{
    ConnectionClosed, ConnectionFailed, HandshakeFacts, KeysUpdated, Observed, Observer,
    SessionEvent, TicketEvent,
};
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

use crate::bomb::{called, fails, failure};

/// A callback that calls the bomb before it does its work.
pub(super) struct Rigged<T>(pub(super) T);

impl<T> fmt::Debug for Rigged<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rigged")
    }
}

/// Calls the bomb as a hook of a verifier or a cipher.
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

impl KeyLog for Rigged<Arc<NoKeyLog>> {
    fn log(&self, _: &str, _: &[u8], _: &[u8]) {
        called("KeyLog::log");
    }

    fn will_log(&self, _: &str) -> bool {
        !called("KeyLog::will_log")
    }
}

rigged! { SigningKey, Arc<dyn SigningKey>:
    fn public_key() -> Option<SubjectPublicKeyInfoDer<'_>>;
    fn algorithm() -> SignatureAlgorithm;
    with fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        if called("SigningKey::choose_scheme") {
            return None;
        }
        Some(Box::new(Rigged(self.0.choose_scheme(offered)?)))
    }
}

rigged! { Signer, Box<dyn Signer>:
    fn sign(message: &[u8]) -> Result<Vec<u8>, Error>, or Err(failure());
    fn scheme() -> SignatureScheme;
}

rigged! { TimeProvider, Arc<DefaultTimeProvider>:
    fn current_time() -> Option<UnixTime>, or None;
}

rigged! { StoresServerSessions, Arc<ServerSessionMemoryCache>:
    fn can_cache() -> bool, or false;
    fn put(key: Vec<u8>, value: Vec<u8>) -> bool, or false;
    fn get(key: &[u8]) -> Option<Vec<u8>>, or None;
    fn take(key: &[u8]) -> Option<Vec<u8>>, or None;
}

rigged! { ProducesTickets, Arc<dyn ProducesTickets>:
    fn enabled() -> bool, or false;
    fn lifetime() -> u32, or 0;
    fn encrypt(plain: &[u8]) -> Option<Vec<u8>>, or None;
    fn decrypt(cipher: &[u8]) -> Option<Vec<u8>>, or None;
}

rigged! { ClientSessionStore, Arc<ClientSessionMemoryCache>:
    #[skip] fn set_kx_hint(name: ServerName<'static>, group: NamedGroup);
    fn kx_hint(name: &ServerName<'_>) -> Option<NamedGroup>, or None;
    #[skip] fn set_tls12_session(name: ServerName<'static>, value: Tls12ClientSessionValue);
    fn tls12_session(name: &ServerName<'_>) -> Option<Tls12ClientSessionValue>, or None;
    #[skip] fn remove_tls12_session(name: &ServerName<'static>);
    #[skip] fn insert_tls13_ticket(name: ServerName<'static>, value: Tls13ClientSessionValue);
    fn take_tls13_ticket(name: &ServerName<'static>) -> Option<Tls13ClientSessionValue>, or None;
}

rigged! { CertCompressor, &'static dyn CertCompressor:
    fn compress(
        input: Vec<u8>,
        level: CompressionLevel
    ) -> Result<Vec<u8>, CompressionFailed>, or Err(CompressionFailed);
    fn algorithm() -> CertificateCompressionAlgorithm;
}

rigged! { CertDecompressor, &'static dyn CertDecompressor:
    fn decompress(
        input: &[u8],
        output: &mut [u8]
    ) -> Result<(), DecompressionFailed>, or Err(DecompressionFailed);
    fn algorithm() -> CertificateCompressionAlgorithm;
}

rigged! { SupportedKxGroup, &'static dyn SupportedKxGroup:
    #[quiet] fn name() -> NamedGroup;
    with fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        fails("SupportedKxGroup::start")?;
        Ok(Box::new(Rigged(self.0.start()?)))
    }
}

rigged! { ActiveKeyExchange, Box<dyn ActiveKeyExchange>:
    fn pub_key() -> &[u8];
    #[quiet] fn group() -> NamedGroup;
    with fn complete(self: Box<Self>, peer: &[u8]) -> Result<rustls::crypto::SharedSecret, Error> {
        fails("ActiveKeyExchange::complete")?;
        self.0.complete(peer)
    }
}

/// Keeps each event before the bomb is called, so that events are complete even if one fails.
macro_rules! rigged_observer {
    ($($name:ident $(($event:ident: $typ:ty))?;)*) => {
        impl Observer for Rigged<Arc<Events>> {
            $(fn $name(&self, connection: &Observed<'_> $(, $event: $typ)?) {
                self.0.$name(connection $(, $event)?);
                called(concat!("Observer::", stringify!($name)));
            })*
        }
    };
}

rigged_observer! {
    handshake_begun;
    handshake_finished(event: &HandshakeFacts<'_>);
    failed(event: &ConnectionFailed<'_>);
    keys_updated(event: &KeysUpdated);
    ticket(event: &TicketEvent);
    session(event: &SessionEvent);
    closed(event: &ConnectionClosed);
}
