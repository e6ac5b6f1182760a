//! A server's configuration, and the builder steps that lead to it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls_core::provider::CryptoProvider;
use rustls_core::ticketer::ProducesTickets;

use crate::certificates::{PeerChains, VerifiedChains};
use crate::config::builder::sealed::Sealed;
use crate::config::builder::{ConfigBuilder, ConfigSide, WantsVerifier, WantsVersions};
use crate::config::compress::{
    CertCompressor, CertDecompressor, CompressionCache, default_cert_compressors,
    default_cert_decompressors,
};
use crate::config::key_log::{KeyLog, NoKeyLog};
use crate::config::observer::Observer;
use crate::config::resolver::server::ResolvesServerCert;
use crate::config::session::digests::SessionDigests;
use crate::config::session::server::{NoTickets, StoresServerSessions, default_session_storage};
use crate::config::sign::{CertifiedKey, SingleCertAndKey};
use crate::config::verify::{ClientCertVerifier, NoClientAuth};
use crate::config::versions::EnabledVersions;
#[cfg(feature = "std")]
use crate::config::versions::SupportedProtocolVersion;
use crate::error::Error;
use crate::msgs::certificate_request::CertificateRequest;
#[cfg(feature = "std")]
use crate::providers::{default_provider, try_default_provider};
#[cfg(feature = "std")]
use crate::time_provider::DefaultTimeProvider;
use crate::time_provider::TimeProvider;

/// The configuration for server connections.
///
/// Build it once, put it in an [`Arc`] and pass it to every connection: building a configuration
/// costs more than creating a connection.
///
/// Build it with [`builder`](Self::builder) or one of its variants; its public fields may be
/// changed afterwards.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Chooses the server's certificate for each ClientHello.
    pub cert_resolver: Arc<dyn ResolvesServerCert>,

    /// The application protocols to accept, most preferred first (ALPN, RFC 7301). If empty (the
    /// default), none is negotiated.
    ///
    /// Clients that offer no protocol are still accepted. Clients that offer only other protocols
    /// are rejected, unless this list is empty. Over QUIC, client and server must agree on a
    /// protocol, or neither may have any (RFC 9001 §8.1).
    pub alpn_protocols: Vec<Vec<u8>>,

    /// Selects the cipher suite by the server's preference instead of the client's. False by
    /// default.
    pub ignore_client_order: bool,

    /// Allows application data right after the server's Finished, half a round trip early (TLS
    /// 1.3). False by default.
    ///
    /// At that point the client is not authenticated, and its ClientHello may be a replay. Has no
    /// effect on handshakes that request a client certificate; resumptions request none.
    pub send_half_rtt_data: bool,

    /// The number of tickets to send at the end of a TLS 1.3 handshake. 2 by default.
    ///
    /// Clients use each ticket once, so this is the number of connections that can resume
    /// concurrently.
    pub send_tls13_tickets: usize,

    /// The maximum number of tickets for a client that requests a number (RFC 9149), instead of
    /// [`send_tls13_tickets`](Self::send_tls13_tickets). 0 (the default) ignores such requests.
    pub max_tls13_tickets: usize,

    /// The maximum number of early data bytes (0-RTT, RFC 9846 §2.3) that a client may send with a
    /// ticket. 0 (the default) accepts none.
    ///
    /// Clients use the limit that was set when their ticket was created. If that limit is above the
    /// current one, the server skips the early data, and the client has to send it again.
    ///
    /// A [`ServerConnection`](crate::ServerConnection) holds up to this many bytes until the
    /// application reads them from [`early_data`](crate::ServerConnection::early_data). Clients
    /// that send more are disconnected. Over QUIC, which limits early data itself, only 0 and
    /// [`u32::MAX`] are allowed.
    ///
    /// An attacker may replay early data. To accept it only once, the server accepts it only with
    /// sessions from [`session_storage`](Self::session_storage), which are single-use. So no early
    /// data is accepted if a [`ticketer`](Self::ticketer) is enabled. A storage shared by several
    /// machines must hand out each session only once, to one of them.
    pub max_early_data_size: u32,

    /// Creates tickets that hold a whole session. The default creates none.
    ///
    /// Configurations may share a ticketer. If a session was created under another certificate, a
    /// server resumes it only if its own certificate is valid for the name that the client
    /// requests.
    pub ticketer: Arc<dyn ProducesTickets>,

    /// Stores the sessions that are not stored in tickets: by default, 256 of them in memory.
    /// Without the crate feature `std`, none by default.
    ///
    /// Configurations may share a storage, under the same rule as a [`ticketer`](Self::ticketer).
    pub session_storage: Arc<dyn StoresServerSessions>,

    /// The maximum number of plaintext bytes in a sent record, plus 5 for its header. `None` sets
    /// no limit below the protocol's own, 2¹⁴ + 5.
    ///
    /// Creating a connection fails with [`Error::BadMaxFragmentSize`] if the value is not between
    /// 32 and 16389.
    pub max_fragment_size: Option<usize>,

    /// The clock for checking certificates and the age of sessions. The default is the operating
    /// system's clock; [`builder_with_details`](Self::builder_with_details) sets another.
    pub time_provider: Arc<dyn TimeProvider>,

    /// The algorithms that may compress the server's certificates (RFC 8879), most preferred first.
    /// The server uses the first of them that the client supports.
    ///
    /// [`default_cert_compressors`] by default. TLS 1.2 never compresses certificates.
    pub cert_compressors: Vec<&'static dyn CertCompressor>,

    /// Caches the server's compressed certificates. By default, holds four of them, or none without
    /// the crate feature `std`.
    pub cert_compression_cache: Arc<CompressionCache>,

    /// The algorithms that clients may compress their certificates with, most preferred first. If
    /// an algorithm is listed twice, the first entry is used. At most 127 are offered.
    ///
    /// [`default_cert_decompressors`] by default. TLS 1.2 never compresses certificates.
    pub cert_decompressors: Vec<&'static dyn CertDecompressor>,

    /// Lets connections and sessions with the same client share one copy of its certificates.
    ///
    /// Each configuration has [its own](PeerChains::default) by default; [`PeerChains::disabled`]
    /// turns sharing off.
    pub peer_chains: Arc<PeerChains>,

    /// Remembers accepted chains, so that later handshakes with the same client do not verify its
    /// chain again.
    ///
    /// Each configuration has [its own](VerifiedChains::default) by default. With
    /// [`VerifiedChains::disabled`], every chain is verified in every handshake, resumptions
    /// included.
    pub verified_chains: Arc<VerifiedChains>,

    /// Receives the secrets of all connections, for debugging. [`NoKeyLog`] by default.
    pub key_log: Arc<dyn KeyLog>,

    /// Receives the events of connections, such as handshakes and failures, for metrics and traces.
    /// `None` by default.
    pub observer: Option<Arc<dyn Observer>>,

    /// Lets `dangerous_extract_secrets` and `dangerous_into_kernel_connection` return a
    /// connection's keys. False by default.
    pub enable_secret_extraction: bool,

    /// Rejects TLS 1.2 clients that do not support the extended master secret (RFC 7627). False by
    /// default; true with the crate feature `fips`, because FIPS 140-3 requires it.
    ///
    /// Without it, a connection's secrets are not bound to its handshake, and keying material
    /// cannot be exported.
    #[cfg(feature = "tls12")]
    pub require_ems: bool,

    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) versions: EnabledVersions,
    /// The verifier of the configuration. Handshakes use the one in
    /// [`ServerSettings`](crate::config::settings::ServerSettings) instead, which may be a newer
    /// one.
    pub(crate) configured_verifier: Arc<dyn ClientCertVerifier>,
    pub(crate) session_digests: Arc<SessionDigests>,
}

impl ServerConfig {
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
    /// is not enabled. Without the crate feature `tls12`, there is no `require_ems`. The
    /// [`ticketer`](Self::ticketer) is not taken into account: the providers' `Ticketer` generates
    /// its nonces outside the approved module.
    pub fn fips(&self) -> bool {
        #[cfg(feature = "tls12")]
        let is_approved = self.require_ems;
        #[cfg(not(feature = "tls12"))]
        let is_approved = true;
        is_approved && self.provider.fips()
    }

    /// Returns the crypto provider of this configuration.
    pub fn crypto_provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    /// Checks that the names of the verifier's authorities fit into a CertificateRequest.
    ///
    /// Each connection checks this when it begins. Call it before replacing a verifier that is in
    /// use.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if they do not fit, or if one of them is empty.
    pub fn check_client_cert_verifier(verifier: &dyn ClientCertVerifier) -> Result<(), Error> {
        if verifier.offer_client_auth() {
            CertificateRequest::check_authorities(verifier.root_hint_subjects())?;
        }
        Ok(())
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

impl ConfigSide for ServerConfig {}

impl Sealed for ServerConfig {}

impl ConfigBuilder<ServerConfig, WantsVerifier> {
    /// Uses `client_cert_verifier` to verify clients. It also states whether the server requests a
    /// certificate, and whether clients must send one.
    pub fn with_client_cert_verifier(
        self,
        client_cert_verifier: Arc<dyn ClientCertVerifier>,
    ) -> ConfigBuilder<ServerConfig, WantsServerCert> {
        let versions = self.state.versions;
        self.with_state(WantsServerCert {
            versions,
            verifier: client_cert_verifier,
        })
    }

    /// Does not ask clients for certificates.
    pub fn with_no_client_auth(self) -> ConfigBuilder<ServerConfig, WantsServerCert> {
        self.with_client_cert_verifier(Arc::new(NoClientAuth))
    }
}

/// The last state of a server's [`ConfigBuilder`], in which the server's certificate is set.
#[derive(Clone, Debug)]
pub struct WantsServerCert {
    versions: EnabledVersions,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl ConfigBuilder<ServerConfig, WantsServerCert> {
    /// Authenticates with this certificate chain, end entity first, and its private key. The name
    /// that a client requests is ignored.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CertifiedKey::from_der`].
    pub fn with_single_cert(
        self,
        cert_chain: Vec<CertificateDer<'static>>,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<ServerConfig, Error> {
        let certified_key = CertifiedKey::from_der(cert_chain, key_der, &self.provider)?;
        Ok(self.with_certified_key(certified_key))
    }

    /// Does the same as [`with_single_cert`](Self::with_single_cert), and staples this DER-encoded
    /// OCSP response unless it is empty.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CertifiedKey::from_der`]. The OCSP response is not checked.
    pub fn with_single_cert_with_ocsp(
        self,
        cert_chain: Vec<CertificateDer<'static>>,
        key_der: PrivateKeyDer<'static>,
        ocsp: Vec<u8>,
    ) -> Result<ServerConfig, Error> {
        let mut certified_key = CertifiedKey::from_der(cert_chain, key_der, &self.provider)?;
        if !ocsp.is_empty() {
            certified_key.ocsp = Some(ocsp);
        }
        Ok(self.with_certified_key(certified_key))
    }

    fn with_certified_key(self, certified_key: CertifiedKey) -> ServerConfig {
        self.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified_key)))
    }

    /// Authenticates with the certificate that `cert_resolver` chooses. Use this to choose by the
    /// requested name, or to replace certificates while the server runs.
    pub fn with_cert_resolver(self, cert_resolver: Arc<dyn ResolvesServerCert>) -> ServerConfig {
        ServerConfig {
            ignore_client_order: false,
            max_fragment_size: None,
            session_storage: default_session_storage(),
            ticketer: Arc::new(NoTickets),
            cert_resolver,
            alpn_protocols: Vec::new(),
            cert_compressors: default_cert_compressors().to_vec(),
            cert_compression_cache: Arc::default(),
            peer_chains: Arc::default(),
            verified_chains: Arc::default(),
            cert_decompressors: default_cert_decompressors().to_vec(),
            key_log: Arc::new(NoKeyLog),
            observer: None,
            enable_secret_extraction: false,
            #[cfg(feature = "tls12")]
            require_ems: cfg!(feature = "fips"),
            send_tls13_tickets: 2,
            max_tls13_tickets: 0,
            max_early_data_size: 0,
            send_half_rtt_data: false,
            time_provider: self.time_provider,
            provider: self.provider,
            versions: self.state.versions,
            configured_verifier: self.state.verifier,
            session_digests: Arc::new(SessionDigests::default()),
        }
    }
}
