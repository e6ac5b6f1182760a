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

/// Keeps compressed chains, or does not.
///
/// One belongs to each configuration. A copy of a configuration shares it.
#[derive(Debug)]
pub enum CompressionCache {
    /// Nothing is kept: each chain is compressed anew, with [`CompressionLevel::Interactive`].
    Disabled,

    /// Those used last are kept, and compressed with [`CompressionLevel::Amortized`].
    #[cfg(feature = "std")]
    Enabled(CompressionCacheInner),
}

impl CompressionCache {
    /// One that keeps up to `size` compressed chains: as many as there are certificates in use, times
    /// the algorithms that peers prefer. With 0 it is [`Disabled`](Self::Disabled).
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
        let level = match self {
            #[cfg(feature = "std")]
            Self::Enabled(cache) => {
                if let Some(kept) = cache.find(compressor.algorithm(), certificate) {
                    return Ok(kept);
                }
                CompressionLevel::Amortized
            }
            Self::Disabled => CompressionLevel::Interactive,
        };
        let compressed = compressor.compress(certificate.to_vec(), level)?;
        let compressed = Compressed(compressed.into());
        #[cfg(feature = "std")]
        if let Self::Enabled(cache) = self {
            cache.keep(Entry {
                algorithm: compressor.algorithm(),
                certificate: certificate.into(),
                compressed: compressed.clone(),
            });
        }
        Ok(compressed)
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
    /// Compared byte by byte: the message with its context, certificates and OCSP response is the key.
    fn find(
        &self,
        algorithm: CertificateCompressionAlgorithm,
        certificate: &[u8],
    ) -> Option<Compressed> {
        // a poisoned lock cannot be, nothing panics under it; if it were, the chain is compressed anew
        let mut entries = self.entries.lock().ok()?;
        let position = entries
            .iter()
            .position(|kept| kept.algorithm == algorithm && *kept.certificate == *certificate)?;
        let entry = entries.remove(position)?;
        let found = entry.compressed.clone();
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
}

/// A compressed chain, which all connections share that send it.
#[derive(Clone, Debug)]
pub(crate) struct Compressed(Arc<[u8]>);

impl AsRef<[u8]> for Compressed {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
