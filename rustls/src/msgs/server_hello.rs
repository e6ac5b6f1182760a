//! ServerHello and HelloRetryRequest: RFC 9846 §4.2.3 and §4.2.4, RFC 5246 §7.4.1.3. Both have the
//! same structure on the wire. The random distinguishes them.

use alloc::vec::Vec;
use core::slice;

use rustls_core::codec::{Codec, LengthSize, Reader};
use rustls_core::enums::{
    CipherSuite, Compression, ECPointFormat, ExtensionType, HandshakeType, NamedGroup,
    ProtocolVersion,
};
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;
use super::client_hello::{Random, SessionId};
use super::extensions::{
    ExtensionContext, KeyShareEntry, ProtocolName, encode_extensions, read_empty, read_extensions,
    read_list, read_selected_protocol, read_value,
};
use super::short_list::ShortList;

/// The random of a HelloRetryRequest: SHA-256 of `HelloRetryRequest` (RFC 9846 §4.2.3).
pub(crate) const HELLO_RETRY_REQUEST_RANDOM: Random = Random([
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
]);

/// `ServerHello`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerHello<'a> {
    pub(crate) legacy_version: ProtocolVersion,
    pub(crate) random: Random,
    pub(crate) legacy_session_id_echo: SessionId,
    pub(crate) cipher_suite: CipherSuite,
    /// `legacy_compression_method`.
    pub(crate) compression: Compression,
    pub(crate) extensions: ServerHelloExtensions<'a>,
}

/// The extensions of a ServerHello. The version determines which are allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerHelloExtensions<'a> {
    // TLS 1.3
    /// `supported_versions`: the selected version.
    pub(crate) supported_version: Option<ProtocolVersion>,
    pub(crate) key_share: Option<KeyShareEntry<'a>>,
    /// `pre_shared_key`: the index of the selected identity.
    pub(crate) pre_shared_key: Option<u16>,

    // TLS 1.2
    /// `server_name`, empty: the name was used.
    pub(crate) server_name_ack: bool,
    /// `status_request`, empty: a CertificateStatus may follow.
    pub(crate) status_request_ack: bool,
    pub(crate) ec_point_formats: Option<ShortList<ECPointFormat>>,
    /// `application_layer_protocol_negotiation`: the selected protocol.
    pub(crate) selected_protocol: Option<ProtocolName<'a>>,
    /// `extended_master_secret`, empty: RFC 7627 §5.1.
    pub(crate) extended_master_secret_ack: bool,
    /// `session_ticket`, empty: a NewSessionTicket will follow (RFC 5077 §3.2).
    pub(crate) session_ticket_ack: bool,
    /// `renegotiation_info`: empty in an initial handshake.
    pub(crate) renegotiation_info: Option<&'a [u8]>,

    /// The types of all received extensions, in order. Not sent.
    pub(crate) received: ShortList<ExtensionType>,
}

/// `HelloRetryRequest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HelloRetryRequest<'a> {
    pub(crate) legacy_version: ProtocolVersion,
    pub(crate) legacy_session_id_echo: SessionId,
    pub(crate) cipher_suite: CipherSuite,
    pub(crate) extensions: HelloRetryRequestExtensions<'a>,
}

/// The extensions of a HelloRetryRequest. Any other extension is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HelloRetryRequestExtensions<'a> {
    /// `supported_versions`: the selected version.
    pub(crate) supported_version: Option<ProtocolVersion>,
    /// `key_share`: the group for which a share is requested.
    pub(crate) key_share: Option<NamedGroup>,
    /// `cookie`, not empty if received.
    pub(crate) cookie: Option<&'a [u8]>,
    /// `encrypted_client_hello`: the confirmation that ECH was accepted, unparsed.
    pub(crate) encrypted_client_hello: Option<&'a [u8]>,
}

/// A received message of type `server_hello`.
#[derive(Debug)]
pub(crate) enum Received<'a> {
    ServerHello(ServerHello<'a>),
    HelloRetryRequest(HelloRetryRequest<'a>),
}

/// Reads the body of a message of type `server_hello`, which is one of the two.
pub(crate) fn read<'a>(r: &mut Reader<'a>) -> Result<Received<'a>, InvalidMessage> {
    let legacy_version = ProtocolVersion::read(r)?;
    let random = Random::read(r)?;
    let legacy_session_id_echo = SessionId::read(r)?;
    let cipher_suite = CipherSuite::read(r)?;
    let compression = Compression::read(r)?;

    // RFC 9846 §4.2.3: check the random before anything else
    if random != HELLO_RETRY_REQUEST_RANDOM {
        return Ok(Received::ServerHello(ServerHello {
            legacy_version,
            random,
            legacy_session_id_echo,
            cipher_suite,
            compression,
            extensions: ServerHelloExtensions::read(r)?,
        }));
    }
    // RFC 9846 §4.2.4: legacy_compression_method is null
    if compression != Compression::Null {
        return Err(InvalidMessage::UnsupportedCompression);
    }
    let extensions = HelloRetryRequestExtensions::read(r)?;
    // the two errors have different names in 0.23
    r.expect_empty("HandshakeMessagePayload")?;
    Ok(Received::HelloRetryRequest(HelloRetryRequest {
        legacy_version,
        legacy_session_id_echo,
        cipher_suite,
        extensions,
    }))
}

impl<'a> Codec<'a> for ServerHelloExtensions<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        use LengthSize::{U8, U16};

        let start = bytes.len();
        encode_extensions(bytes, |block| {
            block.value(
                ExtensionType::SupportedVersions,
                self.supported_version.as_ref(),
            );
            block.value(ExtensionType::KeyShare, self.key_share.as_ref());
            block.value(ExtensionType::PreSharedKey, self.pre_shared_key.as_ref());

            block.opaque(
                ExtensionType::RenegotiationInfo,
                U8,
                self.renegotiation_info,
            );
            block.flag(ExtensionType::ServerName, self.server_name_ack);
            block.flag(ExtensionType::StatusRequest, self.status_request_ack);
            block.list(
                ExtensionType::EcPointFormats,
                U8,
                self.ec_point_formats.as_deref(),
            );
            block.list(
                ExtensionType::ApplicationLayerProtocolNegotiation,
                U16,
                self.selected_protocol.as_ref().map(slice::from_ref),
            );
            block.flag(
                ExtensionType::ExtendedMasterSecret,
                self.extended_master_secret_ack,
            );
            block.flag(ExtensionType::SessionTicket, self.session_ticket_ack);
        });
        // RFC 5246 §7.4.1.3: a client without extensions may not know the extension block, so omit
        // it
        if bytes.len() == start + U16.width() {
            bytes.truncate(start);
        }
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut extensions = Self::default();
        // RFC 5246 §7.4.1.3: a TLS 1.2 server may omit the whole block
        if !r.any_left() {
            return Ok(extensions);
        }
        let received = read_extensions(r, ExtensionContext::ServerHello, |typ, body| {
            extensions.read_one(typ, body)
        })?;
        extensions.received = received;
        Ok(extensions)
    }
}

impl<'a> ServerHelloExtensions<'a> {
    /// Reads the body of the extension `typ` into its field.
    fn read_one(&mut self, typ: ExtensionType, r: &mut Reader<'a>) -> Result<(), InvalidMessage> {
        match typ {
            ExtensionType::SupportedVersions => {
                self.supported_version = Some(ProtocolVersion::read(r)?);
            }
            ExtensionType::KeyShare => self.key_share = Some(KeyShareEntry::read(r)?),
            ExtensionType::PreSharedKey => self.pre_shared_key = Some(u16::read(r)?),

            ExtensionType::ServerName => {
                read_empty(r)?;
                self.server_name_ack = true;
            }
            ExtensionType::StatusRequest => {
                read_empty(r)?;
                self.status_request_ack = true;
            }
            ExtensionType::EcPointFormats => {
                self.ec_point_formats = Some(read_list(r, LengthSize::U8, "ECPointFormats")?);
            }
            ExtensionType::ApplicationLayerProtocolNegotiation => {
                self.selected_protocol = Some(read_selected_protocol(r)?);
            }
            ExtensionType::ExtendedMasterSecret => {
                read_empty(r)?;
                self.extended_master_secret_ack = true;
            }
            ExtensionType::SessionTicket => {
                read_empty(r)?;
                self.session_ticket_ack = true;
            }
            ExtensionType::RenegotiationInfo => {
                self.renegotiation_info = Some(r.prefixed_bytes(LengthSize::U8)?);
            }
            // the handshake checks whether it is allowed at all
            _ => {
                r.rest();
            }
        }
        Ok(())
    }
}

impl<'a> Codec<'a> for HelloRetryRequestExtensions<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_extensions(bytes, |block| {
            block.value(
                ExtensionType::SupportedVersions,
                self.supported_version.as_ref(),
            );
            block.value(ExtensionType::KeyShare, self.key_share.as_ref());
            block.opaque(ExtensionType::Cookie, LengthSize::U16, self.cookie);
            block.raw(
                ExtensionType::EncryptedClientHello,
                self.encrypted_client_hello,
            );
        });
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut extensions = Self::default();
        read_extensions(r, ExtensionContext::HelloRetryRequest, |typ, body| {
            match typ {
                ExtensionType::SupportedVersions => {
                    extensions.supported_version = Some(ProtocolVersion::read(body)?);
                }
                ExtensionType::KeyShare => {
                    extensions.key_share = Some(NamedGroup::read(body)?);
                }
                ExtensionType::Cookie => {
                    // RFC 9846 §4.3.2: a cookie has at least one byte
                    extensions.cookie = Some(read_value(body, LengthSize::U16)?);
                }
                ExtensionType::EncryptedClientHello => {
                    extensions.encrypted_client_hello = Some(body.rest());
                }
                // RFC 9846 §4.2.4: a HelloRetryRequest has no other extension
                _ => return Err(InvalidMessage::UnknownHelloRetryRequestExtension),
            }
            Ok(())
        })?;
        Ok(extensions)
    }
}

impl EncodeMessage for ServerHello<'_> {
    const TYPE: HandshakeType = HandshakeType::ServerHello;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.legacy_version.encode(bytes);
        self.random.encode(bytes);
        self.legacy_session_id_echo.encode(bytes);
        self.cipher_suite.encode(bytes);
        self.compression.encode(bytes);
        self.extensions.encode(bytes);
    }
}

impl EncodeMessage for HelloRetryRequest<'_> {
    const TYPE: HandshakeType = HandshakeType::ServerHello;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.legacy_version.encode(bytes);
        HELLO_RETRY_REQUEST_RANDOM.encode(bytes);
        self.legacy_session_id_echo.encode(bytes);
        self.cipher_suite.encode(bytes);
        Compression::Null.encode(bytes);
        self.extensions.encode(bytes);
    }
}
