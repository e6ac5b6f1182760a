//! CertificateVerify: RFC 9846 §4.5.2.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes};
use rustls_core::enums::{HandshakeType, SignatureScheme};
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;

/// A signature over the handshake, with its scheme.
///
/// It is carried by CertificateVerify (RFC 9846 §4.5.2), and in TLS 1.2 also by ServerKeyExchange
/// (RFC 5246 §4.7).
#[derive(Clone, Debug)]
pub struct DigitallySignedStruct {
    /// The signature scheme, according to the sender.
    pub scheme: SignatureScheme,
    signature: Vec<u8>,
}

impl DigitallySignedStruct {
    pub(crate) fn new(scheme: SignatureScheme, signature: Vec<u8>) -> Self {
        Self { scheme, signature }
    }

    /// Returns the signature itself, encoded as its scheme requires.
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }
}

impl Codec<'_> for DigitallySignedStruct {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.scheme.encode(bytes);
        encode_bytes(bytes, LengthSize::U16, &self.signature);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            scheme: SignatureScheme::read(r)?,
            signature: r.prefixed_bytes(LengthSize::U16)?.to_vec(),
        })
    }
}

impl EncodeMessage for DigitallySignedStruct {
    const TYPE: HandshakeType = HandshakeType::CertificateVerify;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}
