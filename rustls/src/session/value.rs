//! What a server must know of a session to resume it, as bytes: the content of a sealed ticket, or of the
//! session storage.
//!
//! One value for each version, which cannot be read as the other's, and within it [`SessionFacts`], which both
//! have. Only this library reads them. Where they are kept, and when a session may be resumed, is the
//! handshakes' business.
//!
//! ```text
//!   struct {
//!       uint8 format;                         /* 1 */
//!       ProtocolVersion version;
//!       CipherSuite cipher_suite;
//!       select (SessionValue.version) {
//!           case 0x0304:
//!               opaque psk<1..2^8-1>;
//!               uint32 ticket_age_add;
//!               uint32 max_early_data_size;
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
//!       opaque alpn_protocol<0..2^8-1>;       /* empty if none was agreed on */
//!       opaque server_name<0..2^8-1>;         /* empty if none was sent */
//!       opaque client_chain<0..2^24-1>;       /* certificates, each as opaque<1..2^24-1> */
//!       opaque application_data<0..2^16-1>;
//!   } SessionFacts;
//! ```

use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateDer, UnixTime};
use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes, with_length_prefix};

use super::MAX_TICKET_LIFETIME;
use super::chain::{ChainKind, PeerChain};
use super::client_auth::{ClientAuthId, is_still_accepted};
use crate::certificates::PeerChains;
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
    pub(crate) alpn_protocol: Option<&'a [u8]>,
    pub(crate) server_name: Option<&'a str>,
    /// The certificates that the client authenticated with; empty if it did not.
    pub(crate) client_chain: Vec<CertificateDer<'a>>,
    /// What the application has the session say.
    pub(crate) application_data: &'a [u8],
}

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
    pub(crate) facts: SessionFacts<'a>,
}

/// Changes when the encoding does: machines that share sessions may run different releases of this library.
const FORMAT: u8 = 1;

/// Length in bytes of format, version and cipher suite.
const HEADER_LEN: usize = 1 + 2 + 2;

impl<'a> SessionFacts<'a> {
    /// The certificates, without copying them.
    pub(crate) fn borrow_chain(chain: Option<&'a [CertificateDer<'_>]>) -> Vec<CertificateDer<'a>> {
        chain
            .unwrap_or(&[])
            .iter()
            .map(|cert| CertificateDer::from(cert.as_ref()))
            .collect()
    }

    /// The certificates, for longer than the value is kept, and shared with others in `chains`.
    pub(crate) fn shared_chain(&self, kind: ChainKind, chains: &PeerChains) -> Option<PeerChain> {
        let certificates = self.client_chain.iter().map(AsRef::as_ref);
        (!self.client_chain.is_empty()).then(|| chains.share(kind, certificates))
    }

    /// Whether a client that asks for `server_name` at the time `now` may resume the session, which is to be
    /// kept for `lifetime` seconds; its certificates not considered.
    pub(crate) fn fits(
        &self,
        config: &ServerSettings,
        server_name: Option<&str>,
        lifetime: u32,
        now: UnixTime,
    ) -> bool {
        let age = now.as_secs().abs_diff(self.issued_at);
        let whole_age = now.as_secs().abs_diff(self.authenticated_at);
        // RFC 9846 §4.3.11: a ticket is good for its lifetime. A clock that was set back makes none younger
        age <= lifetime.min(MAX_TICKET_LIFETIME).into()
            // RFC 9846 §4.7.1: tickets that follow each other should not prolong the session for ever
            && whole_age <= MAX_TICKET_LIFETIME.into()
            // RFC 6066 §3: not under another name
            && self.server_name == server_name
            && self.client_auth == config.client_auth()
    }

    /// Whether the client's certificates, if it sent any, are still accepted at the time `now`. It takes long,
    /// so it comes last.
    pub(crate) fn client_is_accepted(&self, config: &ServerSettings, now: UnixTime) -> bool {
        is_still_accepted(&self.client_chain, config.verifier(), now)
    }

    fn encoded_len(&self) -> usize {
        let chain: usize = self.client_chain.iter().map(|cert| 3 + cert.len()).sum();
        8 + 8
            + ClientAuthId::LEN
            + (1 + self.alpn_protocol.unwrap_or(&[]).len())
            + (1 + self.server_name.unwrap_or("").len())
            + (3 + chain)
            + (2 + self.application_data.len())
    }
}

impl<'a> Tls13Session<'a> {
    /// The encoding, in a vector that never grew: no copy of the PSK is left in freed memory.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let own_len = (1 + self.psk.len()) + 4 + 4;
        encode_exactly(self, HEADER_LEN + own_len + self.facts.encoded_len())
    }
}

fn encode_exactly<'a>(value: &impl Codec<'a>, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len);
    value.encode(&mut bytes);
    debug_assert_eq!(bytes.len(), len);
    bytes
}

/// Encodes what a value begins with.
fn encode_header(version: ProtocolVersion, suite: CipherSuite, bytes: &mut Vec<u8>) {
    bytes.push(FORMAT);
    version.encode(bytes);
    suite.encode(bytes);
}

/// Reads what a value begins with. The version must be `expected`: no session is resumed in another.
fn read_header(
    r: &mut Reader<'_>,
    expected: ProtocolVersion,
) -> Result<CipherSuite, InvalidMessage> {
    if u8::read(r)? != FORMAT || ProtocolVersion::read(r)? != expected {
        return Err(InvalidMessage::UnknownProtocolVersion);
    }
    CipherSuite::read(r)
}

impl<'a> Codec<'a> for Tls13Session<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_header(ProtocolVersion::TLSv1_3, self.suite, bytes);
        encode_bytes(bytes, LengthSize::U8, self.psk);
        self.age_add.encode(bytes);
        self.max_early_data_size.encode(bytes);
        self.facts.encode(bytes);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let session = Self {
            suite: read_header(r, ProtocolVersion::TLSv1_3)?,
            psk: r.prefixed_bytes(LengthSize::U8)?,
            age_add: u32::read(r)?,
            max_early_data_size: u32::read(r)?,
            facts: SessionFacts::read(r)?,
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

impl<'a> Codec<'a> for SessionFacts<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.issued_at.encode(bytes);
        self.authenticated_at.encode(bytes);
        bytes.extend_from_slice(&self.client_auth.0);
        encode_bytes(bytes, LengthSize::U8, self.alpn_protocol.unwrap_or(&[]));
        encode_bytes(
            bytes,
            LengthSize::U8,
            self.server_name.unwrap_or("").as_bytes(),
        );
        with_length_prefix(bytes, LengthSize::U24, |bytes| {
            for cert in &self.client_chain {
                encode_bytes(bytes, LengthSize::U24, cert);
            }
        });
        encode_bytes(bytes, LengthSize::U16, self.application_data);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            issued_at: u64::read(r)?,
            authenticated_at: u64::read(r)?,
            client_auth: ClientAuthId(r.take_array("client_auth")?),
            alpn_protocol: Some(r.prefixed_bytes(LengthSize::U8)?).filter(|it| !it.is_empty()),
            server_name: read_server_name(r)?,
            client_chain: read_chain(r)?,
            application_data: r.prefixed_bytes(LengthSize::U16)?,
        })
    }
}

fn read_server_name<'a>(r: &mut Reader<'a>) -> Result<Option<&'a str>, InvalidMessage> {
    match core::str::from_utf8(r.prefixed_bytes(LengthSize::U8)?) {
        Ok("") => Ok(None),
        Ok(name) => Ok(Some(name)),
        Err(_) => Err(InvalidMessage::InvalidServerName),
    }
}

fn read_chain<'a>(r: &mut Reader<'a>) -> Result<Vec<CertificateDer<'a>>, InvalidMessage> {
    let mut list = r.prefixed(LengthSize::U24)?;
    let mut chain = Vec::new();
    while list.any_left() {
        match list.prefixed_bytes(LengthSize::U24)? {
            [] => return Err(InvalidMessage::IllegalEmptyValue),
            cert => chain.push(CertificateDer::from(cert)),
        }
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec};

    use super::*;

    pub(super) fn facts() -> SessionFacts<'static> {
        SessionFacts {
            issued_at: 0x0102_0304_0506_0708,
            authenticated_at: 0x0102_0304_0506_0000,
            client_auth: ClientAuthId([9; 32]),
            alpn_protocol: Some(b"h2"),
            server_name: Some("example.com"),
            client_chain: vec![
                CertificateDer::from(&[2; 300][..]),
                CertificateDer::from(&[3; 2][..]),
            ],
            application_data: b"data",
        }
    }

    pub(super) fn no_facts() -> SessionFacts<'static> {
        SessionFacts {
            alpn_protocol: None,
            server_name: None,
            client_chain: vec![],
            application_data: &[],
            ..facts()
        }
    }

    pub(super) fn tls13() -> Tls13Session<'static> {
        Tls13Session {
            suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
            psk: &[0xab; 32],
            age_add: 0x090a_0b0c,
            max_early_data_size: 1000,
            facts: facts(),
        }
    }

    #[test]
    fn round_trip() {
        let empty = Tls13Session {
            psk: &[4; 48],
            max_early_data_size: 0,
            facts: no_facts(),
            ..tls13()
        };
        for value in [tls13(), empty] {
            let bytes = value.to_vec();
            assert_eq!(bytes.capacity(), bytes.len(), "it grew");
            assert_eq!(Tls13Session::read_bytes(&bytes), Ok(value));
        }
    }

    #[test]
    fn what_is_cut_or_too_long_is_refused() {
        let mut bytes = tls13().to_vec();
        for len in 0..bytes.len() {
            Tls13Session::read_bytes(&bytes[..len]).unwrap_err();
        }
        bytes.push(0);
        Tls13Session::read_bytes(&bytes).unwrap_err();
    }

    #[test]
    fn another_format_is_refused() {
        let mut bytes = tls13().to_vec();
        bytes[0] += 1;
        Tls13Session::read_bytes(&bytes).unwrap_err();
    }

    #[test]
    fn malformed_fields_are_refused() {
        let mut bytes = tls13().to_vec();
        let name = bytes
            .windows(11)
            .position(|at| at == b"example.com")
            .unwrap();
        bytes[name] = 0xff;
        assert_eq!(
            Tls13Session::read_bytes(&bytes),
            Err(InvalidMessage::InvalidServerName)
        );

        let no_psk = Tls13Session {
            psk: &[],
            ..tls13()
        };
        assert_eq!(
            Tls13Session::read_bytes(&no_psk.to_vec()),
            Err(InvalidMessage::IllegalEmptyValue)
        );

        let mut empty_cert = tls13();
        empty_cert
            .facts
            .client_chain
            .push(CertificateDer::from(&[][..]));
        assert_eq!(
            Tls13Session::read_bytes(&empty_cert.to_vec()),
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
