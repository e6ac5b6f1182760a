//! ServerHello and HelloRetryRequest: RFC 9846 §4.2.3 and §4.2.4, RFC 5246 §7.4.1.3. Both have the
//! same structure on the wire. The random distinguishes them.

use alloc::vec::Vec;

use rustls_core::codec::LengthSize::{U8, U16};
use rustls_core::codec::{Codec, Reader};
use rustls_core::enums::{
    CipherSuite, Compression, ECPointFormat, ExtensionType, HandshakeType, NamedGroup,
    ProtocolVersion,
};
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;
use super::client_hello::{Random, SessionId};
use super::extension_block::{
    ExtensionBlock, Flag, Items, NonEmpty, Opaque, Unparsed, Value, extension_block,
};
use super::extensions::{KeyShareEntry, ProtocolName, SelectedProtocol};
use super::short_list::ShortList;

/// The random of a HelloRetryRequest: SHA-256 of `HelloRetryRequest` (RFC 9846 §4.2.3).
pub(crate) const HELLO_RETRY_REQUEST_RANDOM: Random = Random([
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
]);

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

extension_block! {
    /// The extensions of a ServerHello. The protocol version determines which are allowed.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct ServerHelloExtensions<'a> in ServerHello {
        // TLS 1.3
        /// The selected version.
        SupportedVersions => supported_version: Option<ProtocolVersion> as Value,
        KeyShare => key_share: Option<KeyShareEntry<'a>> as Value,
        /// The index of the selected identity.
        PreSharedKey => pre_shared_key: Option<u16> as Value,

        // TLS 1.2
        /// Empty in an initial handshake.
        RenegotiationInfo => renegotiation_info: Option<&'a [u8]> as Opaque(U8),
        /// True if the server used the name.
        ServerName => server_name_ack: bool as Flag,
        /// True if a CertificateStatus may follow.
        StatusRequest => status_request_ack: bool as Flag,
        EcPointFormats =>
            ec_point_formats: Option<ShortList<ECPointFormat>> as Items(U8, "ECPointFormats"),
        ApplicationLayerProtocolNegotiation =>
            selected_protocol: Option<ProtocolName<'a>> as SelectedProtocol,
        /// True if the extended master secret is used (RFC 7627 §5.1).
        ExtendedMasterSecret => extended_master_secret_ack: bool as Flag,
        /// True if a NewSessionTicket will follow (RFC 5077 §3.2).
        SessionTicket => session_ticket_ack: bool as Flag,
    }
    besides {
        /// The types of all received extensions, in order. Not sent.
        received: ShortList<ExtensionType>,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HelloRetryRequest<'a> {
    pub(crate) legacy_version: ProtocolVersion,
    pub(crate) legacy_session_id_echo: SessionId,
    pub(crate) cipher_suite: CipherSuite,
    pub(crate) extensions: HelloRetryRequestExtensions<'a>,
}

extension_block! {
    /// The extensions of a HelloRetryRequest. Any other extension is an error.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct HelloRetryRequestExtensions<'a> in HelloRetryRequest {
        /// The selected version.
        SupportedVersions => supported_version: Option<ProtocolVersion> as Value,
        /// The group that the server requests a share for.
        KeyShare => key_share: Option<NamedGroup> as Value,
        // RFC 9846 §4.3.2: a cookie has at least one byte
        Cookie => cookie: Option<&'a [u8]> as NonEmpty(U16),
        /// The confirmation of ECH, not yet checked.
        EncryptedClientHello => encrypted_client_hello: Option<&'a [u8]> as Unparsed,
    }
    besides {}
}

/// A received message of type `server_hello`.
#[derive(Debug)]
pub(crate) enum Received<'a> {
    ServerHello(ServerHello<'a>),
    HelloRetryRequest(HelloRetryRequest<'a>),
}

/// Reads the body of a message of type `server_hello`, which is a ServerHello or a
/// HelloRetryRequest.
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
    // rustls 0.23 names trailing bytes differently here than in a ServerHello
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
        let start = bytes.len();
        self.encode_block(bytes);
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
        // the handshake checks which extensions are allowed
        extensions.received = extensions.read_block(r)?;
        Ok(extensions)
    }
}

impl<'a> Codec<'a> for HelloRetryRequestExtensions<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.encode_block(bytes);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut extensions = Self::default();
        // RFC 9846 §4.2.4: a HelloRetryRequest has no other extensions
        extensions.read_closed_block(r, InvalidMessage::UnknownHelloRetryRequestExtension)?;
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
