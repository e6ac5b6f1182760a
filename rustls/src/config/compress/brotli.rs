//! Brotli (RFC 7932) with the crate `brotli`.

use alloc::vec::Vec;

use brotli::enc::{BrotliEncoderParams, StandardAlloc};
use brotli::{BrotliCompress, BrotliDecompressStream, BrotliResult, BrotliState};

use super::{
    CertCompressor, CertDecompressor, CompressionFailed, CompressionLevel, DecompressionFailed,
};
use crate::enums::CertificateCompressionAlgorithm;

/// Decompresses with Brotli.
pub const BROTLI_DECOMPRESSOR: &dyn CertDecompressor = &BrotliDecompressor;

/// Compresses with Brotli.
pub const BROTLI_COMPRESSOR: &dyn CertCompressor = &BrotliCompressor;

#[derive(Debug)]
struct BrotliDecompressor;

impl CertDecompressor for BrotliDecompressor {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        let (first, rest) = input.split_first().ok_or(DecompressionFailed)?;
        let mut decoder = Decoder {
            // RFC 7932 has no windows beyond 2^24 bytes; they are an extension
            state: BrotliState::new_strict(
                StandardAlloc::default(),
                StandardAlloc::default(),
                StandardAlloc::default(),
            ),
            output,
            written: 0,
        };
        // the format's header is in the first byte, so the rest is decoded without a copy
        let first = with_bounded_window(*first, decoder.output.len());
        let result = match decoder.feed(&[first]) {
            (BrotliResult::NeedsMoreInput, 0) => decoder.feed(rest),
            (result, 0) if rest.is_empty() => (result, 0),
            _ => return Err(DecompressionFailed),
        };
        // RFC 8879 §4: the input is one compressed message, and the output has the length declared
        match result {
            (BrotliResult::ResultSuccess, 0) if decoder.written == decoder.output.len() => Ok(()),
            _ => Err(DecompressionFailed),
        }
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Brotli
    }
}

struct Decoder<'a> {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    output: &'a mut [u8],
    /// The number of bytes written to `output`.
    written: usize,
}

impl Decoder<'_> {
    /// Decodes `input`. Returns the result and the number of unread bytes.
    fn feed(&mut self, input: &[u8]) -> (BrotliResult, usize) {
        let (mut left, mut read) = (input.len(), 0);
        let mut room = self.output.len() - self.written;
        let result = BrotliDecompressStream(
            &mut left,
            &mut read,
            input,
            &mut room,
            &mut self.written,
            self.output,
            &mut 0,
            &mut self.state,
        );
        (result, left)
    }
}

/// Changes the first byte of a stream to request a window of at most 2^18 bytes, if the output fits
/// into that window.
///
/// A decoder allocates the window that the peer requests, up to 2^24 bytes. References never reach
/// back beyond the output, so a larger window does not change the result.
fn with_bounded_window(first: u8, output_len: usize) -> u8 {
    // RFC 7932 §9.1: the smallest four-bit code; all four-bit codes are odd
    const WINDOW_18: u8 = 0b0011;
    const MAX_DISTANCE: usize = (1 << 18) - 16;

    let code = first & 0b1111;
    if code & 1 == 1 && code > WINDOW_18 && output_len <= MAX_DISTANCE {
        (first & 0b1111_0000) | WINDOW_18
    } else {
        first
    }
}

#[derive(Debug)]
struct BrotliCompressor;

impl CertCompressor for BrotliCompressor {
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        let params = BrotliEncoderParams {
            quality: match level {
                CompressionLevel::Interactive => 4,
                CompressionLevel::Amortized => 11,
            },
            lgwin: window_bits(input.len()),
            size_hint: input.len(),
            ..BrotliEncoderParams::default()
        };
        let mut output = Vec::with_capacity(input.len());
        BrotliCompress(&mut &input[..], &mut output, &params).map_err(|_| CompressionFailed)?;
        Ok(output)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Brotli
    }
}

/// Returns the size of the smallest window for `len` bytes, in bits. Both sender and receiver
/// allocate the window.
fn window_bits(len: usize) -> i32 {
    // RFC 7932 §9.1: a window has 2^WBITS - 16 bytes, WBITS from 10 to 24
    (10..24).find(|bits| len <= (1 << bits) - 16).unwrap_or(24)
}
