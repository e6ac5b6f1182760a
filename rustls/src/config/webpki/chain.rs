//! Path building from a certificate to a trust anchor, shared by the verifiers of both sides.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use pki_types::{
    CertificateDer, CertificateRevocationListDer, ServerName, SignatureVerificationAlgorithm,
    UnixTime,
};
use rustls_core::crypto::WebPkiSupportedAlgorithms;
use rustls_core::provider::CryptoProvider;
use smallvec::SmallVec;
use webpki::{CertRevocationList, ExpirationPolicy, RevocationOptions, RevocationOptionsBuilder};

use super::policy::{RevocationPolicy, Usage};
#[cfg(feature = "std")]
use super::rules::{LazyRules, RulesInputs};
use super::{RootCertStore, VerifierBuilderError};
use crate::certificates::{
    ParsedCertificate, RevocationList, ValidityPeriod, VerifierRules, certificate_error,
};
#[cfg(feature = "std")]
use crate::config::verify::DigestsRules;
use crate::config::verify::Proof;
use crate::error::{CertRevocationListError, Error, OtherError};

/// Verifies a path from `cert`, via `intermediates`, to one of `roots`. All certificates below the
/// root must be valid at the time `now` and allowed for server authentication.
///
/// The server's name is not checked: use [`verify_server_name`]. Revocation is not checked: use
/// [`WebPkiServerVerifier`](super::WebPkiServerVerifier).
///
/// # Errors
///
/// Returns [`Error::InvalidCertificate`] with the reason why the most promising path was rejected.
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
        Usage::ServerAuth,
        None,
        supported_algs,
        now,
    )
}

/// Verifies that `cert` is valid for `server_name`.
///
/// # Errors
///
/// Returns [`Error::InvalidCertificate`] if it is not.
pub fn verify_server_name(
    cert: &ParsedCertificate<'_>,
    server_name: &ServerName<'_>,
) -> Result<(), Error> {
    cert.webpki()
        .verify_is_valid_for_subject_name(server_name)
        .map_err(certificate_error)
}

/// The builder for a [`ChainVerifier`]. The public builders of both sides wrap it.
#[derive(Clone, Debug)]
pub(super) struct ChainVerifierBuilder {
    pub(super) roots: Arc<RootCertStore>,
    crls: Vec<GivenCrl>,
    /// True if the application passed an empty collection of shared lists.
    shared_crls_missing: bool,
    pub(super) revocation: RevocationPolicy,
    provider: Arc<CryptoProvider>,
}

/// A revocation list from the application.
#[derive(Clone, Debug)]
enum GivenCrl {
    Der(CertificateRevocationListDer<'static>),
    Parsed(Arc<RevocationList>),
}

impl ChainVerifierBuilder {
    pub(super) fn new(roots: Arc<RootCertStore>, provider: Arc<CryptoProvider>) -> Self {
        Self {
            roots,
            crls: Vec::new(),
            shared_crls_missing: false,
            revocation: RevocationPolicy::default(),
            provider,
        }
    }

    /// Adds unparsed lists. `crls` may be empty, because applications written for rustls 0.23 rely
    /// on that.
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

    /// Builds the chain verifier for `usage`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no root, a list is unusable, or shared lists are missing.
    pub(super) fn build(self, usage: Usage) -> Result<ChainVerifier, VerifierBuilderError> {
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

        Ok(ChainVerifier::new(
            usage,
            self.roots,
            crls,
            self.revocation,
            &self.provider,
        ))
    }
}

/// The error for a verifier that should use shared revocation lists but got none.
#[derive(Debug)]
struct NoRevocationLists;

impl fmt::Display for NoRevocationLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there are no revocation lists to check")
    }
}

impl core::error::Error for NoRevocationLists {}

/// A chain verifier: its trust anchors, revocation lists, policy and algorithms.
#[derive(Debug)]
pub(super) struct ChainVerifier {
    pub(super) roots: Arc<RootCertStore>,
    usage: Usage,
    crls: Vec<Arc<RevocationList>>,
    revocation: RevocationPolicy,
    pub(super) supported_algs: WebPkiSupportedAlgorithms,
    /// The digest of all other fields, shared with proofs. Without the crate feature `std`, it does
    /// not exist, because nothing relies on acceptances.
    #[cfg(feature = "std")]
    rules: Arc<LazyRules>,
}

impl ChainVerifier {
    /// Creates a verifier without revocation lists. With empty `roots`, the verifier trusts
    /// nothing.
    pub(super) fn without_revocation(
        usage: Usage,
        roots: Arc<RootCertStore>,
        provider: &CryptoProvider,
    ) -> Self {
        Self::new(
            usage,
            roots,
            Vec::new(),
            RevocationPolicy::default(),
            provider,
        )
    }

    fn new(
        usage: Usage,
        roots: Arc<RootCertStore>,
        crls: Vec<Arc<RevocationList>>,
        revocation: RevocationPolicy,
        provider: &CryptoProvider,
    ) -> Self {
        let supported_algs = provider.signature_verification_algorithms;
        #[cfg(feature = "std")]
        let rules = LazyRules::new(
            &RulesInputs {
                usage,
                roots: &roots,
                crls: &crls,
                revocation,
                algorithms: supported_algs.all,
            },
            provider,
        );
        Self {
            roots,
            usage,
            crls,
            revocation,
            supported_algs,
            #[cfg(feature = "std")]
            rules: Arc::new(rules),
        }
    }

    pub(super) fn rules(&self) -> Option<VerifierRules> {
        #[cfg(feature = "std")]
        return self.rules.digest();
        #[cfg(not(feature = "std"))]
        None
    }

    /// Verifies a path from `end_entity` to a root. All certificates below the root must be allowed
    /// for the verifier's usage, valid at the time `now`, and acceptable according to the
    /// revocation lists, if there are any. Returns the parsed `end_entity`, and the proof.
    pub(super) fn verify<'a>(
        &self,
        end_entity: &'a CertificateDer<'a>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(ParsedCertificate<'a>, Proof), Error> {
        let cert = ParsedCertificate::try_from(end_entity)?;
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
            &cert,
            intermediates,
            &self.roots,
            self.usage,
            revocation,
            self.supported_algs.all,
            now,
        )?;
        Ok((cert, self.proof(end_entity, intermediates, now)))
    }

    /// Returns the proof for a chain that was accepted at the time `now`: its rules and when it
    /// ends.
    ///
    /// webpki compares the time only with the validity of the certificates and, if their expiry is
    /// enforced, the next updates of the lists. The acceptance holds until the first of these
    /// comparisons changes. Certificates that are not on the path matter too: one that becomes
    /// valid could change the path.
    ///
    /// If a date cannot be read or a list has already expired, the acceptance must not be relied
    /// on. In that case the proof has no rules.
    fn proof(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Proof {
        let mut until = UnixTime::since_unix_epoch(Duration::MAX);
        let mut is_known = true;
        for certificate in intermediates.iter().chain([end_entity]) {
            match ValidityPeriod::read(certificate) {
                Some(validity) => until = earlier(until, validity.next_change(now)),
                None => is_known = false,
            }
        }
        if self.revocation.expiration == ExpirationPolicy::Enforce {
            for list in &self.crls {
                match list.next_update() {
                    Some(next_update) if next_update.as_secs() > now.as_secs() => {
                        until = earlier(until, Some(next_update));
                    }
                    _ => is_known = false,
                }
            }
        }
        #[cfg(feature = "std")]
        if is_known {
            return Proof::by(self.rules.clone(), until);
        }
        let _ = is_known;
        Proof::new(None, until)
    }
}

fn earlier(one: UnixTime, other: Option<UnixTime>) -> UnixTime {
    other
        .filter(|other| other.as_secs() < one.as_secs())
        .unwrap_or(one)
}

fn verify_chain(
    cert: &ParsedCertificate<'_>,
    intermediates: &[CertificateDer<'_>],
    roots: &RootCertStore,
    usage: Usage,
    revocation: Option<RevocationOptions<'_>>,
    supported_algs: &[&dyn SignatureVerificationAlgorithm],
    now: UnixTime,
) -> Result<(), Error> {
    cert.webpki()
        .verify_for_usage(
            supported_algs,
            &roots.roots,
            intermediates,
            now,
            usage.key_usage(),
            revocation,
            None,
        )
        .map(drop)
        .map_err(certificate_error)
}
