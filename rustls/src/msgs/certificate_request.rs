//! CertificateRequest: RFC 9846 §4.4.2, and its names of certification authorities.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use rustls_core::codec::LengthSize::{U8, U16};
use rustls_core::codec::{Codec, Reader, encode_bytes};
use rustls_core::enums::{
    CertificateCompressionAlgorithm, ExtensionType, HandshakeType, SignatureScheme,
};
use rustls_core::error::{Error, InvalidMessage};

use super::extension_block::{ExtensionBlock, Items, MaybeEmpty, extension_block};
use super::extensions::{SignatureSchemes, read_value};
use super::short_list::ShortList;
use super::{EncodeMessage, Hex};

/// The maximum length of the authorities' names in a CertificateRequest, in bytes. The rest is
/// reserved for other extensions and for headers.
const MAX_AUTHORITIES_LEN: usize = 0xffff - 0x400;

extension_block! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct CertificateRequest<'a> in CertificateRequest {
        /// The schemes that the server can verify; `None` if this mandatory extension is missing.
        SignatureAlgorithms =>
            signature_algorithms: Option<ShortList<SignatureScheme>> as SignatureSchemes,
        // deviates from RFC 9846 §4.3.4: an empty list, which rustls 0.23 also accepts, means no
        // restriction
        CertificateAuthorities =>
            certificate_authorities: Option<Vec<DistinguishedName>> as MaybeEmpty(U16),
        /// The algorithms that the client may compress its Certificate with.
        CompressCertificate =>
            compress_certificate: Option<ShortList<CertificateCompressionAlgorithm>>
                as Items(U8, "CertificateCompressionAlgorithms"),
    }
    besides {
        /// `certificate_request_context`: empty during the handshake.
        context: &'a [u8],
        /// The types of all received extensions, in order. Not sent.
        received: ShortList<ExtensionType>,
    }
}

impl CertificateRequest<'_> {
    /// Checks that a CertificateRequest can carry these authorities: both the list and the
    /// extension block around it have two-byte lengths.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if they are too long, or if a name is empty.
    pub(crate) fn check_authorities(authorities: &[DistinguishedName]) -> Result<(), Error> {
        // RFC 9846 §4.3.4: a name has at least one byte
        if authorities.iter().any(|name| name.0.is_empty()) {
            return Err(Error::General("an authority's name is empty".into()));
        }
        let len: usize = authorities.iter().map(|name| 2 + name.0.len()).sum();
        if len > MAX_AUTHORITIES_LEN {
            return Err(Error::General(format!(
                "the names of {} authorities take {len} bytes, and a CertificateRequest has room for \
                 {MAX_AUTHORITIES_LEN}",
                authorities.len()
            )));
        }
        Ok(())
    }
}

impl<'a> Codec<'a> for CertificateRequest<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, U8, self.context);
        self.encode_block(bytes);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut request = Self {
            context: r.prefixed_bytes(U8)?,
            ..Self::default()
        };
        // RFC 9846 §4.4.2: clients ignore unrecognized extensions
        request.received = request.read_block(r)?;
        Ok(request)
    }
}

impl EncodeMessage for CertificateRequest<'_> {
    const TYPE: HandshakeType = HandshakeType::CertificateRequest;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}

/// The name of a certification authority: a DER-encoded X.501 `Name`. The encoding is not checked.
#[derive(Clone, PartialEq, Eq)]
pub struct DistinguishedName(Vec<u8>);

impl fmt::Debug for DistinguishedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DistinguishedName")
            .field(&Hex(&self.0))
            .finish()
    }
}

impl DistinguishedName {
    /// Creates a `Name` from its contents: prepends the header of a DER `SEQUENCE` to `bytes`.
    ///
    /// Use it for names without their outer `SEQUENCE`, such as the subjects of `webpki`'s trust
    /// anchors.
    pub fn in_sequence(bytes: &[u8]) -> Self {
        const SEQUENCE: u8 = 0x30;
        let len = bytes.len().to_be_bytes();
        let significant = &len[bytes.len().leading_zeros() as usize / 8..];

        let mut der = Vec::with_capacity(2 + significant.len() + bytes.len());
        der.push(SEQUENCE);
        // X.690 §8.1.3: the short form for lengths below 128, the long form for others
        match bytes.len() {
            len @ 0..128 => der.push(len as u8),
            _ => {
                der.push(0x80 | significant.len() as u8);
                der.extend_from_slice(significant);
            }
        }
        der.extend_from_slice(bytes);
        Self(der)
    }
}

impl AsRef<[u8]> for DistinguishedName {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for DistinguishedName {
    fn from(der: Vec<u8>) -> Self {
        Self(der)
    }
}

impl Codec<'_> for DistinguishedName {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, U16, &self.0);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        // RFC 9846 §4.3.4: a name has at least one byte
        read_value(r, U16).map(|der| Self(der.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_name_in_a_sequence_is_valid_der() {
        for (len, header) in [
            (0, &[0x30, 0][..]),
            (1, &[0x30, 1]),
            (127, &[0x30, 127]),
            (128, &[0x30, 0x81, 128]),
            (255, &[0x30, 0x81, 255]),
            (256, &[0x30, 0x82, 1, 0]),
            (0xffff, &[0x30, 0x82, 0xff, 0xff]),
            (0x1_0000, &[0x30, 0x83, 1, 0, 0]),
        ] {
            let contents = vec![7; len];
            let name = DistinguishedName::in_sequence(&contents);
            assert_eq!(name.as_ref(), [header, &contents].concat());
            assert_eq!(
                name.as_ref(),
                rustls_upstream::DistinguishedName::in_sequence(&contents).as_ref()
            );
        }
    }
}
