//! Certificates that are sent as CompressedCertificate (RFC 8879), whichever side sends them.

use alloc::vec;
use alloc::vec::Vec;

use rustls_core::codec::{Codec, Reader};
use rustls_core::record::joiner::MAX_HANDSHAKE_LEN;

use crate::compress::{CertCompressor, CertDecompressor, CompressionCache};
use crate::enums::{AlertDescription, CertificateCompressionAlgorithm};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::handshake::Failure;
use crate::handshake::flight::Flight;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::compressed_certificate::CompressedCertificate;
use crate::msgs::short_list::ShortList;

/// RFC 8879 §3: `algorithms<2..2^8-2>`, two bytes each.
const MAX_OFFERED: usize = 127;

/// The algorithms for a `compress_certificate` extension, none twice; `None` if there is none to offer.
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

/// Refuses a client's `compress_certificate` extension that names an algorithm twice, as 0.23 does.
pub(super) fn check_offer(
    algorithms: Option<&[CertificateCompressionAlgorithm]>,
) -> Result<(), PeerMisbehaved> {
    let algorithms = algorithms.unwrap_or_default();
    // at most 127 of them
    let is_again = |(i, algorithm)| algorithms[..i].contains(algorithm);
    if algorithms.iter().enumerate().any(is_again) {
        return Err(PeerMisbehaved::OfferedDuplicateCertificateCompressions);
    }
    Ok(())
}

/// The body of the Certificate that `message` holds, for [`read_certificate`].
pub(super) fn decompress(
    message: &CompressedCertificate<&[u8]>,
    decompressors: &[&'static dyn CertDecompressor],
) -> Result<Vec<u8>, Failure> {
    // RFC 8879 §4: the algorithm is one that was offered
    let is_offered = offered_algorithms(decompressors)
        .is_some_and(|offered| offered.contains(&message.algorithm));
    let decompressor = decompressors
        .iter()
        .find(|known| is_offered && known.algorithm() == message.algorithm)
        .ok_or_else(|| bad_certificate(PeerMisbehaved::SelectedUnofferedCertCompression))?;

    // RFC 8879 §5: the same limit as without compression, and before memory is taken
    if message.uncompressed_length > MAX_HANDSHAKE_LEN {
        return Err(bad_certificate(InvalidMessage::MessageTooLarge));
    }
    let mut certificate = vec![0; message.uncompressed_length];
    // RFC 8879 §4: what cannot be decompressed, or to another length, is a bad_certificate
    decompressor
        .decompress(message.compressed, &mut certificate)
        .map_err(|_| PeerMisbehaved::InvalidCertCompression)?;
    Ok(certificate)
}

/// Reads the body of a Certificate that was compressed. A body that cannot be read is a bad_certificate, as one that
/// cannot be decompressed is.
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

/// The first of `compressors` whose algorithm the peer has `offered`.
pub(super) fn choose_compressor(
    offered: Option<&[CertificateCompressionAlgorithm]>,
    compressors: &[&'static dyn CertCompressor],
) -> Option<&'static dyn CertCompressor> {
    let offered = offered?;
    let is_offered = |compressor: &&&dyn CertCompressor| offered.contains(&compressor.algorithm());
    compressors.iter().find(is_offered).copied()
}

/// Adds `certificate` to the `flight`, compressed if there is a `compressor` and it succeeds.
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
        // RFC 8879 §4: it has at least one byte
        (!compressed.as_ref().is_empty()).then_some(CompressedCertificate {
            algorithm: compressor.algorithm(),
            uncompressed_length: body.len(),
            compressed,
        })
    });
}
