//! A verifier of clients whose roots and revocation lists can be replaced.

use std::fmt;
use std::sync::Arc;

use pki_types::{CertificateDer, UnixTime};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientCertVerifierBuilder, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};

use super::trust::{Trust, TrustSources, TrustedBy};
use super::{Reload, ReloadError, ReloadStatus};
use crate::{CrlSource, RootSource};

/// A [`WebPkiClientVerifier`] that can [`reload`](Self::reload) its roots and revocation lists.
///
/// It never reloads on its own: the application calls `reload` in a thread or task of its choice.
///
/// Only usable content replaces the current one. An unreadable source, or one without roots, leaves
/// the current roots active. A missing, damaged or older revocation list leaves the current list
/// active. [`status`](Self::status) returns the reason.
///
/// A handshake uses the roots and lists that are current when its ClientHello arrives. Connections
/// are not disturbed. A resumption verifies the client's certificate again, with the roots and
/// lists current then.
///
/// ## In a custom verifier
///
/// All this relies on [`current_verifier`](ClientCertVerifier::current_verifier). A wrapper that
/// does not forward it still uses the current roots and lists in each call, also for resumptions.
/// But two calls in one handshake may then use different ones, and clients get no names of
/// authorities. [`wrapped_in`](ReloadingClientVerifierBuilder::wrapped_in) wraps the current
/// verifier instead and avoids both drawbacks.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use rustls::ServerConfig;
/// use rustls_trust::{
///     CertifiedKeyFiles, CrlSource, ReloadingCertifiedKeys, ReloadingClientVerifier, RootSource,
/// };
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
/// let clients = RootSource::PemFile("clients.pem".into());
/// let verifier = ReloadingClientVerifier::builder(clients, provider.clone())
///     .with_crls(CrlSource::Directory("revoked".into()))
///     .with_options(|builder| builder.allow_unauthenticated())
///     .build()?;
/// let files = CertifiedKeyFiles::new("fullchain.pem", "privkey.pem");
/// let config = ServerConfig::builder()
///     .with_client_cert_verifier(verifier.clone())
///     .with_cert_resolver(ReloadingCertifiedKeys::new(files, provider)?);
///
/// // periodically
/// verifier.reload_if_changed()?;
/// # Ok(()) }
/// ```
pub struct ReloadingClientVerifier {
    trusted: TrustedBy<dyn ClientCertVerifier>,
}

impl ReloadingClientVerifier {
    /// Starts to build a verifier with the algorithms of `provider`.
    pub fn builder(
        roots: RootSource,
        provider: Arc<CryptoProvider>,
    ) -> ReloadingClientVerifierBuilder {
        ReloadingClientVerifierBuilder {
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
    pub fn current(&self) -> Arc<dyn ClientCertVerifier> {
        let verifier = self.trusted.verifier();
        // a wrapper may itself be replaceable
        verifier.current_verifier().unwrap_or(verifier)
    }
}

impl ClientCertVerifier for ReloadingClientVerifier {
    fn current_verifier(&self) -> Option<Arc<dyn ClientCertVerifier>> {
        Some(self.current())
    }

    fn offer_client_auth(&self) -> bool {
        self.current().offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.current().client_auth_mandatory()
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.current().supported_verify_schemes()
    }

    /// Always empty: see [above](ReloadingClientVerifier#in-a-custom-verifier).
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.current().requires_raw_public_keys()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.current()
            .verify_client_cert(end_entity, intermediates, now)
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

impl fmt::Debug for ReloadingClientVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadingClientVerifier")
            .field("trusted", &self.trusted)
            .finish()
    }
}

type Options = Box<dyn Fn(ClientCertVerifierBuilder) -> ClientCertVerifierBuilder + Send + Sync>;
type Wrap = Box<dyn Fn(Arc<dyn ClientCertVerifier>) -> Arc<dyn ClientCertVerifier> + Send + Sync>;

/// Builds a [`ReloadingClientVerifier`].
///
/// Without revocation lists, revocation is not checked.
pub struct ReloadingClientVerifierBuilder {
    sources: TrustSources,
    provider: Arc<CryptoProvider>,
    options: Options,
    wrap: Wrap,
}

impl ReloadingClientVerifierBuilder {
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
        options: impl Fn(ClientCertVerifierBuilder) -> ClientCertVerifierBuilder + Send + Sync + 'static,
    ) -> Self {
        self.options = Box::new(options);
        self
    }

    /// Wraps each new verifier in a custom one with `wrap`. Replaces the `wrap` of an earlier call.
    pub fn wrapped_in(
        mut self,
        wrap: impl Fn(Arc<dyn ClientCertVerifier>) -> Arc<dyn ClientCertVerifier>
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
    pub fn build(self) -> Result<Arc<ReloadingClientVerifier>, Arc<ReloadError>> {
        let Self {
            sources,
            provider,
            options,
            wrap,
        } = self;
        let what = format!("trust in {:?}", sources.roots);
        let make = move |trust: &Trust| {
            let roots = trust.roots().clone();
            let builder = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
            let builder = if trust.has_crls() {
                builder.with_shared_crls(trust.crls().iter().cloned())
            } else {
                builder
            };
            let verifier = wrap(options(builder).build()?);
            // the names of the authorities go to every client
            ServerConfig::check_client_cert_verifier(&*verifier)
                .map_err(ReloadError::Authorities)?;
            Ok(verifier)
        };
        let trusted = TrustedBy::new(what, sources, Box::new(make))?;
        Ok(Arc::new(ReloadingClientVerifier { trusted }))
    }
}

impl fmt::Debug for ReloadingClientVerifierBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadingClientVerifierBuilder")
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}
