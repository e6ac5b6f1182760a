//! Verification of clients by a server.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls_core::provider::CryptoProvider;
use webpki::{ExpirationPolicy, RevocationCheckDepth, UnknownStatusPolicy};

use super::chain::{ChainVerifier, ChainVerifierBuilder};
use super::policy::Usage;
use super::signature::{verify_tls12_signature, verify_tls13_signature};
use super::{RootCertStore, VerifierBuilderError};
use crate::certificates::{RevocationList, VerifierRules};
use crate::config::verify::{
    ClientCertVerified, ClientCertVerifier, HandshakeSignatureValid, NoClientAuth,
};
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::providers::default_provider;

/// Requests client certificates, and verifies them according to the Web PKI.
///
/// A certificate is accepted if a path of valid certificates for client authentication leads to a
/// trusted root, and passes the revocation check if there are revocation lists. The application
/// finds the client's identity in [`peer_certificates`](crate::CommonState::peer_certificates).
///
/// Clients without a certificate are rejected, unless
/// [`allow_unauthenticated`](ClientCertVerifierBuilder::allow_unauthenticated) is called.
#[derive(Debug)]
pub struct WebPkiClientVerifier {
    chain: ChainVerifier,
    root_hint_subjects: Vec<DistinguishedName>,
    anonymous: AnonymousClients,
}

/// The policy for clients without a certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AnonymousClients {
    Refused,
    Allowed,
}

impl WebPkiClientVerifier {
    /// Starts building a verifier that trusts `roots` and uses the algorithms of the process-wide
    /// default [`CryptoProvider`].
    ///
    /// # Panics
    ///
    /// Panics if there is no default provider, and the crate features select none or include
    /// `custom-provider`, like [`ServerConfig::builder`](crate::ServerConfig::builder).
    pub fn builder(roots: Arc<RootCertStore>) -> ClientCertVerifierBuilder {
        Self::builder_with_provider(roots, default_provider().clone())
    }

    /// Starts building a verifier that trusts `roots` and uses the algorithms of `provider`.
    pub fn builder_with_provider(
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
    ) -> ClientCertVerifierBuilder {
        ClientCertVerifierBuilder {
            root_hint_subjects: roots.subjects(),
            chain: ChainVerifierBuilder::new(roots, provider),
            anonymous: AnonymousClients::Refused,
        }
    }

    /// Returns a verifier that does not request client certificates.
    pub fn no_client_auth() -> Arc<dyn ClientCertVerifier> {
        Arc::new(NoClientAuth)
    }
}

impl ClientCertVerifier for WebPkiClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.anonymous == AnonymousClients::Refused
    }

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

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.root_hint_subjects
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let (_, proof) = self.chain.verify(end_entity, intermediates, now)?;
        Ok(ClientCertVerified(proof))
    }

    /// Returns true, because the verdict on a client depends only on rules, chain and time.
    fn recheck_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> bool {
        true
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

    fn may_wait(&self) -> bool {
        false
    }
}

/// Builds a [`WebPkiClientVerifier`].
///
/// Without revocation lists, revocation is not checked. With lists, by default, they must cover the
/// whole chain, and their age is ignored.
#[derive(Clone, Debug)]
pub struct ClientCertVerifierBuilder {
    chain: ChainVerifierBuilder,
    root_hint_subjects: Vec<DistinguishedName>,
    anonymous: AnonymousClients,
}

impl ClientCertVerifierBuilder {
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

    /// Checks only the client's own certificate for revocation, not its issuers.
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

    /// Accepts clients without a certificate. A certificate that is sent must still be valid.
    pub fn allow_unauthenticated(mut self) -> Self {
        self.anonymous = AnonymousClients::Allowed;
        self
    }

    /// Adds authority names to the hints for clients.
    ///
    /// This helps with cross-signed roots, and does not change the trusted roots.
    pub fn add_root_hint_subjects(
        mut self,
        subjects: impl IntoIterator<Item = DistinguishedName>,
    ) -> Self {
        self.root_hint_subjects.extend(subjects);
        self
    }

    /// Removes all authority names from the hints for clients.
    ///
    /// By default, the hints list all roots, which may add many bytes to each handshake. Removing
    /// hints does not change the trusted roots.
    pub fn clear_root_hint_subjects(mut self) -> Self {
        self.root_hint_subjects.clear();
        self
    }

    /// Parses the revocation lists and builds the verifier.
    ///
    /// # Errors
    ///
    /// Returns [`VerifierBuilderError`] if there are no roots, a list is unusable, or
    /// [`with_shared_crls`](Self::with_shared_crls) was called without lists.
    pub fn build(self) -> Result<Arc<dyn ClientCertVerifier>, VerifierBuilderError> {
        Ok(Arc::new(WebPkiClientVerifier {
            chain: self.chain.build(Usage::ClientAuth)?,
            root_hint_subjects: self.root_hint_subjects,
            anonymous: self.anonymous,
        }))
    }
}
