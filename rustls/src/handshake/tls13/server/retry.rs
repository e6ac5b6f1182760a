//! HelloRetryRequest (RFC 9846 §4.2.4), and what it requires of the second ClientHello.
//!
//! The server keeps its state in memory, so it sends no cookie.

use alloc::boxed::Box;

use pki_types::DnsName;
use rustls_core::crypto::SupportedKxGroup;

use crate::enums::ProtocolVersion;
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::ServerContext;
use crate::handshake::flight::Flight;
use crate::handshake::transcript::Transcript;
use crate::msgs::client_hello::{ClientHello, SessionId};
use crate::msgs::server_hello::{HelloRetryRequest, HelloRetryRequestExtensions};
use crate::suites::Tls13CipherSuite;

/// The state after a HelloRetryRequest. The second ClientHello must request the same name, and lead
/// to the same suite and group.
///
/// Other parameters, such as the application protocol, the certificate and the session, depend on
/// the second ClientHello alone.
pub(crate) struct Retry {
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) group: &'static dyn SupportedKxGroup,
    /// The transcript of the first ClientHello's hash and the HelloRetryRequest.
    pub(super) transcript: Transcript,
    server_name: Option<DnsName<'static>>,
    /// True if a PSK was offered whose binder is as long as the suite's hash.
    offered_usable_psk: bool,
}

/// The decision to send a HelloRetryRequest.
pub(crate) struct RetryNeeded {
    pub(super) retry: Box<Retry>,
    pub(super) legacy_session_id: SessionId,
    /// The maximum number of bytes of early data to skip. `None` if the client offers none.
    pub(super) skipped_early_data: Option<usize>,
}

impl RetryNeeded {
    /// Sends the HelloRetryRequest. Returns the state for the second ClientHello.
    pub(crate) fn send(self, cx: &mut ServerContext<'_>) -> Result<Box<Retry>, Error> {
        let Self {
            mut retry,
            legacy_session_id,
            skipped_early_data,
        } = self;
        // RFC 9846 §4.3.10: early data that is not accepted is skipped
        cx.transport.skip_early_data(skipped_early_data);
        let mut flight = Flight::new(&mut retry.transcript);
        flight.add(&HelloRetryRequest {
            legacy_version: ProtocolVersion::TLSv1_2,
            legacy_session_id_echo: legacy_session_id,
            cipher_suite: retry.suite.common.suite,
            extensions: HelloRetryRequestExtensions {
                supported_version: Some(ProtocolVersion::TLSv1_3),
                key_share: Some(retry.group.name()),
                ..HelloRetryRequestExtensions::default()
            },
        });
        flight.send(cx.transport)?;
        // RFC 9846 §E.4: a client that sent a session ID expects a change_cipher_spec after the
        // server's first message
        if !legacy_session_id.is_empty() {
            cx.transport.send_change_cipher_spec();
        }
        Ok(retry)
    }
}

impl Retry {
    /// Creates the state for a HelloRetryRequest that asks for a share for `group`. `encoded` is
    /// the first ClientHello.
    pub(super) fn new(
        hello: &ClientHello<'_>,
        encoded: &[u8],
        suite: &'static Tls13CipherSuite,
        group: &'static dyn SupportedKxGroup,
        server_name: Option<DnsName<'static>>,
    ) -> Box<Self> {
        // RFC 9846 §4.1: the first ClientHello is replaced by its hash
        let mut transcript = Transcript::start(suite.common.hash_provider, encoded);
        transcript.replace_with_message_hash();
        Box::new(Self {
            suite,
            group,
            transcript,
            server_name,
            offered_usable_psk: offers_psk_of_hash(hello, suite),
        })
    }

    /// Checks the name that the second ClientHello requests.
    pub(crate) fn check_server_name(
        &self,
        server_name: Option<&DnsName<'_>>,
    ) -> Result<(), PeerMisbehaved> {
        // RFC 9846 §4.2.2: the client may only change what the server asked it to change
        match server_name == self.server_name.as_ref() {
            true => Ok(()),
            false => Err(PeerMisbehaved::ServerNameDifferedOnRetry),
        }
    }
}

/// Checks that `hello` obeys the HelloRetryRequest. Its suite and group were checked when they were
/// selected.
///
/// RFC 9846 §4.2.2 requires that the rest of the ClientHello stays the same. Some clients choose a
/// new random, or list only the requested group. Only the parameters in [`Retry`] depend on the
/// first ClientHello, and both ClientHellos are in the transcript, so other changes are accepted.
pub(super) fn check_second_hello(
    hello: &ClientHello<'_>,
    retry: &Retry,
) -> Result<(), PeerMisbehaved> {
    let extensions = &hello.extensions;
    // RFC 9846 §4.3.10: early_data is forbidden in the second ClientHello
    if extensions.early_data {
        return Err(PeerMisbehaved::EarlyDataAttemptedInSecondClientHello);
    }
    // RFC 9846 §4.2.2: pre_shared_key is updated, and only PSKs with a different hash may be
    // removed
    if retry.offered_usable_psk && extensions.pre_shared_key.is_none() {
        return Err(PeerMisbehaved::MissingPskExtensionInSecondClientHello);
    }
    // RFC 9846 §4.3.8: the share must be for the requested group. §4.2.4: a second
    // HelloRetryRequest is not allowed
    let shares = extensions.key_shares.as_deref().unwrap_or(&[]);
    if !shares.iter().any(|share| share.group == retry.group.name()) {
        return Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest);
    }
    Ok(())
}

fn offers_psk_of_hash(hello: &ClientHello<'_>, suite: &Tls13CipherSuite) -> bool {
    let hash_len = suite.common.hash_provider.output_len();
    let offered = hello.extensions.pre_shared_key.as_ref();
    offered.is_some_and(|it| it.binders.iter().any(|binder| binder.0.len() == hash_len))
}
