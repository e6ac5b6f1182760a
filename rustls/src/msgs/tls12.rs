//! The handshake messages that exist only in TLS 1.2, or differ there (RFC 5246 §7.4).
//!
//! The ClientHello, ServerHello and Finished of both versions are one directory up. So is
//! CertificateVerify, which is a
//! [`DigitallySignedStruct`](super::certificate_verify::DigitallySignedStruct).

pub(crate) mod certificate;
pub(crate) mod certificate_request;
pub(crate) mod key_exchange;
pub(crate) mod session_ticket;

use alloc::vec::Vec;

use rustls_core::codec::Reader;
use rustls_core::enums::HandshakeType;
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;

/// `ServerHelloDone`, which is empty: RFC 5246 §7.4.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerHelloDone;

impl ServerHelloDone {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        r.expect_empty("ServerHelloDone")?;
        Ok(Self)
    }
}

impl EncodeMessage for ServerHelloDone {
    const TYPE: HandshakeType = HandshakeType::ServerHelloDone;

    fn encode_body(&self, _: &mut Vec<u8>) {}
}

/// `HelloRequest`, which is empty: RFC 5246 §7.4.1.1. It is never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HelloRequest;

impl HelloRequest {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        r.expect_empty("HelloRequest")?;
        Ok(Self)
    }
}
