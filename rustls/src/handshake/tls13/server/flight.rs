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
use super::parameters::Parameters;
use super::resumption::Resumed;
use super::tickets::TicketCount;
use crate::config::session::server_auth::ServerAuthId;
use crate::config::settings::ServerSettings;
use crate::config::sign::{CertifiedKey, Signer};
use crate::enums::{Compression, ProtocolVersion, Side};
use crate::error::{Error, PeerMisbehaved};
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::established::{Established, Tls13Secrets};
use crate::handshake::ffdhe::check_share;
use crate::handshake::flight::{Flight, PausedFlight};
use crate::handshake::negotiated::HandshakeKind;
use crate::handshake::operation::{self, Wait};
use crate::handshake::raw_public_key::sent_chain;
use crate::handshake::server::connection_data::EarlyData;
use crate::handshake::tls13::certificate_compression::{
    add_certificate, choose_compressor, offered_algorithms,
};
use crate::handshake::tls13::certificate_verify::add_certificate_verify;
use crate::handshake::transcript::Transcript;
use crate::handshake::transport::Level;
use crate::keys::tls13::{EarlySecret, HandshakeSecret, TrafficSecret, verify_data};
use crate::logging::debug;
use crate::msgs::Finished;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_request::CertificateRequest;
use crate::msgs::client_extensions::CertificateStatusRequest;
use crate::msgs::client_hello::{ClientHello, Random};
use crate::msgs::encrypted_extensions::EncryptedExtensions;
use crate::msgs::extensions::{KeyShareEntry, ProtocolName};
use crate::msgs::server_hello::{ServerHello, ServerHelloExtensions};
use crate::msgs::transport_parameters::TransportParameters;

/// The length of a ServerHello without its share.
const SERVER_HELLO_LEN: usize = 4 + 2 + 32 + 33 + 2 + 1 + 2 + 6 + 8;

/// NEGOTIATED: a ClientHello and the negotiated parameters.
pub(crate) struct Agreed<'a> {
    pub(super) hello: &'a ClientHello<'a>,
    /// True if a HelloRetryRequest was sent before.
    pub(super) is_retried: bool,
    pub(super) parameters: Parameters<'a>,
    pub(super) authentication: Authentication,
    /// The server's certificate, even if it is not sent.
    pub(super) server_auth: ServerAuthId,
    /// The early secret, with the session's PSK if one is resumed.
    pub(super) early_secret: EarlySecret,
    /// The transcript up to the ClientHello.
    pub(super) transcript: Transcript,
}

/// The authentication of the server.
pub(super) enum Authentication {
    /// A certificate, and a signature by its key.
    Certificate {
        certified_key: Arc<CertifiedKey>,
        signer: Box<dyn Signer>,
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
    /// Sends everything up to Finished, and waits for the client's flight. A signature that takes
    /// time comes first.
    pub(crate) fn send_flight(
        self,
        config: ServerSettings,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self {
            hello,
            is_retried,
            parameters,
            authentication,
            server_auth,
            early_secret,
            mut transcript,
        } = self;
        let resumed = authentication.resumed();
        let tickets = TicketCount::new(&hello.extensions, resumed.is_some(), &config);
        let sender = FlightSender {
            hello,
            parameters: &parameters,
            authentication: &authentication,
            tickets,
            config: &config,
        };
        let mut early_traffic_secret = OkmBlock::new(&[]);
        let early_data =
            sender.derive_early_secrets(&early_secret, &mut transcript, &mut early_traffic_secret);
        let exchange = sender.exchange_keys(cx)?;

        let len = SERVER_HELLO_LEN + exchange.pub_key.len();
        let mut flight = Flight::with_capacity(len, &mut transcript);
        sender.add_server_hello(&mut flight, &exchange)?;
        flight.send(cx.transport)?;
        // RFC 9846 §E.4: a client with a session id expects one after the server's first message.
        // After a retry, that was the HelloRetryRequest
        if !is_retried && !hello.legacy_session_id.is_empty() {
            cx.transport.send_change_cipher_spec();
        }
        let secret = early_secret.into_handshake_secret_with_shared(exchange.secret.secret_bytes());
        let mut keys = HandshakeKeys::empty();
        sender.derive_handshake_keys(&secret, &mut transcript, &mut keys);
        TrafficSecret::with(parameters.suite, &keys.server_traffic_secret, |secret| {
            secret.finished_key(&mut keys.server_finished_key);
            cx.transport.set_sending_secret(Level::Handshake, secret);
        });
        sender.install_receiving_keys(&mut keys, early_data.as_ref(), cx)?;

        let len = sender.encrypted_flight_len();
        let mut flight = Flight::with_capacity(len, &mut transcript);
        sender.add_encrypted_extensions(&mut flight, cx);
        let requests_certificate = sender.add_certificate_messages(&mut flight);
        let flight = flight.pause();

        let authenticated_at = resumed.map(|resumed| resumed.authenticated_at);
        let client_acceptance = resumed.and_then(|resumed| resumed.client_acceptance);
        cx.negotiated.alpn_protocol = parameters.alpn_protocol;
        let mut finished = Box::new(WaitFinished {
            suite: parameters.suite,
            transcript,
            server_finished_key: OkmBlock::new(&[]),
            client_finished_key: OkmBlock::new(&[]),
            main_secret: secret.into_main_secret(),
            ticket_count: tickets.count,
            authenticated_at,
            client_acceptance,
            server_auth,
            config,
        });
        keys.copy_finished_keys(&mut finished);
        let client_random = hello.random;
        match authentication {
            Authentication::Certificate { signer, .. } => {
                let asking = cx.asking;
                let signing = async move {
                    let mut flight = flight.resume(&mut finished.transcript);
                    add_certificate_verify(Side::Server, &*signer, asking, &mut flight).await?;
                    let flight = flight.pause();
                    Ok(move |cx: &mut ServerContext<'_>| {
                        finished.end_flight(flight, &client_random, cx)?;
                        if requests_certificate {
                            return Ok(State::WaitCertificate(Box::new(WaitCertificate {
                                finished,
                            })));
                        }
                        Ok(finished.wait(cx))
                    })
                };
                operation::run(Wait::BeforeFinished, signing, cx)
            }
            Authentication::Session(resumed) => {
                finished.end_flight(flight, &client_random, cx)?;
                resumed.report(&finished.config.provider, cx);
                let next = finished.wait(cx);
                match (early_data, next) {
                    (Some(_), State::WaitFinished(finished))
                        if cx.transport.carrier().has_end_of_early_data() =>
                    {
                        let next = WaitEndOfEarlyData::boxed(finished, &keys.client_traffic_secret);
                        Ok(State::WaitEndOfEarlyData(next))
                    }
                    (_, next) => Ok(next),
                }
            }
        }
    }
}

impl WaitFinished {
    /// Sends the `flight` with the server's Finished at its end, and installs the keys that follow
    /// it.
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

    /// Derives the secrets of application data, and installs the key to send it with. The
    /// transcript ends with the server's Finished.
    fn install_sending_key(&mut self, client_random: &Random, cx: &mut ServerContext<'_>) {
        let transcript = self.transcript.current();
        let main_secret = &self.main_secret;
        let log = |label, secret: &OkmBlock| log(&self.config, label, client_random, secret);
        let secrets = Tls13Secrets::derive(self.suite, |sending, receiving, exporter| {
            main_secret.application_secrets(transcript, receiving, sending, exporter);
            log("CLIENT_TRAFFIC_SECRET_0", receiving);
            log("SERVER_TRAFFIC_SECRET_0", sending);
            log("EXPORTER_SECRET", exporter);
        });
        // RFC 9846 §4.5.3: everything after Finished, including alerts, is under the application
        // keys
        secrets.install_sending(cx.transport);
        *cx.established = Some(Established::Tls13(secrets));
    }

    /// Waits for the client's Finished, if no certificate was requested.
    fn wait(self: Box<Self>, cx: &mut ServerContext<'_>) -> State {
        // RFC 9846 §4.5.3: data may follow Finished, although the client is not authenticated yet
        if self.config.send_half_rtt_data {
            cx.transport.start_sending();
        }
        State::WaitFinished(self)
    }
}

/// The inputs of the messages in the flight.
struct FlightSender<'a> {
    hello: &'a ClientHello<'a>,
    parameters: &'a Parameters<'a>,
    authentication: &'a Authentication,
    tickets: TicketCount,
    config: &'a ServerSettings,
}

impl FlightSender<'_> {
    fn exchange_keys(&self, cx: &mut ServerContext<'_>) -> Result<CompletedKeyExchange, Error> {
        let Parameters {
            group,
            client_share,
            ..
        } = self.parameters;
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

    /// Returns the approximate length of the messages from EncryptedExtensions to Finished.
    fn encrypted_flight_len(&self) -> usize {
        // extensions and a MAC; with certificates, also their framing and a signature
        const WITHOUT_CERTIFICATE: usize = 128;
        const OTHERS: usize = 768;

        let Authentication::Certificate { certified_key, .. } = self.authentication else {
            return WITHOUT_CERTIFICATE;
        };
        let chain: usize = certified_key.cert.iter().map(|cert| cert.len()).sum();
        chain + certified_key.ocsp_response().map_or(0, <[u8]>::len) + OTHERS
    }

    /// Derives the early traffic secret into `client_traffic_secret`, if early data is accepted.
    /// `transcript` is the ClientHello.
    fn derive_early_secrets<'s>(
        &self,
        early_secret: &EarlySecret,
        transcript: &mut Transcript,
        client_traffic_secret: &'s mut OkmBlock,
    ) -> Option<AcceptedEarlyData<'s>> {
        const LABEL: &str = "CLIENT_EARLY_TRAFFIC_SECRET";
        let limit = self.authentication.resumed()?.early_data_limit;
        // the secret is logged even if the server skips early data, so that a packet analyzer can
        // decrypt it
        if limit.is_none() && !self.config.key_log.will_log(LABEL) {
            return None;
        }
        let transcript = transcript.current();
        early_secret.client_early_traffic_secret(transcript, client_traffic_secret);
        self.log(LABEL, client_traffic_secret);
        let limit = limit?;
        if self.config.key_log.will_log("EARLY_EXPORTER_SECRET") {
            let mut exporter_secret = OkmBlock::new(&[]);
            early_secret.early_exporter_secret(transcript, &mut exporter_secret);
            self.log("EARLY_EXPORTER_SECRET", &exporter_secret);
        }
        Some(AcceptedEarlyData {
            limit,
            client_traffic_secret,
        })
    }

    /// `transcript` is ClientHello…ServerHello.
    fn derive_handshake_keys(
        &self,
        secret: &HandshakeSecret,
        transcript: &mut Transcript,
        keys: &mut HandshakeKeys,
    ) {
        let transcript = transcript.current();
        let (client, server) = (
            &mut keys.client_traffic_secret,
            &mut keys.server_traffic_secret,
        );
        secret.handshake_traffic_secrets(transcript, client, server);
        self.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", client);
        self.log("SERVER_HANDSHAKE_TRAFFIC_SECRET", server);
    }

    /// Installs the keys of the client's next records: of early data if it is accepted, and of the
    /// handshake unless EndOfEarlyData delays them. Also derives the key of the client's Finished.
    fn install_receiving_keys(
        &self,
        keys: &mut HandshakeKeys,
        early_data: Option<&AcceptedEarlyData<'_>>,
        cx: &mut ServerContext<'_>,
    ) -> Result<(), PeerMisbehaved> {
        let suite = self.parameters.suite;
        if let Some(accepted) = early_data {
            cx.data.early_data = EarlyData::Accepted;
            // from here on, a record that cannot be decrypted is an error
            cx.transport.skip_early_data(None);
            let secret = accepted.client_traffic_secret;
            cx.transport
                .receive_early_data(suite, secret, accepted.limit)?;
        }
        TrafficSecret::with(suite, &keys.client_traffic_secret, |secret| {
            secret.finished_key(&mut keys.client_finished_key);
            if early_data.is_none() || !cx.transport.carrier().has_end_of_early_data() {
                cx.transport
                    .set_receiving_secret(Level::Handshake, secret)?;
            }
            Ok(())
        })
    }

    fn add_server_hello(
        &self,
        flight: &mut Flight<'_>,
        exchange: &CompletedKeyExchange,
    ) -> Result<(), Error> {
        // RFC 9846 §4.2.3: independent of the client's random
        let mut random = [0; 32];
        self.config.provider.secure_random.fill(&mut random)?;
        flight.add(&ServerHello {
            legacy_version: ProtocolVersion::TLSv1_2,
            random: Random(random),
            legacy_session_id_echo: self.hello.legacy_session_id,
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
        Ok(())
    }

    fn add_encrypted_extensions(&self, flight: &mut Flight<'_>, cx: &ServerContext<'_>) {
        let protocol = self.parameters.alpn_protocol.as_deref();
        let carrier = self.config.carrier;
        let transport_parameters = carrier
            .parameters_extension()
            .zip(cx.transport.parameters());
        flight.add(&EncryptedExtensions {
            // RFC 6066 §3: confirms that the name was used. Forbidden when a session is resumed
            server_name_ack: cx.data.server_name.is_some()
                && self.authentication.resumed().is_none(),
            selected_protocol: protocol.map(ProtocolName),
            client_certificate_type: self.parameters.certificate_types.client,
            server_certificate_type: self.parameters.certificate_types.server,
            early_data_ack: self
                .authentication
                .resumed()
                .is_some_and(|resumed| resumed.early_data_limit.is_some()),
            transport_parameters: transport_parameters
                .map(|(typ, parameters)| TransportParameters::new(typ, parameters))
                .unwrap_or_default(),
            // RFC 9149 §3: confirms that the request is followed
            ticket_request: self.tickets.hint,
            ..EncryptedExtensions::default()
        });
    }

    /// Adds CertificateRequest and Certificate, unless the PSK authenticates the server. Returns
    /// true if a CertificateRequest was added.
    fn add_certificate_messages(&self, flight: &mut Flight<'_>) -> bool {
        match self.authentication {
            Authentication::Certificate { certified_key, .. } => {
                let requests_certificate = self.add_certificate_request(flight);
                self.add_certificate(certified_key, flight);
                requests_certificate
            }
            // RFC 9846 §4.4.2: a server that authenticates with a PSK must not request a
            // certificate
            Authentication::Session(_) => false,
        }
    }

    /// Adds a CertificateRequest if the verifier wants one. Returns true if it was added.
    fn add_certificate_request(&self, flight: &mut Flight<'_>) -> bool {
        let verifier = self.config.verifier();
        if !verifier.offer_client_auth() {
            return false;
        }
        let authorities = verifier.root_hint_subjects();
        flight.add(&CertificateRequest {
            // RFC 9846 §4.4.2: signature_algorithms is mandatory
            signature_algorithms: Some(verifier.supported_verify_schemes().into()),
            certificate_authorities: (!authorities.is_empty()).then(|| authorities.to_vec()),
            compress_certificate: offered_algorithms(&self.config.cert_decompressors),
            ..CertificateRequest::default()
        });
        true
    }

    fn add_certificate(&self, certified_key: &CertifiedKey, flight: &mut Flight<'_>) {
        let config = self.config;
        let is_raw = config.cert_resolver.only_raw_public_keys();
        // RFC 9846 §4.5.1: an extension must answer one in the ClientHello
        let asks_for_ocsp =
            self.hello.extensions.status_request == Some(CertificateStatusRequest::Ocsp);
        // an OCSP response needs a certificate
        let ocsp_response = certified_key
            .ocsp_response()
            .filter(|_| asks_for_ocsp && !is_raw);
        let compressor = choose_compressor(
            self.hello.extensions.compress_certificate.as_deref(),
            &config.cert_compressors,
        );
        add_certificate(
            &CertificateMsg::new(&[], sent_chain(certified_key, is_raw), ocsp_response),
            compressor,
            &config.cert_compression_cache,
            flight,
        );
    }

    fn log(&self, label: &str, secret: &OkmBlock) {
        log(self.config, label, &self.hello.random, secret);
    }
}

fn log(config: &ServerSettings, label: &str, client_random: &Random, secret: &OkmBlock) {
    let key_log = &config.key_log;
    if key_log.will_log(label) {
        key_log.log(label, &client_random.0, secret.as_ref());
    }
}

/// The limit and the secret of accepted early data.
struct AcceptedEarlyData<'a> {
    limit: u32,
    client_traffic_secret: &'a OkmBlock,
}

/// The handshake traffic secrets and Finished keys. They are derived in place, and never moved.
struct HandshakeKeys {
    client_traffic_secret: OkmBlock,
    server_traffic_secret: OkmBlock,
    client_finished_key: OkmBlock,
    server_finished_key: OkmBlock,
}

impl HandshakeKeys {
    fn empty() -> Self {
        Self {
            client_traffic_secret: OkmBlock::new(&[]),
            server_traffic_secret: OkmBlock::new(&[]),
            client_finished_key: OkmBlock::new(&[]),
            server_finished_key: OkmBlock::new(&[]),
        }
    }

    fn copy_finished_keys(&self, finished: &mut WaitFinished) {
        let (client, server) = (&self.client_finished_key, &self.server_finished_key);
        finished.client_finished_key.clone_from(client);
        finished.server_finished_key.clone_from(server);
    }
}
