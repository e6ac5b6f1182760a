//! Builders of configurations, with one type per step.
//!
//! ```text
//!  builder_with_provider ──► WantsVersions ──► WantsVerifier ─┬─► WantsClientCert ──► ClientConfig
//!  builder ────────────────────────────────────▲              └─► WantsServerCert ──► ServerConfig
//! ```
//!
//! The first step lives here, except the client's alternative with ECH. The later steps are next to
//! the configuration that they build.

use alloc::format;
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;

use rustls_core::crypto::cipher::AeadKey;
use rustls_core::crypto::hash::Output;
use rustls_core::provider::CryptoProvider;

use crate::config::ech::EchMode;
use crate::config::versions::{DEFAULT_VERSIONS, EnabledVersions, SupportedProtocolVersion};
use crate::enums::NamedGroup;
use crate::error::Error;
use crate::suites::SupportedCipherSuite;
use crate::time_provider::TimeProvider;

/// Builds a [`ClientConfig`] or a [`ServerConfig`].
///
/// Start with one of their `builder` functions. Then choose the protocol versions (unless that
/// function has chosen them), the verification of the peer, and the credentials of this side. A
/// choice has no default if a default would be a risk. Each step has its own `State` type, so code
/// that skips a step does not compile.
///
/// A client that trusts a root store and has no certificate:
///
#[cfg_attr(feature = "aws_lc_rs", doc = "```")]
#[cfg_attr(not(feature = "aws_lc_rs"), doc = "```ignore")]
/// # use rustls::{ClientConfig, RootCertStore};
/// let roots = RootCertStore::empty();
/// let provider = rustls::crypto::aws_lc_rs::default_provider();
///
/// let config = ClientConfig::builder_with_provider(provider.into())
///     .with_safe_default_protocol_versions()?
///     .with_root_certificates(roots)
///     .with_no_client_auth();
/// # Ok::<(), rustls::Error>(())
/// ```
///
/// A server that has one certificate and does not request client certificates:
///
#[cfg_attr(feature = "aws_lc_rs", doc = "```")]
#[cfg_attr(not(feature = "aws_lc_rs"), doc = "```ignore")]
/// # use rustls::ServerConfig;
/// # use rustls::pki_types::{CertificateDer, PrivateKeyDer};
/// # fn server(
/// #     chain: Vec<CertificateDer<'static>>,
/// #     key: PrivateKeyDer<'static>,
/// # ) -> Result<ServerConfig, rustls::Error> {
/// let provider = rustls::crypto::aws_lc_rs::default_provider();
///
/// let config = ServerConfig::builder_with_provider(provider.into())
///     .with_safe_default_protocol_versions()?
///     .with_no_client_auth()
///     .with_single_cert(chain, key)?;
/// # Ok(config) }
/// ```
///
/// [`ClientConfig`]: crate::ClientConfig
/// [`ServerConfig`]: crate::ServerConfig
#[derive(Clone)]
pub struct ConfigBuilder<Side: ConfigSide, State> {
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) time_provider: Arc<dyn TimeProvider>,
    /// The choices made so far.
    pub(crate) state: State,
    builds: PhantomData<Side>,
}

impl<Side: ConfigSide, State> ConfigBuilder<Side, State> {
    /// Returns the crypto provider of the configuration.
    pub fn crypto_provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    /// Moves to the next step.
    pub(crate) fn with_state<Next>(self, state: Next) -> ConfigBuilder<Side, Next> {
        ConfigBuilder {
            state,
            provider: self.provider,
            time_provider: self.time_provider,
            builds: PhantomData,
        }
    }
}

impl<Side: ConfigSide, State: fmt::Debug> fmt::Debug for ConfigBuilder<Side, State> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigBuilder")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// The first state of a [`ConfigBuilder`]: the protocol versions have not been chosen yet.
#[derive(Clone, Debug)]
pub struct WantsVersions {}

impl<Side: ConfigSide> ConfigBuilder<Side, WantsVersions> {
    pub(crate) fn new(provider: Arc<CryptoProvider>, time_provider: Arc<dyn TimeProvider>) -> Self {
        Self {
            state: WantsVersions {},
            provider,
            time_provider,
            builds: PhantomData,
        }
    }

    /// Enables [`DEFAULT_VERSIONS`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`with_protocol_versions`](Self::with_protocol_versions).
    pub fn with_safe_default_protocol_versions(
        self,
    ) -> Result<ConfigBuilder<Side, WantsVerifier>, Error> {
        self.with_protocol_versions(DEFAULT_VERSIONS)
    }

    /// Enables `versions`, in any order. The handshake negotiates the newest version that both
    /// sides enable.
    ///
    /// A version without a cipher suite or key exchange group in the crypto provider is skipped if
    /// another version remains.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] with the reason if
    /// - `versions` is empty;
    /// - the crypto provider has no cipher suite for any of `versions`;
    /// - it has no key exchange group for any of `versions`, or none of the kind that one of its
    ///   cipher suites needs;
    /// - a cipher suite claims keys or hashes of impossible lengths.
    pub fn with_protocol_versions(
        self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Result<ConfigBuilder<Side, WantsVerifier>, Error> {
        let requested = EnabledVersions::new(versions);
        let versions = usable_versions(&self.provider, requested)?;
        Ok(self.with_state(WantsVerifier {
            versions,
            ech_mode: None,
        }))
    }
}

/// True if the library can hold the keys and hashes of `suite`. An external provider may return any
/// length.
fn has_possible_lengths(suite: &SupportedCipherSuite) -> bool {
    if suite.common().hash_provider.output_len() > Output::MAX_LEN {
        return false;
    }
    match suite {
        SupportedCipherSuite::Tls13(suite) => {
            let of_quic = suite.quic.map_or(0, |quic| quic.aead_key_len());
            suite.aead_alg.key_len() <= AeadKey::MAX_LEN && of_quic <= AeadKey::MAX_LEN
        }
        SupportedCipherSuite::Tls12(suite) => {
            let shape = suite.aead_alg.key_block_shape();
            // the nonces of all ciphers are shorter than the longest key
            [
                shape.enc_key_len,
                shape.fixed_iv_len,
                shape.explicit_nonce_len,
            ]
            .iter()
            .all(|len| *len <= AeadKey::MAX_LEN)
        }
    }
}

/// Returns the requested versions that `provider` supports: at least one.
fn usable_versions(
    provider: &CryptoProvider,
    requested: EnabledVersions,
) -> Result<EnabledVersions, Error> {
    if requested.iter().next().is_none() {
        return Err(Error::General("no usable cipher suites configured".into()));
    }
    let with_suite = requested.only(|version| {
        let mut suites = provider.cipher_suites.iter();
        suites.any(|suite| suite.version().version == version)
    });
    if with_suite.iter().next().is_none() {
        return Err(Error::General("no usable cipher suites configured".into()));
    }
    if provider.kx_groups.is_empty() {
        return Err(Error::General("no kx groups configured".into()));
    }
    for suite in &provider.cipher_suites {
        if !has_possible_lengths(suite) {
            return Err(Error::General(format!(
                "Ciphersuite {:?} has keys or hashes of an impossible length",
                suite.suite()
            )));
        }
    }
    for suite in &provider.cipher_suites {
        let mut groups = provider.kx_groups.iter();
        let SupportedCipherSuite::Tls12(tls12) = suite else {
            continue;
        };
        if !groups.any(|group| works_with(suite, group.name())) {
            return Err(Error::General(format!(
                "Ciphersuite {:?} requires [{kx:?}] key exchange, but no [{kx:?}]-compatible key \
                 exchange groups were present in `CryptoProvider`'s `kx_groups` field",
                tls12.common.suite,
                kx = tls12.kx
            )));
        }
    }
    let usable = with_suite.only(|version| {
        let mut groups = provider.kx_groups.iter();
        groups.any(|group| {
            let mut suites = provider.cipher_suites.iter();
            group.usable_for_version(version)
                && suites.any(|suite| {
                    suite.version().version == version && works_with(suite, group.name())
                })
        })
    });
    if usable.iter().next().is_none() {
        return Err(Error::General(format!(
            "the crypto provider has no key exchange group for {with_suite:?}"
        )));
    }

    Ok(usable)
}

/// True if `suite` can be used with `group`. A TLS 1.3 suite can be used with any group, a TLS 1.2
/// suite only with groups of its own kind.
fn works_with(suite: &SupportedCipherSuite, group: NamedGroup) -> bool {
    match suite {
        SupportedCipherSuite::Tls12(suite) => suite.kx == group.key_exchange_algorithm(),
        SupportedCipherSuite::Tls13(_) => true,
    }
}

/// The second state of a [`ConfigBuilder`]: the verifier of the peer has not been chosen yet.
#[derive(Clone, Debug)]
pub struct WantsVerifier {
    pub(crate) versions: EnabledVersions,
    /// Only set for clients.
    pub(crate) ech_mode: Option<EchMode>,
}

/// The side that is configured: [`ClientConfig`] or [`ServerConfig`]. Sealed.
///
/// [`ClientConfig`]: crate::ClientConfig
/// [`ServerConfig`]: crate::ServerConfig
pub trait ConfigSide: sealed::Sealed {}

pub(super) mod sealed {
    pub trait Sealed {}
}

#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
