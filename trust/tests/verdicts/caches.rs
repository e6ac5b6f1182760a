//! The caches that a judge uses across connections.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use harness::peers::configs::this::trusted;
use harness::peers::endpoints::{Endpoint, ThisBuffered};
use rustls::certificates::{PeerChains, RevocationList, VerifiedChains};
use rustls_trust::RootCache;

use crate::directory::Directory;
use crate::verdicts::cases::Trust;

/// The number of connections that stay open, so that their parsed values can be shared.
const OPEN: usize = 32;

/// The capacity of the chain map, small enough for evictions.
const CHAINS: usize = 16;

/// All caches, or none. Clones share them.
#[derive(Clone)]
pub(crate) enum Caches {
    /// No caches.
    Off,
    /// All caches enabled.
    On(Arc<CacheSet>),
}

pub(crate) struct CacheSet {
    pub(crate) chains: Arc<PeerChains>,
    pub(crate) verified: Arc<VerifiedChains>,
    pub(crate) roots: RootCache,
    /// The directory of the roots, whose files change while its path stays the same.
    directory: Directory,
    open: Mutex<VecDeque<ThisBuffered>>,
}

impl Caches {
    pub(crate) fn on() -> Self {
        Self::On(Arc::new(CacheSet {
            chains: Arc::new(PeerChains::new(CHAINS)),
            verified: Arc::new(VerifiedChains::new(CHAINS)),
            roots: RootCache::new().with_change_detection(true),
            directory: Directory::new(),
            open: Mutex::default(),
        }))
    }

    pub(crate) fn roots(&self, trust: &Trust) -> Arc<rustls::RootCertStore> {
        match self {
            Self::On(kept) if !trust.roots.is_empty() => kept.roots(trust),
            _ => trusted(&trust.roots),
        }
    }

    /// Returns the maps of a configuration.
    pub(crate) fn maps(&self) -> (Arc<PeerChains>, Arc<VerifiedChains>) {
        match self {
            Self::Off => (
                Arc::new(PeerChains::disabled()),
                Arc::new(VerifiedChains::disabled()),
            ),
            Self::On(kept) => (kept.chains.clone(), kept.verified.clone()),
        }
    }

    /// Parses the lists of `trust`. They are shared while verifiers use them.
    pub(crate) fn lists(&self, trust: &Trust) -> Vec<Arc<RevocationList>> {
        match self {
            Self::Off => Vec::new(),
            Self::On(_) => {
                let lists = trust.crls.iter().cloned().map(RevocationList::from_der);
                lists.map(Result::unwrap).collect()
            }
        }
    }

    /// Reads all properties of the peer of a connection after its handshake, and keeps the
    /// connection open for a while.
    pub(crate) fn keep(&self, end: ThisBuffered) {
        let Self::On(kept) = self else {
            return;
        };
        let Some(peer) = end.conn.peer_identity() else {
            panic!("the peer is authenticated")
        };
        let certificates = end.peer_certificates();
        assert_eq!(peer.der(), &*certificates[0]);
        assert_eq!(peer.certificates().len(), certificates.len());
        peer.public_key().unwrap();
        peer.sha256_fingerprint().unwrap();
        if let Some(certificate) = peer.certificate() {
            assert_eq!(certificate.der().as_ref(), certificates[0]);
            let _ = certificate.subject();
            let _ = certificate.validity();
            let _ = certificate.subject_alt_names();
            let _ = certificate.extended_key_usages();
            let _ = certificate.basic_constraints();
        }
        let mut open = kept.open.lock().unwrap();
        open.push_back(end);
        if open.len() > OPEN {
            open.pop_front();
        }
    }

    /// Returns the enabled caches.
    pub(crate) fn kept(&self) -> &CacheSet {
        match self {
            Self::Off => panic!("the caches are off"),
            Self::On(kept) => kept,
        }
    }

    /// Asserts that the caches were used.
    pub(crate) fn assert_used(&self) {
        let kept = self.kept();
        let chains = kept.chains.stats();
        assert!(chains.hits > 100 && chains.misses > 100, "{chains:?}");
        assert!(chains.entries <= CHAINS, "{chains:?}");
        let verified = kept.verified.stats();
        assert!(verified.hits > 100 && verified.misses > 100, "{verified:?}");
        assert!(verified.entries <= CHAINS, "{verified:?}");
        let roots = kept.roots.stats();
        assert!(roots.misses > 100 && roots.entries == 1, "{roots:?}");
    }
}

impl CacheSet {
    fn roots(&self, trust: &Trust) -> Arc<rustls::RootCertStore> {
        let source = self.directory.replace_roots(&trust.roots);
        let store = self.roots.store(&source).unwrap();
        assert_eq!(store.roots, trusted(&trust.roots).roots);
        store
    }
}
