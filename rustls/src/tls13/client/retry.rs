//! WAIT_SH: a HelloRetryRequest (RFC 9846 §4.2.4), answered by a second ClientHello.

use super::ClientContext;
use super::key_shares::KeyShares;
use super::server_hello::{Retry, WaitServerHello, check_legacy_version};
use crate::enums::{NamedGroup, ProtocolVersion};
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::msgs::server_hello::HelloRetryRequest;
use crate::suites::Tls13CipherSuite;
use crate::tls13::transcript::Transcript;

impl WaitServerHello {
    /// Called for the first one only.
    pub(super) fn read_hello_retry_request(
        self,
        request: HelloRetryRequest<'_>,
        encoded: &[u8],
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Error> {
        let suite = self.check_retry(&request)?;
        let shares = match request.extensions.key_share {
            Some(group) => self.retry_shares(group)?,
            None => self.shares,
        };
        // RFC 9846 §5.1: the server goes on only when it has our answer
        cx.common.receiver.check_aligned()?;
        cx.common.negotiated_version = Some(ProtocolVersion::TLSv1_3);

        let mut transcript = Transcript::start(suite.common.hash_provider, &self.client_hello);
        transcript.replace_with_message_hash();
        transcript.add(encoded);

        // RFC 9846 §4.3.2: the cookie goes back as it came. One that has no room beside the other
        // extensions, which have 2^16 - 1 bytes together, cannot
        let cookie = request.extensions.cookie;
        let added = cookie.unwrap_or_default().len() + shares.len();
        if self.client_hello.len() + added > usize::from(u16::MAX) {
            return Err(InvalidMessage::MessageTooLarge.into());
        }
        let client_hello = self.offer.client_hello(&shares, cookie);
        let mut ccs = self.ccs;
        ccs.send_once(cx.common);
        cx.common.send_handshake(&client_hello);

        Ok(Self {
            offer: self.offer,
            shares,
            client_hello,
            retry: Some(Retry { suite, transcript }),
            ccs,
        })
    }

    fn check_retry(
        &self,
        request: &HelloRetryRequest<'_>,
    ) -> Result<&'static Tls13CipherSuite, Error> {
        let extensions = &request.extensions;
        // RFC 9846 §4.2.4: legacy fields as in a ServerHello, then the version; that compression is null
        // and no extension strange was found out when the message was read
        if request.legacy_session_id_echo != self.offer.session_id {
            return Err(PeerMisbehaved::IllegalHelloRetryRequestWithWrongSessionId.into());
        }
        if extensions.supported_version != Some(ProtocolVersion::TLSv1_3) {
            return Err(PeerMisbehaved::IllegalHelloRetryRequestWithUnsupportedVersion.into());
        }
        check_legacy_version(request.legacy_version)?;
        // RFC 9846 §4.3: ECH was not offered
        if extensions.encrypted_client_hello.is_some() {
            return Err(PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch.into());
        }
        // RFC 9846 §4.2.4: the second ClientHello would be the first again
        if extensions.key_share.is_none() && extensions.cookie.is_none() {
            return Err(PeerMisbehaved::IllegalHelloRetryRequestWithNoChanges.into());
        }
        // RFC 9846 §4.2.4: the suite is one of those offered
        self.offer
            .suite(request.cipher_suite)
            .map_err(|_| PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedCipherSuite.into())
    }

    /// The share that the server asks for.
    fn retry_shares(&self, group: NamedGroup) -> Result<KeyShares, Error> {
        // RFC 9846 §4.3.8: not of a group of which it has one
        if self.shares.contains(group) {
            return Err(PeerMisbehaved::IllegalHelloRetryRequestWithOfferedGroup.into());
        }
        // RFC 9846 §4.3.8: but of one that was offered
        let group = self
            .offer
            .offered_group(group)
            .ok_or(PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedNamedGroup)?;
        KeyShares::start_single(group)
    }
}
