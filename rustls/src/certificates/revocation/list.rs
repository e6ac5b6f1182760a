//! A revocation list, parsed.

use alloc::sync::Arc;
use core::fmt;

use pki_types::{CertificateRevocationListDer, UnixTime};
use webpki::{CertRevocationList, OwnedCertRevocationList};

use super::issue::Issue;
use crate::error::CertRevocationListError;
use crate::webpki::crl_error;

/// A certificate revocation list (RFC 5280 §5), parsed, with an index of its serial numbers.
///
/// [`from_der`](Self::from_der) is the way to one. With `std`, the same bytes give the same list for as long as
/// somebody in the process uses it: verifiers that check the same list share one index, whether they are given
/// this list by `with_shared_crls` ([for servers](crate::client::ServerCertVerifierBuilder::with_shared_crls),
/// [for clients](crate::server::ClientCertVerifierBuilder::with_shared_crls)) or its bytes by `with_crls`.
///
/// The list's signature is not verified here, because nothing tells yet who its issuer is. A verifier does that
/// each time it uses the list, over all of the list's bytes.
///
/// A list takes about twice the length of its encoding, and 150 bytes or so for each certificate in it.
pub struct RevocationList {
    /// Shared with those who wait while it is parsed.
    der: Arc<CertificateRevocationListDer<'static>>,
    parsed: CertRevocationList<'static>,
    issue: Option<Issue>,
}

impl RevocationList {
    /// Parses `der`, or finds the list that was parsed from the same bytes before.
    ///
    /// Several threads that do this at once with the same bytes parse them once. Different bytes do not wait
    /// for each other.
    ///
    /// # Errors
    ///
    /// The list cannot be parsed, or is of a kind that cannot be used: not of version 2, without a next update,
    /// without extensions, with changes only, or for certificates of other issuers.
    pub fn from_der(
        der: CertificateRevocationListDer<'static>,
    ) -> Result<Arc<Self>, CertRevocationListError> {
        #[cfg(feature = "std")]
        return super::sharing::process_wide().list(der);
        #[cfg(not(feature = "std"))]
        Self::parse(Arc::new(der)).map(Arc::new)
    }

    /// Parses `der` without looking for another list.
    ///
    /// # Errors
    ///
    /// As [`from_der`](Self::from_der).
    pub(super) fn parse(
        der: Arc<CertificateRevocationListDer<'static>>,
    ) -> Result<Self, CertRevocationListError> {
        let parsed = OwnedCertRevocationList::from_der(&der).map_err(crl_error)?;
        Ok(Self {
            issue: Issue::read(&der),
            parsed: parsed.into(),
            der,
        })
    }

    /// How much the sharing of lists among all verifiers of the process has helped.
    ///
    /// [`bytes`](super::super::CacheStats::bytes) counts the encodings, not the indexes.
    #[cfg(feature = "std")]
    pub fn sharing_stats() -> super::super::CacheStats {
        super::sharing::process_wide().stats()
    }

    /// The encoding.
    pub fn der(&self) -> &CertificateRevocationListDer<'static> {
        &self.der
    }

    /// The issuer's distinguished name: the content of its DER encoding, without the outermost tag and length.
    pub fn issuer(&self) -> &[u8] {
        self.parsed.issuer()
    }

    /// When it was issued.
    ///
    /// `None` for an encoding so odd that only webpki reads it; no authority writes such a list.
    pub fn this_update(&self) -> Option<UnixTime> {
        Some(self.issue.as_ref()?.this_update)
    }

    /// When the next one is due. Verifiers go on using a list beyond that time, unless they were built with
    /// `enforce_revocation_expiration`.
    ///
    /// `None` as with [`this_update`](Self::this_update).
    pub fn next_update(&self) -> Option<UnixTime> {
        Some(self.issue.as_ref()?.next_update)
    }

    /// Its number among those of its issuer (RFC 5280 §5.2.3), big-endian without leading zeros, if it has one.
    pub fn number(&self) -> Option<&[u8]> {
        self.issue.as_ref()?.number.as_deref()
    }

    /// Whether this is of the same issuer and the same scope as `other`. Of two such lists a verifier uses the first.
    #[cfg(feature = "std")]
    pub(super) fn covers_what(&self, other: &Self) -> bool {
        self.issuer() == other.issuer()
            && self.parsed.issuing_distribution_point() == other.parsed.issuing_distribution_point()
    }

    /// Whether this was issued before `other`, or after `now`.
    #[cfg(feature = "std")]
    pub(super) fn is_older_than(&self, other: &Self, now: Option<UnixTime>) -> bool {
        self.order(now) < other.order(now)
    }

    /// What rises from one issue to the next; see [`Issue::order`].
    #[cfg(feature = "std")]
    pub(crate) fn order(&self, now: Option<UnixTime>) -> impl Ord {
        self.issue.as_ref().map(|issue| issue.order(now))
    }

    /// Orders lists by how long they are worth keeping; see [`Issue::expiry_order`].
    #[cfg(feature = "std")]
    pub(super) fn expiry_order(&self, now: Option<UnixTime>) -> impl Ord {
        self.issue.as_ref().map(|issue| issue.expiry_order(now))
    }

    /// What a verifier uses.
    pub(crate) fn parsed(&self) -> &CertRevocationList<'static> {
        &self.parsed
    }

    #[cfg(feature = "std")]
    pub(super) fn shared_der(&self) -> &Arc<CertificateRevocationListDer<'static>> {
        &self.der
    }
}

impl fmt::Debug for RevocationList {
    /// Which list it is; not what is in it, which may be a hundred thousand lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevocationList")
            .field("issuer", &pki_types::Der::from(self.issuer()))
            .field("issue", &self.issue)
            .field("len", &self.der.len())
            .finish()
    }
}
