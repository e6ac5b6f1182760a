//! The parts of a ClientHello that an application can see.

#[cfg(feature = "std")]
pub(crate) mod on_demand;

use core::slice;

#[cfg(feature = "std")]
use self::on_demand::{EncodedNames, OnDemand};
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
    pub(crate) lists: Lists<'a>,
}

/// The lists of a ClientHello that a resolver can read.
#[derive(Debug)]
pub(crate) enum Lists<'a> {
    /// The handshake decoded all lists.
    Decoded(DecodedLists<'a>),
    /// Most lists are decoded when they are first requested.
    #[cfg(feature = "std")]
    OnDemand(OnDemand<'a>),
}

/// The lists of a decoded ClientHello.
#[derive(Debug, Default)]
pub(crate) struct DecodedLists<'a> {
    pub(crate) signature_schemes: &'a [SignatureScheme],
    pub(crate) alpn: Option<&'a [ProtocolName<'a>]>,
    pub(crate) server_cert_types: Option<&'a [CertificateType]>,
    pub(crate) client_cert_types: Option<&'a [CertificateType]>,
    pub(crate) cipher_suites: &'a [CipherSuite],
    pub(crate) certificate_authorities: Option<&'a [DistinguishedName]>,
    pub(crate) named_groups: Option<&'a [NamedGroup]>,
}

/// Calls the accessor or takes the field of this name.
macro_rules! list {
    ($hello:expr, $name:ident) => {
        match &$hello.lists {
            Lists::Decoded(lists) => lists.$name,
            #[cfg(feature = "std")]
            Lists::OnDemand(lists) => lists.$name(),
        }
    };
}

impl<'a> ClientHello<'a> {
    /// Returns the server name that the client requested, in lower case (`server_name`, RFC 6066
    /// §3).
    ///
    /// Returns `None` if it sent none, or an IP address.
    pub fn server_name(&self) -> Option<&str> {
        self.server_name
    }

    /// Returns the application protocols that the client offers, most preferred first (RFC 7301).
    /// Returns `None` if it offers none.
    pub fn alpn(&self) -> Option<impl Iterator<Item = &'a [u8]> + use<'a>> {
        let names = match &self.lists {
            Lists::Decoded(lists) => ProtocolNames::Decoded(lists.alpn?.iter()),
            #[cfg(feature = "std")]
            Lists::OnDemand(lists) => ProtocolNames::Encoded(lists.alpn()?),
        };
        Some(names)
    }

    /// Returns the cipher suites that the client offers, most preferred first.
    pub fn cipher_suites(&self) -> &[CipherSuite] {
        list!(self, cipher_suites)
    }

    /// Returns the key exchange groups that the client supports, most preferred first (RFC 9846
    /// §4.3.7). Returns `None` if it did not send the extension.
    pub fn named_groups(&self) -> Option<&'a [NamedGroup]> {
        list!(self, named_groups)
    }

    /// Returns the signature schemes that the client can verify, most preferred first (RFC 9846
    /// §4.3.3). A resolver in a TLS 1.2 handshake gets only the schemes that fit a cipher suite of
    /// both sides.
    pub fn signature_schemes(&self) -> &[SignatureScheme] {
        list!(self, signature_schemes)
    }

    /// Returns the names of the authorities that the client trusts (RFC 9846 §4.3.4). Returns
    /// `None` if it did not send the extension.
    pub fn certificate_authorities(&self) -> Option<&'a [DistinguishedName]> {
        list!(self, certificate_authorities)
    }

    /// Returns the certificate types that the client can verify, most preferred first (RFC 7250).
    /// Returns `None` if it did not send the extension, which means X.509 only.
    pub fn server_cert_types(&self) -> Option<&'a [CertificateType]> {
        list!(self, server_cert_types)
    }

    /// Returns the certificate types that the client can authenticate with, most preferred first
    /// (RFC 7250). Returns `None` if it did not send the extension, which means X.509 only.
    pub fn client_cert_types(&self) -> Option<&'a [CertificateType]> {
        list!(self, client_cert_types)
    }
}

/// Iterates over application protocol names.
enum ProtocolNames<'a> {
    Decoded(slice::Iter<'a, ProtocolName<'a>>),
    #[cfg(feature = "std")]
    Encoded(EncodedNames<'a>),
}

impl<'a> Iterator for ProtocolNames<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Decoded(names) => names.next().map(|name| name.0),
            #[cfg(feature = "std")]
            Self::Encoded(names) => names.next(),
        }
    }
}
