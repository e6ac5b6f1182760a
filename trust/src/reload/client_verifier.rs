//! A client verifier whose roots and revocation lists can be replaced.

use std::sync::Arc;

use pki_types::{CertificateDer, UnixTime};
use rustls::certificates::RevocationList;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::operation::BoxFuture;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientCertVerifierBuilder, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig, SignatureScheme,
};

use super::ReloadError;
use super::verifier::{ReloadingVerifier, ReloadingVerifierBuilder, VerifierKind};

/// A [`WebPkiClientVerifier`] that can [`reload`](Self::reload) its roots and revocation lists.
///
/// It never reloads on its own: call `reload` in a thread or task of your choice.
///
/// Only usable content replaces the current content. An unreadable source, or one without roots,
/// leaves the current roots active. A missing, damaged or older revocation list leaves the current
/// list active, as far as the limits of a [source](crate::CrlCache) allow. [`status`](Self::status)
/// returns the reason.
///
/// A handshake uses the roots and lists that are current when the server handles its ClientHello,
/// or its second one after a HelloRetryRequest. Open connections are not disturbed. A resumption
/// checks the client's certificate against the roots and lists that are current at that time. It
/// skips the full verification only if the same roots and lists accepted the certificate within the
/// last day.
///
/// ## In a custom verifier
///
/// Replacement relies on [`current_verifier`](ClientCertVerifier::current_verifier). A wrapper that
/// does not forward it still uses the current roots and lists in each call, even for resumptions.
/// But two calls in one handshake may then use different roots and lists, and clients get no
/// authority names. [`wrapped_in`](ReloadingClientVerifierBuilder::wrapped_in) wraps the current
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
pub type ReloadingClientVerifier = ReloadingVerifier<dyn ClientCertVerifier>;

/// Builds a [`ReloadingClientVerifier`].
///
/// Without revocation lists, revocation is not checked.
pub type ReloadingClientVerifierBuilder = ReloadingVerifierBuilder<dyn ClientCertVerifier>;

impl VerifierKind for dyn ClientCertVerifier {
    type Builder = ClientCertVerifierBuilder;

    const NAME: &'static str = "ReloadingClientVerifier";

    fn builder(roots: Arc<RootCertStore>, provider: Arc<CryptoProvider>) -> Self::Builder {
        WebPkiClientVerifier::builder_with_provider(roots, provider)
    }

    fn with_crls(builder: Self::Builder, crls: &[Arc<RevocationList>]) -> Self::Builder {
        builder.with_shared_crls(crls.iter().cloned())
    }

    fn build(builder: Self::Builder) -> Result<Arc<Self>, VerifierBuilderError> {
        builder.build()
    }

    /// Checks that the authority names, which are sent in the CertificateRequest, fit into a
    /// message.
    fn check(&self) -> Result<(), ReloadError> {
        ServerConfig::check_client_cert_verifier(self).map_err(ReloadError::Authorities)
    }

    fn replacement(&self) -> Option<Arc<Self>> {
        self.current_verifier()
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

    fn verify_client_cert_async(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Option<BoxFuture<Result<ClientCertVerified, Error>>> {
        self.current()
            .verify_client_cert_async(end_entity, intermediates, now)
    }

    fn verify_tls13_signature_async(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Option<BoxFuture<Result<HandshakeSignatureValid, Error>>> {
        self.current()
            .verify_tls13_signature_async(message, signer, signature)
    }

    fn verify_tls12_signature_async(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Option<BoxFuture<Result<HandshakeSignatureValid, Error>>> {
        self.current()
            .verify_tls12_signature_async(message, signer, signature)
    }
}
