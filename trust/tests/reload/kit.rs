//! Authorities and their certificates, and connections that can be paused in the middle of a
//! handshake.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use std::{fs, process};

use harness::peers::configs::{PROVIDERS, Provider, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered};
use pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
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
use rustls::time_provider::TimeProvider;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, client, server,
};
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

/// A clock that stands still until a test sets it.
#[derive(Debug)]
pub(crate) struct StoppedClock(AtomicU64);

impl StoppedClock {
    pub(crate) fn at_year(year: u64) -> Arc<Self> {
        let clock = Self(AtomicU64::new(0));
        clock.set_year(year);
        Arc::new(clock)
    }

    pub(crate) fn set_year(&self, year: u64) {
        self.0.store((year - 1970) * 31_556_952, Ordering::Relaxed);
    }
}

impl TimeProvider for StoppedClock {
    /// Returns the time, or `None` in 1970, which stands for an unknown time.
    fn current_time(&self) -> Option<UnixTime> {
        let secs = self.0.load(Ordering::Relaxed);
        (secs != 0).then(|| UnixTime::since_unix_epoch(Duration::from_secs(secs)))
    }
}
