//! Decodes TLS 1.3 handshake messages by their types alone. The real tables also check which
//! messages are allowed.

use rustls_core::codec::Codec;
use rustls_core::enums::{HandshakeType, KeyUpdateRequest};
use rustls_core::error::InvalidMessage;

use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_request::CertificateRequest;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::encrypted_extensions::EncryptedExtensions;
use crate::msgs::server_hello::{self, HelloRetryRequest, Received, ServerHello};
use crate::msgs::session_ticket::NewSessionTicket;
use crate::msgs::{Finished, HandshakeMessage};

#[derive(Debug)]
pub(super) struct Decoded<'a> {
    pub(super) typ: HandshakeType,
    pub(super) encoded: &'a [u8],
    pub(super) payload: Payload<'a>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "only one exists at a time")]
pub(super) enum Payload<'a> {
    ClientHello(ClientHello<'a>),
    ServerHello(ServerHello<'a>),
    HelloRetryRequest(HelloRetryRequest<'a>),
    EncryptedExtensions(EncryptedExtensions<'a>),
    CertificateRequest(CertificateRequest<'a>),
    Certificate(CertificateMsg<'a>),
    CertificateVerify(DigitallySignedStruct),
    Finished(&'a [u8]),
    NewSessionTicket(NewSessionTicket<'a>),
    KeyUpdate(KeyUpdateRequest),
    Unknown,
}

impl<'a> Decoded<'a> {
    pub(super) fn read(encoded: &'a [u8]) -> Result<Self, InvalidMessage> {
        let message = HandshakeMessage::new(encoded)?;
        let payload = match message.typ {
            HandshakeType::ClientHello => Payload::ClientHello(message.decode(ClientHello::read)?),
            HandshakeType::ServerHello => match message.decode(server_hello::read)? {
                Received::ServerHello(hello) => Payload::ServerHello(hello),
                Received::HelloRetryRequest(request) => Payload::HelloRetryRequest(request),
            },
            HandshakeType::EncryptedExtensions => {
                Payload::EncryptedExtensions(message.decode(EncryptedExtensions::read)?)
            }
            HandshakeType::CertificateRequest => {
                Payload::CertificateRequest(message.decode(CertificateRequest::read)?)
            }
            HandshakeType::Certificate => {
                Payload::Certificate(message.decode(CertificateMsg::read)?)
            }
            HandshakeType::CertificateVerify => {
                Payload::CertificateVerify(message.decode(DigitallySignedStruct::read)?)
            }
            HandshakeType::Finished => Payload::Finished(message.decode(Finished::read)?.0),
            HandshakeType::NewSessionTicket => {
                Payload::NewSessionTicket(message.decode(NewSessionTicket::read)?)
            }
            HandshakeType::KeyUpdate => Payload::KeyUpdate(message.decode(KeyUpdateRequest::read)?),
            _ => Payload::Unknown,
        };
        Ok(Self {
            typ: message.typ,
            encoded: message.encoded,
            payload,
        })
    }
}
