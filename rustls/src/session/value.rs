//! What a server must know of a session to resume it, as bytes: the content of a sealed ticket, or of the
//! session storage.
//!
//! Only this library reads them. Where they are kept is the handshakes' business.

use alloc::vec::Vec;

use pki_types::CertificateDer;
use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes, with_length_prefix};

use crate::enums::{CipherSuite, ProtocolVersion};
use crate::error::InvalidMessage;

/// A session that may be resumed.
///
/// ```text
///   struct {
///       ProtocolVersion version;              /* 0x0304 */
///       CipherSuite cipher_suite;
///       opaque psk<1..2^8-1>;
///       uint64 issued_at;                     /* seconds since 1970 */
///       uint32 ticket_age_add;
///       opaque alpn_protocol<0..2^8-1>;       /* empty if none was agreed on */
///       opaque server_name<0..2^8-1>;         /* empty if none was sent */
///       opaque client_chain<0..2^24-1>;       /* certificates, each as opaque<1..2^24-1> */
///       opaque application_data<0..2^16-1>;
///   } SessionValue;
/// ```
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionValue<'a> {
    pub(crate) suite: CipherSuite,
    /// RFC 9846 §4.7.1: derived from the resumption secret and the ticket's nonce.
    pub(crate) psk: &'a [u8],
    /// In seconds since 1970.
    pub(crate) issued_at: u64,
    /// `ticket_age_add`.
    pub(crate) age_add: u32,
    pub(crate) alpn_protocol: Option<&'a [u8]>,
    pub(crate) server_name: Option<&'a str>,
    /// The certificates that the client authenticated with; empty if it did not.
    pub(crate) client_chain: Vec<CertificateDer<'a>>,
    /// What the application has the ticket say.
    pub(crate) application_data: &'a [u8],
}

impl<'a> SessionValue<'a> {
    /// The certificates, without copying them.
    pub(crate) fn borrow_chain(chain: Option<&'a [CertificateDer<'_>]>) -> Vec<CertificateDer<'a>> {
        chain
            .unwrap_or(&[])
            .iter()
            .map(|cert| CertificateDer::from(cert.as_ref()))
            .collect()
    }

    /// The encoding, in a vector that never grew: no copy of the PSK is left in freed memory.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let chain: usize = self.client_chain.iter().map(|cert| 3 + cert.len()).sum();
        let len = 2
            + 2
            + (1 + self.psk.len())
            + 8
            + 4
            + (1 + self.alpn_protocol.unwrap_or(&[]).len())
            + (1 + self.server_name.unwrap_or("").len())
            + (3 + chain)
            + (2 + self.application_data.len());
        let mut bytes = Vec::with_capacity(len);
        self.encode(&mut bytes);
        debug_assert_eq!(bytes.len(), len);
        bytes
    }
}

impl<'a> Codec<'a> for SessionValue<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        ProtocolVersion::TLSv1_3.encode(bytes);
        self.suite.encode(bytes);
        encode_bytes(bytes, LengthSize::U8, self.psk);
        self.issued_at.encode(bytes);
        self.age_add.encode(bytes);
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
        if ProtocolVersion::read(r)? != ProtocolVersion::TLSv1_3 {
            return Err(InvalidMessage::UnknownProtocolVersion);
        }
        Ok(Self {
            suite: CipherSuite::read(r)?,
            psk: r.prefixed_bytes(LengthSize::U8)?,
            issued_at: u64::read(r)?,
            age_add: u32::read(r)?,
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
        chain.push(CertificateDer::from(list.prefixed_bytes(LengthSize::U24)?));
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn full() -> SessionValue<'static> {
        SessionValue {
            suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
            psk: &[1; 32],
            issued_at: 0x0102_0304_0506_0708,
            age_add: 0x090a_0b0c,
            alpn_protocol: Some(b"h2"),
            server_name: Some("example.com"),
            client_chain: vec![
                CertificateDer::from(&[2; 300][..]),
                CertificateDer::from(&[3; 2][..]),
            ],
            application_data: b"data",
        }
    }

    #[test]
    fn round_trip() {
        let empty = SessionValue {
            psk: &[4; 48],
            alpn_protocol: None,
            server_name: None,
            client_chain: vec![],
            application_data: &[],
            ..full()
        };
        for value in [full(), empty] {
            let bytes = value.to_vec();
            assert_eq!(SessionValue::read_bytes(&bytes), Ok(value));
        }
    }

    #[test]
    fn to_vec_never_grows() {
        let bytes = full().to_vec();
        assert_eq!(bytes.capacity(), bytes.len());
    }

    #[test]
    fn every_cut_is_refused() {
        let bytes = full().to_vec();
        for len in 0..bytes.len() {
            assert!(
                SessionValue::read_bytes(&bytes[..len]).is_err(),
                "cut to {len}"
            );
        }
    }

    #[test]
    fn other_versions_and_names_that_are_no_text_are_refused() {
        let mut bytes = full().to_vec();
        bytes[1] = 0x03;
        assert_eq!(
            SessionValue::read_bytes(&bytes),
            Err(InvalidMessage::UnknownProtocolVersion)
        );

        let mut bytes = full().to_vec();
        let name = bytes
            .windows(11)
            .position(|at| at == b"example.com")
            .unwrap();
        bytes[name] = 0xff;
        assert_eq!(
            SessionValue::read_bytes(&bytes),
            Err(InvalidMessage::InvalidServerName)
        );
    }
}
