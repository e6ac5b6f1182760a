//! Detection of which hello the server uses (RFC 9849 §6.1.4), and the consequences.

use alloc::boxed::Box;

use pki_types::ServerName;
use rustls_core::codec::{Codec, LengthSize, Reader};
use subtle::ConstantTimeEq;

use super::{Ech, EchStatus, OuterHello, RejectedEch};
use crate::enums::{AlertDescription, ExtensionType};
use crate::error::{InvalidMessage, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::client::sent_hello::SentHello;
use crate::keys::tls13::{ech_accept_confirmation, ech_hrr_accept_confirmation};
use crate::logging::debug;
use crate::msgs::HANDSHAKE_HEADER_LEN;
use crate::msgs::client_hello::{Random, SessionId};
use crate::msgs::ech::CONFIRMATION_LEN;
use crate::suites::Tls13CipherSuite;

/// Stands for the confirmation in the transcript from which the confirmation is computed.
const NO_CONFIRMATION: &[u8] = &[0; CONFIRMATION_LEN];

/// The offset of the first byte after a ServerHello's `random`.
const RANDOM_END: usize = HANDSHAKE_HEADER_LEN + 2 + 32;

impl SentHello {
    /// Determines from `server_hello`, the encoded message, which hello the server uses. Returns
    /// the new ECH status, unless it was already known.
    ///
    /// # Errors
    ///
    /// Returns [`PeerMisbehaved::EchAcceptanceVariedAfterRetry`] if the server confirmed ECH in its
    /// HelloRetryRequest but not in its ServerHello.
    pub(crate) fn check_ech_acceptance(
        &mut self,
        suite: &'static Tls13CipherSuite,
        server_hello: &[u8],
    ) -> Result<Option<EchStatus>, PeerMisbehaved> {
        let Some(outer) = self.outer.take() else {
            return Ok(None);
        };
        let mut transcript = self.fork_transcript(suite.common.hash_provider);
        // RFC 9849 §7.2: the last 8 bytes of the random are zero. The message was decoded, so it
        // has them
        let (until, after) = server_hello.split_at(RANDOM_END);
        let (before, received) = until.split_at(RANDOM_END - CONFIRMATION_LEN);
        transcript.add(before);
        transcript.add(NO_CONFIRMATION);
        transcript.add(after);
        let expected = ech_accept_confirmation(suite, &self.offer.random.0, transcript.current());
        if bool::from(expected.ct_eq(received)) {
            debug!("the server accepts ECH");
            return Ok(Some(EchStatus::Accepted));
        }
        // RFC 9849 §6.1.5: a confirmation in a HelloRetryRequest must be repeated here
        if outer.is_confirmed {
            return Err(PeerMisbehaved::EchAcceptanceVariedAfterRetry);
        }
        self.reject_ech(*outer);
        Ok(Some(EchStatus::Rejected))
    }

    /// Determines from a HelloRetryRequest which hello the server uses. Returns the new ECH status
    /// if it is now known.
    ///
    /// `request` is the encoded message, `confirmation` the body of its `encrypted_client_hello`
    /// extension.
    ///
    /// # Errors
    ///
    /// Returns [`PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch`] if the confirmation has
    /// the wrong length, and
    /// [`Error::FailedToGetRandomBytes`](crate::Error::FailedToGetRandomBytes).
    pub(crate) fn check_ech_acceptance_in_retry(
        &mut self,
        suite: &'static Tls13CipherSuite,
        request: &[u8],
        confirmation: Option<&[u8]>,
    ) -> Result<Option<EchStatus>, Failure> {
        // RFC 9849 §6.1.4, §6.2.1: a wrong length is a decode_error, even in the reply to GREASE
        if confirmation.is_some_and(|body| body.len() != CONFIRMATION_LEN) {
            return Err(Failure::new(
                PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch,
                AlertDescription::DecodeError,
            ));
        }
        let Some(mut outer) = self.outer.take() else {
            return Ok(None);
        };
        if let Some(received) = confirmation {
            let mut transcript = self.fork_transcript(suite.common.hash_provider);
            transcript.replace_with_message_hash();
            // RFC 9849 §7.2.1: the body of the extension is replaced by zeros
            let (before, after) = around_confirmation(request)?;
            transcript.add(before);
            transcript.add(NO_CONFIRMATION);
            transcript.add(after);
            let random = &self.offer.random.0;
            let expected = ech_hrr_accept_confirmation(suite, random, transcript.current());
            if bool::from(expected.ct_eq(received)) {
                outer.is_confirmed = true;
                self.outer = Some(outer);
                return Ok(None);
            }
        }
        // RFC 9846 §4.2.2: the second ClientHello offers only PSKs whose hash fits the suite
        outer.grease_psk = outer.grease_psk.filter(|psk| psk.has_hash_of(suite));
        if let Some(psk) = &mut outer.grease_psk {
            psk.renew(&self.offer.config.provider)?;
        }
        self.reject_ech(*outer);
        Ok(Some(EchStatus::Rejected))
    }

    /// Continues with the ClientHelloOuter, as if no other hello had been sent.
    fn reject_ech(&mut self, outer: OuterHello) {
        debug!("the server rejects ECH");
        self.replace(outer.message);
        let offer = &mut self.offer;
        offer.random = outer.random;
        // RFC 9849 §6.1.7: the certificate is for the public name
        offer.server_name = ServerName::DnsName(outer.public_name);
        offer.ech = Ech::Rejected(Box::new(RejectedEch {
            extension: outer.extension,
            grease_psk: outer.grease_psk,
            retry_configs: None,
        }));
    }
}

/// Returns the bytes before and after the body of the `encrypted_client_hello` extension of a
/// HelloRetryRequest. The caller has checked that the body has the right length.
fn around_confirmation(request: &[u8]) -> Result<(&[u8], &[u8]), InvalidMessage> {
    let mut r = Reader::new(request);
    let _header = r.take(HANDSHAKE_HEADER_LEN);
    let _legacy_version = u16::read(&mut r)?;
    Random::read(&mut r)?;
    SessionId::read(&mut r)?;
    let _cipher_suite = u16::read(&mut r)?;
    let _compression = u8::read(&mut r)?;
    let mut block = r.prefixed(LengthSize::U16)?;
    while block.any_left() {
        let typ = ExtensionType::read(&mut block)?;
        let _body = block.prefixed(LengthSize::U16)?;
        if typ == ExtensionType::EncryptedClientHello {
            break;
        }
    }
    // the block ends the message
    let (until, after) = request.split_at(request.len() - block.left());
    Ok((&until[..until.len() - CONFIRMATION_LEN], after))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::enums::{CipherSuite, ProtocolVersion};
    use crate::msgs::EncodeMessage;
    use crate::msgs::server_hello::{HelloRetryRequest, HelloRetryRequestExtensions};

    /// Encodes a HelloRetryRequest whose confirmation is followed by the extensions in `behind`.
    fn request(confirmation: &[u8], behind: &[u8]) -> Vec<u8> {
        let request = HelloRetryRequest {
            legacy_version: ProtocolVersion::TLSv1_2,
            legacy_session_id_echo: SessionId::from([7; 32]),
            cipher_suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
            extensions: HelloRetryRequestExtensions {
                supported_version: Some(ProtocolVersion::TLSv1_3),
                cookie: Some(b"a cookie"),
                encrypted_client_hello: Some(confirmation),
                ..HelloRetryRequestExtensions::default()
            },
        };
        let mut message = Vec::new();
        request.encode_message(&mut message).unwrap();
        message.extend_from_slice(behind);
        // the length of the extensions follows header, version, random, session ID, suite and
        // compression
        let at = HANDSHAKE_HEADER_LEN + 2 + 32 + 33 + 2 + 1;
        let len = u16::try_from(message.len() - at - 2).unwrap();
        message[at..at + 2].copy_from_slice(&len.to_be_bytes());
        message
    }

    #[test]
    fn a_confirmation_is_found_at_any_position() {
        let confirmation = [1, 2, 3, 4, 5, 6, 7, 8];
        for behind in [&[][..], &[0, 51, 0, 2, 0, 23]] {
            let message = request(&confirmation, behind);
            let (before, after) = around_confirmation(&message).unwrap();
            assert_eq!([before, &confirmation, after].concat(), message);
            assert_eq!(after, behind);
        }
    }

    #[test]
    fn a_truncated_request_is_an_error() {
        let message = request(&[0; CONFIRMATION_LEN], &[]);
        for len in 0..message.len() {
            assert!(
                around_confirmation(&message[..len]).is_err(),
                "cut to {len}"
            );
        }
    }
}
