//! `quic_transport_parameters` (RFC 9001 §8.2), whose content is QUIC's.

use crate::enums::ExtensionType;

/// The extension under the code points that it has had, unparsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TransportParameters<'a> {
    parameters: Option<&'a [u8]>,
    /// Under the code point of QUIC's drafts.
    draft: Option<&'a [u8]>,
}

impl<'a> TransportParameters<'a> {
    /// The extension `typ` with this body.
    pub(crate) fn new(typ: ExtensionType, body: &'a [u8]) -> Self {
        let mut parameters = Self::default();
        parameters.set(typ, body);
        parameters
    }

    /// The body of the extension `typ`.
    pub(crate) fn get(&self, typ: ExtensionType) -> Option<&'a [u8]> {
        match typ {
            ExtensionType::QuicTransportParameters => self.parameters,
            ExtensionType::QuicTransportParametersDraft => self.draft,
            _ => None,
        }
    }

    /// Adds the extension `typ`; nothing if it is another one.
    pub(super) fn set(&mut self, typ: ExtensionType, body: &'a [u8]) {
        match typ {
            ExtensionType::QuicTransportParameters => self.parameters = Some(body),
            ExtensionType::QuicTransportParametersDraft => self.draft = Some(body),
            _ => {}
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parameters.is_none() && self.draft.is_none()
    }
}
