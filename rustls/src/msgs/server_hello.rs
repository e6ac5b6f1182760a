//! ServerHello and HelloRetryRequest: RFC 9846 §4.2.3 and §4.2.4. One structure on the wire, told apart by
//! its random.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader};
use rustls_core::enums::{
    CipherSuite, Compression, ExtensionType, HandshakeType, NamedGroup, ProtocolVersion,
};
use rustls_core::error::InvalidMessage;

use super::EncodeMessage;
use super::client_hello::{Random, SessionId};
use super::extensions::{
    ExtensionContext, KeyShareEntry, encode_extensions, read_extensions, read_value,
};

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

/// The extensions of a ServerHello. One that selects TLS 1.2 has none of these fields set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerHelloExtensions<'a> {
    /// `supported_versions`: the selected version.
    pub(crate) supported_version: Option<ProtocolVersion>,
    pub(crate) key_share: Option<KeyShareEntry<'a>>,
    /// `pre_shared_key`: the index of the selected identity.
    pub(crate) pre_shared_key: Option<u16>,
    /// The types of all extensions received, in order. Not sent.
    pub(crate) received: Vec<ExtensionType>,
}

/// `HelloRetryRequest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HelloRetryRequest<'a> {
    pub(crate) legacy_version: ProtocolVersion,
    pub(crate) legacy_session_id_echo: SessionId,
    pub(crate) cipher_suite: CipherSuite,
    pub(crate) extensions: HelloRetryRequestExtensions<'a>,
}

/// The extensions of a HelloRetryRequest. One that carries any other is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HelloRetryRequestExtensions<'a> {
    /// `supported_versions`: the selected version.
    pub(crate) supported_version: Option<ProtocolVersion>,
    /// `key_share`: the group of which a share is asked for.
    pub(crate) key_share: Option<NamedGroup>,
    /// `cookie`, not empty when received.
    pub(crate) cookie: Option<&'a [u8]>,
    /// `encrypted_client_hello`: the confirmation that ECH was accepted, unparsed.
    pub(crate) encrypted_client_hello: Option<&'a [u8]>,
}

/// What a message of type `server_hello` is.
#[derive(Debug)]
pub(crate) enum Received<'a> {
    ServerHello(ServerHello<'a>),
    HelloRetryRequest(HelloRetryRequest<'a>),
}

/// Reads the body of a message of type `server_hello`, which is either of the two.
pub(crate) fn read<'a>(r: &mut Reader<'a>) -> Result<Received<'a>, InvalidMessage> {
    let legacy_version = ProtocolVersion::read(r)?;
    let random = Random::read(r)?;
    let legacy_session_id_echo = SessionId::read(r)?;
    let cipher_suite = CipherSuite::read(r)?;
    let compression = Compression::read(r)?;

    // RFC 9846 §4.2.3: the random decides, before anything else is looked at
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
    // 0.23 names the two differently
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
        encode_extensions(bytes, |block| {
            block.value(
                ExtensionType::SupportedVersions,
                self.supported_version.as_ref(),
            );
            block.value(ExtensionType::KeyShare, self.key_share.as_ref());
            block.value(ExtensionType::PreSharedKey, self.pre_shared_key.as_ref());
        });
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut extensions = Self::default();
        // RFC 5246 §7.4.1.3: a TLS 1.2 server may leave the whole block out
        if !r.any_left() {
            return Ok(extensions);
        }
        let received = read_extensions(r, ExtensionContext::ServerHello, |typ, body| {
            match typ {
                ExtensionType::SupportedVersions => {
                    extensions.supported_version = Some(ProtocolVersion::read(body)?);
                }
                ExtensionType::KeyShare => {
                    extensions.key_share = Some(KeyShareEntry::read(body)?);
                }
                ExtensionType::PreSharedKey => {
                    extensions.pre_shared_key = Some(u16::read(body)?);
                }
                _ => {
                    body.rest();
                }
            }
            Ok(())
        })?;
        extensions.received = received;
        Ok(extensions)
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
                // RFC 9846 §4.2.4: a HelloRetryRequest carries nothing else
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
