//! The server's flight: ServerHello to Finished (RFC 9846 §4.2.3, §4.4, §4.5), and the keys on its way.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::State;
use super::client_auth::WaitCertificate;
use super::finished::WaitFinished;
use super::parameters::Parameters;
use crate::conn::HandshakeKind;
use crate::conn::established::{Established, Tls13Secrets};
use crate::conn::transport::{Level, Transport};
use crate::crypto::CompletedKeyExchange;
use crate::crypto::tls13::OkmBlock;
use crate::enums::{Compression, ProtocolVersion, PskKeyExchangeMode, Side};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::flight::Flight;
use crate::handshake::transcript::Transcript;
use crate::handshake::{Failure, ServerContext};
use crate::msgs::Finished;
use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_request::CertificateRequest;
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::client_extensions::CertificateStatusRequest;
use crate::msgs::client_hello::{ClientHello, Random};
use crate::msgs::encrypted_extensions::EncryptedExtensions;
use crate::msgs::extensions::{KeyShareEntry, ProtocolName};
use crate::msgs::server_hello::{ServerHello, ServerHelloExtensions};
use crate::server::ServerConfig;
use crate::tls13::certificate_compression::{
    add_certificate, choose_compressor, offered_algorithms,
};
use crate::tls13::certificate_verify::signed_content;
use crate::tls13::key_schedule::{EarlySecret, HandshakeSecret, MainSecret, finished_verify_data};
use crate::tls13::raw_public_key::sent_chain;

/// The length of a ServerHello without its share.
const SERVER_HELLO_LEN: usize = 4 + 2 + 32 + 33 + 2 + 1 + 2 + 6 + 8;

/// NEGOTIATED: a ClientHello, and what was agreed on.
pub(crate) struct Agreed<'a> {
    pub(super) hello: &'a ClientHello<'a>,
    /// A HelloRetryRequest was sent before.
    pub(super) is_retried: bool,
    pub(super) parameters: Parameters<'a>,
    /// The transcript up to the ClientHello.
    pub(super) transcript: Transcript,
}

impl Agreed<'_> {
    /// Sends everything up to Finished, and waits for the client's part.
    pub(crate) fn send_flight(
        self,
        config: Arc<ServerConfig>,
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let Self {
            hello,
            is_retried,
            parameters,
            mut transcript,
        } = self;
        let sender = FlightSender {
            hello,
            parameters: &parameters,
            config: &config,
        };
        let exchange = sender.exchange_keys(cx)?;

        let len = SERVER_HELLO_LEN + exchange.pub_key.len();
        let mut flight = Flight::with_capacity(len, &mut transcript);
        sender.add_server_hello(&mut flight, &exchange)?;
        flight.send(cx.transport)?;
        // RFC 9846 §E.4: a client that sends a session id expects one after the server's first message, which
        // was the HelloRetryRequest if there was one
        if !is_retried && !hello.legacy_session_id.is_empty() {
            cx.transport.send_change_cipher_spec();
        }
        let handshake = sender.install_handshake_keys(&exchange, &transcript, cx.transport)?;

        let len = sender.encrypted_flight_len();
        let mut flight = Flight::with_capacity(len, &mut transcript);
        sender.add_encrypted_extensions(&mut flight, cx);
        let asks_for_certificate = sender.add_certificate_request(&mut flight);
        sender.add_certificate(&mut flight);
        sender.add_certificate_verify(&mut flight)?;
        sender.add_finished(&mut flight, &handshake);
        flight.send(cx.transport)?;
        let main_secret = sender.install_sending_key(handshake.secret, &transcript, cx);

        cx.negotiated.alpn_protocol = parameters.alpn_protocol;
        let finished = Box::new(WaitFinished {
            suite: parameters.suite,
            transcript,
            client_handshake_traffic_secret: handshake.client_traffic_secret,
            main_secret,
            accepts_tickets: accepts_tickets(hello),
            config,
        });
        if asks_for_certificate {
            return Ok(State::WaitCertificate(Box::new(WaitCertificate {
                finished,
            })));
        }
        // RFC 9846 §4.5.3: data may follow Finished, though nobody knows then who the client is
        if finished.config.send_half_rtt_data {
            cx.transport.start_sending();
        }
        Ok(State::WaitFinished(finished))
    }
}

/// What the messages of the flight are made of.
struct FlightSender<'a> {
    hello: &'a ClientHello<'a>,
    parameters: &'a Parameters<'a>,
    config: &'a ServerConfig,
}

impl FlightSender<'_> {
    fn exchange_keys(&self, cx: &mut ServerContext<'_>) -> Result<CompletedKeyExchange, Error> {
        let Parameters {
            group,
            client_share,
            ..
        } = self.parameters;
        cx.negotiated.kx_group = Some(*group);
        cx.negotiated
            .handshake_kind
            .get_or_insert(HandshakeKind::Full);
        group.start_and_complete(client_share)
    }

    /// About how long the messages from EncryptedExtensions to Finished are.
    fn encrypted_flight_len(&self) -> usize {
        // all but the certificates: extensions, framing, a signature and a MAC
        const OTHERS: usize = 768;

        let certified_key = &self.parameters.certified_key;
        let chain: usize = certified_key.cert.iter().map(|cert| cert.len()).sum();
        chain + certified_key.ocsp.as_ref().map_or(0, Vec::len) + OTHERS
    }

    /// `transcript` is ClientHello…ServerHello.
    fn install_handshake_keys(
        &self,
        exchange: &CompletedKeyExchange,
        transcript: &Transcript,
        transport: &mut dyn Transport,
    ) -> Result<HandshakeKeys, PeerMisbehaved> {
        let suite = self.parameters.suite;
        let transcript = transcript.current();
        let secret = EarlySecret::new(suite, None)
            .into_handshake_secret_with_shared(exchange.secret.secret_bytes());
        let client_traffic_secret = secret.client_handshake_traffic_secret(&transcript);
        let server_traffic_secret = secret.server_handshake_traffic_secret(&transcript);
        self.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", &client_traffic_secret);
        self.log("SERVER_HANDSHAKE_TRAFFIC_SECRET", &server_traffic_secret);

        transport.set_sending_secret(suite, &server_traffic_secret);
        transport.set_receiving_secret(Level::Handshake, suite, &client_traffic_secret)?;
        Ok(HandshakeKeys {
            secret,
            client_traffic_secret,
            server_traffic_secret,
        })
    }

    /// `transcript` is ClientHello…server Finished.
    fn install_sending_key(
        &self,
        handshake_secret: HandshakeSecret,
        transcript: &Transcript,
        cx: &mut ServerContext<'_>,
    ) -> MainSecret {
        let transcript = transcript.current();
        let main_secret = handshake_secret.into_main_secret();
        let client_secret = main_secret.client_application_traffic_secret_0(&transcript);
        let server_secret = main_secret.server_application_traffic_secret_0(&transcript);
        let exporter_secret = main_secret.exporter_secret(&transcript);
        self.log("CLIENT_TRAFFIC_SECRET_0", &client_secret);
        self.log("SERVER_TRAFFIC_SECRET_0", &server_secret);
        self.log("EXPORTER_SECRET", &exporter_secret);

        let suite = self.parameters.suite;
        let secrets = Tls13Secrets::new(suite, server_secret, client_secret, exporter_secret);
        // RFC 9846 §4.5.3: what follows Finished, alerts included, is under the application keys
        secrets.install_sending(cx.transport);
        *cx.established = Some(Established::Tls13(secrets));
        main_secret
    }

    fn add_server_hello(
        &self,
        flight: &mut Flight<'_>,
        exchange: &CompletedKeyExchange,
    ) -> Result<(), Error> {
        // RFC 9846 §4.2.3: a random of its own
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
                ..ServerHelloExtensions::default()
            },
        });
        Ok(())
    }

    fn add_encrypted_extensions(&self, flight: &mut Flight<'_>, cx: &ServerContext<'_>) {
        let protocol = self.parameters.alpn_protocol.as_deref();
        flight.add(&EncryptedExtensions {
            // RFC 6066 §3: says that the name was used
            server_name_ack: cx.data.server_name.is_some(),
            selected_protocol: protocol.map(ProtocolName),
            client_certificate_type: self.parameters.certificate_types.client,
            server_certificate_type: self.parameters.certificate_types.server,
            ..EncryptedExtensions::default()
        });
    }

    /// Returns whether the client is asked for a certificate.
    fn add_certificate_request(&self, flight: &mut Flight<'_>) -> bool {
        let verifier = &self.config.verifier;
        if !verifier.offer_client_auth() {
            return false;
        }
        let authorities = verifier.root_hint_subjects();
        flight.add(&CertificateRequest {
            // RFC 9846 §4.4.2: signature_algorithms must be there
            signature_algorithms: Some(verifier.supported_verify_schemes().into()),
            certificate_authorities: (!authorities.is_empty()).then(|| authorities.to_vec()),
            compress_certificate: offered_algorithms(&self.config.cert_decompressors),
            ..CertificateRequest::default()
        });
        true
    }

    fn add_certificate(&self, flight: &mut Flight<'_>) {
        let config = self.config;
        let certified_key = &self.parameters.certified_key;
        let is_raw = config.cert_resolver.only_raw_public_keys();
        // RFC 9846 §4.5.1: an extension must answer one of the ClientHello
        let asks_for_ocsp =
            self.hello.extensions.status_request == Some(CertificateStatusRequest::Ocsp);
        // and the response is about a certificate
        let ocsp_response = certified_key
            .ocsp
            .as_deref()
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

    fn add_certificate_verify(&self, flight: &mut Flight<'_>) -> Result<(), Error> {
        let signer = &self.parameters.signer;
        let content = signed_content(Side::Server, &flight.transcript_hash());
        let signature = signer.sign(content.as_ref())?;
        flight.add(&DigitallySignedStruct::new(signer.scheme(), signature));
        Ok(())
    }

    fn add_finished(&self, flight: &mut Flight<'_>, handshake: &HandshakeKeys) {
        let verify_data = finished_verify_data(
            self.parameters.suite,
            &handshake.server_traffic_secret,
            &flight.transcript_hash(),
        );
        flight.add(&Finished(verify_data.as_ref()));
    }

    fn log(&self, label: &str, secret: &OkmBlock) {
        let key_log = &self.config.key_log;
        if key_log.will_log(label) {
            key_log.log(label, &self.hello.random.0, secret.as_ref());
        }
    }
}

struct HandshakeKeys {
    secret: HandshakeSecret,
    client_traffic_secret: OkmBlock,
    server_traffic_secret: OkmBlock,
}

/// RFC 9846 §4.3.9: no ticket for a client that does not combine a PSK with a key exchange, as nothing else
/// will be resumed.
fn accepts_tickets(hello: &ClientHello<'_>) -> bool {
    let modes = hello.extensions.psk_key_exchange_modes.as_deref();
    modes.is_some_and(|modes| modes.contains(&PskKeyExchangeMode::PskDheKe))
}
