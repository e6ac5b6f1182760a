//! The lists in a ClientHello that is waiting for a configuration. Most lists are decoded and
//! stored when they are first requested. Protocol names are read from the message in each
//! iteration.
//!
//! Until lists are requested, only the encoded message is held. A decoded list may take many times
//! its length in the message, so a hostile client could multiply the memory use of its connection
//! with lists that the application never reads.

use alloc::vec::Vec;
use core::fmt;
use std::sync::OnceLock;

use rustls_core::codec::{Codec, LengthSize, Reader};

use crate::enums::{CertificateType, CipherSuite, NamedGroup, SignatureScheme};
use crate::msgs::certificate_request::DistinguishedName;
use crate::msgs::client_hello::{self, ClientHello};
use crate::msgs::short_list::ShortList;

/// A decoder for the lists in a ClientHello.
pub(crate) struct OnDemand<'a> {
    /// The body of the message, which has already been decoded once.
    body: &'a [u8],
    lists: &'a KeptLists,
}

/// The lists that the application has requested. They live as long as the message, because
/// accessors return slices of them.
#[derive(Default)]
pub(crate) struct KeptLists {
    signature_schemes: OnceLock<ShortList<SignatureScheme>>,
    server_cert_types: OnceLock<Option<Vec<CertificateType>>>,
    client_cert_types: OnceLock<Option<Vec<CertificateType>>>,
    cipher_suites: OnceLock<ShortList<CipherSuite>>,
    certificate_authorities: OnceLock<Option<Vec<DistinguishedName>>>,
    named_groups: OnceLock<Option<ShortList<NamedGroup>>>,
}

impl<'a> OnDemand<'a> {
    /// Creates a decoder for the lists in `body`, the body of a ClientHello that has already been
    /// decoded once. Decoded lists are stored in `lists`.
    pub(crate) fn new(body: &'a [u8], lists: &'a KeptLists) -> Self {
        Self { body, lists }
    }

    pub(super) fn signature_schemes(&self) -> &'a [SignatureScheme] {
        let list = &self.lists.signature_schemes;
        list.get_or_init(|| {
            let of_hello = |hello: ClientHello<'_>| hello.extensions.signature_algorithms;
            self.decode(of_hello).unwrap_or_default()
        })
    }

    /// Returns an iterator over the names in the message, without copying them.
    pub(super) fn alpn(&self) -> Option<EncodedNames<'a>> {
        client_hello::protocol_names(self.body).map(EncodedNames)
    }

    pub(super) fn server_cert_types(&self) -> Option<&'a [CertificateType]> {
        let list = &self.lists.server_cert_types;
        list.get_or_init(|| self.decode(|hello| hello.extensions.server_certificate_type))
            .as_deref()
    }

    pub(super) fn client_cert_types(&self) -> Option<&'a [CertificateType]> {
        let list = &self.lists.client_cert_types;
        list.get_or_init(|| self.decode(|hello| hello.extensions.client_certificate_type))
            .as_deref()
    }

    pub(super) fn cipher_suites(&self) -> &'a [CipherSuite] {
        let list = &self.lists.cipher_suites;
        list.get_or_init(|| {
            self.decode(|hello| Some(hello.cipher_suites))
                .unwrap_or_default()
        })
    }

    pub(super) fn certificate_authorities(&self) -> Option<&'a [DistinguishedName]> {
        let list = &self.lists.certificate_authorities;
        list.get_or_init(|| self.decode(|hello| hello.extensions.certificate_authorities))
            .as_deref()
    }

    pub(super) fn named_groups(&self) -> Option<&'a [NamedGroup]> {
        let list = &self.lists.named_groups;
        list.get_or_init(|| self.decode(|hello| hello.extensions.supported_groups))
            .as_deref()
    }

    /// Decodes the message again, and returns one of its lists.
    fn decode<T>(&self, list: impl FnOnce(ClientHello<'a>) -> Option<T>) -> Option<T> {
        // this cannot fail, because the same bytes have been decoded before
        list(ClientHello::read_bytes(self.body).ok()?)
    }
}

impl fmt::Debug for OnDemand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDemand")
            .field("signature_schemes", &self.signature_schemes())
            .field("server_cert_types", &self.server_cert_types())
            .field("client_cert_types", &self.client_cert_types())
            .field("cipher_suites", &self.cipher_suites())
            .field("named_groups", &self.named_groups())
            .finish_non_exhaustive()
    }
}

/// Iterates over encoded application protocol names.
pub(super) struct EncodedNames<'a>(&'a [u8]);

impl<'a> Iterator for EncodedNames<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let mut r = Reader::new(self.0);
        // the list was checked when it was decoded, so this fails only at its end
        let name = r.prefixed_bytes(LengthSize::U8).ok()?;
        self.0 = r.rest();
        Some(name)
    }
}
