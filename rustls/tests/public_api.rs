//! Public API of configurations and verifiers matches upstream's: one text compiles against both
//! crates.
//!
//! The compiler checks names, signatures, fields and implemented traits; nothing runs.

#![cfg(all(feature = "std", feature = "tls12"))]
#![allow(dead_code)] // compiled, not run

use core::fmt::Debug;
use std::sync::Arc;

use rustls_upstream::pki_types as pki;

fn plain<T: Debug + Send + Sync>() {}
fn cloned<T: Clone + Debug + Send + Sync>() {}

macro_rules! public_api_of {
    ($name:ident, $lib:ident) => {
        mod $name {
            use $lib as r;
            use $lib::client::danger::HandshakeSignatureValid;

            use super::*;

            #[derive(Debug)]
            struct Everything;

            impl r::SideData for Everything {}

            /// The methods that verifiers of either side have.
            macro_rules! signatures {
                () => {
                    fn verify_tls12_signature(
                        &self,
                        message: &[u8],
                        cert: &pki::CertificateDer<'_>,
                        dss: &r::DigitallySignedStruct,
                    ) -> Result<HandshakeSignatureValid, r::Error> {
                        let (_, _): (r::SignatureScheme, &[u8]) = (dss.scheme, dss.signature());
                        r::crypto::verify_tls12_signature(message, cert, dss, &algorithms())
                    }

                    fn verify_tls13_signature(
                        &self,
                        message: &[u8],
                        cert: &pki::CertificateDer<'_>,
                        dss: &r::DigitallySignedStruct,
                    ) -> Result<HandshakeSignatureValid, r::Error> {
                        let _: HandshakeSignatureValid = HandshakeSignatureValid::assertion();
                        r::crypto::verify_tls13_signature(message, cert, dss, &algorithms())
                    }

                    fn supported_verify_schemes(&self) -> Vec<r::SignatureScheme> {
                        algorithms().supported_schemes()
                    }

                    fn requires_raw_public_keys(&self) -> bool {
                        false
                    }
                };
            }

            impl r::client::danger::ServerCertVerifier for Everything {
                fn verify_server_cert(
                    &self,
                    _: &pki::CertificateDer<'_>,
                    _: &[pki::CertificateDer<'_>],
                    _: &pki::ServerName<'_>,
                    _: &[u8],
                    _: pki::UnixTime,
                ) -> Result<r::client::danger::ServerCertVerified, r::Error> {
                    Ok(r::client::danger::ServerCertVerified::assertion())
                }

                signatures!();

                fn root_hint_subjects(&self) -> Option<&[r::DistinguishedName]> {
                    None
                }
            }

            fn algorithms() -> r::crypto::WebPkiSupportedAlgorithms {
                r::crypto::WebPkiSupportedAlgorithms {
                    all: &[],
                    mapping: &[],
                }
            }

            impl r::server::danger::ClientCertVerifier for Everything {
                fn offer_client_auth(&self) -> bool {
                    true
                }

                fn client_auth_mandatory(&self) -> bool {
                    true
                }

                fn root_hint_subjects(&self) -> &[r::DistinguishedName] {
                    &[]
                }

                fn verify_client_cert(
                    &self,
                    _: &pki::CertificateDer<'_>,
                    _: &[pki::CertificateDer<'_>],
                    _: pki::UnixTime,
                ) -> Result<r::server::danger::ClientCertVerified, r::Error> {
                    Ok(r::server::danger::ClientCertVerified::assertion())
                }

                signatures!();
            }

            fn read_hello(hello: &r::server::ClientHello<'_>) {
                let _: Option<&str> = hello.server_name();
                let _: &[r::SignatureScheme] = hello.signature_schemes();
                let _: Option<Vec<&[u8]>> = hello.alpn().map(Iterator::collect);
                let _: [Option<&[r::server::CertificateType]>; 2] =
                    [hello.server_cert_types(), hello.client_cert_types()];
                let _: &[r::CipherSuite] = hello.cipher_suites();
                let _: Option<&[r::DistinguishedName]> = hello.certificate_authorities();
                let _: Option<&[r::NamedGroup]> = hello.named_groups();
            }

            impl r::client::ResolvesClientCert for Everything {
                fn resolve(
                    &self,
                    _: &[&[u8]],
                    _: &[r::SignatureScheme],
                ) -> Option<Arc<r::sign::CertifiedKey>> {
                    None
                }

                fn only_raw_public_keys(&self) -> bool {
                    false
                }

                fn has_certs(&self) -> bool {
                    false
                }
            }

            impl r::server::ResolvesServerCert for Everything {
                fn resolve(
                    &self,
                    hello: r::server::ClientHello<'_>,
                ) -> Option<Arc<r::sign::CertifiedKey>> {
                    read_hello(&hello);
                    None
                }

                fn only_raw_public_keys(&self) -> bool {
                    false
                }
            }

            impl r::client::ClientSessionStore for Everything {
                fn set_kx_hint(&self, _: pki::ServerName<'static>, _: r::NamedGroup) {}

                fn kx_hint(&self, _: &pki::ServerName<'_>) -> Option<r::NamedGroup> {
                    None
                }

                fn set_tls12_session(
                    &self,
                    _: pki::ServerName<'static>,
                    _: r::client::Tls12ClientSessionValue,
                ) {
                }

                fn tls12_session(
                    &self,
                    _: &pki::ServerName<'_>,
                ) -> Option<r::client::Tls12ClientSessionValue> {
                    None
                }

                fn remove_tls12_session(&self, _: &pki::ServerName<'static>) {}

                fn insert_tls13_ticket(
                    &self,
                    _: pki::ServerName<'static>,
                    value: r::client::Tls13ClientSessionValue,
                ) {
                    let _: u32 = value.max_early_data_size();
                    let _: &'static r::Tls13CipherSuite = value.suite();
                }

                fn take_tls13_ticket(
                    &self,
                    _: &pki::ServerName<'static>,
                ) -> Option<r::client::Tls13ClientSessionValue> {
                    None
                }
            }

            impl r::server::StoresServerSessions for Everything {
                fn put(&self, _: Vec<u8>, _: Vec<u8>) -> bool {
                    false
                }

                fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
                    None
                }

                fn take(&self, _: &[u8]) -> Option<Vec<u8>> {
                    None
                }

                fn can_cache(&self) -> bool {
                    false
                }
            }

            impl r::server::ProducesTickets for Everything {
                fn enabled(&self) -> bool {
                    false
                }

                fn lifetime(&self) -> u32 {
                    0
                }

                fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
                    None
                }

                fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
                    None
                }
            }

            impl r::KeyLog for Everything {
                fn log(&self, _: &str, _: &[u8], _: &[u8]) {}

                fn will_log(&self, _: &str) -> bool {
                    false
                }
            }

            impl r::time_provider::TimeProvider for Everything {
                fn current_time(&self) -> Option<pki::UnixTime> {
                    None
                }
            }

            fn client(
                provider: Arc<r::crypto::CryptoProvider>,
                chain: Vec<pki::CertificateDer<'static>>,
                key: pki::PrivateKeyDer<'static>,
            ) -> Result<r::ClientConfig, r::Error> {
                use r::client::*;
                use r::*;

                type WantsVerifier = ConfigBuilder<ClientConfig, r::WantsVerifier>;
                type WantsCert = ConfigBuilder<ClientConfig, WantsClientCert>;

                let _: fn() -> WantsVerifier = ClientConfig::builder;
                let _: fn(&[&'static SupportedProtocolVersion]) -> WantsVerifier =
                    ClientConfig::builder_with_protocol_versions;
                let builder: ConfigBuilder<ClientConfig, WantsVersions> =
                    ClientConfig::builder_with_details(provider.clone(), Arc::new(Everything));
                let _: Result<WantsVerifier, Error> = builder.with_safe_default_protocol_versions();
                let builder: WantsVerifier = ClientConfig::builder_with_provider(provider.clone())
                    .with_protocol_versions(&[&version::TLS12, &version::TLS13])?;
                let _: &Arc<crypto::CryptoProvider> = builder.crypto_provider();

                let _: WantsCert = builder
                    .clone()
                    .with_root_certificates(RootCertStore::empty());
                let _: WantsCert = builder
                    .clone()
                    .with_root_certificates(Arc::new(RootCertStore::empty()));
                let verifier: Arc<WebPkiServerVerifier> = server_verifier(provider).unwrap();
                let _: WantsCert = builder.clone().with_webpki_verifier(verifier);
                let dangerous: danger::DangerousClientConfigBuilder = builder.dangerous();
                let builder: WantsCert =
                    dangerous.with_custom_certificate_verifier(Arc::new(Everything));

                let _: ClientConfig = builder.clone().with_no_client_auth();
                let _: Result<ClientConfig, Error> =
                    builder.clone().with_client_auth_cert(chain, key);
                let mut config: ClientConfig =
                    builder.with_client_cert_resolver(Arc::new(Everything));

                config.alpn_protocols = vec![b"h2".to_vec()];
                config.check_selected_alpn = true;
                config.client_auth_cert_resolver = Arc::new(Everything);
                config.enable_sni = true;
                config.key_log = Arc::new(Everything);
                config.max_fragment_size = Some(4096);
                config.time_provider = Arc::new(Everything);
                config.enable_secret_extraction = false;
                config.enable_early_data = false;
                config.require_ems = false;
                config.send_ticket_request = Some(TicketRequest {
                    new_session_count: 2,
                    resumption_count: 1,
                });
                config.resumption = Resumption::store(Arc::new(Everything))
                    .tls12_resumption(Tls12Resumption::SessionIdOnly);
                config.resumption = Resumption::in_memory_sessions(1);
                config.resumption = Resumption::disabled();
                config.resumption = Resumption::default();
                let _: ClientSessionMemoryCache = ClientSessionMemoryCache::new(1);
                config
                    .dangerous()
                    .set_certificate_verifier(Arc::new(Everything));
                let _: &mut ClientConfig = config.dangerous().cfg;
                let _: (bool, &Arc<crypto::CryptoProvider>) =
                    (config.fips(), config.crypto_provider());
                match Tls12Resumption::Disabled {
                    Tls12Resumption::Disabled
                    | Tls12Resumption::SessionIdOnly
                    | Tls12Resumption::SessionIdOrTickets => Ok(config),
                }
            }

            fn client_early_data(
                conn: &mut r::ClientConnection,
                state: &mut r::unbuffered::TransmitTlsData<'_, r::client::ClientConnectionData>,
            ) -> Result<(), r::client::EarlyDataError> {
                let _: bool = conn.is_early_data_accepted();
                let early: Option<r::client::WriteEarlyData<'_>> = conn.early_data();
                if let Some(mut early) = early {
                    let _: usize = early.bytes_left();
                    let _: &mut dyn std::io::Write = &mut early;
                }
                if let Some(mut early) = state.may_encrypt_early_data() {
                    let _: usize = early.encrypt(&[], &mut [])?;
                }
                let exhausted = r::unbuffered::EncryptError::EncryptExhausted;
                let _: Box<dyn std::error::Error> =
                    r::client::EarlyDataError::from(exhausted).into();
                Err(r::client::EarlyDataError::ExceededAllowedEarlyData)
            }

            fn server_verifier(
                provider: Arc<r::crypto::CryptoProvider>,
            ) -> Result<Arc<r::client::WebPkiServerVerifier>, r::client::VerifierBuilderError> {
                use r::client::{ServerCertVerifierBuilder, WebPkiServerVerifier};

                let roots = Arc::new(r::RootCertStore::empty());
                let _: ServerCertVerifierBuilder = WebPkiServerVerifier::builder(roots.clone());
                WebPkiServerVerifier::builder_with_provider(roots, provider)
                    .with_crls([pki::CertificateRevocationListDer::from(vec![])])
                    .only_check_end_entity_revocation()
                    .allow_unknown_revocation_status()
                    .enforce_revocation_expiration()
                    .build()
            }

            fn server(
                provider: Arc<r::crypto::CryptoProvider>,
                chain: Vec<pki::CertificateDer<'static>>,
                key: pki::PrivateKeyDer<'static>,
            ) -> Result<r::ServerConfig, r::Error> {
                use r::server::*;
                use r::*;

                type WantsVerifier = ConfigBuilder<ServerConfig, r::WantsVerifier>;
                type WantsCert = ConfigBuilder<ServerConfig, WantsServerCert>;

                let _: fn() -> WantsVerifier = ServerConfig::builder;
                let _: fn(&[&'static SupportedProtocolVersion]) -> WantsVerifier =
                    ServerConfig::builder_with_protocol_versions;
                let builder: ConfigBuilder<ServerConfig, WantsVersions> =
                    ServerConfig::builder_with_details(provider.clone(), Arc::new(Everything));
                let _: Result<WantsVerifier, Error> = builder.with_safe_default_protocol_versions();
                let builder: WantsVerifier = ServerConfig::builder_with_provider(provider.clone())
                    .with_protocol_versions(ALL_VERSIONS)?;
                let _: &[&SupportedProtocolVersion] = DEFAULT_VERSIONS;
                let _: ProtocolVersion = version::TLS13.version;

                let _: WantsCert = builder.clone().with_no_client_auth();
                let _: Arc<dyn danger::ClientCertVerifier> = Arc::new(NoClientAuth);
                let builder: WantsCert =
                    builder.with_client_cert_verifier(client_verifier(provider.clone()).unwrap());

                let _: Result<ServerConfig, Error> = builder
                    .clone()
                    .with_single_cert(chain.clone(), key.clone_key());
                let _: Result<ServerConfig, Error> = builder.clone().with_single_cert_with_ocsp(
                    chain.clone(),
                    key.clone_key(),
                    vec![],
                );
                let mut config: ServerConfig = builder.with_cert_resolver(Arc::new(Everything));

                let certified: sign::CertifiedKey =
                    sign::CertifiedKey::from_der(chain.clone(), key.clone_key(), &provider)?;
                certified.keys_match()?;
                let _: &pki::CertificateDer<'_> = certified.end_entity_cert()?;
                let _: &Option<Vec<u8>> = &certified.ocsp;
                let certified: sign::CertifiedKey =
                    sign::CertifiedKey::new(certified.cert.clone(), certified.key.clone());
                let mut by_name: ResolvesServerCertUsingSni = ResolvesServerCertUsingSni::new();
                by_name.add("server.example", certified.clone())?;

                config.alpn_protocols = vec![b"h2".to_vec()];
                config.cert_resolver = Arc::new(by_name);
                config.cert_resolver = Arc::new(sign::SingleCertAndKey::from(certified.clone()));
                config.cert_resolver = Arc::new(sign::SingleCertAndKey::from(Arc::new(certified)));
                config.ignore_client_order = true;
                config.key_log = Arc::new(KeyLogFile::new());
                config.key_log = Arc::new(NoKeyLog);
                config.max_fragment_size = None;
                config.send_half_rtt_data = false;
                config.send_tls13_tickets = 4;
                config.session_storage = ServerSessionMemoryCache::new(1);
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.ticketer = Arc::new(Everything);
                config.time_provider = Arc::new(time_provider::DefaultTimeProvider);
                let _: (bool, &Arc<crypto::CryptoProvider>) =
                    (config.fips(), config.crypto_provider());
                Ok(config)
            }

            fn acceptor(
                config: Arc<r::ServerConfig>,
                read: &mut dyn std::io::Read,
                write: &mut dyn std::io::Write,
            ) -> Result<r::ServerConnection, r::Error> {
                use r::server::{Accepted, AcceptedAlert, Acceptor, ClientHello};

                let mut acceptor: Acceptor = Acceptor::default();
                let _: std::io::Result<usize> = acceptor.read_tls(read);
                let accepted: Result<Option<Accepted>, (r::Error, AcceptedAlert)> =
                    acceptor.accept();
                let Ok(Some(accepted)) = accepted else {
                    return Err(r::Error::HandshakeNotComplete);
                };
                let hello: ClientHello<'_> = accepted.client_hello();
                read_hello(&hello);
                // the names outlive the ClientHello that they came from
                let names = accepted.client_hello().alpn();
                let _: Option<Vec<&[u8]>> = names.map(Iterator::collect);
                accepted.into_connection(config).map_err(
                    |(error, mut alert): (r::Error, AcceptedAlert)| {
                        let _: std::io::Result<usize> = alert.write(write);
                        let _: std::io::Result<()> = alert.write_all(write);
                        error
                    },
                )
            }

            fn alert_of(
                conn: r::ConnectionCommon<r::server::ServerConnectionData>,
            ) -> r::server::AcceptedAlert {
                conn.into()
            }

            #[allow(deprecated)]
            fn secrets(
                client: r::ClientConnection,
                server: r::ServerConnection,
                either: r::Connection,
                unbuffered_client: [r::client::UnbufferedClientConnection; 2],
                unbuffered_server: [r::server::UnbufferedServerConnection; 2],
            ) -> Result<(u64, r::ConnectionTrafficSecrets), r::Error> {
                use r::client::ClientConnectionData;
                use r::kernel::KernelConnection;
                use r::server::ServerConnectionData;
                use r::{ConnectionTrafficSecrets, ExtractedSecrets};

                let _: (bool, bool) = (client.fips(), server.fips());
                let _: ExtractedSecrets = client.dangerous_extract_secrets()?;
                let _: ExtractedSecrets = server.dangerous_extract_secrets()?;
                let _: ExtractedSecrets = either.dangerous_extract_secrets()?;
                let [one, other] = unbuffered_client;
                let _: ExtractedSecrets = one.dangerous_extract_secrets()?;
                let (secrets, mut kernel): (_, KernelConnection<ClientConnectionData>) =
                    other.dangerous_into_kernel_connection()?;
                kernel.handle_new_session_ticket(&[])?;
                let [one, other] = unbuffered_server;
                let _: ExtractedSecrets = one.dangerous_extract_secrets()?;
                let (_, mut kernel): (_, KernelConnection<ServerConnectionData>) =
                    other.dangerous_into_kernel_connection()?;
                let _: r::SupportedCipherSuite = kernel.negotiated_cipher_suite();
                let _: r::ProtocolVersion = kernel.protocol_version();
                let _: (u64, ConnectionTrafficSecrets) = kernel.update_tx_secret()?;
                let _: (u64, ConnectionTrafficSecrets) = kernel.update_rx_secret()?;
                let ExtractedSecrets { tx, rx } = secrets;
                match &rx.1 {
                    ConnectionTrafficSecrets::Aes128Gcm { key, iv }
                    | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
                    | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
                        let (_, _): (&[u8], &[u8]) = (key.as_ref(), iv.as_ref());
                    }
                    _ => {}
                }
                Ok(tx)
            }

            fn locked(data: r::lock::Mutex<u8>) -> Option<u8> {
                let _: r::lock::Mutex<u8> = r::lock::Mutex::new(1);
                let guard: r::lock::MutexGuard<'_, u8> = data.lock()?;
                Some(*guard)
            }

            fn client_verifier(
                provider: Arc<r::crypto::CryptoProvider>,
            ) -> Result<
                Arc<dyn r::server::danger::ClientCertVerifier>,
                r::server::VerifierBuilderError,
            > {
                use r::server::{ClientCertVerifierBuilder, WebPkiClientVerifier};

                let roots = Arc::new(r::RootCertStore::empty());
                let _: ClientCertVerifierBuilder = WebPkiClientVerifier::builder(roots.clone());
                let _: Arc<dyn r::server::danger::ClientCertVerifier> =
                    WebPkiClientVerifier::no_client_auth();
                WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .with_crls([pki::CertificateRevocationListDer::from(vec![])])
                    .clear_root_hint_subjects()
                    .add_root_hint_subjects([r::DistinguishedName::in_sequence(&[])])
                    .only_check_end_entity_revocation()
                    .allow_unauthenticated()
                    .allow_unknown_revocation_status()
                    .enforce_revocation_expiration()
                    .build()
            }

            fn certificates(
                cert: &pki::CertificateDer<'_>,
                name: &pki::ServerName<'_>,
            ) -> Result<(), r::Error> {
                let mut roots: r::RootCertStore = [].into_iter().collect();
                roots.add(cert.clone())?;
                let (_, _): (usize, usize) = roots.add_parsable_certificates([cert.clone()]);
                roots.extend(Vec::<pki::TrustAnchor<'static>>::new());
                let _: &Vec<pki::TrustAnchor<'static>> = &roots.roots;
                let _: (bool, usize) = (roots.is_empty(), roots.len());
                let _: Vec<r::DistinguishedName> = roots.subjects();
                let _: &[u8] = r::DistinguishedName::from(vec![]).as_ref();

                let cert = r::server::ParsedCertificate::try_from(cert)?;
                let _: pki::SubjectPublicKeyInfoDer<'static> = cert.subject_public_key_info();
                r::client::verify_server_name(&cert, name)?;
                r::client::verify_server_cert_signed_by_trust_anchor(
                    &cert,
                    &roots,
                    &[],
                    pki::UnixTime::now(),
                    &[],
                )
            }

            fn errors(error: r::client::VerifierBuilderError) -> String {
                let _: r::client::VerifierBuilderError =
                    r::CertRevocationListError::BadSignature.into();
                let _: &dyn core::error::Error = &error;
                match error {
                    r::client::VerifierBuilderError::NoRootAnchors => String::new(),
                    r::client::VerifierBuilderError::InvalidCrl(_) => error.to_string(),
                    _ => String::new(),
                }
            }

            fn traits() {
                cloned::<r::ClientConfig>();
                cloned::<r::ServerConfig>();
                cloned::<r::ConfigBuilder<r::ClientConfig, r::WantsVersions>>();
                cloned::<r::ConfigBuilder<r::ClientConfig, r::WantsVerifier>>();
                cloned::<r::ConfigBuilder<r::ServerConfig, r::server::WantsServerCert>>();
                cloned::<r::client::Resumption>();
                cloned::<r::client::Tls12ClientSessionValue>();
                cloned::<r::client::Tls12Resumption>();
                cloned::<r::client::VerifierBuilderError>();
                cloned::<r::client::ServerCertVerifierBuilder>();
                cloned::<r::server::ClientCertVerifierBuilder>();
                cloned::<r::sign::CertifiedKey>();
                cloned::<r::RootCertStore>();
                cloned::<r::DigitallySignedStruct>();
                cloned::<r::DistinguishedName>();
                plain::<r::client::danger::DangerousClientConfig<'_>>();
                plain::<r::client::danger::DangerousClientConfigBuilder>();
                plain::<r::client::danger::HandshakeSignatureValid>();
                plain::<r::client::danger::ServerCertVerified>();
                plain::<r::client::ClientSessionMemoryCache>();
                plain::<r::client::Tls13ClientSessionValue>();
                plain::<r::client::WebPkiServerVerifier>();
                plain::<r::server::danger::ClientCertVerified>();
                plain::<r::server::ClientHello<'_>>();
                plain::<r::server::NoClientAuth>();
                plain::<r::server::NoServerSessionStorage>();
                plain::<r::server::ResolvesServerCertUsingSni>();
                plain::<r::server::ServerSessionMemoryCache>();
                plain::<r::server::WebPkiClientVerifier>();
                plain::<r::sign::SingleCertAndKey>();
                plain::<r::time_provider::DefaultTimeProvider>();
                plain::<r::KeyLogFile>();
                plain::<r::NoKeyLog>();
                plain::<r::SupportedProtocolVersion>();
            }
        }
    };
}

public_api_of!(ours, rustls);
public_api_of!(upstream, rustls_upstream);
