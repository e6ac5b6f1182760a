//! EncryptedExtensions: RFC 9846 §4.4.1.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, Reader};
use rustls_core::enums::{CertificateType, ExtensionType, HandshakeType};
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;
use super::extension_block::{ExtensionBlock, Flag, Unparsed, Value, extension_block};
use super::extensions::{ProtocolName, SelectedProtocol};
use super::short_list::ShortList;
use super::transport_parameters::{EitherCodePoint, TransportParameters};

extension_block! {
    /// `EncryptedExtensions`: the server's reply to the ClientHello's extensions.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct EncryptedExtensions<'a> in EncryptedExtensions {
        /// True if the server acknowledges the name.
        ServerName => server_name_ack: bool as Flag,
        ApplicationLayerProtocolNegotiation =>
            selected_protocol: Option<ProtocolName<'a>> as SelectedProtocol,
        /// The selected certificate type.
        ClientCertificateType => client_certificate_type: Option<CertificateType> as Value,
        /// The selected certificate type.
        ServerCertificateType => server_certificate_type: Option<CertificateType> as Value,
        /// True if the server accepts 0-RTT data.
        EarlyData => early_data_ack: bool as Flag,
        QuicTransportParameters | QuicTransportParametersDraft =>
            transport_parameters: TransportParameters<'a> as EitherCodePoint,
        /// The number of tickets that the server expects to send (RFC 9149 §3).
        TicketRequest => ticket_request: Option<u8> as Value,
        /// The `ECHConfigList` for a retry.
        EncryptedClientHello => encrypted_client_hello: Option<&'a [u8]> as Unparsed,
    }
    besides {
        /// The types of all received extensions, in order. Not sent.
        received: ShortList<ExtensionType>,
    }
}

impl<'a> Codec<'a> for EncryptedExtensions<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.encode_block(bytes);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut ee = Self::default();
        ee.received = ee.read_block(r)?;
        Ok(ee)
    }
}

impl EncodeMessage for EncryptedExtensions<'_> {
    const TYPE: HandshakeType = HandshakeType::EncryptedExtensions;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}
