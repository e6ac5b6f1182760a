//! The TLS 1.2 messages Certificate and CertificateStatus: RFC 5246 §7.4.2 and RFC 6066 §8.

use alloc::vec::Vec;

use pki_types::CertificateDer;
use rustls_core::codec::{Codec, LengthSize, Reader, U24, encode_bytes, with_length_prefix};
use rustls_core::enums::HandshakeType;
use rustls_core::error::InvalidMessage;

use crate::msgs::EncodeMessage;
use crate::msgs::certificate::{CertificateStatus, MAX_CERTIFICATE_LIST_LEN};
use crate::msgs::extensions::read_value;

/// `Certificate`: the sender's certificate first; empty if a client has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CertificateChain<'a>(pub(crate) Vec<CertificateDer<'a>>);

impl<'a> CertificateChain<'a> {
    /// Creates the message for `chain`, without copying it.
    pub(crate) fn new(chain: &'a [CertificateDer<'_>]) -> Self {
        let borrowed = chain.iter().map(|cert| CertificateDer::from(cert.as_ref()));
        Self(borrowed.collect())
    }

    /// Iterates over the certificates.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.0.iter().map(AsRef::as_ref)
    }
}

impl<'a> Codec<'a> for CertificateChain<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        with_length_prefix(bytes, LengthSize::U24, |bytes| {
            for cert in &self.0 {
                encode_bytes(bytes, LengthSize::U24, cert);
            }
        });
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let len = usize::from(U24::read(r)?);
        if len > MAX_CERTIFICATE_LIST_LEN {
            return Err(InvalidMessage::CertificatePayloadTooLarge);
        }
        let mut list = r.sub(len)?;
        let mut chain = Vec::new();
        while list.any_left() {
            // RFC 5246 §7.4.2: at least one byte
            let cert = read_value(&mut list, LengthSize::U24)?;
            chain.push(CertificateDer::from(cert));
        }
        Ok(Self(chain))
    }
}

impl EncodeMessage for CertificateChain<'_> {
    const TYPE: HandshakeType = HandshakeType::Certificate;
    const MAX_LEN: usize = LengthSize::U24.max_len();

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}

impl EncodeMessage for CertificateStatus<'_> {
    const TYPE: HandshakeType = HandshakeType::CertificateStatus;
    const MAX_LEN: usize = LengthSize::U24.max_len();

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}
