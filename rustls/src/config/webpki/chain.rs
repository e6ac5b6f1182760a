//! Path building from a certificate to a trust anchor, shared by the verifiers of both sides.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{
    CertificateDer, CertificateRevocationListDer, ServerName, SignatureVerificationAlgorithm,
    UnixTime,
};
use rustls_core::crypto::WebPkiSupportedAlgorithms;
use smallvec::SmallVec;
use webpki::{
    CertRevocationList, ExpirationPolicy, KeyUsage, RevocationCheckDepth, RevocationOptions,
    RevocationOptionsBuilder, UnknownStatusPolicy, VerifiedPath,
};

use super::{RootCertStore, VerifierBuilderError};
use crate::certificates::{ParsedCertificate, RevocationList, certificate_error, not_after};
use crate::error::{CertRevocationListError, Error, OtherError};

/// Verifies a path from `cert`, via `intermediates`, to one of `roots`. All certificates on it must
/// be valid at the time `now` and allowed for server authentication.
///
/// The server's name is not checked: use [`verify_server_name`]. Revocation is not checked: use
/// [`WebPkiServerVerifier`](super::WebPkiServerVerifier).
///
/// # Errors
///
/// [`Error::InvalidCertificate`] with the defect of the most promising path.
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

/// Verifies that `cert` is valid for `server_name`.
///
/// # Errors
///
/// [`Error::InvalidCertificate`] if it is not.
pub fn verify_server_name(
    cert: &ParsedCertificate<'_>,
    server_name: &ServerName<'_>,
) -> Result<(), Error> {
    cert.webpki()
        .verify_is_valid_for_subject_name(server_name)
        .map_err(certificate_error)
}

/// The builder of a [`ChainVerifier`]: the shared part of the public builders of both sides.
#[derive(Clone, Debug)]
pub(super) struct ChainVerifierBuilder {
    pub(super) roots: Arc<RootCertStore>,
    crls: Vec<GivenCrl>,
    /// True if a call for shared lists passed none.
    shared_crls_missing: bool,
    pub(super) revocation: RevocationPolicy,
    pub(super) supported_algs: WebPkiSupportedAlgorithms,
}

/// A revocation list from the application.
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

    /// Adds unparsed lists. There may be none: applications written for rustls 0.23 rely on it.
    pub(super) fn add_crls(
        &mut self,
        crls: impl IntoIterator<Item = CertificateRevocationListDer<'static>>,
    ) {
        self.crls.extend(crls.into_iter().map(GivenCrl::Der));
    }

    /// Adds parsed lists. The build fails if there are none.
    pub(super) fn add_shared_crls(&mut self, crls: impl IntoIterator<Item = Arc<RevocationList>>) {
        let before = self.crls.len();
        self.crls.extend(crls.into_iter().map(GivenCrl::Parsed));
        // the caller wants revocation checks, and webpki skips them without a list
        self.shared_crls_missing |= self.crls.len() == before;
    }

    /// # Errors
    ///
    /// Returns an error if there is no root, a list is unusable, or shared lists are missing.
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

/// The error of a verifier that should use shared revocation lists but got none.
#[derive(Debug)]
struct NoRevocationLists;

impl fmt::Display for NoRevocationLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there are no revocation lists to check")
    }
}

impl core::error::Error for NoRevocationLists {}

/// The rules for checking revocation, if there are lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct RevocationPolicy {
    pub(super) depth: RevocationCheckDepth,
    pub(super) unknown_status: UnknownStatusPolicy,
    pub(super) expiration: ExpirationPolicy,
}

impl Default for RevocationPolicy {
    /// Requires lists for the whole chain, and ignores their age.
    fn default() -> Self {
        Self {
            depth: RevocationCheckDepth::Chain,
            unknown_status: UnknownStatusPolicy::Deny,
            expiration: ExpirationPolicy::Ignore,
        }
    }
}

/// A verifier with its trust anchors and revocation lists.
#[derive(Debug)]
pub(super) struct ChainVerifier {
    pub(super) roots: Arc<RootCertStore>,
    crls: Vec<Arc<RevocationList>>,
    revocation: RevocationPolicy,
    pub(super) supported_algs: WebPkiSupportedAlgorithms,
}

impl ChainVerifier {
    /// Creates a verifier without revocation lists. With empty `roots` it trusts nothing.
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

    /// Verifies a path from `cert` to a root. All certificates on it must be allowed for `usage`,
    /// valid at the time `now`, and not revoked. Returns the result of `read` for the path.
    pub(super) fn verify<T>(
        &self,
        cert: &ParsedCertificate<'_>,
        intermediates: &[CertificateDer<'_>],
        usage: KeyUsage,
        now: UnixTime,
        read: impl FnOnce(&VerifiedPath<'_>) -> T,
    ) -> Result<T, Error> {
        // webpki takes a slice of references; up to 8 need no allocation
        let crls = self
            .crls
            .iter()
            .map(|list| list.parsed())
            .collect::<SmallVec<[&CertRevocationList<'_>; 8]>>();
        // webpki rejects options without lists; without lists there is nothing to check
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
    cert.webpki()
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

/// Returns the earliest expiry on `path`. webpki knows no expiry of trust anchors.
pub(super) fn earliest_not_after(path: &VerifiedPath<'_>) -> Option<UnixTime> {
    let intermediates = path.intermediate_certificates();
    let certificates = intermediates.map(|certificate| certificate.der());
    certificates
        .chain([path.end_entity().der()])
        .filter_map(|certificate| not_after(&certificate))
        .min_by_key(UnixTime::as_secs)
}
