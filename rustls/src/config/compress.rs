//! Certificate compression (RFC 8879) for TLS 1.3.
//!
//! Features `brotli` and `zlib` add one algorithm each; every configuration uses them by default.
//! Implement [`CertCompressor`] and [`CertDecompressor`] to add others:
//!
//! | | the server's chain | a client's chain |
//! |---|---|---|
//! | compressors | [`ServerConfig::cert_compressors`] | [`ClientConfig::cert_compressors`] |
//! | decompressors | [`ClientConfig::cert_decompressors`] | [`ServerConfig::cert_decompressors`] |
//! | cache | [`ServerConfig::cert_compression_cache`] | [`ClientConfig::cert_compression_cache`] |
//!
//! The receiver lists the algorithms that it can decompress. The sender takes the first of its own
//! that is listed.
//!
//! [`ServerConfig::cert_compressors`]: crate::ServerConfig::cert_compressors
//! [`ClientConfig::cert_compressors`]: crate::ClientConfig::cert_compressors
//! [`ServerConfig::cert_decompressors`]: crate::ServerConfig::cert_decompressors
//! [`ClientConfig::cert_decompressors`]: crate::ClientConfig::cert_decompressors
//! [`ServerConfig::cert_compression_cache`]: crate::ServerConfig::cert_compression_cache
//! [`ClientConfig::cert_compression_cache`]: crate::ClientConfig::cert_compression_cache

#[cfg(feature = "brotli")]
mod brotli;
mod cache;
#[cfg(all(test, feature = "brotli", feature = "zlib"))]
mod tests;
#[cfg(feature = "zlib")]
mod zlib;

use alloc::vec::Vec;
use core::fmt::Debug;

#[cfg(feature = "brotli")]
pub use self::brotli::{BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR};
pub use self::cache::CompressionCache;
#[cfg(feature = "std")]
pub use self::cache::CompressionCacheInner;
#[cfg(feature = "zlib")]
pub use self::zlib::{ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR};
use crate::enums::CertificateCompressionAlgorithm;
use crate::msgs::short_list::ShortList;

/// Returns the decompressors enabled by crate features, most preferred first.
pub fn default_cert_decompressors() -> &'static [&'static dyn CertDecompressor] {
    &[
        #[cfg(feature = "brotli")]
        BROTLI_DECOMPRESSOR,
        #[cfg(feature = "zlib")]
        ZLIB_DECOMPRESSOR,
    ]
}

/// Returns the compressors enabled by crate features, most preferred first.
pub fn default_cert_compressors() -> &'static [&'static dyn CertCompressor] {
    &[
        #[cfg(feature = "brotli")]
        BROTLI_COMPRESSOR,
        #[cfg(feature = "zlib")]
        ZLIB_COMPRESSOR,
    ]
}

/// Decompresses certificates with one algorithm.
pub trait CertDecompressor: Debug + Send + Sync {
    /// Decompresses `input` into `output`, whose length is exactly what the peer declared.
    ///
    /// The input and the declared length come from an unauthenticated peer. Do not allocate memory
    /// out of proportion to `output`, which has at most 64 KiB.
    ///
    /// # Errors
    ///
    /// Returns [`DecompressionFailed`] if `input` is malformed, or its content does not exactly
    /// fill `output`.
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed>;

    /// Returns the algorithm that [`Self::decompress`] implements.
    fn algorithm(&self) -> CertificateCompressionAlgorithm;
}

/// Compresses certificates with one algorithm.
pub trait CertCompressor: Debug + Send + Sync {
    /// Compresses `input`, a Certificate message without its header, with the effort that `level`
    /// asks for.
    ///
    /// # Errors
    ///
    /// May return [`CompressionFailed`] for any reason. The chain is then sent uncompressed.
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed>;

    /// Returns the algorithm that [`Self::compress`] implements.
    fn algorithm(&self) -> CertificateCompressionAlgorithm;
}

/// The effort to spend on compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionLevel {
    /// Fast: a peer is waiting, and the result may be used only once.
    Interactive,
    /// Thorough: the result is cached and used often.
    Amortized,
}

/// The input of a [`CertDecompressor`] was malformed, or its content did not have the declared
/// length.
#[derive(Debug)]
pub struct DecompressionFailed;

/// The error of a [`CertCompressor`].
#[derive(Debug)]
pub struct CompressionFailed;

/// The maximum number of algorithms. RFC 8879 §3: `algorithms<2..2^8-2>`, two bytes each.
const MAX_OFFERED: usize = 127;

/// Returns up to [`MAX_OFFERED`] algorithms for a `compress_certificate` extension, without
/// duplicates. Returns `None` if there are none.
pub(crate) fn offered_algorithms(
    decompressors: &[&'static dyn CertDecompressor],
) -> Option<ShortList<CertificateCompressionAlgorithm>> {
    let mut offered = ShortList::new();
    for decompressor in decompressors {
        let algorithm = decompressor.algorithm();
        if !offered.contains(&algorithm) && offered.len() < MAX_OFFERED {
            offered.push(algorithm);
        }
    }
    (!offered.is_empty()).then_some(offered)
}
