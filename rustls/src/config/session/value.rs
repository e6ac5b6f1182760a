//! The encoding of a server's session: the content of a sealed ticket, or of an entry in the
//! session storage.
//!
//! Each version has its own format, and a value of one version cannot be decoded as one of another.
//! Both contain [`SessionFacts`]. Only this library reads them. The handshakes decide which
//! sessions are stored and resumed.
//!
//! ```text
//!   struct {
//!       uint8 format;                         /* 5 */
//!       ProtocolVersion version;
//!       CipherSuite cipher_suite;
//!       select (SessionValue.version) {
//!           case 0x0304:
//!               opaque psk<1..2^8-1>;
//!               uint32 ticket_age_add;
//!               uint32 max_early_data_size;
//!               uint8 carrier;                /* of the connection */
//!           case 0x0303:
//!               opaque master_secret[48];
//!               boolean extended_master_secret;
//!       };
//!       SessionFacts facts;
//!   } SessionValue;
//!
//!   struct {
//!       uint64 issued_at;                     /* seconds since 1970 */
//!       uint64 authenticated_at;              /* seconds since 1970 */
//!       opaque client_auth[32];
//!       opaque server_auth[32];
//!       opaque alpn_protocol<0..2^8-1>;       /* empty if none was agreed on */
//!       opaque server_name<0..2^8-1>;         /* empty if none was sent */
//!       opaque application_data<0..2^16-1>;
//!       opaque client_acceptance<0..48>;      /* an Acceptance, or empty */
//!       opaque client_chain<0..2^24-1>;       /* certificates, each as opaque<1..2^24-1> */
//!   } SessionFacts;
//! ```
//!
//! The chain comes last, because a storage in memory can store it separately, once for all sessions
//! that share it ([`ServerSessionValue`]). A value without its chain must not be read as anonymous.

use alloc::vec::Vec;
use core::fmt;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes, with_length_prefix};

use super::client_auth::ClientAuthId;
use super::digests::DIGEST_LEN;
use super::server_auth::ServerAuthId;
use super::stored::{ServerSessionValue, chain_len, encode_chain};
use crate::certificates::{Acceptance, ChainKind, EncodedChain, PeerChain};
use crate::config::carrier::HandshakeCarrier;
use crate::enums::{CipherSuite, ProtocolVersion};
use crate::error::InvalidMessage;

#[cfg(feature = "tls12")]
mod tls12;
#[cfg(feature = "tls12")]
pub(crate) use tls12::Tls12Session;

/// The part of a session that is the same in all versions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionFacts<'a> {
    /// The time at which the ticket was created, or in TLS 1.2 the ClientHello was handled, in
    /// seconds since 1970.
    pub(crate) issued_at: u64,
    /// The time of the handshake that authenticated with certificates, in seconds since 1970. On a
    /// resumed connection, it is that of the resumed session.
    pub(crate) authenticated_at: u64,
    /// A digest of the server's requirements for clients when the session was created.
    pub(crate) client_auth: ClientAuthId,
    /// The hash of the server's certificate when the session was created.
    pub(crate) server_auth: ServerAuthId,
    pub(crate) alpn_protocol: Option<&'a [u8]>,
    pub(crate) server_name: Option<&'a str>,
    /// Data that the application attached to the session.
    pub(crate) application_data: &'a [u8],
    /// The last verification of the client's certificates, if a verifier with equal rules may rely
    /// on it.
    pub(crate) client_acceptance: Option<Acceptance>,
    /// The client's certificates, if it authenticated.
    pub(crate) client_chain: ClientChain<'a>,
}

/// The certificates in a session. Empty if the client has not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientChain<'a> {
    /// The chain of a connection, or of a session in memory.
    Shared(&'a PeerChain),
    /// The chain of a decoded session, still in encoded form.
    Encoded(EncodedChain<'a>),
}

/// A TLS 1.3 session that may be resumed.
#[derive(PartialEq, Eq)]
pub(crate) struct Tls13Session<'a> {
    pub(crate) suite: CipherSuite,
    /// The PSK, derived from the resumption secret and the ticket's nonce (RFC 9846 §4.7.1).
    pub(crate) psk: &'a [u8],
    /// The `ticket_age_add` of the session's ticket (RFC 9846 §4.7.1).
    pub(crate) age_add: u32,
    /// The number of bytes of early data that the ticket allows. 0 forbids early data.
    pub(crate) max_early_data_size: u32,
    /// The carrier of the connection that created the session.
    pub(crate) carrier: HandshakeCarrier,
    pub(crate) facts: SessionFacts<'a>,
}

/// The version of the encoding. Machines that share sessions may run different releases of this
/// library.
const FORMAT: u8 = 5;

/// The length of format, version and cipher suite in bytes.
const HEADER_LEN: usize = 1 + 2 + 2;

impl<'a> SessionFacts<'a> {
    /// Returns the encoded length without the client's chain, in bytes.
    fn encoded_len(&self) -> usize {
        8 + 8
            + DIGEST_LEN // client_auth
            + DIGEST_LEN // server_auth
            + (1 + self.alpn_protocol.unwrap_or(&[]).len())
            + (1 + self.server_name.unwrap_or("").len())
            + (2 + self.application_data.len())
            + (1 + self.client_acceptance.map_or(0, |_| Acceptance::LEN))
    }

    /// Appends all fields except the client's chain to `bytes`.
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.issued_at.encode(bytes);
        self.authenticated_at.encode(bytes);
        bytes.extend_from_slice(&self.client_auth.0);
        bytes.extend_from_slice(&self.server_auth.0);
        encode_bytes(bytes, LengthSize::U8, self.alpn_protocol.unwrap_or(&[]));
        encode_bytes(
            bytes,
            LengthSize::U8,
            self.server_name.unwrap_or("").as_bytes(),
        );
        encode_bytes(bytes, LengthSize::U16, self.application_data);
        with_length_prefix(bytes, LengthSize::U8, |bytes| {
            if let Some(acceptance) = &self.client_acceptance {
                acceptance.encode(bytes);
            }
        });
    }

    /// Decodes the rest of a value. `shared_chain` is the chain if the value lacks it.
    fn read(
        r: &mut Reader<'a>,
        shared_chain: Option<&'a PeerChain>,
    ) -> Result<Self, InvalidMessage> {
        Ok(Self {
            issued_at: u64::read(r)?,
            authenticated_at: u64::read(r)?,
            client_auth: ClientAuthId(r.take_array("client_auth")?),
            server_auth: ServerAuthId(r.take_array("server_auth")?),
            alpn_protocol: Some(r.prefixed_bytes(LengthSize::U8)?).filter(|it| !it.is_empty()),
            server_name: read_server_name(r)?,
            application_data: r.prefixed_bytes(LengthSize::U16)?,
            client_acceptance: match r.prefixed_bytes(LengthSize::U8)? {
                [] => None,
                acceptance => Some(Acceptance::read_bytes(acceptance)?),
            },
            client_chain: match shared_chain {
                Some(chain) => ClientChain::Shared(chain),
                None => {
                    ClientChain::Encoded(EncodedChain::read(r.prefixed_bytes(LengthSize::U24)?)?)
                }
            },
        })
    }
}

impl<'a> ClientChain<'a> {
    /// Returns the chain of a client, or an empty one.
    pub(crate) fn of(chain: Option<&'a PeerChain>) -> Self {
        chain.map_or(Self::Encoded(EncodedChain::EMPTY), Self::Shared)
    }

    /// Returns a chain of this `kind` that outlives the value, or `None` if it is empty.
    pub(crate) fn to_chain(self, kind: ChainKind) -> Option<PeerChain> {
        match self {
            Self::Shared(chain) if chain.kind() == kind => Some(chain.clone()),
            Self::Shared(chain) => Some(PeerChain::copy(kind, chain.der())),
            Self::Encoded(EncodedChain::EMPTY) => None,
            Self::Encoded(chain) => Some(PeerChain::copy(kind, chain)),
        }
    }

    fn encoded_len(self) -> usize {
        match self {
            Self::Shared(chain) => chain_len(chain),
            Self::Encoded(chain) => 3 + chain.as_bytes().len(),
        }
    }

    fn encode(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Shared(chain) => encode_chain(chain, bytes),
            Self::Encoded(chain) => encode_bytes(bytes, LengthSize::U24, chain.as_bytes()),
        }
    }
}

/// A session of one version. Its encoding ends with [`SessionFacts`].
pub(crate) trait SessionValue<'a>: Sized {
    const VERSION: ProtocolVersion;

    fn suite(&self) -> CipherSuite;

    fn facts(&self) -> &SessionFacts<'a>;

    /// Returns the length in bytes of the fields between the header and the [`SessionFacts`].
    fn own_len(&self) -> usize;

    fn encode_own(&self, bytes: &mut Vec<u8>);

    /// Decodes the fields after the header. `shared_chain` is the chain if the value lacks it.
    fn read_rest(
        suite: CipherSuite,
        r: &mut Reader<'a>,
        shared_chain: Option<&'a PeerChain>,
    ) -> Result<Self, InvalidMessage>;

    /// Appends the encoded value. Reserves memory once, so that no copy of the secret remains in
    /// freed memory.
    fn encode(&self, bytes: &mut Vec<u8>) {
        let chain = self.facts().client_chain;
        bytes.reserve_exact(self.len_without_chain() + chain.encoded_len());
        self.encode_without_chain(bytes);
        chain.encode(bytes);
    }

    /// Converts the session to the form that is stored. The stored value shares the client's chain
    /// if that saves memory.
    fn to_stored(&self) -> ServerSessionValue {
        let mut bytes = Vec::new();
        match self.facts().client_chain {
            ClientChain::Shared(chain) if chain.is_worth_sharing() => {
                bytes.reserve_exact(self.len_without_chain());
                self.encode_without_chain(&mut bytes);
                ServerSessionValue::new(bytes, chain.clone())
            }
            ClientChain::Shared(_) | ClientChain::Encoded(_) => {
                self.encode(&mut bytes);
                bytes.into()
            }
        }
    }

    /// Decodes a value of this version. A value of another version is an error, and is not resumed.
    fn read(value: &'a ServerSessionValue) -> Result<Self, InvalidMessage> {
        let mut r = Reader::new(value.bytes());
        if u8::read(&mut r)? != FORMAT || ProtocolVersion::read(&mut r)? != Self::VERSION {
            return Err(InvalidMessage::UnknownProtocolVersion);
        }
        let session = Self::read_rest(CipherSuite::read(&mut r)?, &mut r, value.chain())?;
        r.expect_empty("SessionValue")?;
        Ok(session)
    }

    fn len_without_chain(&self) -> usize {
        HEADER_LEN + self.own_len() + self.facts().encoded_len()
    }

    fn encode_without_chain(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.push(FORMAT);
        Self::VERSION.encode(bytes);
        self.suite().encode(bytes);
        self.encode_own(bytes);
        self.facts().encode(bytes);
        debug_assert_eq!(bytes.len() - start, self.len_without_chain());
    }
}

impl<'a> SessionValue<'a> for Tls13Session<'a> {
    const VERSION: ProtocolVersion = ProtocolVersion::TLSv1_3;

    fn suite(&self) -> CipherSuite {
        self.suite
    }

    fn facts(&self) -> &SessionFacts<'a> {
        &self.facts
    }

    fn own_len(&self) -> usize {
        (1 + self.psk.len()) + 4 + 4 + 1
    }

    fn encode_own(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, LengthSize::U8, self.psk);
        self.age_add.encode(bytes);
        self.max_early_data_size.encode(bytes);
        bytes.push(self.carrier.to_byte());
    }

    fn read_rest(
        suite: CipherSuite,
        r: &mut Reader<'a>,
        shared_chain: Option<&'a PeerChain>,
    ) -> Result<Self, InvalidMessage> {
        let session = Self {
            suite,
            psk: r.prefixed_bytes(LengthSize::U8)?,
            age_add: u32::read(r)?,
            max_early_data_size: u32::read(r)?,
            carrier: HandshakeCarrier::from_byte(u8::read(r)?)
                .ok_or(InvalidMessage::UnknownProtocolVersion)?,
            facts: SessionFacts::read(r, shared_chain)?,
        };
        if session.psk.is_empty() {
            return Err(InvalidMessage::IllegalEmptyValue);
        }
        Ok(session)
    }
}

impl fmt::Debug for Tls13Session<'_> {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls13Session")
            .field("suite", &self.suite)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

fn read_server_name<'a>(r: &mut Reader<'a>) -> Result<Option<&'a str>, InvalidMessage> {
    match core::str::from_utf8(r.prefixed_bytes(LengthSize::U8)?) {
        Ok("") => Ok(None),
        Ok(name) => Ok(Some(name)),
        Err(_) => Err(InvalidMessage::InvalidServerName),
    }
}

#[cfg(test)]
pub(crate) mod tests;
