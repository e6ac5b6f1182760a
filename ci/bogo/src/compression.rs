//! The runner's test algorithms of certificate compression. Each only prepends a few bytes.

use rustls::CertificateCompressionAlgorithm;
use rustls::compress::{
    CertCompressor, CertDecompressor, CompressionFailed, CompressionLevel, DecompressionFailed,
};

const SHRINKING: u16 = 0xff01;
const EXPANDING: u16 = 0xff02;
const RANDOM: u16 = 0xff03;

/// All test algorithms.
pub(crate) const ALL_TEST_ALGORITHMS: [u16; 3] = [SHRINKING, EXPANDING, RANDOM];

/// The first two bytes of every Certificate message of the runner: an empty context, and the first
/// byte of a short list's length.
const FRONT_OF_MESSAGE: &[u8] = &[0, 0];
const FRONT_OF_EXPANDED: &[u8] = &[1, 2, 3, 4];

/// A test algorithm, by its code point.
#[derive(Debug)]
pub(crate) struct TestAlgorithm(u16);

impl TestAlgorithm {
    /// Returns the algorithm with this code point; `None` if the runner has no such algorithm.
    pub(crate) fn named(code_point: u16) -> Option<&'static Self> {
        match code_point {
            SHRINKING => Some(&Self(SHRINKING)),
            EXPANDING => Some(&Self(EXPANDING)),
            RANDOM => Some(&Self(RANDOM)),
            _ => None,
        }
    }
}

impl CertCompressor for TestAlgorithm {
    fn compress(
        &self,
        input: Vec<u8>,
        _level: CompressionLevel,
    ) -> Result<Vec<u8>, CompressionFailed> {
        match self.0 {
            SHRINKING => input
                .strip_prefix(FRONT_OF_MESSAGE)
                .map(Into::into)
                .ok_or(CompressionFailed),
            EXPANDING => Ok([FRONT_OF_EXPANDED, &input].concat()),
            // any byte will do
            _ => Ok([&[input.len() as u8], input.as_slice()].concat()),
        }
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.0.into()
    }
}

impl CertDecompressor for TestAlgorithm {
    fn decompress(&self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressionFailed> {
        let (front, rest): (&[u8], _) = match self.0 {
            SHRINKING => (FRONT_OF_MESSAGE, Some(input)),
            EXPANDING => (&[], input.strip_prefix(FRONT_OF_EXPANDED)),
            _ => (&[], input.get(1..)),
        };
        let rest = rest.ok_or(DecompressionFailed)?;
        if output.len() != front.len() + rest.len() {
            return Err(DecompressionFailed);
        }
        let (start, end) = output.split_at_mut(front.len());
        start.copy_from_slice(front);
        end.copy_from_slice(rest);
        Ok(())
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.0.into()
    }
}
