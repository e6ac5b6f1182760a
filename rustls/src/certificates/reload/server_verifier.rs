//! A verifier of servers whose roots and revocation lists are replaced while it is in use.

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateDer, ServerName, UnixTime};

use super::trust::{Trust, TrustSources, TrustedBy};
use super::{Reload, ReloadError, ReloadStatus};
use crate::certificates::{CrlSource, RootSource};
use crate::crypto::CryptoProvider;
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::time_provider::TimeProvider;
use crate::verify::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use crate::webpki::{ServerCertVerifierBuilder, WebPkiServerVerifier};

/// A [`WebPkiServerVerifier`] whose roots and revocation lists [`reload`](Self::reload) reads again.
///
/// It reads nothing by itself. When to do so is up to the application, in a thread or a task of its own.
///
/// What is read comes into force only if it can be used: a source without roots, or one that cannot be read, leaves the
/// old ones in force, and so does a revocation list that is gone, damaged or older than the one in force.
/// [`status`](Self::status) tells why.
///
/// A handshake goes by what was in force when it began, and connections are not disturbed. If roots or lists have
/// changed, sessions from before are not resumed; if they have not, they are.
///
/// ## In a verifier of one's own
///
/// All this is done by way of [`current_verifier`](ServerCertVerifier::current_verifier). A verifier that wraps this one
/// without passing that on would have its sessions resumed even if they were made under roots or lists that are no
/// longer in force. So this one accepts no server when it is asked itself:
/// [`verify_server_cert`](ServerCertVerifier::verify_server_cert) is an error. Wrap what is in force, by
/// [`wrapped_in`](ReloadingServerVerifierBuilder::wrapped_in), and it works with all verifiers.
///
#[cfg_attr(feature = "aws_lc_rs", doc = "```no_run")]
#[cfg_attr(not(feature = "aws_lc_rs"), doc = "```ignore")]
/// use std::sync::Arc;
///
/// use rustls::ClientConfig;
/// use rustls::certificates::{CrlSource, ReloadingServerVerifier, RootSource};
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
/// // from time to time
/// verifier.reload_if_changed()?;
/// # Ok(()) }
/// ```
pub struct ReloadingServerVerifier {
    trusted: TrustedBy<dyn ServerCertVerifier>,
}

impl ReloadingServerVerifier {
    /// Starts to say what is to be read. The verifier has the algorithms of `provider`.
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
    /// Which sources could not be used, and why. They keep what they had; what the others brought is in force even
    /// so, since a revocation should not have to wait for an unrelated file.
    pub fn reload(&self) -> Result<Reload, Arc<ReloadError>> {
        self.trusted.reload()
    }

    /// The same, but only if a file or directory has changed (its size, its date or, where the system tells, which file
    /// it is), or if the last reload failed. What the platform trusts is read in any case.
    ///
    /// # Errors
    ///
    /// As for [`reload`](Self::reload).
    pub fn reload_if_changed(&self) -> Result<Reload, Arc<ReloadError>> {
        self.trusted.reload_if_changed()
    }

    /// Reads all sources as if for the first time: revocation lists that are gone are dropped, and older ones taken.
    /// For when an authority has been given up on purpose. Another reload at the same time may keep them.
    ///
    /// # Errors
    ///
    /// Any problem with a source leaves everything as it is.
    pub fn reload_from_scratch(&self) -> Result<Reload, Arc<ReloadError>> {
        self.trusted.reload_from_scratch()
    }

    /// How reloading has gone.
    pub fn status(&self) -> ReloadStatus {
        self.trusted.status()
    }

    /// The verifier that is in force: the same object until something changes.
    pub fn current(&self) -> Arc<dyn ServerCertVerifier> {
        let verifier = self.trusted.verifier();
        // a wrapper may be one that is replaced, too
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

    /// An error: see [above](ReloadingServerVerifier#in-a-verifier-of-ones-own). Ask the
    /// [current one](ReloadingServerVerifier::current).
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
/// Without revocation lists no revocation is checked.
pub struct ReloadingServerVerifierBuilder {
    sources: TrustSources,
    provider: Arc<CryptoProvider>,
    options: Options,
    wrap: Wrap,
}

impl ReloadingServerVerifierBuilder {
    /// Checks certificates against the revocation lists of `source`, in addition to those of earlier calls.
    /// Where several lists are for one certificate, the one that was issued last counts.
    pub fn with_crls(mut self, source: CrlSource) -> Self {
        self.sources.crls.push(source);
        self
    }

    /// Has `options` set what else a verifier goes by, each time that one is made: whether the whole chain is checked
    /// for revocation, and so on. It replaces those of an earlier call.
    pub fn with_options(
        mut self,
        options: impl Fn(ServerCertVerifierBuilder) -> ServerCertVerifierBuilder + Send + Sync + 'static,
    ) -> Self {
        self.options = Box::new(options);
        self
    }

    /// Has `wrap` put a verifier of one's own around each that is made. It replaces that of an earlier call.
    ///
    /// `wrap` must return another object each time: sessions belong to objects, and those that were made with the one
    /// before are not resumed.
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

    /// Takes the time from `clock` instead of the operating system, for the dates in [`ReloadStatus`] and to recognize
    /// lists dated in the future. Certificates are verified by the clock of the configuration.
    pub fn with_time_provider(mut self, clock: Arc<dyn TimeProvider>) -> Self {
        self.sources.clock = clock;
        self
    }

    /// Reads all sources for the first time.
    ///
    /// # Errors
    ///
    /// Any problem with a source.
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
