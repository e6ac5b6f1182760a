//! Configurations whose callbacks all call the thread's bomb and otherwise work normally.

/// Implements a trait for [`Rigged`]. Each method calls the bomb with `trait::method`, and then the
/// inner object. If the call must fail, the method returns the value after `or`, or with `#[skip]`
/// does nothing. With `#[rig]`, the result is rigged, too. With `#[quiet]`, the bomb is not called.
/// The methods after `with` are used unchanged.
macro_rules! rigged {
    (
        $trait:path, $inner:ty:
        $($(#[$kind:ident])? fn $name:ident($($arg:ident: $typ:ty),*) $(-> $out:ty)? $(, or $failed:expr)?;)*
        $(with $($rest:tt)*)?
    ) => {
        impl $trait for Rigged<$inner> {
            $(
                fn $name(&self $(, $arg: $typ)*) $(-> $out)? {
                    rigged!(@call $($kind)?: $trait, $name $(, $failed)?);
                    rigged!(@value $($kind)?: self.0.$name($($arg),*))
                }
            )*
            $($($rest)*)?
        }
    };
    (@call quiet: $trait:path, $name:ident) => {};
    (@call skip: $trait:path, $name:ident) => {
        if crate::bomb::called(concat!(stringify!($trait), "::", stringify!($name))) {
            return;
        }
    };
    (@call $($kind:ident)?: $trait:path, $name:ident) => {
        crate::bomb::called(concat!(stringify!($trait), "::", stringify!($name)))
    };
    (@call $($kind:ident)?: $trait:path, $name:ident, $failed:expr) => {
        if crate::bomb::called(concat!(stringify!($trait), "::", stringify!($name))) {
            return $failed;
        }
    };
    (@value rig: $value:expr) => { Box::new(Rigged($value)) };
    (@value $($kind:ident)?: $value:expr) => { $value };
}

mod application;
mod provider;

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, Versions};
use harness::peers::events::Events;
use harness::providers::leak;
use harness::verifiers::hooked::Hooked;
use rustls::client::{ClientSessionMemoryCache, Resumption, WebPkiServerVerifier};
use rustls::compress::{ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR};
use rustls::crypto::CryptoProvider;
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::time_provider::DefaultTimeProvider;
use rustls::{ClientConfig, NoKeyLog, ServerConfig};

use self::application::{Bomb, Rigged};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// The settings of a test's connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) versions: Versions,
    /// True if sessions are stored in tickets, not in the storage.
    pub(crate) tickets: bool,
    /// True if the client's first key share is of a group that the server lacks.
    pub(crate) retry: bool,
    pub(crate) early_data: bool,
    pub(crate) quic: bool,
}

/// The configurations of both sides.
pub(crate) struct Rig {
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) server: Arc<ServerConfig>,
    /// The events of all connections, which the observer of both sides keeps.
    pub(crate) events: Arc<Events>,
}

impl Rig {
    pub(crate) fn new(setup: Setup) -> Self {
        let events = Events::new();
        let (mut client, mut server) = (client(setup), server(setup));
        client.observer = Some(Arc::new(Rigged(events.clone())));
        server.observer = Some(Arc::new(Rigged(events.clone())));
        Self {
            client: Arc::new(client),
            server: Arc::new(server),
            events,
        }
    }
}

fn provider(setup: Setup, is_server: bool) -> CryptoProvider {
    let mut provider = provider::provider();
    if setup.retry && is_server {
        provider.kx_groups.remove(0);
    }
    provider
}

/// Rigs the parts that the configurations of both sides have.
macro_rules! rig_common {
    ($config:ident) => {
        $config.time_provider = Arc::new(Rigged(Arc::new(DefaultTimeProvider)));
        $config.enable_secret_extraction = true;
        $config.key_log = Arc::new(Rigged(Arc::new(NoKeyLog)));
        $config.cert_compressors = vec![leak(Rigged(ZLIB_COMPRESSOR))];
        $config.cert_decompressors = vec![leak(Rigged(ZLIB_DECOMPRESSOR))];
    };
}

fn client(setup: Setup) -> ClientConfig {
    let provider = provider(setup, false);
    let roots = configs::this::roots(KEY_TYPE);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone().into());
    let verifier = verifier.build().unwrap();
    let key = certified(&KEY_TYPE.identities().client);
    let auth = ClientAuth::None;
    let mut config = configs::this::client_of(setup.versions, provider, KEY_TYPE, auth);
    let mut dangerous = config.dangerous();
    dangerous.set_certificate_verifier(Hooked::new(verifier, Bomb));
    config.client_auth_cert_resolver = Arc::new(Rigged(key));
    let store = Arc::new(ClientSessionMemoryCache::new(32));
    config.resumption = Resumption::store(Arc::new(Rigged(store)));
    config.enable_early_data = setup.early_data;
    rig_common!(config);
    config
}

fn server(setup: Setup) -> ServerConfig {
    let provider = provider(setup, true);
    let roots = configs::this::roots(KEY_TYPE);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone().into());
    let verifier = verifier.build().unwrap();
    let key = certified(&KEY_TYPE.identities().server);
    let verifier = Hooked::new(verifier, Bomb);
    let mut config = configs::this::server_verifying(setup.versions, provider, KEY_TYPE, verifier);
    config.cert_resolver = Arc::new(Rigged(key));
    if setup.tickets {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        let ticketer = rustls_provider_ring::Ticketer::new().unwrap();
        config.ticketer = Arc::new(Rigged(ticketer));
    } else {
        config.session_storage = Arc::new(Rigged(ServerSessionMemoryCache::new(32)));
    }
    if setup.early_data {
        config.max_early_data_size = if setup.quic { u32::MAX } else { 1000 };
    }
    rig_common!(config);
    config
}

fn certified(identity: &configs::Identity) -> Arc<CertifiedKey> {
    let loader = Provider::Ring.this().key_provider;
    let key = loader.load_private_key(identity.key()).unwrap();
    Arc::new(CertifiedKey::new(
        identity.chain.clone(),
        Arc::new(Rigged(key)),
    ))
}
