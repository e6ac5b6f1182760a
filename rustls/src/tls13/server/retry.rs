//! HelloRetryRequest (RFC 9846 §4.2.4), and what it asks of the ClientHello that follows.
//!
//! The server keeps its state meanwhile, so it sends no cookie.

use alloc::boxed::Box;
use alloc::sync::Arc;

use pki_types::DnsName;

use super::client_hello::WaitClientHello;
use super::{ServerContext, ServerState};
use crate::conn::HandshakeKind;
use crate::crypto::SupportedKxGroup;
use crate::enums::ProtocolVersion;
use crate::error::{Error, PeerMisbehaved};
use crate::msgs::client_hello::{ClientHello, Random, SessionId};
use crate::msgs::server_hello::{HelloRetryRequest, HelloRetryRequestExtensions};
use crate::server::{ServerConfig, ServerConnectionData};
use crate::suites::Tls13CipherSuite;
use crate::tls13::flight::Flight;
use crate::tls13::transcript::Transcript;

/// What a HelloRetryRequest settled.
pub(super) struct Retry {
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) group: &'static dyn SupportedKxGroup,
    /// The first ClientHello's hash and the HelloRetryRequest.
    transcript: Transcript,
    random: Random,
    legacy_session_id: SessionId,
    offered_psk: bool,
}

impl Retry {
    /// Asks for a share of `group`, and waits for another ClientHello.
    pub(super) fn send(
        hello: &ClientHello<'_>,
        encoded: &[u8],
        suite: &'static Tls13CipherSuite,
        group: &'static dyn SupportedKxGroup,
        config: Arc<ServerConfig>,
        cx: &mut ServerContext<'_>,
    ) -> Result<ServerState, Error> {
        // RFC 9846 §4.1: the first ClientHello is replaced by its hash
        let mut transcript = Transcript::start(suite.common.hash_provider, encoded);
        transcript.replace_with_message_hash();

        let mut flight = Flight::new(&mut transcript);
        flight.add(&HelloRetryRequest {
            legacy_version: ProtocolVersion::TLSv1_2,
            legacy_session_id_echo: hello.legacy_session_id,
            cipher_suite: suite.common.suite,
            extensions: HelloRetryRequestExtensions {
                supported_version: Some(ProtocolVersion::TLSv1_3),
                key_share: Some(group.name()),
                ..HelloRetryRequestExtensions::default()
            },
        });
        flight.send(cx.common);
        // RFC 9846 §E.4: a session id asks for a change_cipher_spec after the first message
        if !hello.legacy_session_id.is_empty() {
            cx.common.send_change_cipher_spec();
        }
        cx.common.handshake_kind = Some(HandshakeKind::FullWithHelloRetryRequest);

        let retry = Box::new(Self {
            suite,
            group,
            transcript,
            random: hello.random,
            legacy_session_id: hello.legacy_session_id,
            offered_psk: hello.extensions.pre_shared_key.is_some(),
        });
        Ok(ServerState::WaitClientHello(WaitClientHello::new(
            config,
            Some(retry),
        )))
    }

    /// The transcript up to a ClientHello, the first or the one after this.
    pub(super) fn transcript(
        retry: Option<Box<Self>>,
        client_hello: &[u8],
        suite: &'static Tls13CipherSuite,
    ) -> Transcript {
        match retry {
            None => Transcript::start(suite.common.hash_provider, client_hello),
            Some(retry) => {
                let Self { mut transcript, .. } = *retry;
                transcript.add(client_hello);
                transcript
            }
        }
    }

    /// Checks that `hello` is the first one with the changes asked for. That it leads to the same cipher
    /// suite and group is checked where these are chosen.
    pub(super) fn check(
        &self,
        hello: &ClientHello<'_>,
        server_name: Option<&DnsName<'_>>,
        first: &ServerConnectionData,
    ) -> Result<(), PeerMisbehaved> {
        let extensions = &hello.extensions;
        // RFC 9846 §4.2.2: the same but for what was asked
        if server_name != first.server_name.as_ref() {
            return Err(PeerMisbehaved::ServerNameDifferedOnRetry);
        }
        if hello.random != self.random || hello.legacy_session_id != self.legacy_session_id {
            return Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest);
        }
        // RFC 9846 §4.3.10: early_data is not in the second one
        if extensions.early_data {
            return Err(PeerMisbehaved::EarlyDataAttemptedInSecondClientHello);
        }
        // RFC 9846 §4.2.2: pre_shared_key is updated, not removed
        if self.offered_psk && extensions.pre_shared_key.is_none() {
            return Err(PeerMisbehaved::MissingPskExtensionInSecondClientHello);
        }
        // RFC 9846 §4.3.8: one share, and of the group asked for
        match extensions.key_shares.as_deref() {
            Some([share]) if share.group == self.group.name() => Ok(()),
            _ => Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest),
        }
    }
}
