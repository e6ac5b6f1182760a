//! The certificates of a peer, in memory that connections and sessions share.

use alloc::boxed::Box;
use alloc::sync::Arc;
#[cfg(feature = "std")]
use alloc::sync::Weak;
use core::fmt;
use core::ops::Deref;

use once_cell::race::OnceBox;
use pki_types::CertificateDer;

use crate::certificates::PeerFacts;

/// A peer's certificates, end entity first, or its raw public key alone.
///
/// A connection reports them, and each of its sessions keeps them for the connections that resume it: a clone
/// shares them all.
#[derive(Clone)]
pub(crate) struct PeerChain(Arc<Inner>);

/// What the bytes in a chain are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ChainKind {
    /// Certificates (RFC 5280).
    X509,
    /// One `SubjectPublicKeyInfo` (RFC 7250).
    RawPublicKey,
}

/// What is long lies in boxes of its own, so that little is left of a chain that only weak references know.
struct Inner {
    kind: ChainKind,
    certificates: Box<[CertificateDer<'static>]>,
    /// What was read out of them, once somebody asked. It must not refer to the chain.
    facts: OnceBox<PeerFacts>,
}

impl ChainKind {
    /// What a side gets whose verifier asks for raw public keys, or does not.
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

    /// What its certificates are.
    pub(crate) fn kind(&self) -> ChainKind {
        self.0.kind
    }

    /// What was read out of it, by whoever has it.
    pub(crate) fn facts(&self) -> &PeerFacts {
        self.0.facts.get_or_init(Box::default)
    }

    /// A copy of these certificates, each in DER.
    pub(crate) fn copy<'a>(
        kind: ChainKind,
        certificates: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        let copies = certificates.into_iter().map(<[u8]>::to_vec);
        Self::new(kind, copies.map(CertificateDer::from))
    }

    /// The certificates, each in DER.
    pub(crate) fn der(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.iter().map(AsRef::as_ref)
    }

    /// Whether it is of this kind, and has these certificates byte by byte.
    #[cfg(feature = "std")]
    pub(crate) fn is<'a>(
        &self,
        kind: ChainKind,
        certificates: impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        self.0.kind == kind && self.der().eq(certificates)
    }

    /// A reference that does not keep it.
    #[cfg(feature = "std")]
    pub(crate) fn downgrade(&self) -> WeakChain {
        WeakChain(Arc::downgrade(&self.0))
    }
}

/// A chain that others may keep, or not.
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

/// The certificates, or the key as if it were one.
impl Deref for PeerChain {
    type Target = [CertificateDer<'static>];

    fn deref(&self) -> &Self::Target {
        &self.0.certificates
    }
}

impl PartialEq for PeerChain {
    fn eq(&self, other: &Self) -> bool {
        self.0.kind == other.0.kind && **self == **other
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
