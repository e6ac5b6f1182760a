//! Authorities, what they issue, and connections that can be parked in the middle of a handshake.

use std::sync::Arc;

use harness::configs::{PROVIDERS, Provider, Versions};
use harness::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered};
use pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SerialNumber,
};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, client, server,
};

pub(crate) const SERVER: &str = "server.example";

/// Somebody who issues certificates.
pub(crate) struct Authority(pub(crate) CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Self(CertifiedIssuer::self_signed(params, key()).unwrap())
    }

    /// A certificate for [`SERVER`], for servers and clients alike.
    pub(crate) fn issue(&self) -> Identity {
        self.issue_with(SERVER, |_| {})
    }

    pub(crate) fn issue_with(
        &self,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Identity {
        let mut params = CertificateParams::new(vec![name.into()]).unwrap();
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        params.serial_number = Some(SerialNumber::from(1));
        change(&mut params);
        let key = key();
        let cert = params.signed_by(&key, &self.0).unwrap();
        Identity {
            cert: cert.der().clone(),
            key: key.serialize_der(),
        }
    }

    pub(crate) fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        Arc::new(roots)
    }

    pub(crate) fn server_verifier(&self, provider: Provider) -> Arc<dyn ServerCertVerifier> {
        WebPkiServerVerifier::builder_with_provider(self.roots(), Arc::new(provider.this()))
            .build()
            .unwrap()
    }

    pub(crate) fn client_verifier(&self, provider: Provider) -> Arc<dyn ClientCertVerifier> {
        WebPkiClientVerifier::builder_with_provider(self.roots(), Arc::new(provider.this()))
            .build()
            .unwrap()
    }
}

fn key() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap()
}

/// A certificate and its key.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) cert: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    pub(crate) fn certified(&self, provider: Provider) -> Arc<SingleCertAndKey> {
        let key = PrivateKeyDer::Pkcs8(self.key.clone().into());
        let certified = CertifiedKey::from_der(vec![self.cert.clone()], key, &provider.this());
        Arc::new(SingleCertAndKey::from(certified.unwrap()))
    }
}

/// Which connections a test is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) provider: Provider,
    pub(crate) versions: Versions,
    pub(crate) buffered: bool,
}

/// Both providers, both versions, both APIs.
pub(crate) fn setups() -> impl Iterator<Item = Setup> {
    PROVIDERS.into_iter().flat_map(|provider| {
        [Versions::Tls12, Versions::Tls13]
            .into_iter()
            .flat_map(move |versions| {
                [true, false].map(|buffered| Setup {
                    provider,
                    versions,
                    buffered,
                })
            })
    })
}

impl Setup {
    pub(crate) fn server_config(
        self,
        verifier: Arc<dyn ClientCertVerifier>,
        resolver: Arc<dyn ResolvesServerCert>,
    ) -> Arc<ServerConfig> {
        let config = ServerConfig::builder_with_provider(Arc::new(self.provider.this()))
            .with_protocol_versions(&self.versions.choose(&TLS12, &TLS13))
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(resolver);
        Arc::new(config)
    }

    pub(crate) fn client_config(
        self,
        verifier: Arc<dyn ServerCertVerifier>,
        resolver: Arc<dyn ResolvesClientCert>,
    ) -> Arc<ClientConfig> {
        let config = ClientConfig::builder_with_provider(Arc::new(self.provider.this()))
            .with_protocol_versions(&self.versions.choose(&TLS12, &TLS13))
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(resolver);
        Arc::new(config)
    }

    pub(crate) fn client(self, config: &Arc<ClientConfig>) -> Box<dyn Endpoint> {
        let (config, name) = (config.clone(), ServerName::try_from(SERVER).unwrap());
        if self.buffered {
            Box::new(ThisBuffered::new(
                ClientConnection::new(config, name).unwrap(),
            ))
        } else {
            let connection = client::UnbufferedClientConnection::new(config, name).unwrap();
            Box::new(ThisUnbuffered::new(connection))
        }
    }

    pub(crate) fn server(self, config: &Arc<ServerConfig>) -> Box<dyn Endpoint> {
        let config = config.clone();
        if self.buffered {
            Box::new(ThisBuffered::new(ServerConnection::new(config).unwrap()))
        } else {
            let connection = server::UnbufferedServerConnection::new(config).unwrap();
            Box::new(ThisUnbuffered::new(connection))
        }
    }
}

/// Into how many pieces each flight is cut for [`exchange_and`].
pub(crate) const PIECES: usize = 6;

/// Moves bytes until neither end has any to send, each flight in [`PIECES`] pieces, and does `then` when `at` pieces
/// have been moved. Returns how many were; the first error of either.
pub(crate) fn exchange_and(
    client: &mut dyn Endpoint,
    server: &mut dyn Endpoint,
    at: usize,
    then: impl FnOnce(),
) -> Result<usize, String> {
    let mut then = Some(then);
    let mut moved = 0;
    loop {
        let to_server = client.take_output();
        for piece in pieces(&to_server) {
            if moved == at {
                then.take().unwrap()();
            }
            moved += 1;
            let received = server.receive(piece);
            received.map_err(|error| format!("server: {error}"))?;
        }
        let to_client = server.take_output();
        for piece in pieces(&to_client) {
            if moved == at {
                then.take().unwrap()();
            }
            moved += 1;
            let received = client.receive(piece);
            received.map_err(|error| format!("client: {error}"))?;
        }
        if to_server.is_empty() && to_client.is_empty() {
            return Ok(moved);
        }
    }
}

fn pieces(flight: &[u8]) -> impl Iterator<Item = &[u8]> {
    flight.chunks(flight.len().div_ceil(PIECES).max(1))
}

/// Whether the handshake was an abbreviated one.
pub(crate) fn is_resumed(end: &dyn Endpoint) -> bool {
    end.negotiated().ends_with("Some(Resumed)")
}
