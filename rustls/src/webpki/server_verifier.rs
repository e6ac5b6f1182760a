//! How a client verifies servers.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use webpki::{ExpirationPolicy, KeyUsage, RevocationCheckDepth, UnknownStatusPolicy};

use super::chain::{
    ChainVerifier, ChainVerifierBuilder, ParsedCertificate, earliest_not_after, verify_server_name,
};
use super::signature::{verify_tls12_signature, verify_tls13_signature};
use super::{RootCertStore, VerifierBuilderError};
use crate::certificates::RevocationList;
use crate::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, default_provider};
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::verify::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};

/// Verifies servers by the rules of the Web PKI.
///
/// A server is accepted when a path of certificates leads from its own to a trusted root, all of it
/// valid, meant for servers and, as far as revocation lists tell, not revoked, and when the certificate
/// is for the server's name. A stapled OCSP response is not looked at.
#[derive(Debug)]
pub struct WebPkiServerVerifier {
    chain: ChainVerifier,
}

impl WebPkiServerVerifier {
    /// Starts to build a verifier that trusts `roots`, with the algorithms of the process-wide default
    /// [`CryptoProvider`].
    ///
    /// # Panics
    ///
    /// When there is no default provider and the crate's features do not tell which to take, as
    /// [`ClientConfig::builder`](crate::ClientConfig::builder) does.
    pub fn builder(roots: Arc<RootCertStore>) -> ServerCertVerifierBuilder {
        Self::builder_with_provider(roots, default_provider().clone())
    }

    /// Starts to build a verifier that trusts `roots`, with the algorithms of `provider`.
    ///
    #[cfg_attr(feature = "aws_lc_rs", doc = "```")]
    #[cfg_attr(not(feature = "aws_lc_rs"), doc = "```ignore")]
    /// # use std::sync::Arc;
    /// # use rustls::RootCertStore;
    /// # use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
    /// # use rustls::pki_types::CertificateRevocationListDer;
    /// # fn verifier(
    /// #     roots: RootCertStore,
    /// #     crls: Vec<CertificateRevocationListDer<'static>>,
    /// # ) -> Result<Arc<WebPkiServerVerifier>, VerifierBuilderError> {
    /// let provider = rustls::crypto::aws_lc_rs::default_provider();
    /// WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider))
    ///     .with_crls(crls)
    ///     .build()
    /// # }
    /// ```
    pub fn builder_with_provider(
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
    ) -> ServerCertVerifierBuilder {
        ServerCertVerifierBuilder {
            chain: ChainVerifierBuilder::new(roots, provider.signature_verification_algorithms),
        }
    }

    pub(crate) fn without_revocation(
        roots: Arc<RootCertStore>,
        supported_algs: WebPkiSupportedAlgorithms,
    ) -> Self {
        Self {
            chain: ChainVerifier::without_revocation(roots, supported_algs),
        }
    }
}

impl ServerCertVerifier for WebPkiServerVerifier {
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_algs.supported_schemes()
    }

    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let cert = ParsedCertificate::try_from(end_entity)?;
        let usage = KeyUsage::server_auth();
        let not_after = self
            .chain
            .verify(&cert, intermediates, usage, now, earliest_not_after)?;
        verify_server_name(&cert, server_name)?;
        Ok(ServerCertVerified::until(not_after))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, signer, signature, &self.chain.supported_algs)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, signer, signature, &self.chain.supported_algs)
    }
}

/// Builds a [`WebPkiServerVerifier`].
///
/// Without revocation lists no revocation is checked. With them, unless said otherwise, the whole chain
/// must be covered, and how old they are does not matter.
#[derive(Clone, Debug)]
pub struct ServerCertVerifierBuilder {
    chain: ChainVerifierBuilder,
}

impl ServerCertVerifierBuilder {
    /// Checks certificates against `crls`, in addition to those of earlier calls.
    ///
    /// Where two lists are for the same certificates, the first one counts.
    pub fn with_crls(
        mut self,
        crls: impl IntoIterator<Item = CertificateRevocationListDer<'static>>,
    ) -> Self {
        self.chain.add_crls(crls);
        self
    }

    /// Checks certificates against `crls`, which are parsed already, in addition to those of earlier calls.
    ///
    /// Where two lists are for the same certificates, the first one counts.
    ///
    /// There must be at least one, or [`build`](Self::build) fails: to have no lists where there should be some
    /// must not turn the check off.
    pub fn with_shared_crls(mut self, crls: impl IntoIterator<Item = Arc<RevocationList>>) -> Self {
        self.chain.add_shared_crls(crls);
        self
    }

    /// Checks the revocation of the server's own certificate only, not of those above it.
    pub fn only_check_end_entity_revocation(mut self) -> Self {
        self.chain.revocation.depth = RevocationCheckDepth::EndEntity;
        self
    }

    /// Refuses certificates when the revocation list that covers them is past its next update.
    pub fn enforce_revocation_expiration(mut self) -> Self {
        self.chain.revocation.expiration = ExpirationPolicy::Enforce;
        self
    }

    /// Accepts certificates that no revocation list covers.
    pub fn allow_unknown_revocation_status(mut self) -> Self {
        self.chain.revocation.unknown_status = UnknownStatusPolicy::Allow;
        self
    }

    /// Parses the revocation lists, and finishes.
    ///
    /// # Errors
    ///
    /// [`VerifierBuilderError`] when there are no roots, or one of the lists cannot be used, or
    /// [`with_shared_crls`](Self::with_shared_crls) was given none.
    pub fn build(self) -> Result<Arc<WebPkiServerVerifier>, VerifierBuilderError> {
        Ok(Arc::new(WebPkiServerVerifier {
            chain: self.chain.build()?,
        }))
    }
}
