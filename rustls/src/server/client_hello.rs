//! What the application may know of a ClientHello.

use alloc::vec::Vec;

use crate::enums::{CertificateType, CipherSuite, NamedGroup, SignatureScheme};
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::extensions::ProtocolName;

/// What a client said about itself in its ClientHello, for choosing a certificate.
///
/// All of it is a claim of somebody who is not authenticated.
#[derive(Debug)]
pub struct ClientHello<'a> {
    /// In lower case.
    pub(crate) server_name: Option<&'a str>,
    pub(crate) signature_schemes: &'a [SignatureScheme],
    pub(crate) alpn: Option<ProtocolNames<'a>>,
    pub(crate) server_cert_types: Option<&'a [CertificateType]>,
    pub(crate) client_cert_types: Option<&'a [CertificateType]>,
    pub(crate) cipher_suites: &'a [CipherSuite],
    pub(crate) certificate_authorities: Option<&'a [DistinguishedName]>,
    pub(crate) named_groups: Option<&'a [NamedGroup]>,
}

impl<'a> ClientHello<'a> {
    /// The name of the server that the client wants to reach, in lower case (`server_name`, RFC 6066
    /// §3).
    ///
    /// `None` when it sent none, or an IP address.
    pub fn server_name(&self) -> Option<&str> {
        self.server_name
    }

    /// The application protocols that the client offers, most preferred first (RFC 7301). `None` when
    /// it offers none.
    pub fn alpn(&self) -> Option<impl Iterator<Item = &'a [u8]> + use<'a>> {
        Some(self.alpn?.iter())
    }

    /// The cipher suites that the client offers, most preferred first.
    pub fn cipher_suites(&self) -> &[CipherSuite] {
        self.cipher_suites
    }

    /// The key exchange groups that the client supports, most preferred first (RFC 9846 §4.3.7).
    /// `None` when it does not say.
    pub fn named_groups(&self) -> Option<&'a [NamedGroup]> {
        self.named_groups
    }

    /// The signature schemes that the client can verify, most preferred first (RFC 9846 §4.3.3).
    pub fn signature_schemes(&self) -> &[SignatureScheme] {
        self.signature_schemes
    }

    /// The names of the authorities that the client trusts (RFC 9846 §4.3.4). `None` when it does not
    /// say.
    pub fn certificate_authorities(&self) -> Option<&'a [DistinguishedName]> {
        self.certificate_authorities
    }

    /// The types of certificates that the client can verify, most preferred first (RFC 7250). `None`
    /// when it does not say, which means X.509 alone.
    pub fn server_cert_types(&self) -> Option<&'a [CertificateType]> {
        self.server_cert_types
    }

    /// The types of certificates that the client can authenticate with, most preferred first (RFC
    /// 7250). `None` when it does not say, which means X.509 alone.
    pub fn client_cert_types(&self) -> Option<&'a [CertificateType]> {
        self.client_cert_types
    }
}

/// A list of protocol names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProtocolNames<'a> {
    /// As it was decoded, in the message.
    Decoded(&'a [ProtocolName<'a>]),
    /// Kept beyond the message.
    #[cfg(feature = "std")]
    Kept(&'a [Vec<u8>]),
}

impl<'a> ProtocolNames<'a> {
    fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let (decoded, kept): (&[_], &[Vec<u8>]) = match self {
            Self::Decoded(names) => (names, &[]),
            #[cfg(feature = "std")]
            Self::Kept(names) => (&[], names),
        };
        let decoded = decoded.iter().map(|name| name.0);
        decoded.chain(kept.iter().map(Vec::as_slice))
    }
}
