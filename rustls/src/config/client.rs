//! A client's configuration, and the builder steps that lead to it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls_core::provider::CryptoProvider;

use crate::certificates::{PeerChains, VerifiedChains};
use crate::config::builder::sealed::Sealed;
use crate::config::builder::{ConfigBuilder, ConfigSide, WantsVerifier, WantsVersions};
use crate::config::compress::{
    CertCompressor, CertDecompressor, CompressionCache, default_cert_compressors,
    default_cert_decompressors,
};
use crate::config::ech::EchMode;
use crate::config::key_log::{KeyLog, NoKeyLog};
use crate::config::observer::Observer;
use crate::config::resolver::client::{NoClientCert, ResolvesClientCert};
use crate::config::session::client::Resumption;
use crate::config::sign::{CertifiedKey, SingleCertAndKey};
use crate::config::verify::ServerCertVerifier;
#[cfg(feature = "std")]
use crate::config::versions::SupportedProtocolVersion;
use crate::config::versions::{EnabledVersions, TLS13};
use crate::config::webpki::{RootCertStore, WebPkiServerVerifier};
use crate::error::Error;
use crate::msgs::client_extensions::TicketRequest;
#[cfg(feature = "std")]
use crate::providers::{default_provider, try_default_provider};
#[cfg(feature = "std")]
use crate::time_provider::DefaultTimeProvider;
use crate::time_provider::TimeProvider;

/// The configuration for client connections.
///
/// Build it once, put it in an [`Arc`] and pass it to every connection: building a configuration
/// costs more than creating a connection. Through it, connections also share what they have
/// learned, such as the key exchange group that a server prefers.
///
/// Build it with [`builder`](Self::builder) or one of its variants; its public fields may be
/// changed afterwards.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Sends the server's name (`server_name`, RFC 6066 §3). True by default, because most servers
    /// need it. IP addresses are never sent. The public name of ECH is sent in any case.
    pub enable_sni: bool,

    /// The application protocols to offer, most preferred first (ALPN, RFC 7301). If empty (the
    /// default), none is offered and none is negotiated.
    ///
    /// A server that selects no protocol is accepted; over QUIC, only if none was offered (RFC 9001
    /// §8.1).
    pub alpn_protocols: Vec<Vec<u8>>,

    /// Requires the server to select one of the offered application protocols, if it selects any.
    ///
    /// True by default. If false, the server may select another protocol. If no protocol is
    /// offered, a server that selects one is rejected in either case.
    pub check_selected_alpn: bool,

    /// Chooses the client's certificate when a server asks for one.
    pub client_auth_cert_resolver: Arc<dyn ResolvesClientCert>,

    /// The algorithms that may compress the client's certificates (RFC 8879), most preferred first.
    /// The client uses the first of them that the server lists in its certificate request.
    ///
    /// [`default_cert_compressors`] by default. TLS 1.2 never compresses certificates.
    pub cert_compressors: Vec<&'static dyn CertCompressor>,

    /// Caches the client's compressed certificates. By default, holds four of them, or none without
    /// the crate feature `std`.
    pub cert_compression_cache: Arc<CompressionCache>,

    /// The algorithms that servers may compress their certificates with, most preferred first. If
    /// an algorithm is listed twice, the first entry is used. At most 127 are offered.
    ///
    /// [`default_cert_decompressors`] by default. TLS 1.2 never compresses certificates.
    pub cert_decompressors: Vec<&'static dyn CertDecompressor>,

    /// Lets connections and sessions to the same server share one copy of its certificates.
    ///
    /// Each configuration has [its own](PeerChains::default) by default; [`PeerChains::disabled`]
    /// turns sharing off.
    pub peer_chains: Arc<PeerChains>,

    /// Remembers accepted chains, so that later handshakes with the same server do not verify its
    /// chain again.
    ///
    /// Each configuration has [its own](VerifiedChains::default) by default. With
    /// [`VerifiedChains::disabled`], every chain is verified in every full handshake.
    pub verified_chains: Arc<VerifiedChains>,

    /// Stores sessions for resumption: by default, about 256 of them in memory. Without the crate
    /// feature `std`, none by default.
    pub resumption: Resumption,

    /// Offers early data in TLS 1.3 (0-RTT, RFC 9846 §2.3) to servers that allow it. False by
    /// default.
    ///
    /// Write early data through
    /// [`ClientConnection::early_data`](crate::ClientConnection::early_data) or
    /// [`may_encrypt_early_data`](crate::unbuffered::TransmitTlsData::may_encrypt_early_data). It
    /// has no forward secrecy, and an attacker can replay it: send only requests that are safe to
    /// repeat.
    pub enable_early_data: bool,

    /// The number of session tickets to request in TLS 1.3 (RFC 9149). `None` (the default) leaves
    /// the number to the server.
    pub send_ticket_request: Option<TicketRequest>,

    /// The maximum number of plaintext bytes in a sent record, plus 5 for its header. `None` sets
    /// no limit below the protocol's own, 2¹⁴ + 5.
    ///
    /// Creating a connection fails with [`Error::BadMaxFragmentSize`] if the value is not between
    /// 32 and 16389.
    pub max_fragment_size: Option<usize>,

    /// The clock for checking certificates and the age of sessions. The default is the operating
    /// system's clock; [`builder_with_details`](Self::builder_with_details) sets another.
    pub time_provider: Arc<dyn TimeProvider>,

    /// Receives the secrets of all connections, for debugging. [`NoKeyLog`] by default.
    pub key_log: Arc<dyn KeyLog>,

    /// Receives the events of connections, such as handshakes and failures, for metrics and traces.
    /// `None` by default.
    pub observer: Option<Arc<dyn Observer>>,

    /// Requires TLS 1.2 servers to support the extended master secret (RFC 7627). Servers without
    /// it are then rejected, and sessions without it are not resumed.
    ///
    /// False by default; true with the feature `fips`, because FIPS 140-3 requires it.
    #[cfg(feature = "tls12")]
    pub require_ems: bool,

    /// Lets `dangerous_extract_secrets` and `dangerous_into_kernel_connection` return a
    /// connection's keys. False by default.
    pub enable_secret_extraction: bool,

    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) versions: EnabledVersions,
    pub(crate) ech_mode: Option<EchMode>,
    /// The verifier of the configuration. Handshakes use the one in
    /// [`ClientSettings`](crate::config::settings::ClientSettings) instead, which may be a newer
    /// one.
    pub(crate) configured_verifier: Arc<dyn ServerCertVerifier>,
}

impl ClientConfig {
    /// Starts building a configuration with the process-wide default [`CryptoProvider`] and
    /// [`DEFAULT_VERSIONS`](crate::DEFAULT_VERSIONS).
    ///
    /// If no default is installed yet, installs the provider that the crate's features select.
    ///
    /// # Panics
    ///
    /// - if no default is installed, and the features select none, or include `custom-provider`;
    /// - if [`ConfigBuilder::with_protocol_versions`] returns an error for the default versions.
    ///
    /// [`try_builder`](Self::try_builder) returns errors instead.
    #[cfg(feature = "std")]
    pub fn builder() -> ConfigBuilder<Self, WantsVerifier> {
        Self::builder_with_protocol_versions(crate::config::versions::DEFAULT_VERSIONS)
    }

    /// Like [`builder`](Self::builder), but returns an error instead of panicking. Use it if your
    /// code does not control the features of this crate, and so does not control the default
    /// provider.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if there is no default provider, and the crate features select
    /// none or include `custom-provider`. Also returns the errors of
    /// [`ConfigBuilder::with_protocol_versions`].
    #[cfg(feature = "std")]
    pub fn try_builder() -> Result<ConfigBuilder<Self, WantsVerifier>, Error> {
        Self::builder_with_provider(try_default_provider()?.clone())
            .with_safe_default_protocol_versions()
    }

    /// Starts building a configuration with the process-wide default [`CryptoProvider`] and these
    /// `versions`.
    ///
    /// # Panics
    ///
    /// Panics like [`builder`](Self::builder), with `versions` instead of the default ones.
    #[cfg(feature = "std")]
    pub fn builder_with_protocol_versions(
        versions: &[&'static SupportedProtocolVersion],
    ) -> ConfigBuilder<Self, WantsVerifier> {
        Self::builder_with_provider(default_provider().clone())
            .with_protocol_versions(versions)
            .expect("the default crypto provider cannot serve these protocol versions")
    }

    /// Starts building a configuration with this `provider` and the clock of the operating system.
    #[cfg(feature = "std")]
    pub fn builder_with_provider(
        provider: Arc<CryptoProvider>,
    ) -> ConfigBuilder<Self, WantsVersions> {
        Self::builder_with_details(provider, Arc::new(DefaultTimeProvider))
    }

    /// Starts building a configuration with this `provider` and this clock. Without `std`, this is
    /// the only way to start.
    pub fn builder_with_details(
        provider: Arc<CryptoProvider>,
        time_provider: Arc<dyn TimeProvider>,
    ) -> ConfigBuilder<Self, WantsVersions> {
        ConfigBuilder::new(provider, time_provider)
    }

    /// True if connections made with this configuration run in FIPS-approved mode.
    ///
    /// They do if the whole crypto provider is approved and `require_ems` is set, even if TLS 1.2
    /// is not enabled. Without the crate feature `tls12`, there is no `require_ems`. If an
    /// [`EchMode`] is set, its HPKE suite must be approved as well.
    pub fn fips(&self) -> bool {
        #[cfg(feature = "tls12")]
        let is_approved = self.require_ems;
        #[cfg(not(feature = "tls12"))]
        let is_approved = true;
        is_approved && self.provider.fips() && self.ech_mode.as_ref().is_none_or(EchMode::fips)
    }

    /// Returns the crypto provider of this configuration.
    pub fn crypto_provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    /// Gives access to settings that can undo the security of every connection.
    pub fn dangerous(&mut self) -> DangerousClientConfig<'_> {
        DangerousClientConfig { cfg: self }
    }

    /// Returns the time of the configuration's clock.
    ///
    /// # Errors
    ///
    /// Returns [`Error::FailedToGetCurrentTime`] if the clock returns no time.
    pub(crate) fn current_time(&self) -> Result<UnixTime, Error> {
        self.time_provider
            .current_time()
            .ok_or(Error::FailedToGetCurrentTime)
    }
}

impl ConfigSide for ClientConfig {}

impl Sealed for ClientConfig {}

impl ConfigBuilder<ClientConfig, WantsVersions> {
    /// Encrypts ClientHellos, or makes them look encrypted (GREASE), depending on `mode` (RFC
    /// 9849). Enables only TLS 1.3, because an encrypted ClientHello may offer no other version.
    ///
    /// An [`EchMode::Enable`] works only for servers that publish the same ECH configuration list:
    /// use a separate configuration for each list.
    /// [`ClientConnection::ech_status`](crate::ClientConnection::ech_status) reports the outcome.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`with_protocol_versions`](Self::with_protocol_versions).
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
    /// Accepts servers whose certificate chains to one of these roots.
    ///
    /// Revocation is not checked; use [`with_webpki_verifier`](Self::with_webpki_verifier) for
    /// that. An empty store accepts no server.
    pub fn with_root_certificates(
        self,
        root_store: impl Into<Arc<RootCertStore>>,
    ) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        let verifier = WebPkiServerVerifier::without_revocation(root_store.into(), &self.provider);
        self.with_webpki_verifier(Arc::new(verifier))
    }

    /// Verifies servers with this `verifier`, which
    /// [`WebPkiServerVerifier::builder`](crate::client::WebPkiServerVerifier::builder) creates. Use
    /// it instead of [`with_root_certificates`](Self::with_root_certificates) to check revocation.
    pub fn with_webpki_verifier(
        self,
        verifier: Arc<WebPkiServerVerifier>,
    ) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        self.with_verifier(verifier)
    }

    /// Gives access to the builder step that can undo the security of every connection.
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

/// The last state of a client's [`ConfigBuilder`], in which the client's certificate is set.
#[derive(Clone)]
pub struct WantsClientCert {
    versions: EnabledVersions,
    ech_mode: Option<EchMode>,
    verifier: Arc<dyn ServerCertVerifier>,
}

impl ConfigBuilder<ClientConfig, WantsClientCert> {
    /// Authenticates with this certificate chain, end entity first, and its private key. The
    /// authorities that a server names are ignored.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CertifiedKey::from_der`].
    pub fn with_client_auth_cert(
        self,
        cert_chain: Vec<CertificateDer<'static>>,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<ClientConfig, Error> {
        let certified_key = CertifiedKey::from_der(cert_chain, key_der, &self.provider)?;
        let resolver = SingleCertAndKey::from(certified_key);
        Ok(self.with_client_cert_resolver(Arc::new(resolver)))
    }

    /// Uses no client certificate. Servers that require one close the connection.
    pub fn with_no_client_auth(self) -> ClientConfig {
        self.with_client_cert_resolver(Arc::new(NoClientCert))
    }

    /// Authenticates with the certificate that `client_auth_cert_resolver` chooses. Use this to
    /// choose by the server's hints, or to replace certificates while the client runs.
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
            verified_chains: Arc::default(),
            cert_decompressors: default_cert_decompressors().to_vec(),
            resumption: Resumption::default(),
            enable_early_data: false,
            send_ticket_request: None,
            max_fragment_size: None,
            client_auth_cert_resolver,
            enable_sni: true,
            key_log: Arc::new(NoKeyLog),
            observer: None,
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

/// Settings that can undo the security of a [`ClientConfig`]. Returned by
/// [`ClientConfig::dangerous`].
#[derive(Debug)]
pub struct DangerousClientConfig<'a> {
    /// The configuration to change.
    pub cfg: &'a mut ClientConfig,
}

impl DangerousClientConfig<'_> {
    /// Verifies servers with this `verifier` in later handshakes. If it accepts wrong certificates,
    /// anyone on the network can read and change the data of these connections.
    ///
    /// Sessions that the previous verifier accepted are not resumed.
    pub fn set_certificate_verifier(&mut self, verifier: Arc<dyn ServerCertVerifier>) {
        self.cfg.configured_verifier = verifier;
    }
}

/// Settings that can undo the security of a [`ClientConfig`] under construction. Returned by the
/// builder's `dangerous` method.
#[derive(Debug)]
pub struct DangerousClientConfigBuilder {
    /// The builder to continue with.
    pub cfg: ConfigBuilder<ClientConfig, WantsVerifier>,
}

impl DangerousClientConfigBuilder {
    /// Verifies servers with this `verifier`. If it accepts wrong certificates, anyone on the
    /// network can read and change the data of all connections.
    ///
    /// To add a check, wrap a [`WebPkiServerVerifier`](crate::client::WebPkiServerVerifier) instead
    /// of replacing it.
    pub fn with_custom_certificate_verifier(
        self,
        verifier: Arc<dyn ServerCertVerifier>,
    ) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        self.cfg.with_verifier(verifier)
    }
}
