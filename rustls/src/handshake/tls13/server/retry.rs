//! HelloRetryRequest (RFC 9846 §4.2.4), and its requirements on the second ClientHello.
//!
//! The server keeps its state in memory, so it sends no cookie.

use alloc::vec::Vec;

use pki_types::DnsName;
use rustls_core::codec::Codec;
use rustls_core::crypto::{SupportedKxGroup, hash};

use crate::enums::ProtocolVersion;
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::flight::Flight;
use crate::handshake::transcript::Transcript;
use crate::handshake::transport::Transport;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::server_hello::{HelloRetryRequest, HelloRetryRequestExtensions};
use crate::suites::Tls13CipherSuite;

/// The parameters in a HelloRetryRequest, and the values that the second ClientHello must repeat.
pub(crate) struct Retry {
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) group: &'static dyn SupportedKxGroup,
    /// The transcript of the first ClientHello's hash and the HelloRetryRequest. The second
    /// ClientHello takes it.
    pub(super) transcript: Option<Transcript>,
    /// The digest of the fields that the second ClientHello must repeat.
    repeated: hash::Output,
    server_name: Option<DnsName<'static>>,
    /// True if a PSK was offered whose binder is as long as the suite's hash.
    offered_usable_psk: bool,
}

/// Sends a HelloRetryRequest for a share of `group`.
pub(super) fn send_hello_retry_request(
    hello: &ClientHello<'_>,
    encoded: &[u8],
    server_name: Option<DnsName<'static>>,
    suite: &'static Tls13CipherSuite,
    group: &'static dyn SupportedKxGroup,
    transport: &mut dyn Transport,
) -> Result<Retry, Error> {
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
    flight.send(transport)?;
    // RFC 9846 §E.4: a client with a session id expects one after the server's first message
    if !hello.legacy_session_id.is_empty() {
        transport.send_change_cipher_spec();
    }
    Ok(Retry {
        suite,
        group,
        transcript: Some(transcript),
        repeated: digest_of_repeated(hello, suite),
        server_name,
        offered_usable_psk: offers_psk_of_hash(hello, suite),
    })
}

/// Checks that `hello` follows the HelloRetryRequest. [`check_repeated`] checks the other fields
/// later, because a changed suite or group has a more specific error.
pub(super) fn check_second_hello(
    hello: &ClientHello<'_>,
    server_name: Option<&DnsName<'_>>,
    retry: &Retry,
) -> Result<(), PeerMisbehaved> {
    let extensions = &hello.extensions;
    // RFC 9846 §4.2.2: unchanged except where requested
    if server_name != retry.server_name.as_ref() {
        return Err(PeerMisbehaved::ServerNameDifferedOnRetry);
    }
    // RFC 9846 §4.3.10: early_data is forbidden in the second ClientHello
    if extensions.early_data {
        return Err(PeerMisbehaved::EarlyDataAttemptedInSecondClientHello);
    }
    // RFC 9846 §4.2.2: pre_shared_key is updated, and only PSKs with another hash may be removed
    if retry.offered_usable_psk && extensions.pre_shared_key.is_none() {
        return Err(PeerMisbehaved::MissingPskExtensionInSecondClientHello);
    }
    // RFC 9846 §4.3.8: exactly one share, for the requested group
    match extensions.key_shares.as_deref() {
        Some([share]) if share.group == retry.group.name() => Ok(()),
        _ => Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest),
    }
}

/// Checks that `hello` repeats the first ClientHello, except for what may change.
pub(super) fn check_repeated(hello: &ClientHello<'_>, retry: &Retry) -> Result<(), PeerMisbehaved> {
    // RFC 9846 §4.2.2: the same ClientHello without modification
    if digest_of_repeated(hello, retry.suite).as_ref() == retry.repeated.as_ref() {
        Ok(())
    } else {
        Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest)
    }
}

/// Hashes all fields and known extensions except those that a HelloRetryRequest changes. Ignores
/// unknown extensions, `padding`, and the order of extensions, because they do not affect the
/// negotiation.
fn digest_of_repeated(hello: &ClientHello<'_>, suite: &Tls13CipherSuite) -> hash::Output {
    let mut repeated = hello.clone();
    let extensions = &mut repeated.extensions;
    extensions.key_shares = None;
    extensions.early_data = false;
    extensions.cookie = None;
    extensions.pre_shared_key = None;
    // RFC 9849 §6.1.5: the client encrypts a new inner hello
    extensions.encrypted_client_hello = None;
    let mut bytes = Vec::new();
    repeated.encode(&mut bytes);
    suite.common.hash_provider.hash(&bytes)
}

fn offers_psk_of_hash(hello: &ClientHello<'_>, suite: &Tls13CipherSuite) -> bool {
    let hash_len = suite.common.hash_provider.output_len();
    let offered = hello.extensions.pre_shared_key.as_ref();
    offered.is_some_and(|it| it.binders.iter().any(|binder| binder.0.len() == hash_len))
}
