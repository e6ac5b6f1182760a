//! A client's configuration, and the builder steps that lead to it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, PrivateKeyDer, UnixTime};

use crate::builder::{ConfigBuilder, WantsVerifier, WantsVersions};
use crate::certificates::PeerChains;
use crate::client::resolver::{NoClientCert, ResolvesClientCert};
use crate::compress::{
    CertCompressor, CertDecompressor, CompressionCache, default_cert_compressors,
    default_cert_decompressors,
};
use crate::crypto::CryptoProvider;
use crate::ech::EchMode;
use crate::error::Error;
use crate::key_log::{KeyLog, NoKeyLog};
use crate::msgs::client_extensions::TicketRequest;
use crate::session::client::Resumption;
use crate::sign::{CertifiedKey, SingleCertAndKey};
#[cfg(feature = "std")]
use crate::time_provider::DefaultTimeProvider;
use crate::time_provider::TimeProvider;
use crate::verify::ServerCertVerifier;
#[cfg(feature = "std")]
use crate::versions::SupportedProtocolVersion;
use crate::versions::{EnabledVersions, TLS13};
use crate::webpki::{RootCertStore, WebPkiServerVerifier};

/// The configuration of client connections.
///
/// Build it once, put it in an [`Arc`], and give it to every connection: making one costs more than
/// making a connection, and connections share what they learn through it, such as the key exchange
/// group that a server prefers.
///
/// [`builder`](Self::builder) and its variants make one; the public fields may be changed after.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Whether to tell the server the name that is connected to (`server_name`, RFC 6066 §3). True by
    /// default; most servers need it. IP addresses are never sent.
    pub enable_sni: bool,

    /// The application protocols to offer, most preferred first (ALPN, RFC 7301). Empty, as it is
    /// by default, offers none and negotiates none.
    pub alpn_protocols: Vec<Vec<u8>>,

    /// Whether the server must select one of the application protocols offered, if it selects any.
    ///
    /// True by default, as RFC 7301 §3.1 demands it. With false, any selection is accepted.
    pub check_selected_alpn: bool,

    /// Chooses the certificate to authenticate with, when a server asks for one.
    pub client_auth_cert_resolver: Arc<dyn ResolvesClientCert>,

    /// How to compress the client's certificates (RFC 8879), most preferred first. A server that asks for a
    /// certificate says which algorithms it can undo; the first of these that is among them is used.
    ///
    /// [`default_cert_compressors`] by default. In TLS 1.2 nothing is compressed.
    pub cert_compressors: Vec<&'static dyn CertCompressor>,

    /// Where the client's compressed certificates are kept. Four of them by default.
    pub cert_compression_cache: Arc<CompressionCache>,

    /// How servers may compress their certificates, most preferred first. An algorithm that stands twice is
    /// undone by the first, and at most 127 are offered.
    ///
    /// [`default_cert_decompressors`] by default. In TLS 1.2 nothing is compressed.
    pub cert_decompressors: Vec<&'static dyn CertDecompressor>,

    /// Lets connections and sessions of one server share its certificates.
    ///
    /// One of [its own](PeerChains::default) by default; [`PeerChains::disabled`] shares nothing.
    pub peer_chains: Arc<PeerChains>,

    /// What is remembered of sessions, and where. In memory for 256 sessions by default.
    pub resumption: Resumption,

    /// Whether to send early data in TLS 1.3 (0-RTT, RFC 9846 §2.3) to servers that allow it. False by default.
    ///
    /// Early data comes from [`ClientConnection::early_data`](super::ClientConnection::early_data) or
    /// [`may_encrypt_early_data`](crate::unbuffered::TransmitTlsData::may_encrypt_early_data). It has no forward
    /// secrecy, and an attacker can replay it: send only what may be done twice.
    pub enable_early_data: bool,

    /// How many session tickets to ask the server for in TLS 1.3 (RFC 9149). `None`, as it is by default, leaves
    /// the number to the server.
    pub send_ticket_request: Option<TicketRequest>,

    /// How many bytes of plaintext a record carries at most, plus 5 for its header; `None` for no limit
    /// but the protocol's, which is 2¹⁴ + 5.
    ///
    /// It is checked when a connection is made: outside of 32 to 16389 it is
    /// [`Error::BadMaxFragmentSize`].
    pub max_fragment_size: Option<usize>,

    /// The clock.
    pub time_provider: Arc<dyn TimeProvider>,

    /// Receives the secrets of all connections, for debugging. [`NoKeyLog`] by default.
    pub key_log: Arc<dyn KeyLog>,

    /// Whether a TLS 1.2 server must support the extended master secret (RFC 7627). One that does not is
    /// refused then, and no session without it is resumed.
    ///
    /// False by default; true with the feature `fips`, where it is required.
    #[cfg(feature = "tls12")]
    pub require_ems: bool,

    /// Whether `dangerous_extract_secrets` and `dangerous_into_kernel_connection` of connections hand out their
    /// keys. False by default.
    pub enable_secret_extraction: bool,

    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) versions: EnabledVersions,
    pub(crate) ech_mode: Option<EchMode>,
    /// For handshakes, [`ClientSettings`](crate::handshake::settings::ClientSettings) has it, or what is in its place.
    pub(crate) configured_verifier: Arc<dyn ServerCertVerifier>,
}

impl ClientConfig {
    /// Starts to build a configuration with the process-wide default [`CryptoProvider`] and
    /// [`DEFAULT_VERSIONS`](crate::DEFAULT_VERSIONS).
    ///
    /// If no default was installed before, the provider that the crate's features name becomes it.
    ///
    /// # Panics
    ///
    /// - when no default was installed, and the features name none or more than one, or
    ///   `custom-provider` is among them;
    /// - when the provider cannot serve the default versions. Use
    ///   [`builder_with_provider`](Self::builder_with_provider) to have that as an error.
    #[cfg(feature = "std")]
    pub fn builder() -> ConfigBuilder<Self, WantsVerifier> {
        Self::builder_with_protocol_versions(crate::versions::DEFAULT_VERSIONS)
    }

    /// Starts to build a configuration with the process-wide default [`CryptoProvider`] and these
    /// `versions`.
    ///
    /// # Panics
    ///
    /// As [`builder`](Self::builder), of which it is the general form.
    #[cfg(feature = "std")]
    pub fn builder_with_protocol_versions(
        versions: &[&'static SupportedProtocolVersion],
    ) -> ConfigBuilder<Self, WantsVerifier> {
        Self::builder_with_provider(crate::crypto::default_provider().clone())
            .with_protocol_versions(versions)
            .expect("the default crypto provider cannot serve these protocol versions")
    }

    /// Starts to build a configuration with this `provider` and the clock of the operating system.
    #[cfg(feature = "std")]
    pub fn builder_with_provider(
        provider: Arc<CryptoProvider>,
    ) -> ConfigBuilder<Self, WantsVersions> {
        Self::builder_with_details(provider, Arc::new(DefaultTimeProvider))
    }

    /// Starts to build a configuration with this `provider` and this clock. It is the only way without
    /// `std`.
    pub fn builder_with_details(
        provider: Arc<CryptoProvider>,
        time_provider: Arc<dyn TimeProvider>,
    ) -> ConfigBuilder<Self, WantsVersions> {
        ConfigBuilder::new(provider, time_provider)
    }

    /// True when connections made with this configuration run in FIPS-approved mode.
    ///
    /// That is so when all of the crypto provider is approved, and the HPKE suite of [`EchMode`] if there is one; and the
    /// extended master secret is required, even where TLS 1.2 is not enabled.
    pub fn fips(&self) -> bool {
        #[cfg(feature = "tls12")]
        let is_approved = self.require_ems;
        #[cfg(not(feature = "tls12"))]
        let is_approved = true;
        is_approved && self.provider.fips() && self.ech_mode.as_ref().is_none_or(EchMode::fips)
    }

    /// The crypto provider.
    pub fn crypto_provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    /// Access to what can undo the security of every connection.
    pub fn dangerous(&mut self) -> DangerousClientConfig<'_> {
        DangerousClientConfig { cfg: self }
    }

    /// # Errors
    ///
    /// [`Error::FailedToGetCurrentTime`] when the clock does not know the time.
    pub(crate) fn current_time(&self) -> Result<UnixTime, Error> {
        self.time_provider
            .current_time()
            .ok_or(Error::FailedToGetCurrentTime)
    }
}

impl ConfigBuilder<ClientConfig, WantsVersions> {
    /// Encrypts ClientHellos, or makes them look so, as `mode` says (RFC 9849). It enables TLS 1.3 and no other version,
    /// since a ClientHello that is encrypted may offer none.
    ///
    /// [`EchMode::Enable`] goes with one server: connections to all servers that have not published the same list of
    /// configurations need configurations of their own. [`ClientConnection::ech_status`](super::ClientConnection::ech_status)
    /// says what has become of it.
    ///
    /// # Errors
    ///
    /// As [`with_protocol_versions`](Self::with_protocol_versions).
    pub fn with_ech(
        self,
        mode: EchMode,
    ) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Error> {
        let mut builder = self.with_protocol_versions(&[&TLS13])?;
        builder.state.ech_mode = Some(mode);
        Ok(builder)
    }
}

impl ConfigBuilder<ClientConfig, WantsVerifier> {
    /// Accepts servers whose certificate comes from one of these roots.
    ///
    /// No revocation is checked; for that there is
    /// [`with_webpki_verifier`](Self::with_webpki_verifier). An empty store accepts no server.
    pub fn with_root_certificates(
        self,
        root_store: impl Into<Arc<RootCertStore>>,
    ) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        let algorithms = self.provider.signature_verification_algorithms;
        self.with_webpki_verifier(Arc::new(WebPkiServerVerifier::without_revocation(
            root_store.into(),
            algorithms,
        )))
    }

    /// Accepts servers that this `verifier` accepts.
    pub fn with_webpki_verifier(
        self,
        verifier: Arc<WebPkiServerVerifier>,
    ) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        self.with_verifier(verifier)
    }

    /// Access to the step that can undo the security of every connection.
    pub fn dangerous(self) -> DangerousClientConfigBuilder {
        DangerousClientConfigBuilder { cfg: self }
    }

    fn with_verifier(
        self,
        verifier: Arc<dyn ServerCertVerifier>,
    ) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        let WantsVerifier { versions, ech_mode } = self.state.clone();
        self.with_state(WantsClientCert {
            versions,
            ech_mode,
            verifier,
        })
    }
}

/// The last state of a client's [`ConfigBuilder`]: it wants to know how the client authenticates.
#[derive(Clone)]
pub struct WantsClientCert {
    versions: EnabledVersions,
    ech_mode: Option<EchMode>,
    verifier: Arc<dyn ServerCertVerifier>,
}

impl ConfigBuilder<ClientConfig, WantsClientCert> {
    /// Authenticates with this certificate, end entity first, and its private key, whatever hints a
    /// server gives.
    ///
    /// # Errors
    ///
    /// Those of [`CertifiedKey::from_der`].
    pub fn with_client_auth_cert(
        self,
        cert_chain: Vec<CertificateDer<'static>>,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<ClientConfig, Error> {
        let certified_key = CertifiedKey::from_der(cert_chain, key_der, &self.provider)?;
        let resolver = SingleCertAndKey::from(certified_key);
        Ok(self.with_client_cert_resolver(Arc::new(resolver)))
    }

    /// Has no certificate. A server that insists on one ends the connection.
    pub fn with_no_client_auth(self) -> ClientConfig {
        self.with_client_cert_resolver(Arc::new(NoClientCert))
    }

    /// Authenticates with what `client_auth_cert_resolver` chooses.
    pub fn with_client_cert_resolver(
        self,
        client_auth_cert_resolver: Arc<dyn ResolvesClientCert>,
    ) -> ClientConfig {
        ClientConfig {
            alpn_protocols: Vec::new(),
            check_selected_alpn: true,
            cert_compressors: default_cert_compressors().to_vec(),
            cert_compression_cache: Arc::default(),
            peer_chains: Arc::default(),
            cert_decompressors: default_cert_decompressors().to_vec(),
            resumption: Resumption::default(),
            enable_early_data: false,
            send_ticket_request: None,
            max_fragment_size: None,
            client_auth_cert_resolver,
            enable_sni: true,
            key_log: Arc::new(NoKeyLog),
            #[cfg(feature = "tls12")]
            require_ems: cfg!(feature = "fips"),
            enable_secret_extraction: false,
            time_provider: self.time_provider,
            provider: self.provider,
            versions: self.state.versions,
            ech_mode: self.state.ech_mode,
            configured_verifier: self.state.verifier,
        }
    }
}

/// What can undo the security of a [`ClientConfig`]; from [`ClientConfig::dangerous`].
#[derive(Debug)]
pub struct DangerousClientConfig<'a> {
    /// The configuration to change.
    pub cfg: &'a mut ClientConfig,
}

impl DangerousClientConfig<'_> {
    /// Accepts servers that this `verifier` accepts.
    pub fn set_certificate_verifier(&mut self, verifier: Arc<dyn ServerCertVerifier>) {
        self.cfg.configured_verifier = verifier;
    }
}

/// What can undo the security of a [`ClientConfig`] under construction; from the builder's `dangerous`.
#[derive(Debug)]
pub struct DangerousClientConfigBuilder {
    /// The builder to go on with.
    pub cfg: ConfigBuilder<ClientConfig, WantsVerifier>,
}

impl DangerousClientConfigBuilder {
    /// Accepts servers that this `verifier` accepts.
    pub fn with_custom_certificate_verifier(
        self,
        verifier: Arc<dyn ServerCertVerifier>,
    ) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        self.cfg.with_verifier(verifier)
    }
}
