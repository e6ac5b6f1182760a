//! Resolvers and session stores, for one crate.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pki_types::{ServerName, UnixTime};

pub use super::stores::FirstSessions;
use super::tls::client::{
    ClientSessionMemoryCache, ClientSessionStore, ResolvesClientCert, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use super::tls::server::{ClientHello, ResolvesServerCert};
use super::tls::sign::CertifiedKey;
use super::tls::time_provider::TimeProvider;
use super::tls::{KeyLog, NamedGroup, SignatureScheme};
use crate::peers::callbacks::{Clock, KeyLines, ResolverCalls};

// Defines a method that only has an effect while the memory is open.
macro_rules! open {
    ($call:ident($($arg:ident: $type:ty),*) -> $out:ty) => {
        fn $call(&self, $($arg: $type),*) -> $out {
            let memory = self.memory(stringify!($call));
            memory.map_or_else(Default::default, |memory| memory.$call($($arg),*))
        }
    };
}

// Implements Debug, which the traits require and functions lack.
macro_rules! debugs {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = Duration::from_secs(self.read());
        (!seconds.is_zero()).then(|| UnixTime::since_unix_epoch(seconds))
    }
}

impl KeyLog for KeyLines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let line = (label.to_owned(), client_random.to_vec(), secret.to_vec());
        self.0.lock().unwrap().push(line);
    }
}

type Key = Option<Arc<CertifiedKey>>;

/// A function that chooses a server's key.
pub struct ServerKey(Box<dyn Fn(ClientHello<'_>) -> Key + Send + Sync>);

impl ServerKey {
    pub fn by(choose: impl Fn(ClientHello<'_>) -> Key + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self(Box::new(choose)))
    }
}

impl ResolvesServerCert for ServerKey {
    fn resolve(&self, hello: ClientHello<'_>) -> Key {
        (self.0)(hello)
    }
}

/// A client's resolver that always returns the same key, and records its arguments.
#[derive(Debug)]
pub struct ClientKey {
    key: Key,
    has_certs: bool,
    calls: Mutex<ResolverCalls>,
}

impl ClientKey {
    pub fn new(key: Key) -> Arc<Self> {
        Self::claiming(true, key)
    }

    /// Creates a resolver whose `has_certs` returns this value.
    pub fn claiming(has_certs: bool, key: Key) -> Arc<Self> {
        Arc::new(Self {
            key,
            has_certs,
            calls: Mutex::default(),
        })
    }

    pub fn calls(&self) -> ResolverCalls {
        self.calls.lock().unwrap().clone()
    }
}

impl ResolvesClientCert for ClientKey {
    fn resolve(&self, authorities: &[&[u8]], schemes: &[SignatureScheme]) -> Key {
        let authorities = authorities.iter().map(|name| name.to_vec()).collect();
        let schemes = schemes.iter().map(|scheme| u16::from(*scheme)).collect();
        self.calls.lock().unwrap().push((authorities, schemes));
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        self.has_certs
    }
}

/// A client's session store. A function is given the name of each call, and decides whether the
/// call reaches the memory. A call that sets the stored group again is named `set_kx_hint again`.
pub struct Sessions {
    memory: ClientSessionMemoryCache,
    opens: Box<dyn Fn(&'static str) -> bool + Send + Sync>,
}

impl Sessions {
    pub fn when(opens: impl Fn(&'static str) -> bool + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            memory: ClientSessionMemoryCache::new(32),
            opens: Box::new(opens),
        })
    }

    /// Creates a store that is always empty.
    pub fn forgotten() -> Arc<Self> {
        Self::when(|_| false)
    }

    fn memory(&self, call: &'static str) -> Option<&ClientSessionMemoryCache> {
        (self.opens)(call).then_some(&self.memory)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        let call = if self.memory.kx_hint(&name) == Some(group) {
            "set_kx_hint again"
        } else {
            "set_kx_hint"
        };
        if let Some(memory) = self.memory(call) {
            memory.set_kx_hint(name, group);
        }
    }

    open!(kx_hint(name: &ServerName<'_>) -> Option<NamedGroup>);
    open!(set_tls12_session(
        name: ServerName<'static>,
        value: Tls12ClientSessionValue
    ) -> ());
    open!(tls12_session(name: &ServerName<'_>) -> Option<Tls12ClientSessionValue>);
    open!(remove_tls12_session(name: &ServerName<'static>) -> ());
    open!(insert_tls13_ticket(
        name: ServerName<'static>,
        value: Tls13ClientSessionValue
    ) -> ());
    open!(take_tls13_ticket(
        name: &ServerName<'static>
    ) -> Option<Tls13ClientSessionValue>);
}

debugs!(ServerKey, Sessions);
