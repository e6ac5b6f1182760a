//! Handles a ClientHello, and chooses the protocol version.
//!
//! ```text
//!   choose_version ──► resolve ──► negotiate ──► send_flight, or a HelloRetryRequest
//!   checks             call the application
//! ```
//!
//! A server negotiates on the stack, with the ClientHello that was received. If a call is pending,
//! or a later one may be, it copies the message into an operation instead.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::pin::pin;

use pki_types::DnsName;

use super::ServerHandshake;
use crate::callbacks::{AsyncCalls, Callbacks, Called, SyncCalls, run_sync};
use crate::config::server::ServerConfig;
use crate::config::settings::ServerSettings;
use crate::config::sign::CertifiedKey;
use crate::enums::{AlertDescription, Compression, ProtocolVersion};
use crate::error::PeerIncompatible;
#[cfg(feature = "tls12")]
use crate::error::PeerMisbehaved;
use crate::failure::Failure;
use crate::handshake::machine::Version;
use crate::handshake::negotiated::Negotiated;
#[cfg(feature = "tls12")]
use crate::handshake::raw_public_key::check_tls12_config;
use crate::handshake::server::certificate::server_name;
use crate::handshake::server::held_hello::{HeldHello, ReceivedHello};
#[cfg(feature = "tls12")]
use crate::handshake::tls12;
use crate::handshake::tls13::server::retry::Retry;
use crate::handshake::transport::Transport;
use crate::handshake::wait::{Call, CurrentCall, Wait};
use crate::handshake::{ServerContext, operation, tls13};
use crate::msgs::client_hello::ClientHello;
use crate::msgs::transport_parameters::TransportParameters;

/// Waits for a ClientHello: the first one, or the one after a HelloRetryRequest.
pub(crate) struct WaitClientHello {
    config: Arc<ServerConfig>,
    /// The state after a HelloRetryRequest, if one was sent.
    retry: Option<Box<Retry>>,
}

/// The decision on a ClientHello. Nothing has been sent yet.
#[allow(clippy::large_enum_variant)] // destructured immediately: a box would only allocate
enum VersionDecision<'a> {
    Tls13(tls13::server::negotiation::Decision<'a>),
    #[cfg(feature = "tls12")]
    Tls12(tls12::server::negotiation::Decision),
}

impl WaitClientHello {
    pub(super) fn first(config: Arc<ServerConfig>) -> Self {
        Self {
            config,
            retry: None,
        }
    }

    /// Handles the ClientHello.
    pub(super) fn read_client_hello(
        self,
        hello: &ClientHello<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<ServerHandshake, Failure> {
        let Self { config, retry } = self;
        // a HelloRetryRequest does not depend on the verifier, so the current one is looked up for
        // each hello
        let config = ServerSettings::now(config, cx.transport.carrier())?;
        let version = choose_version(hello, &config, retry.as_deref(), cx)?;
        let server_name = cx.data.server_name.as_ref();
        let called = resolve(version, hello, server_name, &config, cx.callbacks)?;
        let may_wait = || offers_session(version, hello) && lookups_may_wait(&config);
        let resolved = match called {
            Called::Returned(resolved) if cx.callbacks.of(may_wait) == Callbacks::Sync => resolved,
            called => return negotiate_async(version, encoded, called, config, retry, cx),
        };
        let hello = HeldHello::borrowed(hello, encoded);
        let mut received = ReceivedHello::new(hello, server_name, &config, SyncCalls);
        let negotiated = &mut *cx.negotiated;
        // a decision is large, so it is not moved into the enum for both versions
        match version {
            Version::Tls13 => {
                use tls13::server::negotiation::negotiate;

                let deciding = negotiate(&mut received, resolved, retry, negotiated);
                let decision = run_sync(pin!(deciding))?;
                if let Some(parameters) = received.parameters() {
                    set_peer_parameters(parameters, cx.transport)?;
                }
                apply_tls13(decision?, config, cx)
            }
            #[cfg(feature = "tls12")]
            Version::Tls12 => {
                use tls12::server::negotiation::negotiate;

                let deciding = negotiate(&mut received, resolved, negotiated);
                let decision = run_sync(pin!(deciding))??;
                decision.send_flight(config, cx).map(ServerHandshake::Tls12)
            }
        }
    }
}

/// Runs the first checks, and chooses the version.
fn choose_version(
    hello: &ClientHello<'_>,
    config: &ServerSettings,
    retry: Option<&Retry>,
    cx: &mut ServerContext<'_>,
) -> Result<Version, Failure> {
    check_compression(hello)?;
    let server_name = server_name(&hello.extensions)?;
    if let Some(retry) = retry {
        retry.check_server_name(server_name.as_ref())?;
    }
    cx.data.server_name = server_name;
    check_signature_algorithms(hello)?;
    let version = select_version(hello, config)?;
    match version {
        ProtocolVersion::TLSv1_3 => {
            // RFC 9846 §5.1: nothing may follow in the same record, because the server then changes
            // keys or waits for another flight
            cx.transport.check_aligned()?;
            cx.negotiated.version = Some(version);
            Ok(Version::Tls13)
        }
        // RFC 9846 §4.2.2: a second ClientHello must not drop TLS 1.3
        #[cfg(feature = "tls12")]
        ProtocolVersion::TLSv1_2 if retry.is_some() => {
            Err(PeerMisbehaved::RefusedToFollowHelloRetryRequest.into())
        }
        #[cfg(feature = "tls12")]
        ProtocolVersion::TLSv1_2 => {
            cx.negotiated.version = Some(version);
            check_tls12_config(config)?;
            cx.transport
                .set_peer_parameters(&hello.extensions.transport_parameters)?;
            Ok(Version::Tls12)
        }
        // no other version can be enabled
        _ => Err(PeerIncompatible::Tls12NotOfferedOrEnabled.into()),
    }
}

/// Runs the first checks of the version, and calls the resolver to choose a certificate.
fn resolve(
    version: Version,
    hello: &ClientHello<'_>,
    server_name: Option<&DnsName<'_>>,
    config: &ServerSettings,
    callbacks: Callbacks,
) -> Result<Called<Option<Arc<CertifiedKey>>>, Failure> {
    match version {
        Version::Tls13 => {
            tls13::server::negotiation::resolve(hello, server_name, config, callbacks)
        }
        #[cfg(feature = "tls12")]
        Version::Tls12 => {
            tls12::server::negotiation::resolve(hello, server_name, config, callbacks)
        }
    }
}

/// True if the client may offer a session. Otherwise, the negotiation waits for no callback but the
/// resolver.
fn offers_session(version: Version, hello: &ClientHello<'_>) -> bool {
    match version {
        Version::Tls13 => hello.extensions.pre_shared_key.is_some(),
        #[cfg(feature = "tls12")]
        Version::Tls12 => tls12::server::negotiation::offers_session(hello),
    }
}

/// True if a call that looks up a session, or verifies the client of a session, may be pending.
/// This must check every callback that `find_session` of either version can reach. Otherwise, the
/// callback's synchronous method may be called on a connection that could wait.
fn lookups_may_wait(config: &ServerSettings) -> bool {
    config.ticketer.may_wait() || config.session_storage.may_wait() || config.verifier().may_wait()
}

/// Calls [`negotiate`] in an operation that owns the ClientHello. `called` is the result of the
/// resolver, or the future for it.
fn negotiate_async(
    version: Version,
    encoded: &[u8],
    called: Called<Option<Arc<CertifiedKey>>>,
    config: ServerSettings,
    retry: Option<Box<Retry>>,
    cx: &mut ServerContext<'_>,
) -> Result<ServerHandshake, Failure> {
    let encoded = encoded.to_vec();
    let server_name: Option<DnsName<'static>> = cx.data.server_name.clone();
    let mut negotiated = cx.negotiated.clone();
    let first = Call::Certificate;
    let current_call = CurrentCall::new(first);
    let calls = current_call.clone();
    let negotiating = async move {
        let hello = HeldHello::held(&encoded, &calls);
        let mut received = ReceivedHello::new(hello, server_name.as_ref(), &config, AsyncCalls);
        let resolving = pin!(called.result());
        let resolved = received.hello.wait(Call::Certificate, resolving).await;
        let decision = negotiate(version, &mut received, resolved, retry, &mut negotiated)
            .await
            .map(VersionDecision::into_owned);
        let parameters = received.parameters().map(<[u8]>::to_vec);
        Ok(move |cx: &mut ServerContext<'_>| {
            *cx.negotiated = negotiated;
            if matches!(version, Version::Tls13) {
                // QUIC may have delivered more while a call was pending
                cx.transport.check_aligned()?;
            }
            if let Some(parameters) = parameters {
                set_peer_parameters(&parameters, cx.transport)?;
            }
            decision?.apply(config, cx)
        })
    };
    let wait = Wait::before_finished(first);
    operation::run(wait, current_call, negotiating, cx)
}

/// Stores the client's transport parameters, which have been checked.
fn set_peer_parameters(parameters: &[u8], transport: &mut dyn Transport) -> Result<(), Failure> {
    let carrier = transport.carrier();
    let Some(typ) = carrier.parameters_extension() else {
        return Ok(());
    };
    let parameters = TransportParameters::new(typ, parameters);
    transport.set_peer_parameters(&parameters)
}

/// Decides how to reply to a ClientHello. Calls the application. Changes nothing in the connection
/// except the properties that its accessors and its observer report.
///
/// `retry` is the state of an earlier HelloRetryRequest.
async fn negotiate<'a>(
    version: Version,
    received: &mut ReceivedHello<'_, 'a, AsyncCalls>,
    resolved: Option<Arc<CertifiedKey>>,
    retry: Option<Box<Retry>>,
    negotiated: &mut Negotiated,
) -> Result<VersionDecision<'a>, Failure> {
    match version {
        Version::Tls13 => {
            tls13::server::negotiation::negotiate(received, resolved, retry, negotiated)
                .await
                .map(VersionDecision::Tls13)
        }
        #[cfg(feature = "tls12")]
        Version::Tls12 => tls12::server::negotiation::negotiate(received, resolved, negotiated)
            .await
            .map(VersionDecision::Tls12),
    }
}

impl VersionDecision<'_> {
    /// Copies what the decision borrows from the ClientHello.
    fn into_owned(self) -> VersionDecision<'static> {
        match self {
            Self::Tls13(decision) => VersionDecision::Tls13(decision.into_owned()),
            #[cfg(feature = "tls12")]
            Self::Tls12(decision) => VersionDecision::Tls12(decision),
        }
    }

    /// Sends the reply. If a callback is pending, the rest is sent when it is done.
    fn apply(
        self,
        config: ServerSettings,
        cx: &mut ServerContext<'_>,
    ) -> Result<ServerHandshake, Failure> {
        match self {
            Self::Tls13(decision) => apply_tls13(decision, config, cx),
            #[cfg(feature = "tls12")]
            Self::Tls12(decision) => decision.send_flight(config, cx).map(ServerHandshake::Tls12),
        }
    }
}

/// Sends the TLS 1.3 reply. If a callback is pending, the rest is sent when it is done.
fn apply_tls13(
    decision: tls13::server::negotiation::Decision<'_>,
    config: ServerSettings,
    cx: &mut ServerContext<'_>,
) -> Result<ServerHandshake, Failure> {
    use tls13::server::negotiation::Decision::{Agreed, Retry};

    match decision {
        Agreed(agreed) => agreed.send_flight(config, cx).map(ServerHandshake::Tls13),
        Retry(needed) => Ok(ServerHandshake::Hello(WaitClientHello {
            retry: Some(needed.send(cx)?),
            config: config.into_config(),
        })),
    }
}

/// Runs the checks that do not depend on the version. Returns the server name.
#[cfg(feature = "std")]
pub(super) fn check_any_version(
    hello: &ClientHello<'_>,
) -> Result<Option<DnsName<'static>>, Failure> {
    check_compression(hello)?;
    let server_name = server_name(&hello.extensions)?;
    check_signature_algorithms(hello)?;
    Ok(server_name)
}

fn check_compression(hello: &ClientHello<'_>) -> Result<(), PeerIncompatible> {
    // RFC 9846 §4.2.2, RFC 5246 §7.4.1.2: the null method is mandatory, and no other is supported
    match hello.compression_methods.contains(&Compression::Null) {
        true => Ok(()),
        false => Err(PeerIncompatible::NullCompressionRequired),
    }
}

/// Checks that there is a signature_algorithms extension, before the version is chosen. Clients
/// older than TLS 1.2 do not send it, so their error names the extension rather than the version,
/// as in rustls 0.23.
fn check_signature_algorithms(hello: &ClientHello<'_>) -> Result<(), Failure> {
    let extensions = &hello.extensions;
    if extensions.signature_algorithms.is_some() {
        return Ok(());
    }
    let versions = extensions.supported_versions.as_deref().unwrap_or(&[]);
    let error = PeerIncompatible::SignatureAlgorithmsExtensionRequired;
    Err(if versions.contains(&ProtocolVersion::TLSv1_3) {
        // RFC 9846 §9.2: missing_extension
        error.into()
    } else {
        // RFC 5246 §7.4.1.4.1: without the extension, the client only supports SHA-1, which is not
        // used here. TLS 1.2 and older do not have the alert missing_extension
        Failure::new(error, AlertDescription::HandshakeFailure)
    })
}

/// Chooses the newest version that client and server support.
fn select_version(
    hello: &ClientHello<'_>,
    config: &ServerSettings,
) -> Result<ProtocolVersion, PeerIncompatible> {
    // RFC 9846 §4.3.1: if supported_versions is present, only its known values matter
    if let Some(offered) = &hello.extensions.supported_versions {
        return config
            .versions
            .iter()
            .find(|version| offered.contains(version))
            .ok_or(PeerIncompatible::Tls12NotOfferedOrEnabled);
    }
    // RFC 9846 §4.3.1: without it, at most TLS 1.2. Older versions are rejected with
    // protocol_version
    match u16::from(hello.legacy_version) {
        0x0303.. if config.versions.contains(ProtocolVersion::TLSv1_2) => {
            Ok(ProtocolVersion::TLSv1_2)
        }
        0x0303.. => Err(config.carrier.missing_tls13()),
        _ => Err(PeerIncompatible::Tls12NotOffered),
    }
}
