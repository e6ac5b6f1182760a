//! The cache of compressed chains. Without it, each handshake would compress its chain.

#[cfg(feature = "std")]
use alloc::boxed::Box;
#[cfg(feature = "std")]
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::fmt::Debug;
#[cfg(feature = "std")]
use std::sync::Mutex;

use super::{CertCompressor, CompressionFailed, CompressionLevel};
#[cfg(feature = "std")]
use crate::enums::CertificateCompressionAlgorithm;

/// The use, counted from 1, at which a chain is compressed thoroughly.
#[cfg(feature = "std")]
const MANY_USES: u32 = 100;

/// A cache of compressed chains.
///
/// Each configuration has one; clones of a configuration share it.
#[derive(Debug)]
pub enum CompressionCache {
    /// No cache: each handshake compresses its chain, with [`CompressionLevel::Interactive`].
    Disabled,

    /// A cache of the most recently used chains. Chains that are used often are recompressed with
    /// [`CompressionLevel::Amortized`].
    #[cfg(feature = "std")]
    Enabled(CompressionCacheInner),
}

impl CompressionCache {
    /// Creates a cache of up to `size` compressed chains. With 0 it is
    /// [`Disabled`](Self::Disabled).
    ///
    /// A good size is the number of certificates in use times the number of algorithms that peers
    /// prefer. Stay below a few hundred, because a handshake may search all entries.
    #[cfg(feature = "std")]
    pub fn new(size: usize) -> Self {
        if size == 0 {
            return Self::Disabled;
        }
        Self::Enabled(CompressionCacheInner {
            size,
            entries: Mutex::default(),
        })
    }

    /// Compresses `certificate`, a Certificate message without its header, or returns the cached
    /// result.
    ///
    /// # Errors
    ///
    /// Returns the error of the compressor, unless there is a cached result.
    pub(crate) fn compress(
        &self,
        compressor: &dyn CertCompressor,
        certificate: &[u8],
    ) -> Result<Compressed, CompressionFailed> {
        match self {
            #[cfg(feature = "std")]
            Self::Enabled(cache) => cache.compress(compressor, certificate),
            Self::Disabled => {
                Compressed::new(compressor, certificate, CompressionLevel::Interactive)
            }
        }
    }
}

impl Default for CompressionCache {
    /// Creates a cache of four chains with `std`, none without.
    fn default() -> Self {
        #[cfg(feature = "std")]
        return Self::new(4);
        #[cfg(not(feature = "std"))]
        return Self::Disabled;
    }
}

/// The state of an enabled [`CompressionCache`].
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct CompressionCacheInner {
    size: usize,
    /// The compressed chains, most recently used first.
    entries: Mutex<VecDeque<Entry>>,
}

#[cfg(feature = "std")]
impl CompressionCacheInner {
    /// Returns the cached chain, or compresses it quickly. Compresses it thoroughly only at use
    /// number [`MANY_USES`], because that takes much longer. If it did so at the first use, clients
    /// that select among more certificates than fit could force it in every handshake.
    fn compress(
        &self,
        compressor: &dyn CertCompressor,
        certificate: &[u8],
    ) -> Result<Compressed, CompressionFailed> {
        let algorithm = compressor.algorithm();
        let compress = |level, uses| {
            let compressed = Compressed::new(compressor, certificate, level)?;
            self.keep(Entry {
                algorithm,
                certificate: certificate.into(),
                compressed: compressed.clone(),
                uses,
            });
            Ok(compressed)
        };
        match self.find(algorithm, certificate) {
            None => compress(CompressionLevel::Interactive, 1),
            Some((kept, MANY_USES)) => {
                Ok(compress(CompressionLevel::Amortized, MANY_USES).unwrap_or(kept))
            }
            Some((kept, _)) => Ok(kept),
        }
    }

    /// Returns the cached chain and its number of uses, including this one.
    ///
    /// The key is the algorithm and the whole message (context, certificates, OCSP response),
    /// compared byte by byte.
    fn find(
        &self,
        algorithm: CertificateCompressionAlgorithm,
        certificate: &[u8],
    ) -> Option<(Compressed, u32)> {
        // nothing panics while this lock is held; if it were poisoned, the chain would be
        // compressed again
        let mut entries = self.entries.lock().ok()?;
        let position = entries
            .iter()
            .position(|kept| kept.algorithm == algorithm && *kept.certificate == *certificate)?;
        let mut entry = entries.remove(position)?;
        entry.uses = entry.uses.saturating_add(1);
        let found = (entry.compressed.clone(), entry.uses);
        entries.push_front(entry);
        Some(found)
    }

    fn keep(&self, entry: Entry) {
        let Ok(mut entries) = self.entries.lock() else {
            return;
        };
        // another connection may have added the same chain
        entries.retain(|kept| {
            kept.algorithm != entry.algorithm || kept.certificate != entry.certificate
        });
        entries.truncate(self.size - 1);
        entries.push_front(entry);
    }
}

#[cfg(feature = "std")]
#[derive(Debug)]
struct Entry {
    algorithm: CertificateCompressionAlgorithm,
    certificate: Box<[u8]>,
    compressed: Compressed,
    /// The number of uses. Thoroughly compressed chains start at [`MANY_USES`].
    uses: u32,
}

/// A compressed chain. Clones share the memory.
#[derive(Clone, Debug)]
pub(crate) struct Compressed(Arc<[u8]>);

impl Compressed {
    fn new(
        compressor: &dyn CertCompressor,
        certificate: &[u8],
        level: CompressionLevel,
    ) -> Result<Self, CompressionFailed> {
        let compressed = compressor.compress(certificate.to_vec(), level)?;
        Ok(Self(compressed.into()))
    }
}

impl AsRef<[u8]> for Compressed {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
