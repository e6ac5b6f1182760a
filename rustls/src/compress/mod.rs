//! Certificate compression (RFC 8879): chains are compressed before they are sent, in TLS 1.3.
//!
//! Features `brotli` and `zlib` bring one algorithm each, which every configuration then uses unless it is
//! told otherwise. Any other can be added by [`CertCompressor`] and [`CertDecompressor`]:
//!
//! | | the server's chain | a client's chain |
//! |---|---|---|
//! | compressed with | [`ServerConfig::cert_compressors`] | [`ClientConfig::cert_compressors`] |
//! | decompressed with | [`ClientConfig::cert_decompressors`] | [`ServerConfig::cert_decompressors`] |
//! | kept in | [`ServerConfig::cert_compression_cache`] | [`ClientConfig::cert_compression_cache`] |
//!
//! The receiver says which algorithms it can undo; the sender takes the first of its own that is among them.
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

/// The decompressors that the crate's features bring, most preferred first.
pub fn default_cert_decompressors() -> &'static [&'static dyn CertDecompressor] {
    &[
        #[cfg(feature = "brotli")]
        BROTLI_DECOMPRESSOR,
        #[cfg(feature = "zlib")]
        ZLIB_DECOMPRESSOR,
    ]
}

/// The compressors that the crate's features bring, most preferred first.
pub fn default_cert_compressors() -> &'static [&'static dyn CertCompressor] {
    &[
        #[cfg(feature = "brotli")]
        BROTLI_COMPRESSOR,
        #[cfg(feature = "zlib")]
        ZLIB_COMPRESSOR,
    ]
}

/// Undoes one algorithm of certificate compression.
pub trait CertDecompressor: Debug + Send + Sync {
    /// Decompresses `input` into `output`, which has exactly the length that the peer declares.
    ///
    /// Both come from the peer, and nothing of them is authenticated yet: take no memory that is out of
    /// proportion to `output`, which has 64 KiB at most.
    ///
    /// # Errors
    ///
    /// [`DecompressionFailed`] when `input` is malformed, or holds more or less than fills `output`.
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed>;

    /// The algorithm.
    fn algorithm(&self) -> CertificateCompressionAlgorithm;
}

/// One algorithm of certificate compression.
pub trait CertCompressor: Debug + Send + Sync {
    /// Compresses `input`, a Certificate message without its header, with as much effort as `level` says.
    ///
    /// # Errors
    ///
    /// [`CompressionFailed`], for any reason. The chain is then sent as it is.
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed>;

    /// The algorithm.
    fn algorithm(&self) -> CertificateCompressionAlgorithm;
}

/// How much effort to spend on a compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionLevel {
    /// A peer waits for it, and it may be used once: be quick.
    Interactive,
    /// The result is kept and used often: be thorough.
    Amortized,
}

/// The input of a [`CertDecompressor`] was malformed, or was not as long as declared.
#[derive(Debug)]
pub struct DecompressionFailed;

/// A [`CertCompressor`] could not compress.
#[derive(Debug)]
pub struct CompressionFailed;
