//! Verification of servers by a client.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rustls_core::provider::CryptoProvider;
use webpki::{ExpirationPolicy, RevocationCheckDepth, UnknownStatusPolicy};

use super::chain::{ChainVerifier, ChainVerifierBuilder, verify_server_name};
use super::policy::Usage;
use super::signature::{verify_tls12_signature, verify_tls13_signature};
use super::{RootCertStore, VerifierBuilderError};
use crate::certificates::{ParsedCertificate, RevocationList, VerifierRules};
use crate::config::verify::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::providers::default_provider;

/// Verifies servers according to the Web PKI.
///
/// A certificate is accepted if a path of valid certificates for server authentication leads to a
/// trusted root, passes the revocation check if there are revocation lists, and the server's name
/// matches. A stapled OCSP response is ignored.
#[derive(Debug)]
pub struct WebPkiServerVerifier {
    chain: ChainVerifier,
}

impl WebPkiServerVerifier {
    /// Starts building a verifier that trusts `roots` and uses the algorithms of the process-wide
    /// default [`CryptoProvider`].
    ///
    /// # Panics
    ///
    /// Panics if there is no default provider, and the crate features select none or include
    /// `custom-provider`, like [`ClientConfig::builder`](crate::ClientConfig::builder).
    pub fn builder(roots: Arc<RootCertStore>) -> ServerCertVerifierBuilder {
        Self::builder_with_provider(roots, default_provider().clone())
    }

    /// Starts building a verifier that trusts `roots` and uses the algorithms of `provider`.
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
            chain: ChainVerifierBuilder::new(roots, provider),
        }
    }

    pub(crate) fn without_revocation(roots: Arc<RootCertStore>, provider: &CryptoProvider) -> Self {
        Self {
            chain: ChainVerifier::without_revocation(Usage::ServerAuth, roots, provider),
        }
    }
}

impl ServerCertVerifier for WebPkiServerVerifier {
    /// Returns a digest of the usage, the roots, the revocation lists and policy, and the
    /// algorithms. It is computed on the first call. Returns `None` if no cipher suite of the
    /// crypto provider uses SHA-256, SHA-384 or SHA-512, if the first of these returns wrong
    /// results, or without the crate feature `std`.
    fn rules(&self) -> Option<VerifierRules> {
        self.chain.rules()
    }

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
        let (cert, proof) = self.chain.verify(end_entity, intermediates, now)?;
        verify_server_name(&cert, server_name)?;
        Ok(ServerCertVerified(proof))
    }

    /// Checks only the name. The rest of the verdict depends on rules, chain and time.
    fn recheck_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> bool {
        ParsedCertificate::try_from(end_entity)
            .is_ok_and(|cert| verify_server_name(&cert, server_name).is_ok())
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
/// Without revocation lists, revocation is not checked. With lists, by default, they must cover the
/// whole chain, and their age is ignored.
#[derive(Clone, Debug)]
pub struct ServerCertVerifierBuilder {
    chain: ChainVerifierBuilder,
}

impl ServerCertVerifierBuilder {
    /// Checks certificates against `crls`, in addition to any lists added by earlier calls.
    ///
    /// If two lists cover the same certificates, the first one is used.
    pub fn with_crls(
        mut self,
        crls: impl IntoIterator<Item = CertificateRevocationListDer<'static>>,
    ) -> Self {
        self.chain.add_crls(crls);
        self
    }

    /// Checks certificates against parsed `crls`, in addition to any lists added by earlier calls.
    ///
    /// If two lists cover the same certificates, the first one is used.
    ///
    /// [`build`](Self::build) fails if `crls` is empty, because missing lists must not turn the
    /// check off.
    pub fn with_shared_crls(mut self, crls: impl IntoIterator<Item = Arc<RevocationList>>) -> Self {
        self.chain.add_shared_crls(crls);
        self
    }

    /// Checks only the server's own certificate for revocation, not its issuers.
    pub fn only_check_end_entity_revocation(mut self) -> Self {
        self.chain.revocation.depth = RevocationCheckDepth::EndEntity;
        self
    }

    /// Rejects a certificate if the list that covers it is past its next update.
    pub fn enforce_revocation_expiration(mut self) -> Self {
        self.chain.revocation.expiration = ExpirationPolicy::Enforce;
        self
    }

    /// Accepts certificates that no revocation list covers. By default they are rejected if there
    /// are any lists.
    pub fn allow_unknown_revocation_status(mut self) -> Self {
        self.chain.revocation.unknown_status = UnknownStatusPolicy::Allow;
        self
    }

    /// Parses the revocation lists and builds the verifier.
    ///
    /// # Errors
    ///
    /// Returns [`VerifierBuilderError`] if there are no roots, a list is unusable, or
    /// [`with_shared_crls`](Self::with_shared_crls) was called without lists.
    pub fn build(self) -> Result<Arc<WebPkiServerVerifier>, VerifierBuilderError> {
        Ok(Arc::new(WebPkiServerVerifier {
            chain: self.chain.build(Usage::ServerAuth)?,
        }))
    }
}
