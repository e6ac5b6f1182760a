//! Certificates: arbitrary bytes as a certificate whose properties are read, or as a compressed
//! one.

mod properties;

use harness::peers::roles::ROLES;
use harness::wire::vector;
use rustls::compress::{
    BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR, CertCompressor, CertDecompressor, CompressionLevel,
    ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR,
};

use crate::INPUT_LIMIT;
use crate::messages::is_certificate_accepted;

/// The first byte chooses the kind of the rest: a certificate; a compressed one, with algorithm and
/// receiver; or one to compress.
pub fn certificates(input: &[u8]) {
    let &[choice, ref rest @ ..] = input else {
        return;
    };
    match choice % 4 {
        0 | 1 => properties::properties(rest),
        2 => compressed(choice, rest),
        _ => compressed_and_plain(choice, rest),
    }
}

const CERTIFICATE: u8 = 11;
const COMPRESSED_CERTIFICATE: u8 = 25;

/// The first two bytes are the declared length. The decompressed bytes must survive another
/// round trip.
fn compressed(choice: u8, input: &[u8]) {
    let &[high, low, ref bytes @ ..] = input else {
        return;
    };
    let bytes = &bytes[..bytes.len().min(INPUT_LIMIT)];
    let (compressor, decompressor) = algorithm(choice);
    let declared = usize::from(u16::from_be_bytes([high, low]));
    let mut output = vec![0; declared];
    let is_right = decompressor.decompress(bytes, &mut output).is_ok();
    let mut again = vec![0xff; declared];
    assert_eq!(decompressor.decompress(bytes, &mut again).is_ok(), is_right);
    if is_right {
        assert!(again == output);
        // not always, since it takes much longer
        if choice & 0xf0 == 0xf0 {
            round_trip(&output, compressor, decompressor);
        }
    }

    let algorithm = u16::from(decompressor.algorithm()).to_be_bytes();
    let body = [&algorithm[..], &[0, high, low], &vector(3, bytes)].concat();
    let side = ROLES[usize::from(choice >> 2 & 1)];
    let is_accepted = is_certificate_accepted(side, COMPRESSED_CERTIFICATE, &body);
    let as_it_is = is_right && is_certificate_accepted(side, CERTIFICATE, &output);
    assert_eq!(is_accepted, as_it_is);
}

/// Checks that a Certificate message is accepted either both compressed and uncompressed, or
/// neither way.
fn compressed_and_plain(choice: u8, body: &[u8]) {
    let body = &body[..body.len().min(INPUT_LIMIT)];
    let side = ROLES[usize::from(choice >> 2 & 1)];
    let len = vector(3, body);
    // RFC 8879 §4: algorithm, uncompressed_length, compressed_certificate_message
    let compressed = [&[0, 1][..], &len[..3], &vector(3, &stored(body))].concat();
    assert_eq!(
        is_certificate_accepted(side, COMPRESSED_CERTIFICATE, &compressed),
        is_certificate_accepted(side, CERTIFICATE, body) && !body.is_empty(),
    );
}

fn algorithm(choice: u8) -> (&'static dyn CertCompressor, &'static dyn CertDecompressor) {
    match choice & 8 {
        0 => (ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR),
        _ => (BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR),
    }
}

fn round_trip(bytes: &[u8], compressor: &dyn CertCompressor, decompressor: &dyn CertDecompressor) {
    let compressed = compressor.compress(bytes.to_vec(), CompressionLevel::Interactive);
    let mut again = vec![0; bytes.len()];
    decompressor
        .decompress(&compressed.unwrap(), &mut again)
        .unwrap();
    assert!(again == bytes);
}

/// Wraps `bytes`, which fit one block, as zlib without compression (RFC 1950, RFC 1951 §3.2.4).
fn stored(bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len() as u16;
    let (mut low, mut high) = (1, 0);
    for &byte in bytes {
        low = (low + u32::from(byte)) % 65521;
        high = (high + low) % 65521;
    }
    let checksum = high << 16 | low;
    [
        &[0x78, 0x01, 0x01][..],
        &len.to_le_bytes(),
        &(!len).to_le_bytes(),
        bytes,
        &checksum.to_be_bytes(),
    ]
    .concat()
}
