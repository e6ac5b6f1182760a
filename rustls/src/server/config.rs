//! A server's configuration, and the builder steps that lead to it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, PrivateKeyDer, UnixTime};

use crate::builder::{ConfigBuilder, WantsVerifier, WantsVersions};
use crate::certificates::PeerChains;
use crate::compress::{
    CertCompressor, CertDecompressor, CompressionCache, default_cert_compressors,
    default_cert_decompressors,
};
use crate::crypto::CryptoProvider;
use crate::error::Error;
use crate::key_log::{KeyLog, NoKeyLog};
use crate::msgs::certificate_request::CertificateRequest;
use crate::server::ProducesTickets;
use crate::server::resolver::ResolvesServerCert;
use crate::session::digests::SessionDigests;
use crate::session::server::{NoTickets, StoresServerSessions, default_session_storage};
use crate::sign::{CertifiedKey, SingleCertAndKey};
#[cfg(feature = "std")]
use crate::time_provider::DefaultTimeProvider;
use crate::time_provider::TimeProvider;
use crate::verify::{ClientCertVerifier, NoClientAuth};
use crate::versions::EnabledVersions;
#[cfg(feature = "std")]
use crate::versions::SupportedProtocolVersion;

/// The configuration of server connections.
///
/// Build it once, put it in an [`Arc`], and give it to every connection: making one costs more than
/// making a connection.
///
/// [`builder`](Self::builder) and its variants make one; the public fields may be changed after.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Chooses the certificate to authenticate with.
    pub cert_resolver: Arc<dyn ResolvesServerCert>,

    /// The application protocols to accept, most preferred first (ALPN, RFC 7301). Empty, as it is by
    /// default, negotiates none.
    ///
    /// A client that offers none is served all the same; one that offers others only is not.
    pub alpn_protocols: Vec<Vec<u8>>,

    /// Whether the server's preference decides among the cipher suites that both sides support, instead of
    /// the client's. False by default.
    pub ignore_client_order: bool,

    /// Whether to send application data right after the server's Finished, half a round trip early. False by
    /// default.
    ///
    /// At that point the client is not authenticated, and its ClientHello may have been replayed. This does
    /// nothing where clients are asked for a certificate.
    pub send_half_rtt_data: bool,

    /// How many tickets to send at the end of a TLS 1.3 handshake. 2 by default.
    ///
    /// Clients use a ticket once, so this is how many connections may follow at a time.
    pub send_tls13_tickets: usize,

    /// How many tickets to send at most to a client that says how many it wants (RFC 9149), instead of
    /// [`send_tls13_tickets`](Self::send_tls13_tickets). 0, as it is by default, does not ask clients.
    pub max_tls13_tickets: usize,

    /// How many bytes of early data (0-RTT data, RFC 9846 §2.3) a client may send with a ticket. 0, as it is by
    /// default, accepts none.
    ///
    /// A client goes by the limit that was in force when its ticket was made. If that is higher than this one, its early
    /// data is skipped, and the client sends it again.
    ///
    /// A connection holds so many at most until the application reads them from
    /// [`ServerConnection::early_data`](super::ServerConnection::early_data); a client that sends more is
    /// disconnected.
    ///
    /// An attacker may repeat early data. So that it is accepted but once, it is accepted only with sessions
    /// from [`session_storage`](Self::session_storage), which can be used once; where a
    /// [`ticketer`](Self::ticketer) is enabled, this does nothing. A storage that is shared by several machines
    /// must hand out each session once among them all.
    pub max_early_data_size: u32,

    /// Makes tickets that hold a whole session. One that makes none by default.
    ///
    /// Configurations may share it. A server resumes no session of a server with another certificate, unless its own
    /// certificate is valid for the name that the client asks for.
    pub ticketer: Arc<dyn ProducesTickets>,

    /// Where sessions are kept that are not kept in tickets. In memory, 256 of them, by default.
    ///
    /// Configurations may share it, as they may share a [`ticketer`](Self::ticketer).
    pub session_storage: Arc<dyn StoresServerSessions>,

    /// How many bytes of plaintext a record carries at most, plus 5 for its header; `None` for no limit
    /// but the protocol's, which is 2¹⁴ + 5.
    ///
    /// It is checked when a connection is made: outside of 32 to 16389 it is
    /// [`Error::BadMaxFragmentSize`].
    pub max_fragment_size: Option<usize>,

    /// The clock.
    pub time_provider: Arc<dyn TimeProvider>,

    /// How to compress the server's certificates (RFC 8879), most preferred first. A client says which
    /// algorithms it can undo; the first of these that is among them is used.
    ///
    /// [`default_cert_compressors`] by default. In TLS 1.2 nothing is compressed.
    pub cert_compressors: Vec<&'static dyn CertCompressor>,

    /// Where the server's compressed certificates are kept. Four of them by default.
    pub cert_compression_cache: Arc<CompressionCache>,

    /// How clients may compress their certificates, most preferred first. An algorithm that stands twice is
    /// undone by the first, and at most 127 are offered.
    ///
    /// [`default_cert_decompressors`] by default. In TLS 1.2 nothing is compressed.
    pub cert_decompressors: Vec<&'static dyn CertDecompressor>,

    /// Lets connections and sessions of one client share its certificates.
    ///
    /// One of [its own](PeerChains::default) by default; [`PeerChains::disabled`] shares nothing.
    pub peer_chains: Arc<PeerChains>,

    /// Receives the secrets of all connections, for debugging. [`NoKeyLog`] by default.
    pub key_log: Arc<dyn KeyLog>,

    /// Whether `dangerous_extract_secrets` and `dangerous_into_kernel_connection` of connections hand out their
    /// keys. False by default.
    pub enable_secret_extraction: bool,

    /// Whether to refuse clients of TLS 1.2 that do not support the extended master secret (RFC 7627). False
    /// by default; true with the crate feature `fips`, as FIPS 140-3 asks for it.
    ///
    /// Without it the secrets of a connection are not bound to its handshake, and no keying material can be
    /// exported.
    #[cfg(feature = "tls12")]
    pub require_ems: bool,

    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) versions: EnabledVersions,
    /// For handshakes, [`ServerSettings`](crate::handshake::settings::ServerSettings) has it, or what is in its place.
    pub(crate) configured_verifier: Arc<dyn ClientCertVerifier>,
    pub(crate) session_digests: Arc<SessionDigests>,
}

impl ServerConfig {
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
    /// That is so when all of the crypto provider is approved, and the extended master secret is required, even
    /// where TLS 1.2 is not enabled. It says nothing about [`ticketer`](Self::ticketer): tickets of the providers' `Ticketer`
    /// are sealed with nonces that are made outside of the approved module.
    pub fn fips(&self) -> bool {
        #[cfg(feature = "tls12")]
        let is_approved = self.require_ems;
        #[cfg(not(feature = "tls12"))]
        let is_approved = true;
        is_approved && self.provider.fips()
    }

    /// The crypto provider.
    pub fn crypto_provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    /// Checks that connections can be made with a configuration that has this verifier: what every client is told
    /// must fit into its message.
    ///
    /// # Errors
    ///
    /// [`Error::General`].
    pub(crate) fn check(verifier: &dyn ClientCertVerifier) -> Result<(), Error> {
        if verifier.offer_client_auth() {
            CertificateRequest::check_authorities(verifier.root_hint_subjects())?;
        }
        Ok(())
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

impl ConfigBuilder<ServerConfig, WantsVerifier> {
    /// Lets `client_cert_verifier` decide which clients must authenticate, and how.
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

    /// Asks no client for a certificate.
    pub fn with_no_client_auth(self) -> ConfigBuilder<ServerConfig, WantsServerCert> {
        self.with_client_cert_verifier(Arc::new(NoClientAuth))
    }
}

/// The last state of a server's [`ConfigBuilder`]: it wants to know how the server authenticates.
#[derive(Clone, Debug)]
pub struct WantsServerCert {
    versions: EnabledVersions,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl ConfigBuilder<ServerConfig, WantsServerCert> {
    /// Authenticates with this certificate, end entity first, and its private key, whatever name a
    /// client wants to reach.
    ///
    /// # Errors
    ///
    /// Those of [`CertifiedKey::from_der`].
    pub fn with_single_cert(
        self,
        cert_chain: Vec<CertificateDer<'static>>,
        key_der: PrivateKeyDer<'static>,
    ) -> Result<ServerConfig, Error> {
        let certified_key = CertifiedKey::from_der(cert_chain, key_der, &self.provider)?;
        Ok(self.with_certified_key(certified_key))
    }

    /// The same as [`with_single_cert`](Self::with_single_cert), and staples this DER-encoded OCSP
    /// response, if it is not empty.
    ///
    /// # Errors
    ///
    /// Those of [`CertifiedKey::from_der`]. The OCSP response is not looked at.
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

    /// Authenticates with what `cert_resolver` chooses.
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
            cert_decompressors: default_cert_decompressors().to_vec(),
            key_log: Arc::new(NoKeyLog),
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
            session_digests: Arc::new(SessionDigests::new()),
        }
    }
}
