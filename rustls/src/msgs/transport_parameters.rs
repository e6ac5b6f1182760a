//! `quic_transport_parameters` (RFC 9001 §8.2). QUIC defines the content.

use rustls_core::codec::Reader;
use rustls_core::error::InvalidMessage;

use super::extension_block::{ExtensionWriter, Field, Form};
use crate::enums::ExtensionType;

/// The extension, unparsed, under its old and new code points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransportParameters<'a> {
    parameters: Option<&'a [u8]>,
    /// The value with the code point from the QUIC drafts.
    draft: Option<&'a [u8]>,
}

impl<'a> TransportParameters<'a> {
    pub(crate) fn new(typ: ExtensionType, body: &'a [u8]) -> Self {
        let mut parameters = Self::default();
        parameters.set(typ, body);
        parameters
    }

    /// Returns the body of the extension `typ`.
    pub(crate) fn get(&self, typ: ExtensionType) -> Option<&'a [u8]> {
        match typ {
            ExtensionType::QuicTransportParameters => self.parameters,
            ExtensionType::QuicTransportParametersDraft => self.draft,
            _ => None,
        }
    }

    /// Sets the extension `typ`. Does nothing if `typ` is not one of the two code points.
    pub(super) fn set(&mut self, typ: ExtensionType, body: &'a [u8]) {
        match typ {
            ExtensionType::QuicTransportParameters => self.parameters = Some(body),
            ExtensionType::QuicTransportParametersDraft => self.draft = Some(body),
            _ => {}
        }
    }
}

impl Field for TransportParameters<'_> {
    #[inline]
    fn is_set(&self, typ: ExtensionType) -> bool {
        self.get(typ).is_some()
    }
}

/// The form of the extension, which has two code points.
pub(super) struct EitherCodePoint;

impl<'a> Form<'a, TransportParameters<'a>> for EitherCodePoint {
    #[inline]
    fn encode(
        self,
        typ: ExtensionType,
        field: &TransportParameters<'a>,
        block: &mut ExtensionWriter<'_>,
    ) {
        if let Some(body) = field.get(typ) {
            block.add(typ, |bytes| bytes.extend_from_slice(body));
        }
    }

    #[inline]
    fn read(
        self,
        typ: ExtensionType,
        field: &mut TransportParameters<'a>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        field.set(typ, r.rest());
        Ok(())
    }
}
