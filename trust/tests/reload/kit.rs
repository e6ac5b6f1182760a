//! Authorities and their certificates, and connections that can be paused in the middle of a
//! handshake.

use std::fs;
use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::configs::this::trusted;
use harness::peers::configs::{PROVIDERS, Provider, Versions, product3};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered};
pub(crate) use harness::peers::pki::SERVER;
use harness::peers::pki::{self, Issuer, key};
use pki_types::{CertificateDer, PrivateKeyDer};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, SerialNumber, date_time_ymd};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_trust::{
    CertifiedKeyFiles, ReloadError, ReloadingCertifiedKeys, ReloadingCertifiedKeysBuilder,
};

use crate::directory::Directory;
#[cfg(unix)]
use crate::directory::make_pipe;

/// A certificate authority.
pub(crate) struct Authority(pub(crate) Issuer);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let lasting = |params: &mut CertificateParams| params.not_after = date_time_ymd(4096, 1, 1);
        Self(pki::root(name, lasting))
    }

    /// Issues a certificate for [`SERVER`], valid for servers and clients.
    pub(crate) fn issue(&self) -> Identity {
        self.issue_with(SERVER, |_| {})
    }

    /// Issues a certificate with this serial number.
    pub(crate) fn issue_number(&self, serial: u64) -> Identity {
        self.issue_with(SERVER, |params| params.serial_number = Some(serial.into()))
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
            cert_pem: cert.pem(),
            key_pem: key.serialize_pem(),
            key: key.serialize_der(),
        }
    }

    pub(crate) fn roots(&self) -> Arc<RootCertStore> {
        trusted([self.0.der()])
    }

    /// Signs revocation list number `number` with these serial numbers.
    pub(crate) fn crl(&self, number: u8, revoked: &[u8]) -> String {
        let list = pki::crl_of(&self.0, revoked.iter().copied().map(u64::from), |params| {
            params.this_update = date_time_ymd(2023, 1, number);
            params.next_update = date_time_ymd(2123, 1, 1);
            params.crl_number = SerialNumber::from(u64::from(number));
        });
        list.pem().unwrap()
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

/// A certificate and its key.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) cert: CertificateDer<'static>,
    pub(crate) cert_pem: String,
    pub(crate) key_pem: String,
    key: Vec<u8>,
}

impl Identity {
    pub(crate) fn certified(&self, provider: Provider) -> Arc<SingleCertAndKey> {
        let key = PrivateKeyDer::Pkcs8(self.key.clone().into());
        let certified = CertifiedKey::from_der(vec![self.cert.clone()], key, &provider.this());
        Arc::new(SingleCertAndKey::from(certified.unwrap()))
    }
}

/// The kind of the connections under test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) provider: Provider,
    pub(crate) versions: Versions,
    pub(crate) buffered: bool,
}

/// Returns both providers, both versions, both APIs.
pub(crate) fn setups() -> impl Iterator<Item = Setup> {
    let all = product3(PROVIDERS, Versions::EACH, [true, false]);
    all.map(|(provider, versions, buffered)| Setup {
        provider,
        versions,
        buffered,
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
        match self.buffered {
            true => Box::new(ThisBuffered::client(config.clone())),
            false => Box::new(ThisUnbuffered::client(config.clone())),
        }
    }

    pub(crate) fn server(self, config: &Arc<ServerConfig>) -> Box<dyn Endpoint> {
        match self.buffered {
            true => Box::new(ThisBuffered::server(config.clone())),
            false => Box::new(ThisUnbuffered::server(config.clone())),
        }
    }

    /// Returns the configuration of a client with `identity` that trusts `ca`.
    pub(crate) fn client_of(self, ca: &Authority, identity: &Identity) -> Arc<ClientConfig> {
        self.client_config(
            ca.server_verifier(self.provider),
            identity.certified(self.provider),
        )
    }

    /// Returns the configuration of a server with `identity` that requests no certificate.
    pub(crate) fn server_of(self, identity: &Identity) -> Arc<ServerConfig> {
        let nobody = WebPkiClientVerifier::no_client_auth();
        self.server_config(nobody, identity.certified(self.provider))
    }
}

/// The number of pieces of each flight in [`exchange_and`].
pub(crate) const PIECES: usize = 6;

/// Moves bytes until neither end has any to send, each flight in [`PIECES`] pieces. Calls `then`
/// after `at` pieces. Returns the number of pieces, or the first error of either end.
pub(crate) fn exchange_and(
    client: &mut dyn Endpoint,
    server: &mut dyn Endpoint,
    at: usize,
    then: impl FnOnce(),
) -> Result<usize, String> {
    let mut then = Some(then);
    let mut moved = 0;
    let mut deliver = |name: &str, flight: &[u8], to: &mut dyn Endpoint| {
        for piece in flight.chunks(flight.len().div_ceil(PIECES).max(1)) {
            if moved == at {
                then.take().unwrap()();
            }
            moved += 1;
            to.receive(piece)
                .map_err(|error| format!("{name}: {error}"))?;
        }
        Ok::<_, String>(moved)
    };
    loop {
        let to_server = client.take_output();
        deliver("server", &to_server, server)?;
        let to_client = server.take_output();
        let moved = deliver("client", &to_client, client)?;
        if to_server.is_empty() && to_client.is_empty() {
            return Ok(moved);
        }
    }
}

/// True if the handshake was abbreviated.
pub(crate) fn is_resumed(end: &dyn Endpoint) -> bool {
    end.negotiated().ends_with("Some(Resumed)")
}

impl Directory {
    /// Writes `chain.pem` and `key.pem`.
    pub(crate) fn write_pair(&self, identity: &Identity) -> CertifiedKeyFiles {
        CertifiedKeyFiles::new(
            self.write("chain.pem", &identity.cert_pem),
            self.write("key.pem", &identity.key_pem),
        )
    }
}

/// Starts building keys with a provider.
pub(crate) fn keys_of(provider: Provider) -> ReloadingCertifiedKeysBuilder {
    ReloadingCertifiedKeys::builder(Arc::new(provider.this()))
}

/// Loads keys from `files`, at the time of `clock`.
pub(crate) fn start(
    provider: Provider,
    files: &CertifiedKeyFiles,
    clock: &Arc<Clock>,
) -> Result<Arc<ReloadingCertifiedKeys>, Arc<ReloadError>> {
    keys_of(provider)
        .with_default(files.clone())
        .with_time_provider(clock.clone())
        .build()
}

/// Creates a clock that shows the start of this year. For 1970, it returns no time.
pub(crate) fn clock_at(year: u64) -> Arc<Clock> {
    Clock::at(start_of(year))
}

/// Returns the seconds from 1970 to about the start of this year.
pub(crate) fn start_of(year: u64) -> u64 {
    (year - 1970) * 31_556_952
}

/// The content that a test writes to a file.
pub(crate) enum Content {
    Missing,
    Bytes(Vec<u8>),
    Folder,
    #[cfg(unix)]
    Pipe,
}

impl Content {
    pub(crate) fn text(text: &str) -> Self {
        Self::Bytes(text.into())
    }

    /// Replaces the file `name`.
    pub(crate) fn replace(&self, dir: &Directory, name: &str) {
        let path = dir.path(name);
        let _ = fs::remove_dir(&path);
        let _ = fs::remove_file(&path);
        match self {
            Self::Missing => {}
            Self::Bytes(bytes) => drop(dir.write(name, bytes)),
            Self::Folder => fs::create_dir(path).unwrap(),
            #[cfg(unix)]
            Self::Pipe => make_pipe(&path),
        }
    }
}

/// A certificate without content.
pub(crate) const NO_CERTIFICATE: &str =
    "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n";
