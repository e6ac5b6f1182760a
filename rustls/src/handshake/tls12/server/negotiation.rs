//! The negotiation of TLS 1.2, up to the decision between a full and an abbreviated handshake.
//! Negotiation sends nothing. It changes nothing in the connection except the properties that its
//! accessors and its observer report.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{DnsName, UnixTime};

use super::State;
use super::abbreviated::resume;
use super::finished::WaitChangeCipherSpec;
use super::full::send_flight;
use super::handshake::Handshake;
use super::hello::{HelloFacts, Kind};
use super::hello_checks::{check_hello, check_point_formats};
use super::parameters::{Parameters, Selection, usable_schemes};
use super::resumption::{ResumedSession, SessionReference, find_session};
use crate::callbacks::{CallMode, Callbacks, Called};
use crate::config::handshake_kind::HandshakeKind;
use crate::config::observer::handshake::SessionSource;
use crate::config::server::ServerConfig;
use crate::config::session::server_auth::{ServerAuth, ServerAuthId};
use crate::config::settings::ServerSettings;
use crate::config::sign::CertifiedKey;
use crate::enums::{ProtocolVersion, SignatureScheme};
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::negotiated::Negotiated;
use crate::handshake::server::certificate::{require_certificate, resolve_certificate};
use crate::handshake::server::held_hello::ReceivedHello;
use crate::handshake::transcript::Transcript;
use crate::keys::tls12::{MasterSecret, Randoms};
use crate::logging::debug;
use crate::msgs::client_hello::{ClientHello, Random, SessionId};
use crate::suites::SupportedCipherSuite;

/// The decision on a ClientHello.
pub(crate) struct Decision {
    facts: HelloFacts,
    parameters: Parameters,
    form: HandshakeForm,
    /// The current time; `None` if the clock failed.
    now: Option<UnixTime>,
    server_auth: ServerAuthId,
    /// The transcript of the ClientHello.
    transcript: Transcript,
}

/// The form of the handshake (RFC 5246 §7.3).
enum HandshakeForm {
    /// The server signs with one of these schemes.
    Full(Vec<SignatureScheme>),
    Abbreviated(ResumedSession),
}

/// Runs the checks that come before the choice of a certificate, and calls the resolver to choose
/// one.
pub(crate) fn resolve(
    hello: &ClientHello<'_>,
    server_name: Option<&DnsName<'_>>,
    config: &ServerSettings,
    callbacks: Callbacks,
) -> Result<Called<Option<Arc<CertifiedKey>>>, Failure> {
    check_hello(hello, config)?;
    let schemes = usable_schemes(hello, config);
    Ok(resolve_certificate(
        hello,
        Some(&schemes),
        server_name,
        config,
        callbacks,
    ))
}

/// True if `hello` contains a ticket or a session ID.
pub(crate) fn offers_session(hello: &ClientHello<'_>) -> bool {
    !matches!(SessionReference::of(hello), SessionReference::None)
}

/// Checks the ClientHello and negotiates parameters. `resolved` is the result of the resolver.
/// Calls the application in the same order as rustls 0.23.
pub(crate) async fn negotiate<M: CallMode>(
    received: &mut ReceivedHello<'_, '_, M>,
    resolved: Option<Arc<CertifiedKey>>,
    negotiated: &mut Negotiated,
) -> Result<Decision, Failure> {
    let certified_key = require_certificate(resolved)?;
    let config = received.config;
    let hello = received.hello.get()?;
    let selection = Selection::new(hello, &certified_key, config)?;
    debug!("cipher suite {:?}", selection.suite.common.suite);
    negotiated.suite = Some(SupportedCipherSuite::Tls12(selection.suite));
    check_point_formats(&hello.extensions)?;
    let parameters =
        Parameters::new(hello, selection, certified_key, config).inspect_err(|_| {
            // rustls 0.23 rejects these in the middle of a full handshake
            negotiated.handshake_kind = Some(HandshakeKind::Full);
        })?;
    if let Some(protocol) = &parameters.alpn_protocol {
        debug!("application protocol {}", protocol.escape_ascii());
    }
    let facts = HelloFacts::of(hello);
    let offered = SessionReference::of(hello);

    let now = config.current_time().ok();
    let server = ServerAuth::new(&parameters.certified_key, config);
    let server_auth = server.id;
    let found = match offered {
        SessionReference::None => None,
        _ => {
            let is_ticket = matches!(offered, SessionReference::Ticket(_));
            let suite = parameters.suite;
            match find_session(received, offered, &facts, suite, &server, now).await? {
                Ok(session) => Some(session),
                Err(reason) => {
                    debug!("a session is not resumed: {reason}");
                    negotiated.facts.not_resumed = Some(reason);
                    negotiated.facts.refused_ticket = is_ticket.then_some(reason);
                    None
                }
            }
        }
    };
    let hash = parameters.suite.common.hash_provider;
    let encoded = received.hello.encoded();
    let transcript = if found.is_none() && config.verifier().offer_client_auth() {
        Transcript::start_keeping(hash, encoded)
    } else {
        Transcript::start(hash, encoded)
    };
    let form = match found {
        Some(session) => HandshakeForm::Abbreviated(session),
        None => HandshakeForm::Full(parameters.schemes(received.hello.get()?)),
    };
    Ok(Decision {
        facts,
        parameters,
        form,
        now,
        server_auth,
        transcript,
    })
}

impl Decision {
    /// Sends the server's flight. Sends nothing while its signature is pending, and only the
    /// ServerHello while its ticket is pending.
    pub(crate) fn send_flight(
        self,
        config: ServerSettings,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self {
            facts,
            parameters,
            form,
            now,
            server_auth,
            transcript,
        } = self;
        let randoms = Randoms {
            client: facts.random,
            server: server_random(&config)?,
        };
        // RFC 5077 §3.2: only for clients that support tickets
        let sends_ticket = facts.supports_tickets && config.ticketer.enabled() && now.is_some();
        let session = match form {
            HandshakeForm::Abbreviated(session) => session,
            HandshakeForm::Full(schemes) => {
                let mut handshake = Handshake {
                    suite: parameters.suite,
                    randoms,
                    transcript,
                    is_extended: facts.extended_master_secret,
                    session_id: SessionId::EMPTY,
                    is_stored: false,
                    sends_ticket,
                    now,
                    authenticated_at: now.map_or(0, |now| now.as_secs()),
                    client_acceptance: None,
                    server_auth,
                    config,
                };
                handshake.session_id = handshake.new_session_id()?;
                handshake.is_stored = !handshake.session_id.is_empty();
                return send_flight(handshake, &parameters, &schemes, &facts, cx);
            }
        };
        cx.negotiated.facts.resumed_from = Some(match session.is_stored {
            true => SessionSource::Storage,
            false => SessionSource::Ticket,
        });
        cx.data
            .set_received_resumption_data(session.application_data);
        if let Some(chain) = session.client_chain {
            cx.negotiated.set_expected_peer(chain, &config.provider);
        }
        let is_extended = facts.extended_master_secret;
        let master_secret = MasterSecret::resumed(
            parameters.suite,
            session.master_secret,
            randoms,
            is_extended,
        );
        // the state is large, so it is built in its box
        let next = Box::new(WaitChangeCipherSpec {
            handshake: Handshake {
                suite: parameters.suite,
                randoms,
                transcript,
                is_extended,
                // RFC 5246 §7.4.1.3, RFC 5077 §3.4: the echoed ID shows that the session is resumed
                session_id: facts.legacy_session_id,
                is_stored: session.is_stored,
                sends_ticket,
                now,
                authenticated_at: session.authenticated_at,
                client_acceptance: session.client_acceptance,
                server_auth,
                config,
            },
            keys: master_secret.key_block(),
            master_secret,
            kind: Kind::Abbreviated,
        });
        resume(next, &parameters, &facts, cx)
    }
}

fn server_random(config: &ServerConfig) -> Result<Random, Error> {
    let mut random = [0; 32];
    config.provider.secure_random.fill(&mut random)?;
    // RFC 9846 §4.2.3: marks a downgrade from TLS 1.3
    if config.versions.contains(ProtocolVersion::TLSv1_3) {
        random[24..].copy_from_slice(b"DOWNGRD\x01");
    }
    Ok(Random(random))
}
