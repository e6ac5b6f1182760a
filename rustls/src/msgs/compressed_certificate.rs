//! CompressedCertificate: RFC 8879 §4.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, U24, encode_bytes};
use rustls_core::enums::{CertificateCompressionAlgorithm, HandshakeType};
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;

/// `CompressedCertificate`, which replaces a Certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompressedCertificate<Bytes> {
    pub(crate) algorithm: CertificateCompressionAlgorithm,
    /// The length of the Certificate in bytes, excluding its header.
    pub(crate) uncompressed_length: usize,
    /// `compressed_certificate_message`.
    pub(crate) compressed: Bytes,
}

impl<'a> CompressedCertificate<&'a [u8]> {
    pub(crate) fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            algorithm: CertificateCompressionAlgorithm::read(r)?,
            uncompressed_length: U24::read(r)?.into(),
            compressed: r.prefixed_bytes(LengthSize::U24)?,
        })
    }
}

impl<Bytes: AsRef<[u8]>> EncodeMessage for CompressedCertificate<Bytes> {
    const TYPE: HandshakeType = HandshakeType::CompressedCertificate;
    const MAX_LEN: usize = LengthSize::U24.max_len();

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.algorithm.encode(bytes);
        // it has already been encoded as a message, so the length is at most 2^24 - 1
        U24(self.uncompressed_length as u32).encode(bytes);
        encode_bytes(bytes, LengthSize::U24, self.compressed.as_ref());
    }
}
