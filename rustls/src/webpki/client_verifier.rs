//! How a server verifies clients.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use webpki::{ExpirationPolicy, KeyUsage, RevocationCheckDepth, UnknownStatusPolicy};

use super::chain::{ChainVerifier, ChainVerifierBuilder, ParsedCertificate};
use super::signature::{verify_tls12_signature, verify_tls13_signature};
use super::{RootCertStore, VerifierBuilderError};
use crate::certificates::RevocationList;
use crate::crypto::{CryptoProvider, default_provider};
use crate::enums::SignatureScheme;
use crate::error::Error;
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::verify::{
    ClientCertVerified, ClientCertVerifier, HandshakeSignatureValid, NoClientAuth,
};

/// Asks clients for a certificate, and verifies it by the rules of the Web PKI.
///
/// A certificate is accepted when a path leads from it to a trusted root, all of it valid, meant for clients
/// and, as far as revocation lists tell, not revoked. Who the client is, the application learns from
/// [`peer_certificates`](crate::CommonState::peer_certificates).
///
/// Unless [`allow_unauthenticated`](ClientCertVerifierBuilder::allow_unauthenticated) was called a
/// client without a certificate is refused.
#[derive(Debug)]
pub struct WebPkiClientVerifier {
    chain: ChainVerifier,
    root_hint_subjects: Vec<DistinguishedName>,
    anonymous: AnonymousClients,
}

/// Clients without a certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AnonymousClients {
    Refused,
    Allowed,
}

impl WebPkiClientVerifier {
    /// Starts to build a verifier that trusts `roots`, with the algorithms of the process-wide default
    /// [`CryptoProvider`].
    ///
    /// # Panics
    ///
    /// When there is no default provider and the crate's features do not tell which to take, as
    /// [`ServerConfig::builder`](crate::ServerConfig::builder) does.
    pub fn builder(roots: Arc<RootCertStore>) -> ClientCertVerifierBuilder {
        Self::builder_with_provider(roots, default_provider().clone())
    }

    /// Starts to build a verifier that trusts `roots`, with the algorithms of `provider`.
    pub fn builder_with_provider(
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
    ) -> ClientCertVerifierBuilder {
        ClientCertVerifierBuilder {
            root_hint_subjects: roots.subjects(),
            chain: ChainVerifierBuilder::new(roots, provider.signature_verification_algorithms),
            anonymous: AnonymousClients::Refused,
        }
    }

    /// A verifier that asks no client for a certificate.
    pub fn no_client_auth() -> Arc<dyn ClientCertVerifier> {
        Arc::new(NoClientAuth)
    }
}

impl ClientCertVerifier for WebPkiClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.anonymous == AnonymousClients::Refused
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
        let cert = ParsedCertificate::try_from(end_entity)?;
        let usage = KeyUsage::client_auth();
        // a server verifies again for each resumption: it need not know until when the chain is good
        self.chain
            .verify(&cert, intermediates, usage, now, |_| ())?;
        Ok(ClientCertVerified::assertion())
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

/// Builds a [`WebPkiClientVerifier`].
///
/// Without revocation lists no revocation is checked. With them, unless said otherwise, the whole chain
/// must be covered, and how old they are does not matter.
#[derive(Clone, Debug)]
pub struct ClientCertVerifierBuilder {
    chain: ChainVerifierBuilder,
    root_hint_subjects: Vec<DistinguishedName>,
    anonymous: AnonymousClients,
}

impl ClientCertVerifierBuilder {
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

    /// Checks the revocation of the client's own certificate only, not of those above it.
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

    /// Accepts clients without a certificate. A certificate that they do send must still be good.
    pub fn allow_unauthenticated(mut self) -> Self {
        self.anonymous = AnonymousClients::Allowed;
        self
    }

    /// Names further authorities to clients, behind those that are named already.
    ///
    /// That is of use with cross-signed roots. It changes nothing about what is trusted.
    pub fn add_root_hint_subjects(
        mut self,
        subjects: impl IntoIterator<Item = DistinguishedName>,
    ) -> Self {
        self.root_hint_subjects.extend(subjects);
        self
    }

    /// Names no authorities to clients.
    ///
    /// Unless this is called they are told the names of all roots, which with many roots takes many
    /// bytes in each handshake. It changes nothing about what is trusted.
    pub fn clear_root_hint_subjects(mut self) -> Self {
        self.root_hint_subjects.clear();
        self
    }

    /// Parses the revocation lists, and finishes.
    ///
    /// # Errors
    ///
    /// [`VerifierBuilderError`] when there are no roots, or one of the lists cannot be used, or
    /// [`with_shared_crls`](Self::with_shared_crls) was given none.
    pub fn build(self) -> Result<Arc<dyn ClientCertVerifier>, VerifierBuilderError> {
        Ok(Arc::new(WebPkiClientVerifier {
            chain: self.chain.build()?,
            root_hint_subjects: self.root_hint_subjects,
            anonymous: self.anonymous,
        }))
    }
}
