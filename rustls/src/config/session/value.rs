//! The encoding of a server's session: the content of a sealed ticket, or of an entry in the
//! session storage.
//!
//! Each version has its own value, which cannot be decoded as the other's. Both contain
//! [`SessionFacts`]. Only this library reads them. The handshakes decide on storage and resumption.
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
//! The chain comes last, because a storage in memory keeps it separately, once for all sessions
//! that share it ([`ServerSessionValue`]). A value without its chain must not be read as anonymous.

use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateDer, DnsName, UnixTime};
use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes, with_length_prefix};
use smallvec::SmallVec;

use super::client_auth::{AcceptedClient, ClientAuthId, accept_again};
use super::digests::DIGEST_LEN;
use super::server_auth::{ServerAuth, ServerAuthId};
use super::stored::ServerSessionValue;
use super::{Lifetime, MAX_TICKET_LIFETIME};
use crate::asking::Asking;
use crate::certificates::{Acceptance, ChainKind, EncodedChain, PeerChain, encoded_chain};
use crate::config::carrier::Carrier;
use crate::config::settings::ServerSettings;
use crate::enums::{CipherSuite, ProtocolVersion};
use crate::error::InvalidMessage;

#[cfg(feature = "tls12")]
mod tls12;
#[cfg(feature = "tls12")]
pub(crate) use tls12::Tls12Session;

/// The part of a session that all versions have in common.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionFacts<'a> {
    /// The time at which the session became resumable, in seconds since 1970.
    pub(crate) issued_at: u64,
    /// The time of the handshake that authenticated with certificates, in seconds since 1970. It is
    /// older than `issued_at` if the session follows from earlier ones.
    pub(crate) authenticated_at: u64,
    /// The requirements on clients at that time.
    pub(crate) client_auth: ClientAuthId,
    /// The certificate of the server at that time.
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
    /// The chain in its encoded form.
    Encoded(EncodedChain<'a>),
}

/// A TLS 1.3 session that may be resumed.
#[derive(PartialEq, Eq)]
pub(crate) struct Tls13Session<'a> {
    pub(crate) suite: CipherSuite,
    /// The PSK, derived from the resumption secret and the ticket's nonce (RFC 9846 §4.7.1).
    pub(crate) psk: &'a [u8],
    /// The `ticket_age_add`.
    pub(crate) age_add: u32,
    /// The number of bytes of early data that the ticket allows. 0 forbids early data.
    pub(crate) max_early_data_size: u32,
    /// The carrier of the connection that created the session.
    pub(crate) carrier: Carrier,
    pub(crate) facts: SessionFacts<'a>,
}

/// The version of the encoding. Machines that share sessions may run different releases of this
/// library.
const FORMAT: u8 = 5;

/// The length of format, version and cipher suite in bytes.
const HEADER_LEN: usize = 1 + 2 + 2;

impl<'a> SessionFacts<'a> {
    /// Checks that a client that requests `server_name` at the time `now` may resume the session
    /// with `server`. Sessions are kept for `lifetime`. The client's certificates are not checked.
    ///
    /// # Errors
    ///
    /// Returns the reason for the log.
    pub(crate) fn check_fit(
        &self,
        config: &ServerSettings,
        server: &ServerAuth<'_>,
        server_name: Option<&DnsName<'_>>,
        lifetime: Lifetime,
        now: UnixTime,
    ) -> Result<(), &'static str> {
        let age = now.as_secs().abs_diff(self.issued_at);
        let total_age = now.as_secs().abs_diff(self.authenticated_at);
        // RFC 9846 §4.3.11: a ticket must not be older than its lifetime. A clock that was set back
        // makes no ticket younger
        let at_most = |secs: u32| Lifetime {
            promised: secs.min(MAX_TICKET_LIFETIME),
            ..lifetime
        };
        if !at_most(lifetime.promised).allows(age) {
            return Err("it has expired");
        }
        // RFC 9846 §4.7.1: renewed tickets should not prolong a session forever
        if !at_most(MAX_TICKET_LIFETIME).allows(total_age) {
            return Err("its last full handshake is too long ago");
        }
        // RFC 6066 §3: a session belongs to its server name
        if self.server_name != server_name.map(AsRef::as_ref) {
            return Err("it belongs to another server name");
        }
        if self.client_auth != config.client_auth() {
            return Err("the policy for client certificates has changed");
        }
        if !server.allows_resumption(self.server_auth, server_name) {
            return Err("the server's certificate differs, and is not valid for the name");
        }
        Ok(())
    }

    /// Returns the client if its certificates, or their absence, are still accepted at the time
    /// `now`. This check may be slow, so callers do it last.
    pub(crate) async fn accept_client(
        &self,
        config: &ServerSettings,
        now: UnixTime,
        asking: Asking,
    ) -> Option<AcceptedClient> {
        let acceptance = self.client_acceptance;
        match self.client_chain {
            ClientChain::Shared(chain) => {
                accept_again(chain, acceptance, config, now, asking).await
            }
            ClientChain::Encoded(EncodedChain::EMPTY) => {
                accept_again(&[], None, config, now, asking).await
            }
            ClientChain::Encoded(chain) => {
                // few chains are longer
                let chain: SmallVec<[CertificateDer<'_>; 4]> =
                    chain.map(CertificateDer::from).collect();
                accept_again(&chain, acceptance, config, now, asking).await
            }
        }
    }

    /// Returns the encoded length without the chain.
    fn encoded_len(&self) -> usize {
        8 + 8
            + DIGEST_LEN // client_auth
            + DIGEST_LEN // server_auth
            + (1 + self.alpn_protocol.unwrap_or(&[]).len())
            + (1 + self.server_name.unwrap_or("").len())
            + (2 + self.application_data.len())
            + (1 + self.client_acceptance.map_or(0, |_| Acceptance::LEN))
    }

    /// Encodes everything but the chain.
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

    /// Returns the chain of this `kind`, which outlives the value, or `None` if it is empty.
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

    /// Returns the length of the fields between the header and the facts in bytes.
    fn own_len(&self) -> usize;

    fn encode_own(&self, bytes: &mut Vec<u8>);

    /// Decodes the fields after the header. `shared_chain` is the chain if the value lacks it.
    fn read_rest(
        suite: CipherSuite,
        r: &mut Reader<'a>,
        shared_chain: Option<&'a PeerChain>,
    ) -> Result<Self, InvalidMessage>;

    /// Appends the encoded value. It reserves memory once, so that no copy of the secret remains in
    /// freed memory.
    fn encode(&self, bytes: &mut Vec<u8>) {
        let chain = self.facts().client_chain;
        bytes.reserve_exact(self.len_without_chain() + chain.encoded_len());
        self.encode_without_chain(bytes);
        chain.encode(bytes);
    }

    /// Converts the session for a storage, which may share the chain.
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

    /// Decodes a value of this version. Sessions of another version are not resumed.
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
            carrier: Carrier::from_byte(u8::read(r)?)
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

/// Returns the length of an encoded chain in bytes.
pub(super) fn chain_len(chain: &PeerChain) -> usize {
    3 + encoded_chain::encoded_len(chain.der())
}

/// Appends `client_chain`, the last field of a value.
pub(super) fn encode_chain(chain: &PeerChain, bytes: &mut Vec<u8>) {
    with_length_prefix(bytes, LengthSize::U24, |bytes| {
        encoded_chain::encode(chain.der(), bytes);
    });
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use core::ptr;

    use super::*;
    use crate::certificates::{Basis, VerifierRules};
    use crate::config::carrier::QuicVersion;
    use crate::enums::Side;

    /// The encoding of [`chain`].
    const CHAIN: [u8; 3 + 300 + 3 + 2] = {
        let mut bytes = [2; 308];
        [bytes[0], bytes[1], bytes[2]] = [0, 1, 44];
        [bytes[303], bytes[304], bytes[305], bytes[306], bytes[307]] = [0, 0, 2, 3, 3];
        bytes
    };

    /// Encodes a session, and checks that the vector did not grow, so that no copy of a secret
    /// remains in freed memory.
    pub(super) fn to_vec<'a>(session: &impl SessionValue<'a>) -> Vec<u8> {
        let mut bytes = Vec::new();
        session.encode(&mut bytes);
        assert_eq!(bytes.capacity(), bytes.len(), "the vector grew");
        bytes
    }

    fn acceptance() -> Acceptance {
        let at = |seconds| UnixTime::since_unix_epoch(core::time::Duration::from_secs(seconds));
        let basis = Basis {
            peer: Side::Client,
            rules: VerifierRules::from_digest([11; 32]),
        };
        Acceptance::new(basis, at(5), at(70)).unwrap()
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
            client_acceptance: Some(acceptance()),
            client_chain: ClientChain::Encoded(EncodedChain::read(&CHAIN).unwrap()),
        }
    }

    pub(super) fn no_facts() -> SessionFacts<'static> {
        SessionFacts {
            alpn_protocol: None,
            server_name: None,
            application_data: &[],
            client_acceptance: None,
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

    /// Creates a session with the chain of a connection.
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
    fn a_shared_chain_reads_like_an_encoded_one() {
        let chain = chain();
        let session = of_connection(&chain);
        let stored = session.to_stored();
        assert!(stored.bytes().len() < 232 + 49);
        let read = Tls13Session::read(&stored).unwrap();
        assert_eq!(read, session);
        assert_eq!(read.facts.client_chain, ClientChain::Shared(&chain));

        let joined = stored.clone().into_vec();
        assert_eq!(joined.capacity(), joined.len(), "the vector grew");
        assert_eq!(joined, to_vec(&session));
        assert_eq!(joined, to_vec(&tls13()), "the encodings differ");
        let read = ServerSessionValue::from(joined);
        assert_eq!(Tls13Session::read(&read), Ok(tls13()));
    }

    #[test]
    fn a_value_with_no_chain_or_two_chains_is_rejected() {
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
    fn a_shared_chain_keeps_its_content() {
        let kind = ChainKind::X509;
        let chain = chain();
        let shared = ClientChain::of(Some(&chain)).to_chain(kind).unwrap();
        assert!(ptr::eq(&*shared, &*chain));
        let other = ClientChain::of(Some(&chain)).to_chain(ChainKind::RawPublicKey);
        assert_eq!(other.unwrap().kind(), ChainKind::RawPublicKey);
        let copy = facts().client_chain.to_chain(kind).unwrap();
        assert_eq!(copy, chain);
        assert_eq!(ClientChain::of(None).to_chain(kind), None);
    }

    #[test]
    fn truncated_and_overlong_values_are_rejected() {
        let mut bytes = to_vec(&tls13());
        for len in 0..bytes.len() {
            Tls13Session::read(&bytes[..len].to_vec().into()).unwrap_err();
        }
        bytes.push(0);
        Tls13Session::read(&bytes.clone().into()).unwrap_err();
    }

    #[test]
    fn another_format_is_rejected() {
        let mut bytes = to_vec(&tls13());
        for format in [0, FORMAT - 1, FORMAT + 1, 255] {
            bytes[0] = format;
            Tls13Session::read(&bytes.clone().into()).unwrap_err();
        }
    }

    #[test]
    fn malformed_fields_are_rejected() {
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

        let bytes = to_vec(&tls13());
        let acceptance = bytes.windows(32).position(|at| at == [11; 32]).unwrap();
        for len in [1, Acceptance::LEN - 1, Acceptance::LEN + 1] {
            let mut bytes = bytes.clone();
            bytes[acceptance - 1] = len as u8;
            bytes.splice(acceptance..acceptance + Acceptance::LEN, [11].repeat(len));
            Tls13Session::read(&bytes.into()).unwrap_err();
        }

        let mut empty_cert = to_vec(&tls13());
        empty_cert.truncate(empty_cert.len() - (3 + CHAIN.len()));
        empty_cert.extend(b"\0\0\x07\0\0\x01a\0\0\0");
        assert_eq!(
            Tls13Session::read(&empty_cert.into()),
            Err(InvalidMessage::IllegalEmptyValue)
        );
    }

    #[test]
    fn debug_does_not_print_secrets() {
        // the secret consists of 0xab = 171
        let text = format!("{:?}", tls13());
        assert!(text.contains("example.com"), "{text}");
        assert!(!text.contains("171") && !text.contains("ab, "), "{text}");
    }
}
