//! EncryptedExtensions: RFC 9846 §4.4.1.

use alloc::vec::Vec;
use core::slice;

use rustls_core::codec::{Codec, LengthSize, Reader};
use rustls_core::enums::{CertificateType, ExtensionType, HandshakeType};
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;
use super::extensions::{
    ExtensionContext, ProtocolName, encode_extensions, read_empty, read_extensions,
    read_selected_protocol,
};
use super::short_list::ShortList;
use super::transport_parameters::TransportParameters;

/// `EncryptedExtensions`: the server's answer to the ClientHello's extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EncryptedExtensions<'a> {
    /// `server_name`, empty: the name was used.
    pub(crate) server_name_ack: bool,
    /// `application_layer_protocol_negotiation`: the selected protocol.
    pub(crate) selected_protocol: Option<ProtocolName<'a>>,
    /// `client_certificate_type`: the selected type.
    pub(crate) client_certificate_type: Option<CertificateType>,
    /// `server_certificate_type`: the selected type.
    pub(crate) server_certificate_type: Option<CertificateType>,
    /// `early_data`, empty: 0-RTT data is accepted.
    pub(crate) early_data_ack: bool,
    /// `quic_transport_parameters`.
    pub(crate) transport_parameters: TransportParameters<'a>,
    /// `ticket_request`: the number of tickets that the server expects to send (RFC 9149 §3).
    pub(crate) ticket_request: Option<u8>,
    /// `encrypted_client_hello`: the `ECHConfigList` for a retry, unparsed.
    pub(crate) encrypted_client_hello: Option<&'a [u8]>,
    /// The types of all received extensions, in order. Not sent.
    pub(crate) received: ShortList<ExtensionType>,
}

impl<'a> Codec<'a> for EncryptedExtensions<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_extensions(bytes, |block| {
            block.flag(ExtensionType::ServerName, self.server_name_ack);
            block.list(
                ExtensionType::ApplicationLayerProtocolNegotiation,
                LengthSize::U16,
                self.selected_protocol.as_ref().map(slice::from_ref),
            );
            block.value(
                ExtensionType::ClientCertificateType,
                self.client_certificate_type.as_ref(),
            );
            block.value(
                ExtensionType::ServerCertificateType,
                self.server_certificate_type.as_ref(),
            );
            block.flag(ExtensionType::EarlyData, self.early_data_ack);
            for typ in [
                ExtensionType::QuicTransportParameters,
                ExtensionType::QuicTransportParametersDraft,
            ] {
                block.raw(typ, self.transport_parameters.get(typ));
            }
            block.value(ExtensionType::TicketRequest, self.ticket_request.as_ref());
            block.raw(
                ExtensionType::EncryptedClientHello,
                self.encrypted_client_hello,
            );
        });
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut ee = Self::default();
        let received = read_extensions(r, ExtensionContext::EncryptedExtensions, |typ, body| {
            match typ {
                ExtensionType::ServerName => {
                    read_empty(body)?;
                    ee.server_name_ack = true;
                }
                ExtensionType::ApplicationLayerProtocolNegotiation => {
                    ee.selected_protocol = Some(read_selected_protocol(body)?);
                }
                ExtensionType::ClientCertificateType => {
                    ee.client_certificate_type = Some(CertificateType::read(body)?);
                }
                ExtensionType::ServerCertificateType => {
                    ee.server_certificate_type = Some(CertificateType::read(body)?);
                }
                ExtensionType::EarlyData => {
                    read_empty(body)?;
                    ee.early_data_ack = true;
                }
                ExtensionType::QuicTransportParameters
                | ExtensionType::QuicTransportParametersDraft => {
                    ee.transport_parameters.set(typ, body.rest());
                }
                ExtensionType::TicketRequest => ee.ticket_request = Some(u8::read(body)?),
                ExtensionType::EncryptedClientHello => {
                    ee.encrypted_client_hello = Some(body.rest());
                }
                _ => {
                    body.rest();
                }
            }
            Ok(())
        })?;
        ee.received = received;
        Ok(ee)
    }
}

impl EncodeMessage for EncryptedExtensions<'_> {
    const TYPE: HandshakeType = HandshakeType::EncryptedExtensions;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}
