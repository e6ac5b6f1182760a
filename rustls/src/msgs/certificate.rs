//! Certificate: RFC 9846 §4.5.1.

use alloc::format;
use alloc::vec::Vec;

use pki_types::CertificateDer;
use rustls_core::codec::{Codec, LengthSize, Reader, U24, encode_bytes, with_length_prefix};
use rustls_core::enums::{CertificateStatusType, ExtensionType, HandshakeType};
use rustls_core::error::{Error, InvalidMessage};

use super::EncodeMessage;
use super::extension_block::{ExtensionBlock, ExtensionWriter, Form, Value, extension_block};
use super::extensions::read_value;

/// The longest accepted `certificate_list`, in bytes. The wire format allows 2^24 - 1.
pub(crate) const MAX_CERTIFICATE_LIST_LEN: usize = 0x1_0000;

/// The longest OCSP response that fits into an entry's extensions, which have at most 2^16 - 1
/// bytes. It follows the type and the length of the extension, the status type, and its own length.
const MAX_OCSP_RESPONSE_LEN: usize = 0xffff - 4 - (1 + 3);

/// The `Certificate` of TLS 1.3.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CertificateMsg<'a> {
    /// `certificate_request_context`: empty from a server; from a client, the same as in the
    /// CertificateRequest.
    pub(crate) context: &'a [u8],
    /// `certificate_list`: the sender's certificate first; empty if a client has none.
    pub(crate) entries: Vec<CertificateEntry<'a>>,
}

impl<'a> CertificateMsg<'a> {
    /// Creates the message for `chain`, with `ocsp_response` stapled to the first certificate.
    pub(crate) fn new(
        context: &'a [u8],
        chain: &'a [CertificateDer<'_>],
        ocsp_response: Option<&'a [u8]>,
    ) -> Self {
        let mut ocsp_response = ocsp_response;
        let entries = chain
            .iter()
            .map(|cert| CertificateEntry {
                cert: CertificateDer::from(cert.as_ref()),
                ocsp_response: ocsp_response.take(),
            })
            .collect();
        Self { context, entries }
    }

    /// Iterates over the certificates.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.entries.iter().map(|entry| entry.cert.as_ref())
    }
}

extension_block! {
    /// `CertificateEntry`. Extensions other than `status_request` are errors.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct CertificateEntry<'a> in Certificate {
        /// The OCSP response; never empty in a decoded message.
        StatusRequest => ocsp_response: Option<&'a [u8]> as OcspResponse,
    }
    besides {
        /// `cert_data`, or `ASN1_subjectPublicKeyInfo` if raw public keys were negotiated.
        cert: CertificateDer<'a>,
    }
}

impl<'a> Codec<'a> for CertificateMsg<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, LengthSize::U8, self.context);
        with_length_prefix(bytes, LengthSize::U24, |bytes| {
            for entry in &self.entries {
                entry.encode(bytes);
            }
        });
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let context = r.prefixed_bytes(LengthSize::U8)?;
        let len = usize::from(U24::read(r)?);
        if len > MAX_CERTIFICATE_LIST_LEN {
            return Err(InvalidMessage::CertificatePayloadTooLarge);
        }
        let entries = r.sub(len)?.list()?;
        Ok(Self { context, entries })
    }
}

impl<'a> Codec<'a> for CertificateEntry<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, LengthSize::U24, &self.cert);
        self.encode_block(bytes);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut entry = Self {
            // RFC 9846 §4.5.1: at least one byte
            cert: CertificateDer::from(read_value(r, LengthSize::U24)?),
            ocsp_response: None,
        };
        // RFC 9846 §4.5.1: no unsolicited extensions, and this library only asks for status_request
        entry.read_closed_block(r, InvalidMessage::UnknownCertificateExtension)?;
        Ok(entry)
    }
}

/// The form of an entry's `status_request`: a [`CertificateStatus`].
struct OcspResponse;

impl<'a> Form<'a, Option<&'a [u8]>> for OcspResponse {
    fn encode(self, typ: ExtensionType, field: &Option<&'a [u8]>, block: &mut ExtensionWriter<'_>) {
        Value.encode(typ, &field.map(CertificateStatus), block);
    }

    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<&'a [u8]>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        *field = Some(CertificateStatus::read(r)?.0);
        Ok(())
    }
}

/// `CertificateStatus` (RFC 6066 §8): an OCSP response; never empty in a decoded message.
///
/// In TLS 1.2 it is a separate message; RFC 9846 §4.5.1.1 puts it into an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CertificateStatus<'a>(pub(crate) &'a [u8]);

impl<'a> Codec<'a> for CertificateStatus<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        CertificateStatusType::Ocsp.encode(bytes);
        encode_bytes(bytes, LengthSize::U24, self.0);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        match CertificateStatusType::read(r)? {
            CertificateStatusType::Ocsp => {}
            _ => return Err(InvalidMessage::InvalidCertificateStatusType),
        }
        match r.prefixed_bytes(LengthSize::U24)? {
            // RFC 6066 §8: a response has at least one byte
            [] => Err(InvalidMessage::IllegalEmptyList("PayloadU24")),
            response => Ok(Self(response)),
        }
    }
}

impl EncodeMessage for CertificateMsg<'_> {
    const TYPE: HandshakeType = HandshakeType::Certificate;
    const MAX_LEN: usize = LengthSize::U24.max_len();

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }

    fn check_inner_lengths(&self) -> Result<(), Error> {
        for entry in &self.entries {
            let len = entry.ocsp_response.unwrap_or_default().len();
            if len > MAX_OCSP_RESPONSE_LEN {
                return Err(Error::General(format!(
                    "an OCSP response of {len} bytes cannot be sent: it may have \
                     {MAX_OCSP_RESPONSE_LEN} at most"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ocsp_response_belongs_to_the_first_certificate() {
        let chain = [&b"end entity"[..], b"issuer"].map(CertificateDer::from);
        let msg = CertificateMsg::new(&[], &chain, Some(b"response"));
        let responses: Vec<_> = msg
            .entries
            .iter()
            .map(|entry| entry.ocsp_response)
            .collect();
        assert_eq!(responses, [Some(&b"response"[..]), None]);
        assert!(msg.chain().eq(chain.iter().map(AsRef::as_ref)));
    }

    #[test]
    fn an_empty_chain_is_encoded_as_an_empty_list() {
        let msg = CertificateMsg::new(b"context", &[], Some(b"response"));
        assert_eq!(msg.get_encoding(), b"\x07context\0\0\0");
    }
}
