//! What a server must know of a session to resume it, as bytes: the content of a sealed ticket, or of the
//! session storage.
//!
//! One value for each version, which cannot be read as the other's, and within it [`SessionFacts`], which both
//! have. Only this library reads them. Where they are kept, and when a session may be resumed, is the
//! handshakes' business.
//!
//! ```text
//!   struct {
//!       uint8 format;                         /* 4 */
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
//!       opaque client_chain<0..2^24-1>;       /* certificates, each as opaque<1..2^24-1> */
//!   } SessionFacts;
//! ```
//!
//! The chain comes last: a storage in memory keeps it beside the rest, once for all sessions that have it
//! ([`ServerSessionValue`]). What lacks its chain is no session without one.

use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateDer, DnsName, UnixTime};
use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes, with_length_prefix};
use smallvec::SmallVec;

use super::chain::{ChainKind, PeerChain};
use super::client_auth::{ClientAuthId, is_still_accepted};
use super::digests::DIGEST_LEN;
use super::server_auth::{ServerAuth, ServerAuthId};
use super::stored::ServerSessionValue;
use super::{Lifetime, MAX_TICKET_LIFETIME};
use crate::certificates::PeerChains;
use crate::conn::carrier::Carrier;
use crate::enums::{CipherSuite, ProtocolVersion};
use crate::error::InvalidMessage;
use crate::handshake::settings::ServerSettings;

#[cfg(feature = "tls12")]
mod tls12;
#[cfg(feature = "tls12")]
pub(crate) use tls12::Tls12Session;

/// What is kept of a session of any version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionFacts<'a> {
    /// When it could first be resumed, in seconds since 1970.
    pub(crate) issued_at: u64,
    /// When its secrets were agreed on with certificates, in seconds since 1970: long before `issued_at`
    /// when sessions were resumed one after the other.
    pub(crate) authenticated_at: u64,
    /// How clients were authenticated.
    pub(crate) client_auth: ClientAuthId,
    /// The certificate that the server had then.
    pub(crate) server_auth: ServerAuthId,
    pub(crate) alpn_protocol: Option<&'a [u8]>,
    pub(crate) server_name: Option<&'a str>,
    /// What the application has the session say.
    pub(crate) application_data: &'a [u8],
    /// The certificates that the client authenticated with, if it did.
    pub(crate) client_chain: ClientChain<'a>,
}

/// The certificates in a session; none if the client has not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientChain<'a> {
    /// Those of a connection, or of a session in memory.
    Shared(&'a PeerChain),
    /// As they lie in the value.
    Encoded(EncodedChain<'a>),
}

/// Certificates, each as opaque<1..2^24-1>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EncodedChain<'a>(&'a [u8]);

/// A session of TLS 1.3 that may be resumed.
#[derive(PartialEq, Eq)]
pub(crate) struct Tls13Session<'a> {
    pub(crate) suite: CipherSuite,
    /// RFC 9846 §4.7.1: derived from the resumption secret and the ticket's nonce.
    pub(crate) psk: &'a [u8],
    /// `ticket_age_add`.
    pub(crate) age_add: u32,
    /// How many bytes of early data the ticket allows; 0 for none at all.
    pub(crate) max_early_data_size: u32,
    /// What carried the connection that it was made on.
    pub(crate) carrier: Carrier,
    pub(crate) facts: SessionFacts<'a>,
}

/// Changes when the encoding does: machines that share sessions may run different releases of this library.
const FORMAT: u8 = 4;

/// Length in bytes of format, version and cipher suite.
const HEADER_LEN: usize = 1 + 2 + 2;

impl<'a> SessionFacts<'a> {
    /// True if a client that asks for `server_name` at the time `now` may resume the session with `server`. Sessions are
    /// kept for `lifetime`. The client's certificates are not considered.
    pub(crate) fn fits(
        &self,
        config: &ServerSettings,
        server: &ServerAuth<'_>,
        server_name: Option<&DnsName<'_>>,
        lifetime: Lifetime,
        now: UnixTime,
    ) -> bool {
        let age = now.as_secs().abs_diff(self.issued_at);
        let whole_age = now.as_secs().abs_diff(self.authenticated_at);
        // RFC 9846 §4.3.11: a ticket is good for its lifetime. A clock that was set back makes none younger
        let at_most = |secs: u32| Lifetime {
            promised: secs.min(MAX_TICKET_LIFETIME),
            ..lifetime
        };
        at_most(lifetime.promised).allows(age)
            // RFC 9846 §4.7.1: tickets that follow each other should not prolong the session for ever
            && at_most(MAX_TICKET_LIFETIME).allows(whole_age)
            // RFC 6066 §3: not under another name
            && self.server_name == server_name.map(AsRef::as_ref)
            && self.client_auth == config.client_auth()
            && server.continues(self.server_auth, server_name)
    }

    /// Whether the client's certificates, if it sent any, are still accepted at the time `now`. It takes long,
    /// so it comes last.
    pub(crate) fn client_is_accepted(&self, config: &ServerSettings, now: UnixTime) -> bool {
        let verifier = config.verifier();
        match self.client_chain {
            ClientChain::Shared(chain) => is_still_accepted(chain, verifier, now),
            ClientChain::Encoded(EncodedChain([])) => is_still_accepted(&[], verifier, now),
            ClientChain::Encoded(chain) => {
                // few chains are longer
                let chain: SmallVec<[CertificateDer<'_>; 4]> =
                    chain.map(CertificateDer::from).collect();
                is_still_accepted(&chain, verifier, now)
            }
        }
    }

    /// Without the chain.
    fn encoded_len(&self) -> usize {
        8 + 8
            + DIGEST_LEN // client_auth
            + DIGEST_LEN // server_auth
            + (1 + self.alpn_protocol.unwrap_or(&[]).len())
            + (1 + self.server_name.unwrap_or("").len())
            + (2 + self.application_data.len())
    }

    /// Without the chain.
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
    }

    /// Reads to the end of the value, whose chain may be beside it.
    fn read(r: &mut Reader<'a>, beside: Option<&'a PeerChain>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            issued_at: u64::read(r)?,
            authenticated_at: u64::read(r)?,
            client_auth: ClientAuthId(r.take_array("client_auth")?),
            server_auth: ServerAuthId(r.take_array("server_auth")?),
            alpn_protocol: Some(r.prefixed_bytes(LengthSize::U8)?).filter(|it| !it.is_empty()),
            server_name: read_server_name(r)?,
            application_data: r.prefixed_bytes(LengthSize::U16)?,
            client_chain: match beside {
                Some(chain) => ClientChain::Shared(chain),
                None => ClientChain::Encoded(EncodedChain::read(r)?),
            },
        })
    }
}

impl<'a> ClientChain<'a> {
    /// That of a client which is known by `chain`, or has none.
    pub(crate) fn of(chain: Option<&'a PeerChain>) -> Self {
        chain.map_or(Self::Encoded(EncodedChain(&[])), Self::Shared)
    }

    /// The chain, of this `kind`, for longer than the value is kept: shared with others in `chains`.
    pub(crate) fn share(self, kind: ChainKind, chains: &PeerChains) -> Option<PeerChain> {
        match self {
            Self::Shared(chain) if chain.kind() == kind => Some(chain.clone()),
            Self::Shared(chain) => Some(chains.share(kind, chain.der())),
            Self::Encoded(EncodedChain([])) => None,
            Self::Encoded(chain) => Some(chains.share(kind, chain)),
        }
    }

    fn encoded_len(self) -> usize {
        match self {
            Self::Shared(chain) => chain_len(chain),
            Self::Encoded(chain) => 3 + chain.0.len(),
        }
    }

    fn encode(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Shared(chain) => encode_chain(chain, bytes),
            Self::Encoded(chain) => encode_bytes(bytes, LengthSize::U24, chain.0),
        }
    }
}

impl<'a> EncodedChain<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let list = r.prefixed_bytes(LengthSize::U24)?;
        let mut rest = Reader::new(list);
        while rest.any_left() {
            if rest.prefixed_bytes(LengthSize::U24)?.is_empty() {
                return Err(InvalidMessage::IllegalEmptyValue);
            }
        }
        Ok(Self(list))
    }
}

/// The certificates that are left.
impl<'a> Iterator for EncodedChain<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let mut r = Reader::new(self.0);
        // what was read is well-formed: this fails at the end alone
        let certificate = r.prefixed_bytes(LengthSize::U24).ok()?;
        self.0 = r.rest();
        Some(certificate)
    }
}

/// A session of one version. [`SessionFacts`] come at its end.
pub(crate) trait SessionValue<'a>: Sized {
    const VERSION: ProtocolVersion;

    fn suite(&self) -> CipherSuite;

    fn facts(&self) -> &SessionFacts<'a>;

    /// Length in bytes of what comes between the header and the facts.
    fn own_len(&self) -> usize;

    fn encode_own(&self, bytes: &mut Vec<u8>);

    /// Reads what comes behind the header. The chain may be `beside` the value.
    fn read_rest(
        suite: CipherSuite,
        r: &mut Reader<'a>,
        beside: Option<&'a PeerChain>,
    ) -> Result<Self, InvalidMessage>;

    /// Appends the whole value. A vector that has room for it does not grow: no copy of the secret is left in freed
    /// memory.
    fn encode(&self, bytes: &mut Vec<u8>) {
        let chain = self.facts().client_chain;
        bytes.reserve_exact(self.len_without_chain() + chain.encoded_len());
        self.encode_without_chain(bytes);
        chain.encode(bytes);
    }

    /// For a storage, which may share the chain.
    fn to_stored(&self) -> ServerSessionValue {
        let mut bytes = Vec::new();
        match self.facts().client_chain {
            ClientChain::Shared(chain) => {
                bytes.reserve_exact(self.len_without_chain());
                self.encode_without_chain(&mut bytes);
                ServerSessionValue::new(bytes, chain.clone())
            }
            ClientChain::Encoded(_) => {
                self.encode(&mut bytes);
                bytes.into()
            }
        }
    }

    /// Reads a whole value: of this version, as no session is resumed in another.
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
        beside: Option<&'a PeerChain>,
    ) -> Result<Self, InvalidMessage> {
        let session = Self {
            suite,
            psk: r.prefixed_bytes(LengthSize::U8)?,
            age_add: u32::read(r)?,
            max_early_data_size: u32::read(r)?,
            carrier: Carrier::from_byte(u8::read(r)?)
                .ok_or(InvalidMessage::UnknownProtocolVersion)?,
            facts: SessionFacts::read(r, beside)?,
        };
        if session.psk.is_empty() {
            return Err(InvalidMessage::IllegalEmptyValue);
        }
        Ok(session)
    }
}

impl fmt::Debug for Tls13Session<'_> {
    /// Leaves out the secret.
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

/// Length in bytes of an encoded chain.
pub(super) fn chain_len(chain: &[CertificateDer<'_>]) -> usize {
    3 + chain.iter().map(|cert| 3 + cert.len()).sum::<usize>()
}

/// Appends `client_chain`, which ends a value.
pub(super) fn encode_chain(chain: &[CertificateDer<'_>], bytes: &mut Vec<u8>) {
    with_length_prefix(bytes, LengthSize::U24, |bytes| {
        for cert in chain {
            encode_bytes(bytes, LengthSize::U24, cert);
        }
    });
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use core::ptr;

    use super::*;
    use crate::conn::carrier::QuicVersion;

    /// What [`chain`] returns, encoded.
    const CHAIN: [u8; 3 + 300 + 3 + 2] = {
        let mut bytes = [2; 308];
        [bytes[0], bytes[1], bytes[2]] = [0, 1, 44];
        [bytes[303], bytes[304], bytes[305], bytes[306], bytes[307]] = [0, 0, 2, 3, 3];
        bytes
    };

    /// In a vector that never grew: no copy of a secret is left in freed memory.
    pub(super) fn to_vec<'a>(session: &impl SessionValue<'a>) -> Vec<u8> {
        let mut bytes = Vec::new();
        session.encode(&mut bytes);
        assert_eq!(bytes.capacity(), bytes.len(), "it grew");
        bytes
    }

    pub(super) fn facts() -> SessionFacts<'static> {
        SessionFacts {
            issued_at: 0x0102_0304_0506_0708,
            authenticated_at: 0x0102_0304_0506_0000,
            client_auth: ClientAuthId([9; 32]),
            server_auth: ServerAuthId([10; 32]),
            alpn_protocol: Some(b"h2"),
            server_name: Some("example.com"),
            application_data: b"data",
            client_chain: ClientChain::Encoded(EncodedChain(&CHAIN)),
        }
    }

    pub(super) fn no_facts() -> SessionFacts<'static> {
        SessionFacts {
            alpn_protocol: None,
            server_name: None,
            application_data: &[],
            client_chain: ClientChain::of(None),
            ..facts()
        }
    }

    pub(super) fn tls13() -> Tls13Session<'static> {
        Tls13Session {
            suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
            psk: &[0xab; 32],
            age_add: 0x090a_0b0c,
            max_early_data_size: 1000,
            carrier: Carrier::Quic(QuicVersion::V2),
            facts: facts(),
        }
    }

    #[test]
    fn round_trip() {
        let empty = Tls13Session {
            psk: &[4; 48],
            max_early_data_size: 0,
            carrier: Carrier::Records,
            facts: no_facts(),
            ..tls13()
        };
        for value in [tls13(), empty] {
            let bytes = to_vec(&value);
            assert_eq!(Tls13Session::read(&bytes.into()), Ok(value));
        }
    }

    pub(super) fn chain() -> PeerChain {
        PeerChain::copy(ChainKind::X509, [&[2; 300][..], &[3; 2]])
    }

    /// Of a connection, as all are that are encoded.
    fn of_connection(chain: &PeerChain) -> Tls13Session<'_> {
        Tls13Session {
            facts: SessionFacts {
                client_chain: ClientChain::of(Some(chain)),
                ..facts()
            },
            ..tls13()
        }
    }

    #[test]
    fn a_chain_beside_is_as_good_as_one_within() {
        let chain = chain();
        let session = of_connection(&chain);
        let stored = session.to_stored();
        assert!(stored.bytes().len() < 232);
        let read = Tls13Session::read(&stored).unwrap();
        assert_eq!(read, session);
        assert_eq!(read.facts.client_chain, ClientChain::Shared(&chain));

        let joined = stored.clone().into_vec();
        assert_eq!(joined.capacity(), joined.len(), "it grew");
        assert_eq!(joined, to_vec(&session));
        assert_eq!(joined, to_vec(&tls13()), "shared or not");
        let read = ServerSessionValue::from(joined);
        assert_eq!(Tls13Session::read(&read), Ok(tls13()));
    }

    #[test]
    fn a_value_without_its_chain_or_with_two_is_refused() {
        let chain = chain();
        let stored = of_connection(&chain).to_stored();
        let lost = ServerSessionValue::from(stored.bytes().to_vec());
        Tls13Session::read(&lost).unwrap_err();

        let twice = ServerSessionValue::new(stored.into_vec(), chain.clone());
        Tls13Session::read(&twice).unwrap_err();
        let anonymous = Tls13Session {
            facts: no_facts(),
            ..tls13()
        };
        Tls13Session::read(&anonymous.to_stored()).unwrap();
        let added = ServerSessionValue::new(anonymous.to_stored().into_vec(), chain);
        Tls13Session::read(&added).unwrap_err();
    }

    #[test]
    fn a_chain_is_shared_as_what_it_was() {
        let chains = PeerChains::default();
        let kind = ChainKind::X509;
        let chain = chain();
        let shared = ClientChain::of(Some(&chain)).share(kind, &chains).unwrap();
        assert!(ptr::eq(&*shared, &*chain));
        let other = ClientChain::of(Some(&chain)).share(ChainKind::RawPublicKey, &chains);
        assert_eq!(other.unwrap().kind(), ChainKind::RawPublicKey);
        let copy = facts().client_chain.share(kind, &chains).unwrap();
        assert_eq!(copy, chain);
        assert_eq!(ClientChain::of(None).share(kind, &chains), None);
    }

    #[test]
    fn what_is_cut_or_too_long_is_refused() {
        let mut bytes = to_vec(&tls13());
        for len in 0..bytes.len() {
            Tls13Session::read(&bytes[..len].to_vec().into()).unwrap_err();
        }
        bytes.push(0);
        Tls13Session::read(&bytes.clone().into()).unwrap_err();
    }

    #[test]
    fn another_format_is_refused() {
        let mut bytes = to_vec(&tls13());
        bytes[0] += 1;
        Tls13Session::read(&bytes.clone().into()).unwrap_err();
    }

    #[test]
    fn malformed_fields_are_refused() {
        let mut bytes = to_vec(&tls13());
        let name = bytes
            .windows(11)
            .position(|at| at == b"example.com")
            .unwrap();
        bytes[name] = 0xff;
        assert_eq!(
            Tls13Session::read(&bytes.clone().into()),
            Err(InvalidMessage::InvalidServerName)
        );

        let no_psk = Tls13Session {
            psk: &[],
            ..tls13()
        };
        assert_eq!(
            Tls13Session::read(&to_vec(&no_psk).into()),
            Err(InvalidMessage::IllegalEmptyValue)
        );

        let mut empty_cert = tls13();
        empty_cert.facts.client_chain = ClientChain::Encoded(EncodedChain(b"\0\0\x01a\0\0\0"));
        assert_eq!(
            Tls13Session::read(&to_vec(&empty_cert).into()),
            Err(InvalidMessage::IllegalEmptyValue)
        );
    }

    #[test]
    fn debug_does_not_print_secrets() {
        // the secret is 0xab = 171 throughout
        let text = format!("{:?}", tls13());
        assert!(text.contains("example.com"), "{text}");
        assert!(!text.contains("171") && !text.contains("ab, "), "{text}");
    }
}
