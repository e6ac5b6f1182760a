//! The TLS 1.2 CertificateRequest: RFC 5246 §7.4.4.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_list};
use rustls_core::enums::{ClientCertificateType, HandshakeType, SignatureScheme};
use rustls_core::error::InvalidMessage;

use crate::msgs::EncodeMessage;
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::extensions::{read_list, read_signature_schemes};
use crate::msgs::short_list::ShortList;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CertificateRequest {
    /// `certificate_types`: the kinds of keys that the server accepts. Never empty in a decoded
    /// message.
    pub(crate) certificate_types: ShortList<ClientCertificateType>,
    /// `supported_signature_algorithms`; never empty in a decoded message.
    pub(crate) signature_schemes: ShortList<SignatureScheme>,
    /// `certificate_authorities`; empty if any authority is acceptable.
    pub(crate) authorities: Vec<DistinguishedName>,
}

impl Codec<'_> for CertificateRequest {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_list(bytes, LengthSize::U8, &self.certificate_types);
        encode_list(bytes, LengthSize::U16, &self.signature_schemes);
        encode_list(bytes, LengthSize::U16, &self.authorities);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            // RFC 5246 §7.4.4: at least one type
            certificate_types: read_list(r, LengthSize::U8, "ClientCertificateTypes")?,
            signature_schemes: read_signature_schemes(r)?,
            authorities: r.prefixed(LengthSize::U16)?.list()?,
        })
    }
}

impl EncodeMessage for CertificateRequest {
    const TYPE: HandshakeType = HandshakeType::CertificateRequest;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}
