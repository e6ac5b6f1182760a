//! zlib (RFC 1950) with zlib-rs.

use alloc::vec;
use alloc::vec::Vec;

use zlib_rs::{
    DeflateConfig, Inflate, InflateFlush, ReturnCode, Status, compress_bound, compress_slice,
};

use super::{
    CertCompressor, CertDecompressor, CompressionFailed, CompressionLevel, DecompressionFailed,
};
use crate::enums::CertificateCompressionAlgorithm;

/// Decompresses with zlib.
pub const ZLIB_DECOMPRESSOR: &dyn CertDecompressor = &ZlibDecompressor;

/// Compresses with zlib.
pub const ZLIB_COMPRESSOR: &dyn CertCompressor = &ZlibCompressor;

/// The largest window of the format: 2^15 bytes.
const WINDOW_BITS: u8 = 15;

#[derive(Debug)]
struct ZlibDecompressor;

impl CertDecompressor for ZlibDecompressor {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        let mut inflate = Inflate::new(true, WINDOW_BITS);
        let status = inflate.decompress(input, output, InflateFlush::Finish);
        let is_whole = |done: u64, slice: &[u8]| usize::try_from(done) == Ok(slice.len());
        // RFC 8879 §4: the input is one compressed message, and the output has the length declared
        match status {
            Ok(Status::StreamEnd)
                if is_whole(inflate.total_in(), input) && is_whole(inflate.total_out(), output) =>
            {
                Ok(())
            }
            _ => Err(DecompressionFailed),
        }
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Zlib
    }
}

#[derive(Debug)]
struct ZlibCompressor;

impl CertCompressor for ZlibCompressor {
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        let level = match level {
            CompressionLevel::Interactive => 3,
            CompressionLevel::Amortized => 9,
        };
        let mut output = vec![0; compress_bound(input.len())];
        let (compressed, result) = compress_slice(&mut output, &input, DeflateConfig::new(level));
        if result != ReturnCode::Ok {
            return Err(CompressionFailed);
        }
        let len = compressed.len();
        output.truncate(len);
        Ok(output)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Zlib
    }
}
