//! Configurations whose sides both authenticate with chains of three certificates. There can be any
//! number of different clients.

use std::sync::{Arc, OnceLock};

use harness::peers::configs::this::trusted;
use harness::peers::configs::{Provider, SERVER_NAME, Versions, server_name};
use harness::peers::endpoints::Transfer;
use harness::peers::pki::{self, Issuer};
use pki_types::{CertificateDer, PrivateKeyDer};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, date_time_ymd};
use rustls::crypto::CryptoProvider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, Error, RootCertStore, ServerConfig,
    ServerConnection,
};

/// A root with two intermediate authorities.
pub(crate) struct Authority {
    root: Issuer,
    middle: Issuer,
    issuer: Issuer,
    /// The key in all certificates of clients and servers.
    key: KeyPair,
}

impl Authority {
    pub(crate) fn new(organization: &str) -> Self {
        let lasting = |params: &mut CertificateParams| {
            let name = &mut params.distinguished_name;
            name.push(DnType::OrganizationName, organization);
            params.not_after = date_time_ymd(4096, 1, 1);
        };
        let root = pki::root("root", lasting);
        let middle = pki::intermediate("middle", &root, lasting);
        Self {
            issuer: pki::intermediate("issuer", &middle, lasting),
            root,
            middle,
            key: pki::key(),
        }
    }

    /// Returns the authority that all tests share.
    pub(crate) fn get() -> &'static Self {
        static MADE: OnceLock<Authority> = OnceLock::new();
        MADE.get_or_init(|| Self::new("ours"))
    }

    pub(crate) fn chain(
        &self,
        name: &str,
        purpose: ExtendedKeyUsagePurpose,
    ) -> Vec<CertificateDer<'static>> {
        self.changed_chain(name, purpose, |_| ())
    }

    /// Returns a chain whose end-entity certificate is modified by `change`.
    pub(crate) fn changed_chain(
        &self,
        name: &str,
        purpose: ExtendedKeyUsagePurpose,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Vec<CertificateDer<'static>> {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![purpose];
        change(&mut params);
        let end_entity = params.signed_by(&self.key, &self.issuer).unwrap();
        vec![
            end_entity.der().clone(),
            self.issuer.der().clone(),
            self.middle.der().clone(),
        ]
    }

    /// Returns the chain of client number `number`.
    pub(crate) fn client_chain(&self, number: usize) -> Vec<CertificateDer<'static>> {
        let name = format!("client-{number}.example");
        self.chain(&name, ExtendedKeyUsagePurpose::ClientAuth)
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.serialize_der().into())
    }

    pub(crate) fn roots(&self) -> Arc<RootCertStore> {
        trusted([self.root.der()])
    }

    /// Creates a client that authenticates with this chain.
    pub(crate) fn client(
        &self,
        provider: Provider,
        versions: Versions,
        chain: Vec<CertificateDer<'static>>,
    ) -> ClientConfig {
        self.client_with(provider.this(), versions, chain)
    }

    /// Like [`Self::client`], with any provider.
    pub(crate) fn client_with(
        &self,
        provider: CryptoProvider,
        versions: Versions,
        chain: Vec<CertificateDer<'static>>,
    ) -> ClientConfig {
        ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
            .unwrap()
            .with_root_certificates(self.roots())
            .with_client_auth_cert(chain, self.key())
            .unwrap()
    }

    /// Creates a server that requires client certificates and stores up to 1000 sessions in memory.
    pub(crate) fn server(&self, provider: Provider, versions: Versions) -> ServerConfig {
        self.server_with(provider.this(), versions)
    }

    /// Like [`Self::server`], with any provider.
    pub(crate) fn server_with(&self, provider: CryptoProvider, versions: Versions) -> ServerConfig {
        self.server_verifying(provider, versions, |verifier| verifier)
    }

    /// Like [`Self::server_with`], with the verifier that `wrap` returns.
    pub(crate) fn server_verifying(
        &self,
        provider: CryptoProvider,
        versions: Versions,
        wrap: impl FnOnce(Arc<dyn ClientCertVerifier>) -> Arc<dyn ClientCertVerifier>,
    ) -> ServerConfig {
        let crypto = Arc::new(provider);
        let verifier = WebPkiClientVerifier::builder_with_provider(self.roots(), crypto.clone());
        let verifier = wrap(verifier.build().unwrap());
        let chain = self.chain(SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth);
        let mut config = ServerConfig::builder_with_provider(crypto)
            .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, self.key())
            .unwrap();
        config.session_storage = ServerSessionMemoryCache::new(1000);
        config
    }
}

/// Configures a server to seal its sessions in tickets.
pub(crate) fn with_tickets(mut config: ServerConfig, provider: Provider) -> ServerConfig {
    config.ticketer = provider.this_ticketer();
    config
}

/// Both ends of a connection after its handshake, when all sessions have been exchanged.
pub(crate) type Pair = (ClientConnection, ServerConnection);

pub(crate) fn connect(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> Result<Pair, Error> {
    let mut client = ClientConnection::new(client.clone(), server_name())?;
    let mut server = ServerConnection::new(server.clone())?;
    while client.wants_write() || server.wants_write() {
        // the server's error precedes that of the client
        pass(&mut client, &mut server)?;
        pass(&mut server, &mut client)?;
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    Ok((client, server))
}

fn pass<From, To>(
    from: &mut ConnectionCommon<From>,
    to: &mut ConnectionCommon<To>,
) -> Result<(), Error> {
    let wire = from.output();
    let mut wire = &wire[..];
    while !wire.is_empty() {
        to.read_tls(&mut wire).unwrap();
        to.process_new_packets()?;
    }
    Ok(())
}
