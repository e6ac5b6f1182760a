//! Compressed certificates (CompressedCertificate, RFC 8879) on both sides.

use alloc::vec;
use alloc::vec::Vec;

use rustls_core::codec::{Codec, Reader};
use rustls_core::record::joiner::MAX_HANDSHAKE_LEN;

use crate::config::compress::{
    CertCompressor, CertDecompressor, CompressionCache, offered_algorithms,
};
use crate::enums::{AlertDescription, CertificateCompressionAlgorithm};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::flight::Flight;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::compressed_certificate::CompressedCertificate;

/// Rejects a client's `compress_certificate` extension with duplicate algorithms.
pub(super) fn check_offer(
    algorithms: Option<&[CertificateCompressionAlgorithm]>,
) -> Result<(), PeerMisbehaved> {
    let algorithms = algorithms.unwrap_or_default();
    // at most 127 algorithms, so comparing pairs is cheap
    let is_again = |(i, algorithm)| algorithms[..i].contains(algorithm);
    if algorithms.iter().enumerate().any(is_again) {
        return Err(PeerMisbehaved::OfferedDuplicateCertificateCompressions);
    }
    Ok(())
}

/// Returns the decompressed body of a Certificate. [`read_certificate`] decodes it.
pub(super) fn decompress(
    message: &CompressedCertificate<&[u8]>,
    decompressors: &[&'static dyn CertDecompressor],
) -> Result<Vec<u8>, Failure> {
    // RFC 8879 §4: the algorithm must have been offered
    let is_offered = offered_algorithms(decompressors)
        .is_some_and(|offered| offered.contains(&message.algorithm));
    let decompressor = decompressors
        .iter()
        .find(|known| is_offered && known.algorithm() == message.algorithm)
        .ok_or_else(|| bad_certificate(PeerMisbehaved::SelectedUnofferedCertCompression))?;

    // RFC 8879 §5: the same limit as for uncompressed certificates, checked before memory is
    // allocated
    if message.uncompressed_length > MAX_HANDSHAKE_LEN {
        return Err(bad_certificate(InvalidMessage::MessageTooLarge));
    }
    let mut certificate = vec![0; message.uncompressed_length];
    // RFC 8879 §4: an error, or a different length, is a bad_certificate
    decompressor
        .decompress(message.compressed, &mut certificate)
        .map_err(|_| PeerMisbehaved::InvalidCertCompression)?;
    Ok(certificate)
}

/// Decodes the body of a Certificate that was compressed. A malformed body causes bad_certificate,
/// like one that cannot be decompressed.
pub(super) fn read_certificate(body: &[u8]) -> Result<CertificateMsg<'_>, Failure> {
    let mut r = Reader::new(body);
    let certificate = CertificateMsg::read(&mut r).map_err(bad_certificate)?;
    r.expect_empty("HandshakeMessagePayload")
        .map_err(bad_certificate)?;
    Ok(certificate)
}

fn bad_certificate(error: impl Into<Error>) -> Failure {
    Failure::new(error, AlertDescription::BadCertificate)
}

/// Returns the first of `compressors` whose algorithm the peer `offered`.
pub(super) fn choose_compressor(
    offered: Option<&[CertificateCompressionAlgorithm]>,
    compressors: &[&'static dyn CertCompressor],
) -> Option<&'static dyn CertCompressor> {
    let offered = offered?;
    let is_offered = |compressor: &&&dyn CertCompressor| offered.contains(&compressor.algorithm());
    compressors.iter().find(is_offered).copied()
}

/// Adds `certificate` to `flight`, compressed if there is a `compressor` and it returns any bytes.
pub(super) fn add_certificate(
    certificate: &CertificateMsg<'_>,
    compressor: Option<&dyn CertCompressor>,
    cache: &CompressionCache,
    flight: &mut Flight<'_>,
) {
    let Some(compressor) = compressor else {
        return flight.add(certificate);
    };
    flight.add_instead(certificate, |body| {
        let compressed = cache.compress(compressor, body).ok()?;
        // RFC 8879 §4: the compressed message has at least one byte
        (!compressed.as_ref().is_empty()).then_some(CompressedCertificate {
            algorithm: compressor.algorithm(),
            uncompressed_length: body.len(),
            compressed,
        })
    });
}
