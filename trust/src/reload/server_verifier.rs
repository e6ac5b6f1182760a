//! A verifier of servers whose roots and revocation lists can be replaced.

use std::fmt;
use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ServerCertVerifierBuilder, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::time_provider::TimeProvider;
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

use super::trust::{Trust, TrustSources, TrustedBy};
use super::{Reload, ReloadError, ReloadStatus};
use crate::{CrlSource, RootSource};

/// A [`WebPkiServerVerifier`] that can [`reload`](Self::reload) its roots and revocation lists.
///
/// It never reloads on its own: the application calls `reload` in a thread or task of its choice.
///
/// Only usable content replaces the current one. An unreadable source, or one without roots, leaves
/// the current roots active. A missing, damaged or older revocation list leaves the current list
/// active. [`status`](Self::status) returns the reason.
///
/// A handshake uses the roots and lists that are current when it begins. Connections are not
/// disturbed. Sessions are resumed only if roots and lists have not changed since.
///
/// ## In a custom verifier
///
/// All this relies on [`current_verifier`](ServerCertVerifier::current_verifier). With a wrapper
/// that does not forward it, sessions would be resumed even if their roots or lists had been
/// replaced. So [`verify_server_cert`](ServerCertVerifier::verify_server_cert) of this type always
/// returns an error. Wrap the current verifier with
/// [`wrapped_in`](ReloadingServerVerifierBuilder::wrapped_in) instead, which works with all
/// verifiers.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use rustls::ClientConfig;
/// use rustls_trust::{CrlSource, ReloadingServerVerifier, RootSource};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
/// let verifier = ReloadingServerVerifier::builder(RootSource::PemFile("ca.pem".into()), provider)
///     .with_crls(CrlSource::File("revoked.pem".into()))
///     .with_options(|builder| builder.only_check_end_entity_revocation())
///     .build()?;
/// let config = ClientConfig::builder()
///     .dangerous()
///     .with_custom_certificate_verifier(verifier.clone())
///     .with_no_client_auth();
///
/// // periodically
/// verifier.reload_if_changed()?;
/// # Ok(()) }
/// ```
pub struct ReloadingServerVerifier {
    trusted: TrustedBy<dyn ServerCertVerifier>,
}

impl ReloadingServerVerifier {
    /// Starts to build a verifier with the algorithms of `provider`.
    pub fn builder(
        roots: RootSource,
        provider: Arc<CryptoProvider>,
    ) -> ReloadingServerVerifierBuilder {
        ReloadingServerVerifierBuilder {
            sources: TrustSources::new(roots),
            provider,
            options: Box::new(|builder| builder),
            wrap: Box::new(|verifier| verifier),
        }
    }

    /// Reads all sources again.
    ///
    /// # Errors
    ///
    /// Returns the sources that could not be used, with reasons. They keep their current content.
    /// The other sources are replaced nevertheless, because a revocation should not wait for an
    /// unrelated file.
    pub fn reload(&self) -> Result<Reload, Arc<ReloadError>> {
        self.trusted.reload()
    }

    /// Reloads only if a file or directory has changed, or if the last reload failed. A change
    /// means another size, date or, where the system supports it, another inode. The platform's
    /// roots are always read.
    ///
    /// # Errors
    ///
    /// The errors of [`reload`](Self::reload).
    pub fn reload_if_changed(&self) -> Result<Reload, Arc<ReloadError>> {
        self.trusted.reload_if_changed()
    }

    /// Reads all sources as if for the first time: drops missing revocation lists, and accepts
    /// older ones. Use this after removing an authority on purpose. A concurrent reload may keep
    /// them.
    ///
    /// # Errors
    ///
    /// Any problem with a source. Then nothing is replaced.
    pub fn reload_from_scratch(&self) -> Result<Reload, Arc<ReloadError>> {
        self.trusted.reload_from_scratch()
    }

    /// Returns the results of reloads so far.
    pub fn status(&self) -> ReloadStatus {
        self.trusted.status()
    }

    /// Returns the current verifier: the same object until something changes.
    pub fn current(&self) -> Arc<dyn ServerCertVerifier> {
        let verifier = self.trusted.verifier();
        // a wrapper may itself be replaceable
        verifier.current_verifier().unwrap_or(verifier)
    }
}

impl ServerCertVerifier for ReloadingServerVerifier {
    fn current_verifier(&self) -> Option<Arc<dyn ServerCertVerifier>> {
        Some(self.current())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.current().supported_verify_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.current().requires_raw_public_keys()
    }

    /// Always an error: see [above](ReloadingServerVerifier#in-a-custom-verifier). Use the [current
    /// verifier](ReloadingServerVerifier::current).
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Err(Error::General(
            "a ReloadingServerVerifier was asked by a verifier around it that does not pass on current_verifier()"
                .into(),
        ))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.current()
            .verify_tls13_signature(message, signer, signature)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.current()
            .verify_tls12_signature(message, signer, signature)
    }
}

impl fmt::Debug for ReloadingServerVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadingServerVerifier")
            .field("trusted", &self.trusted)
            .finish()
    }
}

type Options = Box<dyn Fn(ServerCertVerifierBuilder) -> ServerCertVerifierBuilder + Send + Sync>;
type Wrap = Box<dyn Fn(Arc<dyn ServerCertVerifier>) -> Arc<dyn ServerCertVerifier> + Send + Sync>;

/// Builds a [`ReloadingServerVerifier`].
///
/// Without revocation lists, revocation is not checked.
pub struct ReloadingServerVerifierBuilder {
    sources: TrustSources,
    provider: Arc<CryptoProvider>,
    options: Options,
    wrap: Wrap,
}

impl ReloadingServerVerifierBuilder {
    /// Checks certificates against the revocation lists of `source`, in addition to those of
    /// earlier calls. If several lists cover a certificate, the latest one counts.
    pub fn with_crls(mut self, source: CrlSource) -> Self {
        self.sources.crls.push(source);
        self
    }

    /// Sets further options of each new verifier, for example the depth of the revocation check.
    /// Replaces the `options` of an earlier call.
    pub fn with_options(
        mut self,
        options: impl Fn(ServerCertVerifierBuilder) -> ServerCertVerifierBuilder + Send + Sync + 'static,
    ) -> Self {
        self.options = Box::new(options);
        self
    }

    /// Wraps each new verifier in a custom one with `wrap`. Replaces the `wrap` of an earlier call.
    ///
    /// `wrap` must return a new object each time. Sessions belong to an object, and those of the
    /// previous one are not resumed.
    pub fn wrapped_in(
        mut self,
        wrap: impl Fn(Arc<dyn ServerCertVerifier>) -> Arc<dyn ServerCertVerifier>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.wrap = Box::new(wrap);
        self
    }

    /// Sets the clock for the dates in [`ReloadStatus`] and for the detection of lists dated in the
    /// future. Certificates are verified by the clock of the configuration.
    pub fn with_time_provider(mut self, clock: Arc<dyn TimeProvider>) -> Self {
        self.sources.clock = clock;
        self
    }

    /// Reads all sources for the first time and builds the verifier.
    ///
    /// # Errors
    ///
    /// Returns any problem with a source.
    pub fn build(self) -> Result<Arc<ReloadingServerVerifier>, Arc<ReloadError>> {
        let Self {
            sources,
            provider,
            options,
            wrap,
        } = self;
        let what = format!("trust in {:?}", sources.roots);
        let make = move |trust: &Trust| {
            let roots = trust.roots().clone();
            let builder = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
            let builder = if trust.has_crls() {
                builder.with_shared_crls(trust.crls().iter().cloned())
            } else {
                builder
            };
            let verifier = wrap(options(builder).build()?);
            Ok(verifier)
        };
        let trusted = TrustedBy::new(what, sources, Box::new(make))?;
        Ok(Arc::new(ReloadingServerVerifier { trusted }))
    }
}

impl fmt::Debug for ReloadingServerVerifierBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadingServerVerifierBuilder")
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}
