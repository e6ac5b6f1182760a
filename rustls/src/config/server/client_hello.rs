//! The parts of a ClientHello that an application can see.

use alloc::vec::Vec;

use crate::enums::{CertificateType, CipherSuite, NamedGroup, SignatureScheme};
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::extensions::ProtocolName;

/// The parts of a ClientHello that help to choose a certificate.
///
/// They are unauthenticated claims of the client.
#[derive(Debug)]
pub struct ClientHello<'a> {
    /// The requested name in lower case.
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
    /// Returns the server name that the client requests, in lower case (`server_name`, RFC 6066
    /// §3).
    ///
    /// Returns `None` if it sent none, or an IP address.
    pub fn server_name(&self) -> Option<&str> {
        self.server_name
    }

    /// Returns the application protocols that the client offers, most preferred first (RFC 7301).
    /// Returns `None` if it offers none.
    pub fn alpn(&self) -> Option<impl Iterator<Item = &'a [u8]> + use<'a>> {
        Some(self.alpn?.iter())
    }

    /// Returns the cipher suites that the client offers, most preferred first.
    pub fn cipher_suites(&self) -> &[CipherSuite] {
        self.cipher_suites
    }

    /// Returns the key exchange groups that the client supports, most preferred first (RFC 9846
    /// §4.3.7). Returns `None` if it did not send the extension.
    pub fn named_groups(&self) -> Option<&'a [NamedGroup]> {
        self.named_groups
    }

    /// Returns the signature schemes that the client can verify, most preferred first (RFC 9846
    /// §4.3.3).
    pub fn signature_schemes(&self) -> &[SignatureScheme] {
        self.signature_schemes
    }

    /// Returns the names of the authorities that the client trusts (RFC 9846 §4.3.4). Returns
    /// `None` if it did not send the extension.
    pub fn certificate_authorities(&self) -> Option<&'a [DistinguishedName]> {
        self.certificate_authorities
    }

    /// Returns the certificate types that the client can verify, most preferred first (RFC 7250).
    /// Returns `None` if it did not send the extension, which means X.509 only.
    pub fn server_cert_types(&self) -> Option<&'a [CertificateType]> {
        self.server_cert_types
    }

    /// Returns the certificate types that the client can authenticate with, most preferred first
    /// (RFC 7250). Returns `None` if it did not send the extension, which means X.509 only.
    pub fn client_cert_types(&self) -> Option<&'a [CertificateType]> {
        self.client_cert_types
    }
}

/// A list of application protocol names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProtocolNames<'a> {
    /// Names decoded from a message, borrowed from its bytes.
    Decoded(&'a [ProtocolName<'a>]),
    /// Copies that outlive the message.
    #[cfg(feature = "std")]
    Owned(&'a [Vec<u8>]),
}

impl<'a> ProtocolNames<'a> {
    fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let (decoded, owned): (&[_], &[Vec<u8>]) = match self {
            Self::Decoded(names) => (names, &[]),
            #[cfg(feature = "std")]
            Self::Owned(names) => (&[], names),
        };
        let decoded = decoded.iter().map(|name| name.0);
        decoded.chain(owned.iter().map(Vec::as_slice))
    }
}
