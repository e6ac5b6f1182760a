//! The server's flight from ServerHello to Finished (RFC 9846 §4.2.3, §4.4, §4.5), and its key
//! changes.

use alloc::boxed::Box;
use alloc::sync::Arc;

use rustls_core::crypto::CompletedKeyExchange;
use rustls_core::crypto::tls13::OkmBlock;

use super::State;
use super::client_auth::WaitCertificate;
use super::early_data::WaitEndOfEarlyData;
use super::finished::WaitFinished;
use super::parameters::{HelloFacts, Parameters};
use super::resumption::Resumed;
use super::secrets::{ConnectionKeyLog, FlightSecrets};
use super::tickets::TicketCount;
use crate::config::compress::{CertCompressor, offered_algorithms};
use crate::config::handshake_kind::HandshakeKind;
use crate::config::observer::handshake::{ClientCertificate, EarlyData, EarlyDataRejected};
use crate::config::session::server_auth::ServerAuthId;
use crate::config::settings::ServerSettings;
use crate::config::sign::{CertifiedKey, Signer};
use crate::enums::{Compression, ProtocolVersion, Side};
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::calls::signed;
use crate::handshake::established::{Established, Tls13Secrets};
use crate::handshake::ffdhe::check_share;
use crate::handshake::flight::{Flight, PausedFlight};
use crate::handshake::raw_public_key::sent_chain;
use crate::handshake::server::connection_data::EarlyDataDecision;
use crate::handshake::tls13::certificate_compression::add_certificate;
use crate::handshake::tls13::certificate_verify::signed_content;
use crate::handshake::transcript::Transcript;
use crate::handshake::wait::{Call, Wait};
use crate::handshake::{ServerContext, operation};
use crate::keys::tls13::{EarlySecret, MainSecret, verify_data};
use crate::logging::debug;
use crate::msgs::Finished;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_request::CertificateRequest;
use crate::msgs::client_hello::Random;
use crate::msgs::encrypted_extensions::EncryptedExtensions;
use crate::msgs::extensions::{KeyShareEntry, ProtocolName};
use crate::msgs::server_hello::{ServerHello, ServerHelloExtensions};
use crate::msgs::transport_parameters::TransportParameters;

/// The maximum length of a ServerHello without a resumed session, not counting the bytes of its key
/// share.
const SERVER_HELLO_LEN: usize = {
    let header = 4;
    let (version, random, session_id) = (2, 32, 1 + 32);
    let (suite, compression) = (2, 1);
    // without the share's bytes
    let (supported_versions, key_share) = (4 + 2, 4 + 2 + 2);
    let extensions = 2 + supported_versions + key_share;
    header + version + random + session_id + suite + compression + extensions
};

/// NEGOTIATED: the reply to a ClientHello, and the start of the key schedule.
pub(crate) struct Agreed<'a> {
    pub(super) reply: Reply<'a>,
    /// The early secret, with the session's PSK if one is resumed.
    pub(super) early_secret: EarlySecret,
    /// The transcript up to and including the ClientHello.
    pub(super) transcript: Transcript,
}

/// The parameters for the reply to a ClientHello.
pub(super) struct Reply<'a> {
    pub(super) facts: HelloFacts,
    /// True if a HelloRetryRequest has already been sent.
    pub(super) is_retried: bool,
    pub(super) parameters: Parameters<'a>,
    pub(super) authentication: Authentication,
    /// The hash of the server's certificate or raw public key, even if that is not sent.
    pub(super) server_auth: ServerAuthId,
    /// The maximum number of bytes of early data to skip if it is not accepted. `None` if the
    /// client offers none.
    pub(super) skipped_early_data: Option<usize>,
}

pub(super) enum Authentication {
    /// A certificate, and a signature made with its key.
    Certificate {
        certified_key: Arc<CertifiedKey>,
        signer: Box<dyn Signer>,
        /// True if the client requests an OCSP response.
        requests_ocsp_response: bool,
        compressor: Option<&'static dyn CertCompressor>,
    },
    /// The PSK of the session that the client resumes.
    Session(Resumed),
}

impl Authentication {
    fn resumed(&self) -> Option<&Resumed> {
        match self {
            Self::Session(resumed) => Some(resumed),
            Self::Certificate { .. } => None,
        }
    }
}

impl Agreed<'_> {
    /// Copies the client's share.
    pub(super) fn into_owned(self) -> Agreed<'static> {
        Agreed {
            reply: Reply {
                parameters: self.reply.parameters.into_owned(),
                ..self.reply
            },
            ..self
        }
    }

    /// Sends everything up to Finished, and waits for the client's flight. If the signature is
    /// pending, sends only the ServerHello until it is ready.
    pub(crate) fn send_flight(
        self,
        config: ServerSettings,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self {
            mut reply,
            early_secret,
            mut transcript,
        } = self;
        reply.decide_early_data(cx);
        let tickets = reply.count_tickets(&config);
        let resumed = reply.authentication.resumed();
        let key_log = ConnectionKeyLog::new(&config, &reply.facts.random);
        let mut secrets = FlightSecrets::empty();
        secrets.derive_early(&early_secret, resumed, &mut transcript, &key_log);

        let exchange = reply.exchange_keys(cx)?;
        reply.send_server_hello(&exchange, &config, &mut transcript, cx)?;

        let secret = early_secret.into_handshake_secret_with_shared(exchange.secret.secret_bytes());
        secrets.derive(&secret, transcript.current(), &key_log);
        secrets.install(reply.parameters.suite, reply.early_data_limit(), cx)?;

        let main_secret = secret.into_main_secret();
        let mut finished = reply.wait_finished(main_secret, transcript, tickets.count, config);
        secrets.copy_finished_keys(&mut finished);
        let flight = reply.start_encrypted_flight(&mut finished, tickets.hint, cx);

        cx.negotiated.alpn_protocol = reply.parameters.alpn_protocol;
        match reply.authentication {
            Authentication::Certificate { signer, .. } => {
                finished.sign_flight(flight, signer, reply.facts.random, cx)
            }
            Authentication::Session(resumed) => {
                finished.end_resumed_flight(flight, resumed, &secrets, reply.facts.random, cx)
            }
        }
    }
}

impl Reply<'_> {
    /// Makes the final decision about early data. The application may have rejected it while a
    /// callback was pending.
    fn decide_early_data(&mut self, cx: &mut ServerContext<'_>) {
        // RFC 9846 §4.3.10: early data that is not accepted is skipped
        cx.transport.skip_early_data(self.skipped_early_data);
        let Authentication::Session(resumed) = &mut self.authentication else {
            return;
        };
        if !self.facts.offers_early_data {
            return;
        }
        if cx.data.early_data == EarlyDataDecision::Rejected {
            resumed.early_data_limit = Err(EarlyDataRejected::ByApplication);
        }
        cx.negotiated.facts.early_data = match resumed.early_data_limit {
            Ok(_) => EarlyData::Accepted,
            Err(reason) => {
                debug!("the client's early data is not accepted: {reason}");
                EarlyData::Rejected(reason)
            }
        };
    }

    /// Returns the limit of early data if it is accepted.
    fn early_data_limit(&self) -> Option<u32> {
        self.authentication.resumed()?.early_data_limit.ok()
    }

    fn count_tickets(&self, config: &ServerSettings) -> TicketCount {
        let is_resumed = self.authentication.resumed().is_some();
        TicketCount::new(&self.facts, is_resumed, config)
    }

    /// Completes the key exchange with the client's share, and reports it.
    fn exchange_keys(&self, cx: &mut ServerContext<'_>) -> Result<CompletedKeyExchange, Error> {
        let Parameters {
            group,
            client_share,
            ..
        } = &self.parameters;
        check_share(group.ffdhe_group(), client_share)?;
        let exchange = group.start_and_complete(client_share)?;
        cx.negotiated.kx_group = Some(*group);
        let kind = &mut cx.negotiated.handshake_kind;
        match self.authentication {
            Authentication::Session(_) => {
                debug!("resuming a session");
                *kind = Some(HandshakeKind::Resumed);
            }
            Authentication::Certificate { .. } => {
                kind.get_or_insert(HandshakeKind::Full);
            }
        }
        Ok(exchange)
    }

    fn send_server_hello(
        &self,
        exchange: &CompletedKeyExchange,
        config: &ServerSettings,
        transcript: &mut Transcript,
        cx: &mut ServerContext<'_>,
    ) -> Result<(), Error> {
        let legacy_session_id = self.facts.legacy_session_id;
        let len = SERVER_HELLO_LEN + exchange.pub_key.len();
        let mut flight = Flight::with_capacity(len, transcript);
        // RFC 9846 §4.2.3: independent of the client's random
        let mut random = [0; 32];
        config.provider.secure_random.fill(&mut random)?;
        flight.add(&ServerHello {
            legacy_version: ProtocolVersion::TLSv1_2,
            random: Random(random),
            legacy_session_id_echo: legacy_session_id,
            cipher_suite: self.parameters.suite.common.suite,
            compression: Compression::Null,
            extensions: ServerHelloExtensions {
                supported_version: Some(ProtocolVersion::TLSv1_3),
                key_share: Some(KeyShareEntry {
                    group: exchange.group,
                    payload: &exchange.pub_key,
                }),
                pre_shared_key: self.authentication.resumed().map(|resumed| resumed.index),
                ..ServerHelloExtensions::default()
            },
        });
        flight.send(cx.transport)?;
        // RFC 9846 §E.4: a client that sent a session ID expects a change_cipher_spec after the
        // server's first message. After a retry, that was the HelloRetryRequest
        if !self.is_retried && !legacy_session_id.is_empty() {
            cx.transport.send_change_cipher_spec();
        }
        Ok(())
    }

    /// Starts the flight after the ServerHello: EncryptedExtensions and, in a full handshake,
    /// CertificateRequest (if the verifier wants one) and Certificate.
    fn start_encrypted_flight(
        &self,
        finished: &mut WaitFinished,
        ticket_hint: Option<u8>,
        cx: &ServerContext<'_>,
    ) -> UnsignedFlight {
        let WaitFinished {
            config, transcript, ..
        } = finished;
        let mut flight = Flight::with_capacity(self.encrypted_flight_len(), transcript);
        self.add_encrypted_extensions(&mut flight, ticket_hint, config, cx);
        // RFC 9846 §4.4.2: a server that authenticates with a PSK must not request a certificate
        let requests_certificate =
            self.authentication.resumed().is_none() && add_certificate_request(config, &mut flight);
        self.add_certificate(&mut flight, config);
        UnsignedFlight {
            flight: flight.pause(),
            requests_certificate,
        }
    }

    /// Returns the approximate length of the messages from EncryptedExtensions to Finished.
    fn encrypted_flight_len(&self) -> usize {
        // extensions and a MAC; with certificates, also their framing and a signature
        const WITHOUT_CERTIFICATE: usize = 128;
        const OTHERS: usize = 768;

        let Authentication::Certificate { certified_key, .. } = &self.authentication else {
            return WITHOUT_CERTIFICATE;
        };
        let chain: usize = certified_key.cert.iter().map(|cert| cert.len()).sum();
        chain + certified_key.ocsp_response().map_or(0, <[u8]>::len) + OTHERS
    }

    fn add_encrypted_extensions(
        &self,
        flight: &mut Flight<'_>,
        ticket_hint: Option<u8>,
        config: &ServerSettings,
        cx: &ServerContext<'_>,
    ) {
        let protocol = self.parameters.alpn_protocol.as_deref();
        let resumed = self.authentication.resumed();
        let transport_parameters = config
            .carrier
            .parameters_extension()
            .zip(cx.transport.parameters());
        flight.add(&EncryptedExtensions {
            // RFC 6066 §3: confirms that the name was used. Forbidden when a session is resumed
            server_name_ack: cx.data.server_name.is_some() && resumed.is_none(),
            selected_protocol: protocol.map(ProtocolName),
            client_certificate_type: self.parameters.certificate_types.client,
            server_certificate_type: self.parameters.certificate_types.server,
            early_data_ack: self.early_data_limit().is_some(),
            transport_parameters: transport_parameters
                .map(|(typ, parameters)| TransportParameters::new(typ, parameters))
                .unwrap_or_default(),
            // RFC 9149 §3: confirms that the request is honoured
            ticket_request: ticket_hint,
            ..EncryptedExtensions::default()
        });
    }

    /// Adds the Certificate, unless the PSK authenticates the server.
    fn add_certificate(&self, flight: &mut Flight<'_>, config: &ServerSettings) {
        let Authentication::Certificate {
            certified_key,
            requests_ocsp_response,
            compressor,
            ..
        } = &self.authentication
        else {
            return;
        };
        let is_raw = config.cert_resolver.only_raw_public_keys();
        // RFC 9846 §4.5.1: an extension must answer one in the ClientHello. An OCSP response needs
        // a certificate
        let ocsp_response = certified_key
            .ocsp_response()
            .filter(|_| *requests_ocsp_response && !is_raw);
        add_certificate(
            &CertificateMsg::new(&[], sent_chain(certified_key, is_raw), ocsp_response),
            *compressor,
            &config.cert_compression_cache,
            flight,
        );
    }

    /// Creates the state after the flight. Its Finished keys are still empty.
    fn wait_finished(
        &self,
        main_secret: MainSecret,
        transcript: Transcript,
        ticket_count: usize,
        config: ServerSettings,
    ) -> Box<WaitFinished> {
        let resumed = self.authentication.resumed();
        Box::new(WaitFinished {
            suite: self.parameters.suite,
            transcript,
            server_finished_key: OkmBlock::new(&[]),
            client_finished_key: OkmBlock::new(&[]),
            main_secret,
            ticket_count,
            authenticated_at: resumed.map(|resumed| resumed.authenticated_at),
            client_acceptance: resumed.and_then(|resumed| resumed.client_acceptance),
            server_auth: self.server_auth,
            config,
        })
    }
}

/// A flight that lacks the server's signature and Finished.
struct UnsignedFlight {
    flight: PausedFlight,
    requests_certificate: bool,
}

impl WaitFinished {
    /// Adds the signature made with the server's key, and sends the flight.
    fn sign_flight(
        mut self: Box<Self>,
        unsigned: UnsignedFlight,
        signer: Box<dyn Signer>,
        client_random: Random,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let UnsignedFlight {
            flight,
            requests_certificate,
        } = unsigned;
        let mut flight = flight.resume(&mut self.transcript);
        let content = signed_content(Side::Server, flight.transcript_hash());
        let flight = flight.pause();
        let called = cx.callbacks.sign(&*signer, content.as_ref());
        let wait = Wait::before_finished(Call::Signature);
        operation::after(called, wait, cx, move |signature, cx| {
            let mut flight = flight.resume(&mut self.transcript);
            flight.add(&signed(&*signer, signature)?);
            cx.negotiated.facts.server_signature = Some(signer.scheme());
            let flight = flight.pause();
            self.end_flight(flight, &client_random, cx)?;
            if requests_certificate {
                cx.negotiated.facts.client_certificate = ClientCertificate::Missing;
                let finished = self;
                return Ok(State::WaitCertificate(Box::new(WaitCertificate {
                    finished,
                })));
            }
            self.start_half_rtt_data(cx);
            Ok(State::WaitFinished(self))
        })
    }

    /// Sends the flight of a resumed session, which has no signature. The client's handshake secret
    /// in `secrets` is needed again after EndOfEarlyData.
    fn end_resumed_flight(
        mut self: Box<Self>,
        unsigned: UnsignedFlight,
        resumed: Resumed,
        secrets: &FlightSecrets,
        client_random: Random,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        self.end_flight(unsigned.flight, &client_random, cx)?;
        let accepts_early_data = resumed.early_data_limit.is_ok();
        resumed.report(&self.config.provider, cx);
        self.start_half_rtt_data(cx);
        if accepts_early_data && cx.transport.carrier().has_end_of_early_data() {
            let next = WaitEndOfEarlyData::boxed(self, &secrets.client_traffic_secret);
            return Ok(State::WaitEndOfEarlyData(next));
        }
        Ok(State::WaitFinished(self))
    }

    /// Sends `flight` and the server's Finished, and installs the key for everything sent after
    /// that.
    fn end_flight(
        &mut self,
        flight: PausedFlight,
        client_random: &Random,
        cx: &mut ServerContext<'_>,
    ) -> Result<(), Failure> {
        let mut flight = flight.resume(&mut self.transcript);
        let transcript = flight.transcript_hash();
        let verify_data = verify_data(self.suite, &self.server_finished_key, transcript);
        flight.add(&Finished(verify_data.as_ref()));
        self.server_finished_key = OkmBlock::new(&[]);
        flight.send(cx.transport)?;
        self.install_sending_key(client_random, cx);
        Ok(())
    }

    /// Derives the secrets for application data, and installs the sending key. The transcript ends
    /// with the server's Finished.
    fn install_sending_key(&mut self, client_random: &Random, cx: &mut ServerContext<'_>) {
        let transcript = self.transcript.current();
        let main_secret = &self.main_secret;
        let key_log = ConnectionKeyLog::new(&self.config, client_random);
        let secrets = Tls13Secrets::derive(self.suite, |sending, receiving, exporter| {
            main_secret.application_secrets(transcript, receiving, sending, exporter);
            key_log.log("CLIENT_TRAFFIC_SECRET_0", receiving);
            key_log.log("SERVER_TRAFFIC_SECRET_0", sending);
            key_log.log("EXPORTER_SECRET", exporter);
        });
        // RFC 9846 §4.5.3: everything after Finished, including alerts, is under the application
        // keys
        secrets.install_sending(cx.transport);
        *cx.established = Some(Established::Tls13(secrets));
    }

    /// Starts sending application data if it may follow the server's Finished. Called only if no
    /// certificate was requested.
    fn start_half_rtt_data(&self, cx: &mut ServerContext<'_>) {
        // RFC 9846 §4.5.3: the client is not authenticated yet
        if self.config.send_half_rtt_data {
            cx.transport.start_sending();
        }
    }
}

/// Adds a CertificateRequest if the verifier wants one. Returns true if it was added.
fn add_certificate_request(config: &ServerSettings, flight: &mut Flight<'_>) -> bool {
    let verifier = config.verifier();
    if !verifier.offer_client_auth() {
        return false;
    }
    let authorities = verifier.root_hint_subjects();
    flight.add(&CertificateRequest {
        // RFC 9846 §4.4.2: signature_algorithms is mandatory
        signature_algorithms: Some(verifier.supported_verify_schemes().into()),
        certificate_authorities: (!authorities.is_empty()).then(|| authorities.to_vec()),
        compress_certificate: offered_algorithms(&config.cert_decompressors),
        ..CertificateRequest::default()
    });
    true
}
