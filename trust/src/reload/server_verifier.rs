//! A server verifier whose roots and revocation lists can be replaced.

use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::certificates::RevocationList;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ServerCertVerifierBuilder, VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::operation::BoxFuture;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::ReloadError;
use super::verifier::{ReloadingVerifier, ReloadingVerifierBuilder, VerifierKind};

/// A [`WebPkiServerVerifier`] that can [`reload`](Self::reload) its roots and revocation lists.
///
/// It never reloads on its own: call `reload` in a thread or task of your choice.
///
/// Only usable content replaces the current content. An unreadable source, or one without roots,
/// leaves the current roots active. A missing, damaged or older revocation list leaves the current
/// list active, as far as the limits of a [source](crate::CrlCache) allow. [`status`](Self::status)
/// returns the reason.
///
/// A handshake uses the roots and lists that are current when it begins. Open connections are not
/// disturbed. Sessions are resumed only if the roots and lists have not changed since the session
/// was created.
///
/// ## In a custom verifier
///
/// Replacement relies on [`current_verifier`](ServerCertVerifier::current_verifier). With a wrapper
/// that does not forward it, sessions would be resumed even if their roots or lists had been
/// replaced. So [`verify_server_cert`](ServerCertVerifier::verify_server_cert) of this type always
/// returns an error. Wrap the current verifier with
/// [`wrapped_in`](ReloadingServerVerifierBuilder::wrapped_in) instead.
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
pub type ReloadingServerVerifier = ReloadingVerifier<dyn ServerCertVerifier>;

/// Builds a [`ReloadingServerVerifier`].
///
/// Without revocation lists, revocation is not checked.
pub type ReloadingServerVerifierBuilder = ReloadingVerifierBuilder<dyn ServerCertVerifier>;

impl VerifierKind for dyn ServerCertVerifier {
    type Builder = ServerCertVerifierBuilder;

    const NAME: &'static str = "ReloadingServerVerifier";

    fn builder(roots: Arc<RootCertStore>, provider: Arc<CryptoProvider>) -> Self::Builder {
        WebPkiServerVerifier::builder_with_provider(roots, provider)
    }

    fn with_crls(builder: Self::Builder, crls: &[Arc<RevocationList>]) -> Self::Builder {
        builder.with_shared_crls(crls.iter().cloned())
    }

    fn build(builder: Self::Builder) -> Result<Arc<Self>, VerifierBuilderError> {
        Ok(builder.build()?)
    }

    fn check(&self) -> Result<(), ReloadError> {
        Ok(())
    }

    fn replacement(&self) -> Option<Arc<Self>> {
        self.current_verifier()
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
