//! Both algorithms: round trips, also with upstream's implementation, and rejection of bad input.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::vec;

use rustls_upstream::compress as theirs;

use super::*;

const LEVELS: [CompressionLevel; 2] = [CompressionLevel::Interactive, CompressionLevel::Amortized];

fn pairs() -> [(&'static dyn CertCompressor, &'static dyn CertDecompressor); 2] {
    [
        (BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR),
        (ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR),
    ]
}

/// Bytes like those of certificates: some repeat, some do not.
fn sample(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut bytes = Vec::new();
    for i in 0..len {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.push(if i % 64 < 32 {
            (state >> 24) as u8
        } else {
            i as u8
        });
    }
    bytes
}

#[test]
fn the_defaults_prefer_brotli() {
    use CertificateCompressionAlgorithm::{Brotli, Zlib};

    let compressors = default_cert_compressors().iter();
    assert!(compressors.map(|it| it.algorithm()).eq([Brotli, Zlib]));
    let decompressors = default_cert_decompressors().iter();
    assert!(decompressors.map(|it| it.algorithm()).eq([Brotli, Zlib]));
    // the order of rustls 0.23
    let compressors = theirs::default_cert_compressors().iter();
    assert!(compressors.map(|it| u16::from(it.algorithm())).eq([2, 1]));
    let decompressors = theirs::default_cert_decompressors().iter();
    assert!(decompressors.map(|it| u16::from(it.algorithm())).eq([2, 1]));
}

#[test]
fn inputs_of_every_length_round_trip() {
    let all = sample(0x1_0004);
    let lengths = (0..80).chain([1008, 1009, 4096, 0xfff0, 0xfff1, 0x1_0004]);
    for len in lengths {
        for (compressor, decompressor) in pairs() {
            for level in LEVELS {
                if level == CompressionLevel::Amortized && len > 2000 {
                    continue;
                }
                let compressed = compressor.compress(all[..len].to_vec(), level).unwrap();
                let mut output = vec![0; len];
                decompressor.decompress(&compressed, &mut output).unwrap();
                assert!(output == all[..len], "{compressor:?} {level:?} {len}");
            }
        }
    }
}

#[test]
fn compression_interoperates_with_upstream() {
    let theirs = [
        (theirs::BROTLI_COMPRESSOR, theirs::BROTLI_DECOMPRESSOR),
        (theirs::ZLIB_COMPRESSOR, theirs::ZLIB_DECOMPRESSOR),
    ];
    for len in [1, 300, 4000, 0x1_0000] {
        let input = sample(len);
        for ((compressor, decompressor), theirs) in pairs().into_iter().zip(theirs) {
            let mut output = vec![0; len];
            for level in LEVELS {
                let compressed = compressor.compress(input.clone(), level).unwrap();
                theirs.1.decompress(&compressed, &mut output).unwrap();
                assert!(output == input);
            }
            output.fill(0);
            let compressed = theirs.0.compress(
                input.clone(),
                rustls_upstream::compress::CompressionLevel::Interactive,
            );
            decompressor
                .decompress(&compressed.unwrap(), &mut output)
                .unwrap();
            assert!(output == input);
        }
    }
}

#[test]
fn wrong_declared_length_is_rejected() {
    let input = sample(3000);
    for (compressor, decompressor) in pairs() {
        let compressed = compressor
            .compress(input.clone(), CompressionLevel::Interactive)
            .unwrap();
        for len in [0, 1, 1500, 2998, 2999, 3001, 3002, 0x1_0000] {
            let result = decompressor.decompress(&compressed, &mut vec![0; len]);
            assert!(result.is_err(), "{decompressor:?} {len}");
        }
    }
}

#[test]
fn truncated_or_extended_input_is_rejected() {
    let input = sample(700);
    for (compressor, decompressor) in pairs() {
        for level in LEVELS {
            let compressed = compressor.compress(input.clone(), level).unwrap();
            let mut output = vec![0; input.len()];
            for len in 0..compressed.len() {
                let result = decompressor.decompress(&compressed[..len], &mut output);
                assert!(result.is_err(), "{decompressor:?} cut to {len}");
            }
            for more in [1, 2, 7, 8, 9, 1000] {
                let mut longer = compressed.clone();
                longer.resize(compressed.len() + more, 0);
                let result = decompressor.decompress(&longer, &mut output);
                assert!(result.is_err(), "{decompressor:?} with {more} extra bytes");
            }
            // two streams in a row
            let twice = [&compressed[..], &compressed].concat();
            let mut output = vec![0; 2 * input.len()];
            assert!(decompressor.decompress(&twice, &mut output).is_err());
        }
    }
}

/// A changed bit is accepted or rejected; nothing panics.
#[test]
fn corrupted_input_does_not_panic() {
    let input = sample(400);
    for (compressor, decompressor) in pairs() {
        let compressed = compressor
            .compress(input.clone(), CompressionLevel::Amortized)
            .unwrap();
        let mut output = vec![0; input.len()];
        for i in 0..compressed.len() {
            for bit in 0..8 {
                let mut wrong = compressed.clone();
                wrong[i] ^= 1 << bit;
                let _ = decompressor.decompress(&wrong, &mut output);
            }
        }
    }
}

/// A stream decodes to the same output for each declared window from 2^10 to 2^24 bytes.
#[test]
fn brotli_output_is_independent_of_the_window() {
    let input = sample(20_000);
    for lgwin in 10..=24 {
        let params = ::brotli::enc::BrotliEncoderParams {
            quality: 4,
            lgwin,
            ..Default::default()
        };
        let mut compressed = Vec::new();
        ::brotli::BrotliCompress(&mut &input[..], &mut compressed, &params).unwrap();
        let mut output = vec![0; input.len()];
        BROTLI_DECOMPRESSOR
            .decompress(&compressed, &mut output)
            .unwrap();
        assert!(output == input, "{lgwin}");
    }
}

/// Windows beyond RFC 7932 need a different format.
#[test]
fn brotli_large_window_extension_is_rejected() {
    let params = ::brotli::enc::BrotliEncoderParams {
        quality: 4,
        lgwin: 26,
        large_window: true,
        ..Default::default()
    };
    let (input, mut compressed) = (sample(60_000), Vec::new());
    ::brotli::BrotliCompress(&mut &input[..], &mut compressed, &params).unwrap();
    let result = BROTLI_DECOMPRESSOR.decompress(&compressed, &mut vec![0; input.len()]);
    assert!(result.is_err());
}

/// Counts its calls, and fails thorough compression if `fails` is set.
#[derive(Debug, Default)]
struct Counting {
    interactive: AtomicUsize,
    amortized: AtomicUsize,
    fails: bool,
}

impl CertCompressor for Counting {
    fn compress(
        &self,
        input: Vec<u8>,
        level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        match level {
            CompressionLevel::Interactive => self.interactive.fetch_add(1, Relaxed),
            CompressionLevel::Amortized if self.fails => return Err(CompressionFailed),
            CompressionLevel::Amortized => self.amortized.fetch_add(1, Relaxed),
        };
        Ok(input)
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Zstd
    }
}

impl Counting {
    fn counts(&self) -> [usize; 2] {
        [self.interactive.load(Relaxed), self.amortized.load(Relaxed)]
    }
}

/// Chains that rarely hit the cache are compressed quickly; frequent ones thoroughly, once.
#[test]
fn only_frequent_chains_are_compressed_thoroughly() {
    let compressor = Counting::default();
    let cache = CompressionCache::new(4);
    for _ in 0..200 {
        for i in 0..5 {
            cache.compress(&compressor, &[i; 10]).unwrap();
        }
    }
    assert_eq!(compressor.counts(), [1000, 0]);

    for (fails, expected) in [(false, [4, 4]), (true, [4, 0])] {
        let compressor = Counting {
            fails,
            ..Counting::default()
        };
        let cache = CompressionCache::new(4);
        for round in 1..1000 {
            for i in 0..4 {
                let compressed = cache.compress(&compressor, &[i; 10]).unwrap();
                assert_eq!(compressed.as_ref(), [i; 10]);
            }
            if round == 99 {
                assert_eq!(compressor.counts(), [4, 0]);
            }
        }
        assert_eq!(compressor.counts(), expected);
    }
}
