//! Where compressed chains are kept, so that each is compressed once.

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

/// After how many uses of a compressed chain it is compressed thoroughly.
#[cfg(feature = "std")]
const MANY_USES: u32 = 100;

/// Keeps compressed chains, or does not.
///
/// One belongs to each configuration. A copy of a configuration shares it.
#[derive(Debug)]
pub enum CompressionCache {
    /// Nothing is kept: each chain is compressed anew, with [`CompressionLevel::Interactive`].
    Disabled,

    /// Those used last are kept; those used often are compressed again with [`CompressionLevel::Amortized`].
    #[cfg(feature = "std")]
    Enabled(CompressionCacheInner),
}

impl CompressionCache {
    /// One that keeps up to `size` compressed chains: as many as there are certificates in use, times
    /// the algorithms that peers prefer, but no more than some hundreds: all of them are looked at in each full
    /// handshake. With 0 it is [`Disabled`](Self::Disabled).
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

    /// `certificate`, a Certificate message without its header, as `compressor` compresses it.
    ///
    /// # Errors
    ///
    /// Those of the compressor.
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
    /// One of four chains with `std`, and none without.
    fn default() -> Self {
        #[cfg(feature = "std")]
        return Self::new(4);
        #[cfg(not(feature = "std"))]
        return Self::Disabled;
    }
}

/// What an enabled [`CompressionCache`] has.
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct CompressionCacheInner {
    size: usize,
    /// Those used last in front.
    entries: Mutex<VecDeque<Entry>>,
}

#[cfg(feature = "std")]
impl CompressionCacheInner {
    /// A thorough compression takes a hundred times as long as a quick one. So it is made when it has proved to
    /// pay: otherwise clients of a server that has more certificates than the cache has room, and who choose
    /// among them, would have it make one for each handshake.
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

    /// What is kept, and how often it was used, this time included.
    ///
    /// Compared byte by byte: the message with its context, certificates and OCSP response is the key.
    fn find(
        &self,
        algorithm: CertificateCompressionAlgorithm,
        certificate: &[u8],
    ) -> Option<(Compressed, u32)> {
        // a poisoned lock cannot be, nothing panics under it; if it were, the chain is compressed anew
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
        // another connection may have been as far
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
    /// How often. What is compressed thoroughly has had [`MANY_USES`] before.
    uses: u32,
}

/// A compressed chain, which all connections share that send it.
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
