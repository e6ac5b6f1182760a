//! ClientHello: RFC 9846 §4.2.2. Its extensions are in
//! [`client_extensions`](super::client_extensions).

use alloc::vec::Vec;
use core::fmt;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes, encode_list};
#[cfg(feature = "std")]
use rustls_core::enums::ExtensionType;
use rustls_core::enums::{CipherSuite, Compression, HandshakeType, ProtocolVersion};
use rustls_core::error::InvalidMessage;

use super::client_extensions::ClientExtensions;
use super::extensions::{read_code_list, read_list};
use super::short_list::ShortList;
use super::{EncodeMessage, Hex};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientHello<'a> {
    pub(crate) legacy_version: ProtocolVersion,
    pub(crate) random: Random,
    pub(crate) legacy_session_id: SessionId,
    pub(crate) cipher_suites: ShortList<CipherSuite>,
    /// `legacy_compression_methods`.
    pub(crate) compression_methods: ShortList<Compression>,
    pub(crate) extensions: ClientExtensions<'a>,
}

impl<'a> Codec<'a> for ClientHello<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.legacy_version.encode(bytes);
        self.random.encode(bytes);
        self.legacy_session_id.encode(bytes);
        encode_list(bytes, LengthSize::U16, &self.cipher_suites);
        encode_list(bytes, LengthSize::U8, &self.compression_methods);
        self.extensions.encode(bytes);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut hello = Self::empty();
        hello.fill(r)?;
        Ok(hello)
    }
}

impl<'a> ClientHello<'a> {
    /// Creates a message for [`Self::fill`].
    pub(crate) fn empty() -> Self {
        Self {
            legacy_version: ProtocolVersion::TLSv1_2,
            random: Random([0; 32]),
            legacy_session_id: SessionId::EMPTY,
            cipher_suites: ShortList::new(),
            compression_methods: ShortList::new(),
            extensions: ClientExtensions::default(),
        }
    }

    /// Reads a message into this empty one. This is cheaper than [`Codec::read`], which moves its
    /// large result several times.
    pub(crate) fn fill(&mut self, r: &mut Reader<'a>) -> Result<(), InvalidMessage> {
        self.legacy_version = ProtocolVersion::read(r)?;
        self.random = Random::read(r)?;
        self.legacy_session_id = SessionId::read(r)?;
        self.cipher_suites = read_code_list(r, LengthSize::U16, "CipherSuites")?;
        self.compression_methods = read_list(r, LengthSize::U8, "Compressions")?;
        self.extensions.fill(r)
    }
}

/// Finds the list of application protocol names (RFC 7301 §3.1) in the body of a ClientHello. Each
/// name has a length prefix of one byte. Returns `None` if there is no such extension, or if the
/// body is malformed before its end.
#[cfg(feature = "std")]
pub(crate) fn protocol_names(body: &[u8]) -> Option<&[u8]> {
    let mut r = Reader::new(body);
    // legacy_version, random
    r.take(2 + 32)?;
    for size in [LengthSize::U8, LengthSize::U16, LengthSize::U8] {
        // legacy_session_id, cipher_suites, legacy_compression_methods
        r.prefixed_bytes(size).ok()?;
    }
    let mut extensions = r.prefixed(LengthSize::U16).ok()?;
    while extensions.any_left() {
        let typ = ExtensionType::read(&mut extensions).ok()?;
        let body = extensions.prefixed_bytes(LengthSize::U16).ok()?;
        if typ == ExtensionType::ApplicationLayerProtocolNegotiation {
            return Reader::new(body).prefixed_bytes(LengthSize::U16).ok();
        }
    }
    None
}

impl EncodeMessage for ClientHello<'_> {
    const TYPE: HandshakeType = HandshakeType::ClientHello;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Random(pub(crate) [u8; 32]);

impl Codec<'_> for Random {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.0);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        r.take_array("Random").map(Self)
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

/// `legacy_session_id`, and its echo: 0 to 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionId {
    len: u8,
    /// The bytes after the first `len` are zero.
    bytes: [u8; Self::MAX_LEN],
}

impl SessionId {
    const MAX_LEN: usize = 32;

    /// The empty session ID.
    pub(crate) const EMPTY: Self = Self {
        len: 0,
        bytes: [0; Self::MAX_LEN],
    };

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl From<[u8; Self::MAX_LEN]> for SessionId {
    fn from(bytes: [u8; Self::MAX_LEN]) -> Self {
        Self {
            len: Self::MAX_LEN as u8,
            bytes,
        }
    }
}

impl AsRef<[u8]> for SessionId {
    fn as_ref(&self) -> &[u8] {
        // `read` and both constructors keep `len` within MAX_LEN
        &self.bytes[..usize::from(self.len)]
    }
}

impl Codec<'_> for SessionId {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, LengthSize::U8, self.as_ref());
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let len = u8::read(r)?;
        let mut id = Self { len, ..Self::EMPTY };
        // RFC 9846 §4.2.2: at most 32 bytes
        let Some(bytes) = id.bytes.get_mut(..usize::from(len)) else {
            return Err(InvalidMessage::TrailingData("SessionID"));
        };
        match r.take(usize::from(len)) {
            Some(received) => bytes.copy_from_slice(received),
            None => return Err(InvalidMessage::MissingData("SessionID")),
        }
        Ok(id)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(self.as_ref()).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn session_ids_of_every_length_are_read() {
        for len in 0..=32u8 {
            let mut bytes = vec![len];
            bytes.resize(1 + usize::from(len), 7);
            let id = SessionId::read_bytes(&bytes).unwrap();
            assert_eq!(id.as_ref(), &bytes[1..]);
            assert_eq!(id.is_empty(), len == 0);
            assert_eq!(id.get_encoding(), bytes);
            assert_eq!(id == SessionId::EMPTY, len == 0);
            assert_eq!(id == SessionId::from([7; 32]), len == 32);

            SessionId::read_bytes(&bytes[..usize::from(len)]).unwrap_err();
        }
        let too_long = [&[33][..], &[7; 33]].concat();
        assert_eq!(
            SessionId::read_bytes(&too_long),
            Err(InvalidMessage::TrailingData("SessionID"))
        );
    }
}
