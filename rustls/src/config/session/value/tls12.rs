//! A TLS 1.2 session on the server; [`super`] describes its encoding.

use alloc::vec::Vec;
use core::fmt;

use rustls_core::codec::{Codec, Reader};

use super::{SessionFacts, SessionValue};
use crate::certificates::PeerChain;
use crate::enums::{CipherSuite, ProtocolVersion};
use crate::error::InvalidMessage;
use crate::keys::tls12::MASTER_SECRET_LEN;

/// A TLS 1.2 session that may be resumed.
#[derive(PartialEq, Eq)]
pub(crate) struct Tls12Session<'a> {
    pub(crate) suite: CipherSuite,
    pub(crate) master_secret: &'a [u8; MASTER_SECRET_LEN],
    /// True if the session uses the extended master secret. A resumption must do the same (RFC 7627
    /// §5.3).
    pub(crate) extended_master_secret: bool,
    pub(crate) facts: SessionFacts<'a>,
}

impl<'a> SessionValue<'a> for Tls12Session<'a> {
    const VERSION: ProtocolVersion = ProtocolVersion::TLSv1_2;

    fn suite(&self) -> CipherSuite {
        self.suite
    }

    fn facts(&self) -> &SessionFacts<'a> {
        &self.facts
    }

    fn own_len(&self) -> usize {
        MASTER_SECRET_LEN + 1
    }

    fn encode_own(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.master_secret);
        bytes.push(self.extended_master_secret.into());
    }

    fn read_rest(
        suite: CipherSuite,
        r: &mut Reader<'a>,
        shared_chain: Option<&'a PeerChain>,
    ) -> Result<Self, InvalidMessage> {
        Ok(Self {
            suite,
            master_secret: read_master_secret(r)?,
            extended_master_secret: match u8::read(r)? {
                0 => false,
                1 => true,
                _ => return Err(InvalidMessage::TrailingData("boolean")),
            },
            facts: SessionFacts::read(r, shared_chain)?,
        })
    }
}

fn read_master_secret<'a>(
    r: &mut Reader<'a>,
) -> Result<&'a [u8; MASTER_SECRET_LEN], InvalidMessage> {
    r.take(MASTER_SECRET_LEN)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or(InvalidMessage::MissingData("master_secret"))
}

impl fmt::Debug for Tls12Session<'_> {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls12Session")
            .field("suite", &self.suite)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::super::tests::{facts, no_facts, tls13, to_vec};
    use super::super::{HEADER_LEN, Tls13Session};
    use super::*;

    fn tls12() -> Tls12Session<'static> {
        Tls12Session {
            suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            master_secret: &[0xab; 48],
            extended_master_secret: true,
            facts: facts(),
        }
    }

    #[test]
    fn a_session_round_trips() {
        let empty = Tls12Session {
            extended_master_secret: false,
            facts: no_facts(),
            ..tls12()
        };
        for value in [tls12(), empty] {
            let bytes = to_vec(&value);
            assert_eq!(Tls12Session::read(&bytes.into()), Ok(value));
        }
    }

    #[test]
    fn truncated_and_overlong_values_are_rejected() {
        let mut bytes = to_vec(&tls12());
        for len in 0..bytes.len() {
            Tls12Session::read(&bytes[..len].to_vec().into()).unwrap_err();
        }
        bytes.push(0);
        Tls12Session::read(&bytes.into()).unwrap_err();
    }

    #[test]
    fn a_session_of_another_version_is_rejected() {
        assert_eq!(
            Tls13Session::read(&to_vec(&tls12()).into()),
            Err(InvalidMessage::UnknownProtocolVersion)
        );
        assert_eq!(
            Tls12Session::read(&to_vec(&tls13()).into()),
            Err(InvalidMessage::UnknownProtocolVersion)
        );
    }

    #[test]
    fn a_boolean_must_be_0_or_1() {
        let mut bytes = to_vec(&tls12());
        bytes[HEADER_LEN + MASTER_SECRET_LEN] = 2;
        Tls12Session::read(&bytes.into()).unwrap_err();
    }

    #[test]
    fn debug_does_not_print_secrets() {
        // the secret consists of 0xab = 171
        let text = format!("{:?}", tls12());
        assert!(text.contains("example.com"), "{text}");
        assert!(!text.contains("171") && !text.contains("ab, "), "{text}");
    }
}
