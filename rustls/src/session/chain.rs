//! The certificates of a peer, in memory that connections and sessions share.

use alloc::sync::Arc;
use core::ops::Deref;

use pki_types::CertificateDer;

/// A peer's certificates, end entity first.
///
/// A connection reports them, and each of its sessions keeps them for the connections that resume it: a clone
/// shares them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerChain(Arc<[CertificateDer<'static>]>);

impl FromIterator<CertificateDer<'static>> for PeerChain {
    fn from_iter<I: IntoIterator<Item = CertificateDer<'static>>>(certificates: I) -> Self {
        Self(certificates.into_iter().collect())
    }
}

impl Deref for PeerChain {
    type Target = [CertificateDer<'static>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
