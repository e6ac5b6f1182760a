//! A parsed revocation list.

use alloc::sync::Arc;
use core::fmt;

use pki_types::{CertificateRevocationListDer, UnixTime};
#[cfg(feature = "std")]
use rustls_core::crypto::hash::{Hash, HashAlgorithm};
use webpki::{CertRevocationList, OwnedCertRevocationList};

use super::issue::Issue;
#[cfg(feature = "std")]
use crate::certificates::fingerprint::Fingerprint;
use crate::certificates::webpki_error::crl_error;
use crate::error::CertRevocationListError;

/// A parsed certificate revocation list (RFC 5280 §5), with an index of its serial numbers.
///
/// Create it with [`from_der`](Self::from_der). With `std`, parsing the same bytes again returns
/// the same object, as long as it is in use anywhere in the process. So verifiers with the same
/// list share one index. Beyond 16384 lists in use, further lists are not shared. Pass the list to
/// `with_shared_crls` (of the verifier of [server
/// certificates](crate::client::ServerCertVerifierBuilder::with_shared_crls) or [client
/// certificates](crate::server::ClientCertVerifierBuilder::with_shared_crls)), or its bytes to
/// `with_crls`.
///
/// The signature is not verified here, because the issuer's key is not known yet. A verifier checks
/// it each time it uses the list, and hashes the whole list for that.
///
/// A list takes about twice as much memory as its encoding, plus about 150 bytes per revoked
/// certificate.
pub struct RevocationList {
    /// Shared with threads that are waiting for the list to be parsed.
    der: Arc<CertificateRevocationListDer<'static>>,
    parsed: CertRevocationList<'static>,
    issue: Option<Issue>,
    #[cfg(feature = "std")]
    fingerprint: Fingerprint,
}

impl RevocationList {
    /// Parses `der`, or returns the shared list that was parsed from the same bytes.
    ///
    /// If several threads pass the same bytes, one of them parses the list and the others wait,
    /// unless the list is not shared. Threads that pass different bytes are not delayed.
    ///
    /// # Errors
    ///
    /// Returns an error if the list cannot be parsed, or is not supported: for example, if it is
    /// not version 2, has no next update or no extensions, has an unknown critical extension, or is
    /// a delta list or an indirect list.
    pub fn from_der(
        der: CertificateRevocationListDer<'static>,
    ) -> Result<Arc<Self>, CertRevocationListError> {
        #[cfg(feature = "std")]
        return super::sharing::process_wide().list(der);
        #[cfg(not(feature = "std"))]
        Self::parse(Arc::new(der)).map(Arc::new)
    }

    /// Parses `der` without looking up a shared list.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`from_der`](Self::from_der).
    pub(super) fn parse(
        der: Arc<CertificateRevocationListDer<'static>>,
    ) -> Result<Self, CertRevocationListError> {
        let parsed = OwnedCertRevocationList::from_der(&der).map_err(crl_error)?;
        Ok(Self {
            issue: Issue::read(&der),
            parsed: parsed.into(),
            #[cfg(feature = "std")]
            fingerprint: Fingerprint::default(),
            der,
        })
    }

    /// Returns the process-wide statistics of list sharing.
    ///
    /// [`bytes`](super::super::CacheStats::bytes) counts the encodings, not the indexes.
    /// A call that waited for another thread to parse its list counts as a hit, or as a miss if the
    /// list could not be parsed.
    #[cfg(feature = "std")]
    pub fn sharing_stats() -> super::super::CacheStats {
        super::sharing::process_wide().stats()
    }

    /// Returns the DER encoding.
    pub fn der(&self) -> &CertificateRevocationListDer<'static> {
        &self.der
    }

    /// Returns the issuer's distinguished name in DER, without the outer tag and length.
    pub fn issuer(&self) -> &[u8] {
        self.parsed.issuer()
    }

    /// Returns the date of issue.
    ///
    /// `None` for unusual encodings that only webpki can parse.
    pub fn this_update(&self) -> Option<UnixTime> {
        Some(self.issue.as_ref()?.this_update)
    }

    /// Returns the date of the next update. Verifiers use the list beyond that date, unless built
    /// with `enforce_revocation_expiration`.
    ///
    /// `None` in the same cases as [`this_update`](Self::this_update).
    pub fn next_update(&self) -> Option<UnixTime> {
        Some(self.issue.as_ref()?.next_update)
    }

    /// Returns the number that the issuer assigned (RFC 5280 §5.2.3), big-endian without leading
    /// zeros.
    ///
    /// `None` if the list has no number, and in the same cases as
    /// [`this_update`](Self::this_update).
    pub fn number(&self) -> Option<&[u8]> {
        self.issue.as_ref()?.number.as_deref()
    }

    /// Returns the value of the extension issuingDistributionPoint (RFC 5280 §5.2.5) in DER, if
    /// any: the scope of the list.
    pub fn issuing_distribution_point(&self) -> Option<&[u8]> {
        self.parsed.issuing_distribution_point()
    }

    /// Returns the first 32 bytes of `hash` over the encoding. Returns `None` if `hash` returns
    /// less.
    ///
    /// The SHA-256 of the list is cached for all verifiers. Returns `None` if `hash` has to compute
    /// it and returns wrong results. Other hashes are computed in each call.
    #[cfg(feature = "std")]
    pub(crate) fn digest(&self, hash: &'static dyn Hash) -> Option<[u8; 32]> {
        if hash.algorithm() == HashAlgorithm::SHA256 {
            return self.fingerprint.of(&self.der, || Some(hash)).ok().copied();
        }
        hash.hash(&self.der).as_ref().first_chunk().copied()
    }

    /// Returns the list as webpki uses it.
    pub(crate) fn parsed(&self) -> &CertRevocationList<'static> {
        &self.parsed
    }

    #[cfg(feature = "std")]
    pub(super) fn shared_der(&self) -> &Arc<CertificateRevocationListDer<'static>> {
        &self.der
    }
}

impl fmt::Debug for RevocationList {
    /// Prints the identity of the list, not its entries: there may be a hundred thousand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevocationList")
            .field("issuer", &pki_types::Der::from(self.issuer()))
            .field("issue", &self.issue)
            .field("len", &self.der.len())
            .finish()
    }
}
