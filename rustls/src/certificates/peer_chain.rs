//! A peer's certificates, in memory shared by connections and sessions.

use alloc::boxed::Box;
use alloc::sync::Arc;
#[cfg(feature = "std")]
use alloc::sync::Weak;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use once_cell::race::OnceBox;
use pki_types::CertificateDer;
#[cfg(not(feature = "x509"))]
use pki_types::SubjectPublicKeyInfoDer;

use super::fingerprint::Fingerprint;
use super::once::Once;
#[cfg(feature = "x509")]
use crate::certificates::Certificate;
#[cfg(not(feature = "x509"))]
use crate::error::Error;

/// A peer's certificates, end entity first, or its raw public key alone.
///
/// A connection reports the chain to the application, and its sessions keep it for the connections
/// that resume them. Clones share the memory.
#[derive(Clone)]
pub(crate) struct PeerChain(Arc<Inner>);

/// The encoding of the entries in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ChainKind {
    /// Certificates (RFC 5280).
    X509,
    /// A single `SubjectPublicKeyInfo` (RFC 7250).
    RawPublicKey,
}

/// The contents of a chain. Long data is boxed, so that a chain with only weak references occupies
/// little memory.
struct Inner {
    kind: ChainKind,
    certificates: Box<[CertificateDer<'static>]>,
    /// Properties parsed from the certificates on first use. They must not refer to the chain.
    facts: OnceBox<PeerFacts>,
}

/// The parsed properties of an identity, stored with the chain.
#[derive(Default)]
pub(crate) struct PeerFacts {
    pub(super) fingerprint: Fingerprint,
    #[cfg(feature = "x509")]
    pub(super) certificate: Once<Certificate>,
    #[cfg(not(feature = "x509"))]
    pub(super) public_key: Once<Result<SubjectPublicKeyInfoDer<'static>, Error>>,
}

impl ChainKind {
    /// Returns the kind of chain that a verifier requires: a raw public key if `is_raw`, otherwise
    /// certificates.
    pub(crate) fn new(is_raw: bool) -> Self {
        if is_raw {
            Self::RawPublicKey
        } else {
            Self::X509
        }
    }
}

impl PeerChain {
    pub(crate) fn new(
        kind: ChainKind,
        certificates: impl IntoIterator<Item = CertificateDer<'static>>,
    ) -> Self {
        Self(Arc::new(Inner {
            kind,
            certificates: certificates.into_iter().collect(),
            facts: OnceBox::new(),
        }))
    }

    pub(crate) fn kind(&self) -> ChainKind {
        self.0.kind
    }

    /// Returns the properties parsed from the chain, which all clones share.
    pub(crate) fn facts(&self) -> &PeerFacts {
        self.0.facts.get_or_init(Box::default)
    }

    /// Creates a chain by copying certificates in DER.
    pub(crate) fn copy<'a>(
        kind: ChainKind,
        certificates: impl IntoIterator<Item = &'a [u8], IntoIter: Clone>,
    ) -> Self {
        let certificates = certificates.into_iter();
        // counted first, so that the memory neither grows nor shrinks
        let mut copies = Vec::with_capacity(certificates.clone().count());
        copies.extend(certificates.map(|der| CertificateDer::from(der.to_vec())));
        Self::new(kind, copies)
    }

    /// True if sessions should share this chain. False for a chain of many tiny certificates, which
    /// takes less memory in encoded form.
    ///
    /// A real certificate is many times longer than its entry in the list. A certificate of a few
    /// bytes is shorter, and a hostile peer may send thousands of them.
    pub(crate) fn is_worth_sharing(&self) -> bool {
        /// Up to this many certificates, the overhead is small.
        const FEW: usize = 4;
        let bytes: usize = self.der().map(<[u8]>::len).sum();
        let besides = self.len() * size_of::<CertificateDer<'_>>();
        self.len() <= FEW || besides <= bytes / 4
    }

    /// Returns the certificates in DER.
    pub(crate) fn der(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.iter().map(AsRef::as_ref)
    }

    #[cfg(feature = "std")]
    pub(crate) fn downgrade(&self) -> WeakChain {
        WeakChain(Arc::downgrade(&self.0))
    }
}

/// A reference that does not keep the chain alive.
#[cfg(feature = "std")]
#[derive(Clone)]
pub(crate) struct WeakChain(Weak<Inner>);

#[cfg(feature = "std")]
impl WeakChain {
    pub(crate) fn upgrade(&self) -> Option<PeerChain> {
        self.0.upgrade().map(PeerChain)
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

/// Dereferences to the certificates, or to the raw public key wrapped in the same type.
impl Deref for PeerChain {
    type Target = [CertificateDer<'static>];

    fn deref(&self) -> &Self::Target {
        &self.0.certificates
    }
}

impl PartialEq for PeerChain {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.kind == other.0.kind && **self == **other
    }
}

impl Eq for PeerChain {}

impl fmt::Debug for PeerChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerChain")
            .field("kind", &self.0.kind)
            .field("certificates", &self.0.certificates)
            .finish()
    }
}
