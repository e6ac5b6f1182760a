//! The handling of a TLS 1.2 ClientHello, up to the decision between a full and an abbreviated
//! handshake.

use pki_types::UnixTime;

use super::State;
use super::abbreviated::resume;
use super::full::send_flight;
use super::handshake::Handshake;
use super::hello_checks::{check_hello, check_point_formats};
use super::parameters::{Parameters, Selection, usable_schemes};
use super::resumption::{ResumedSession, find_session};
use crate::config::server::ServerConfig;
use crate::config::session::server_auth::{ServerAuth, ServerAuthId};
use crate::config::settings::ServerSettings;
use crate::enums::ProtocolVersion;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::negotiated::HandshakeKind;
use crate::handshake::server::answers::{Answers, Stop};
use crate::handshake::server::certificate::resolve_certificate;
use crate::handshake::transcript::Transcript;
use crate::keys::tls12::{MasterSecret, Randoms};
use crate::logging::{debug, trace};
use crate::msgs::client_hello::{ClientHello, Random, SessionId};
use crate::suites::SupportedCipherSuite;

/// A ClientHello and the negotiated parameters. Nothing was sent yet.
pub(crate) struct Agreed<'a> {
    hello: &'a ClientHello<'a>,
    encoded: &'a [u8],
    parameters: Parameters,
    session: Option<ResumedSession>,
    /// `None` if the clock failed.
    now: Option<UnixTime>,
    server_auth: ServerAuthId,
}

/// Checks `hello` and negotiates parameters. If an answer takes time, the caller repeats the call
/// with it.
pub(crate) fn negotiate<'a>(
    hello: &'a ClientHello<'a>,
    encoded: &'a [u8],
    config: &ServerSettings,
    answers: &mut Answers,
    cx: &mut ServerContext<'_>,
) -> Result<Agreed<'a>, Stop> {
    check_hello(hello, config)?;
    let server_name = cx.data.server_name.as_ref();
    trace!("choosing a certificate for {server_name:?}");
    let schemes = usable_schemes(hello, config);
    let certified_key = resolve_certificate(hello, &schemes, server_name, config, answers)?;
    let selection = Selection::new(hello, &certified_key, config)?;
    debug!("cipher suite {:?}", selection.suite.common.suite);
    cx.negotiated.suite = Some(SupportedCipherSuite::Tls12(selection.suite));
    check_point_formats(&hello.extensions)?;
    let parameters =
        Parameters::new(hello, selection, certified_key, config).inspect_err(|_| {
            // rustls 0.23 rejects these in the middle of a full handshake
            cx.negotiated.handshake_kind = Some(HandshakeKind::Full);
        })?;
    if let Some(protocol) = &parameters.alpn_protocol {
        debug!("application protocol {}", protocol.escape_ascii());
    }

    let now = answers.now(|| config.current_time().ok());
    let server = ServerAuth::new(&parameters.certified_key, config);
    let server_auth = server.id;
    let session = find_session(hello, parameters.suite, &server, now, config, answers, cx)?;
    Ok(Agreed {
        hello,
        encoded,
        parameters,
        session,
        now,
        server_auth,
    })
}

impl Agreed<'_> {
    /// Sends the server's flight. A signature or a ticket that takes time comes first.
    pub(crate) fn send_flight(
        self,
        config: ServerSettings,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self {
            hello,
            encoded,
            parameters,
            session,
            now,
            server_auth,
        } = self;
        let hash = parameters.suite.common.hash_provider;
        let transcript = if session.is_none() && config.verifier().offer_client_auth() {
            Transcript::start_keeping(hash, encoded)
        } else {
            Transcript::start(hash, encoded)
        };
        let mut handshake = Handshake {
            suite: parameters.suite,
            randoms: Randoms {
                client: hello.random,
                server: server_random(&config)?,
            },
            transcript,
            is_extended: hello.extensions.extended_master_secret,
            session_id: SessionId::EMPTY,
            is_stored: false,
            // RFC 5077 §3.2: only for clients that support tickets
            sends_ticket: hello.extensions.session_ticket.is_some()
                && config.ticketer.enabled()
                && now.is_some(),
            now,
            authenticated_at: now.map_or(0, |now| now.as_secs()),
            client_acceptance: None,
            server_auth,
            config,
        };
        let Some(session) = session else {
            handshake.session_id = handshake.new_session_id()?;
            handshake.is_stored = !handshake.session_id.is_empty();
            return send_flight(handshake, &parameters, hello, cx);
        };
        // RFC 5246 §7.4.1.3, RFC 5077 §3.4: the echoed id shows that the session is resumed
        handshake.session_id = hello.legacy_session_id;
        handshake.is_stored = session.is_stored;
        handshake.authenticated_at = session.authenticated_at;
        handshake.client_acceptance = session.client_acceptance;
        if let Some(chain) = session.client_chain {
            let provider = &handshake.config.provider;
            cx.negotiated.set_expected_peer(chain, provider);
        }
        let master_secret = MasterSecret::resumed(
            parameters.suite,
            session.master_secret,
            handshake.randoms,
            handshake.is_extended,
        );
        resume(handshake, master_secret, &parameters, hello, cx)
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
