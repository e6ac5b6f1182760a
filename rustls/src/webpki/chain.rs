//! From a certificate to a trust anchor: what the verifiers of both sides have in common.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{
    CertificateDer, CertificateRevocationListDer, ServerName, SignatureVerificationAlgorithm,
    SubjectPublicKeyInfoDer, UnixTime,
};
use smallvec::SmallVec;
use webpki::{
    CertRevocationList, EndEntityCert, ExpirationPolicy, KeyUsage, RevocationCheckDepth,
    RevocationOptions, RevocationOptionsBuilder, UnknownStatusPolicy, VerifiedPath,
};

use super::error::certificate_error;
use super::{RootCertStore, VerifierBuilderError};
use crate::certificates::{RevocationList, not_after};
use crate::crypto::WebPkiSupportedAlgorithms;
use crate::error::{CertRevocationListError, Error, OtherError};

/// An end-entity certificate whose encoding was found to be good. Nothing else about it is known.
///
/// A verifier of one's own can be built from it, [`verify_server_cert_signed_by_trust_anchor`] and
/// [`verify_server_name`].
pub struct ParsedCertificate<'a>(pub(super) EndEntityCert<'a>);

impl ParsedCertificate<'_> {
    /// The public key.
    pub fn subject_public_key_info(&self) -> SubjectPublicKeyInfoDer<'static> {
        self.0.subject_public_key_info()
    }
}

impl<'a> TryFrom<&'a CertificateDer<'a>> for ParsedCertificate<'a> {
    type Error = Error;

    /// # Errors
    ///
    /// [`Error::InvalidCertificate`] when it cannot be parsed.
    fn try_from(cert: &'a CertificateDer<'a>) -> Result<Self, Self::Error> {
        #[cfg(test)]
        crate::certificates::reads::note();
        EndEntityCert::try_from(cert)
            .map(Self)
            .map_err(certificate_error)
    }
}

/// Verifies that a path leads from `cert`, by way of `intermediates`, to one of `roots`, and that all
/// of it may be used to authenticate a server at the time `now`.
///
/// It looks at neither the server's name, for which there is [`verify_server_name`], nor at any
/// revocation list, for which there is [`WebPkiServerVerifier`](super::WebPkiServerVerifier).
///
/// # Errors
///
/// [`Error::InvalidCertificate`] with what is wrong with the most promising path.
pub fn verify_server_cert_signed_by_trust_anchor(
    cert: &ParsedCertificate<'_>,
    roots: &RootCertStore,
    intermediates: &[CertificateDer<'_>],
    now: UnixTime,
    supported_algs: &[&dyn SignatureVerificationAlgorithm],
) -> Result<(), Error> {
    verify_chain(
        cert,
        intermediates,
        roots,
        KeyUsage::server_auth(),
        None,
        supported_algs,
        now,
        |_| (),
    )
}

/// Verifies that `cert` is for the server of this name.
///
/// # Errors
///
/// [`Error::InvalidCertificate`] when it is for others only.
pub fn verify_server_name(
    cert: &ParsedCertificate<'_>,
    server_name: &ServerName<'_>,
) -> Result<(), Error> {
    cert.0
        .verify_is_valid_for_subject_name(server_name)
        .map_err(certificate_error)
}

/// The builder of a [`ChainVerifier`]: what the public builders of both sides collect.
#[derive(Clone, Debug)]
pub(super) struct ChainVerifierBuilder {
    pub(super) roots: Arc<RootCertStore>,
    crls: Vec<GivenCrl>,
    /// Whether shared lists were announced and there were none.
    shared_crls_missing: bool,
    pub(super) revocation: RevocationPolicy,
    pub(super) supported_algs: WebPkiSupportedAlgorithms,
}

/// A revocation list as the application gave it.
#[derive(Clone, Debug)]
enum GivenCrl {
    Der(CertificateRevocationListDer<'static>),
    Parsed(Arc<RevocationList>),
}

impl ChainVerifierBuilder {
    pub(super) fn new(
        roots: Arc<RootCertStore>,
        supported_algs: WebPkiSupportedAlgorithms,
    ) -> Self {
        Self {
            roots,
            crls: Vec::new(),
            shared_crls_missing: false,
            revocation: RevocationPolicy::default(),
            supported_algs,
        }
    }

    /// Adds lists that are still to be parsed. None at all is fine, as in rustls 0.23.
    pub(super) fn add_crls(
        &mut self,
        crls: impl IntoIterator<Item = CertificateRevocationListDer<'static>>,
    ) {
        self.crls.extend(crls.into_iter().map(GivenCrl::Der));
    }

    /// Adds lists that are parsed. None at all fails the build.
    pub(super) fn add_shared_crls(&mut self, crls: impl IntoIterator<Item = Arc<RevocationList>>) {
        let before = self.crls.len();
        self.crls.extend(crls.into_iter().map(GivenCrl::Parsed));
        // whoever hands these over means revocation to be checked: without a list webpki would check nothing
        self.shared_crls_missing |= self.crls.len() == before;
    }

    /// # Errors
    ///
    /// There is no root, or a revocation list that cannot be used, or none where there should be some.
    pub(super) fn build(self) -> Result<ChainVerifier, VerifierBuilderError> {
        if self.roots.is_empty() {
            return Err(VerifierBuilderError::NoRootAnchors);
        }

        if self.shared_crls_missing {
            let cause = OtherError(Arc::new(NoRevocationLists));
            return Err(CertRevocationListError::Other(cause).into());
        }

        let crls = self
            .crls
            .into_iter()
            .map(|crl| match crl {
                GivenCrl::Der(der) => RevocationList::from_der(der),
                GivenCrl::Parsed(list) => Ok(list),
            })
            .collect::<Result<_, _>>()?;

        Ok(ChainVerifier {
            roots: self.roots,
            crls,
            revocation: self.revocation,
            supported_algs: self.supported_algs,
        })
    }
}

/// A verifier was to use shared revocation lists, and got none.
#[derive(Debug)]
struct NoRevocationLists;

impl fmt::Display for NoRevocationLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there are no revocation lists to check")
    }
}

impl core::error::Error for NoRevocationLists {}

/// How revocation lists are used, once there are any.
#[derive(Clone, Copy, Debug)]
pub(super) struct RevocationPolicy {
    pub(super) depth: RevocationCheckDepth,
    pub(super) unknown_status: UnknownStatusPolicy,
    pub(super) expiration: ExpirationPolicy,
}

impl Default for RevocationPolicy {
    /// The whole chain must be covered by lists, whose own age does not matter.
    fn default() -> Self {
        Self {
            depth: RevocationCheckDepth::Chain,
            unknown_status: UnknownStatusPolicy::Deny,
            expiration: ExpirationPolicy::Ignore,
        }
    }
}

/// What is trusted, and what no longer is.
#[derive(Debug)]
pub(super) struct ChainVerifier {
    pub(super) roots: Arc<RootCertStore>,
    crls: Vec<Arc<RevocationList>>,
    revocation: RevocationPolicy,
    pub(super) supported_algs: WebPkiSupportedAlgorithms,
}

impl ChainVerifier {
    /// A verifier without revocation lists. `roots` may be empty; then nothing is trusted.
    pub(super) fn without_revocation(
        roots: Arc<RootCertStore>,
        supported_algs: WebPkiSupportedAlgorithms,
    ) -> Self {
        Self {
            roots,
            crls: Vec::new(),
            revocation: RevocationPolicy::default(),
            supported_algs,
        }
    }

    /// Verifies that a path leads from `cert` to a root, all of it good for `usage` at the time `now`
    /// and none of it revoked. Returns what `read` reads from the path.
    pub(super) fn verify<T>(
        &self,
        cert: &ParsedCertificate<'_>,
        intermediates: &[CertificateDer<'_>],
        usage: KeyUsage,
        now: UnixTime,
        read: impl FnOnce(&VerifiedPath<'_>) -> T,
    ) -> Result<T, Error> {
        // webpki wants references in a row; a few need no allocation
        let crls = self
            .crls
            .iter()
            .map(|list| list.parsed())
            .collect::<SmallVec<[&CertRevocationList<'_>; 8]>>();
        // webpki refuses options without a list; without lists there is nothing to check
        let revocation = RevocationOptionsBuilder::new(&crls).ok().map(|options| {
            options
                .with_depth(self.revocation.depth)
                .with_status_policy(self.revocation.unknown_status)
                .with_expiration_policy(self.revocation.expiration)
                .build()
        });
        verify_chain(
            cert,
            intermediates,
            &self.roots,
            usage,
            revocation,
            self.supported_algs.all,
            now,
            read,
        )
    }
}

#[allow(clippy::too_many_arguments)] // webpki's, and how to read the path
fn verify_chain<T>(
    cert: &ParsedCertificate<'_>,
    intermediates: &[CertificateDer<'_>],
    roots: &RootCertStore,
    usage: KeyUsage,
    revocation: Option<RevocationOptions<'_>>,
    supported_algs: &[&dyn SignatureVerificationAlgorithm],
    now: UnixTime,
    read: impl FnOnce(&VerifiedPath<'_>) -> T,
) -> Result<T, Error> {
    cert.0
        .verify_for_usage(
            supported_algs,
            &roots.roots,
            intermediates,
            now,
            usage,
            revocation,
            None,
        )
        .map(|path| read(&path))
        .map_err(certificate_error)
}

/// Returns the end of the certificate that expires first. A trust anchor has no end that webpki knows.
pub(super) fn earliest_not_after(path: &VerifiedPath<'_>) -> Option<UnixTime> {
    let intermediates = path.intermediate_certificates();
    let certificates = intermediates.map(|certificate| certificate.der());
    certificates
        .chain([path.end_entity().der()])
        .filter_map(|certificate| not_after(&certificate))
        .min_by_key(UnixTime::as_secs)
}
