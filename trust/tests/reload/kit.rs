//! Authorities and their certificates, and connections that can be paused in the middle of a
//! handshake.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use std::{fs, process};

use harness::peers::callbacks::Clock;
use harness::peers::configs::{PROVIDERS, Provider, Versions, product3};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered};
use pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SerialNumber, date_time_ymd,
};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_trust::CertifiedKeyFiles;

pub(crate) const SERVER: &str = "server.example";

/// A certificate authority.
pub(crate) struct Authority(pub(crate) CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Self(CertifiedIssuer::self_signed(params, key()).unwrap())
    }

    /// Issues a certificate for [`SERVER`], valid for servers and clients.
    pub(crate) fn issue(&self) -> Identity {
        self.issue_with(SERVER, |_| {})
    }

    /// Issues one with this serial number.
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
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        Arc::new(roots)
    }

    /// Signs revocation list number `number` with these serial numbers.
    pub(crate) fn crl(&self, number: u8, revoked: &[u8]) -> String {
        let revoked_certs = revoked.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(u64::from(*serial)),
            revocation_time: date_time_ymd(2023, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2023, 1, number),
            next_update: date_time_ymd(2123, 1, 1),
            crl_number: SerialNumber::from(u64::from(number)),
            issuing_distribution_point: None,
            revoked_certs: revoked_certs.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.0).unwrap().pem().unwrap()
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

/// The kind of connections under test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) provider: Provider,
    pub(crate) versions: Versions,
    pub(crate) buffered: bool,
}

/// Both providers, both versions, both APIs.
pub(crate) fn setups() -> impl Iterator<Item = Setup> {
    let versions = [Versions::Tls12, Versions::Tls13];
    product3(PROVIDERS, versions, [true, false]).map(|(provider, versions, buffered)| Setup {
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
        let (config, name) = (config.clone(), ServerName::try_from(SERVER).unwrap());
        match self.buffered {
            true => Box::new(ThisBuffered::client_of(name, config)),
            false => Box::new(ThisUnbuffered::client_of(name, config)),
        }
    }

    pub(crate) fn server(self, config: &Arc<ServerConfig>) -> Box<dyn Endpoint> {
        match self.buffered {
            true => Box::new(ThisBuffered::server(config.clone())),
            false => Box::new(ThisUnbuffered::server(config.clone())),
        }
    }

    /// The configuration of a client with `identity` that trusts `ca`.
    pub(crate) fn client_of(self, ca: &Authority, identity: &Identity) -> Arc<ClientConfig> {
        self.client_config(
            ca.server_verifier(self.provider),
            identity.certified(self.provider),
        )
    }

    /// The configuration of a server with `identity` that requests no certificate.
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

/// True if the handshake was abbreviated.
pub(crate) fn is_resumed(end: &dyn Endpoint) -> bool {
    end.negotiated().ends_with("Some(Resumed)")
}

/// A temporary directory that is removed at the end of the test.
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("reload-{}-{count}", process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Sets a file's modification time far back, so that it does not count as still changing.
    pub(crate) fn age(&self, name: &str) {
        let file = fs::File::options().append(true).open(self.path(name));
        let hour_ago = SystemTime::now() - Duration::from_secs(60 * 60);
        file.unwrap().set_modified(hour_ago).unwrap();
    }

    /// Writes `chain.pem` and `key.pem`.
    pub(crate) fn write_pair(&self, identity: &Identity) -> CertifiedKeyFiles {
        CertifiedKeyFiles::new(
            self.write("chain.pem", &identity.cert_pem),
            self.write("key.pem", &identity.key_pem),
        )
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A clock at the start of this year. In 1970, it knows no time.
pub(crate) fn clock_at(year: u64) -> Arc<Clock> {
    Clock::at(start_of(year))
}

/// The seconds from 1970 to about the start of this year.
pub(crate) fn start_of(year: u64) -> u64 {
    (year - 1970) * 31_556_952
}

/// The state of a file that a test spoils.
pub(crate) enum Content {
    Missing,
    Directory,
    Text(String),
}

impl Content {
    /// Replaces the file `name`.
    pub(crate) fn replace(&self, dir: &Dir, name: &str) {
        let path = dir.path(name);
        match self {
            Self::Missing => fs::remove_file(path).unwrap(),
            Self::Directory => {
                fs::remove_file(&path).unwrap();
                fs::create_dir(path).unwrap();
            }
            Self::Text(text) => drop(dir.write(name, text)),
        }
    }
}

/// A certificate without content.
pub(crate) const NO_CERTIFICATE: &str =
    "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n";
