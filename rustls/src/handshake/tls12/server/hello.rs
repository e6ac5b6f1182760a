//! The ServerHello (RFC 5246 §7.4.1.3), for full and abbreviated handshakes.

use super::handshake::Handshake;
use super::parameters::Parameters;
use crate::enums::{
    CipherSuite, Compression, ECPointFormat, KeyExchangeAlgorithm, ProtocolVersion,
};
use crate::msgs::client_extensions::CertificateStatusRequest;
use crate::msgs::client_hello::{ClientHello, Random, SessionId};
use crate::msgs::extensions::ProtocolName;
use crate::msgs::server_hello::{ServerHello, ServerHelloExtensions};

/// The kind of handshake: full, or abbreviated if a session is resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Full,
    Abbreviated,
}

/// The properties of a ClientHello that are still needed when the reply is sent.
#[derive(Clone, Copy)]
pub(super) struct HelloFacts {
    pub(super) random: Random,
    pub(super) legacy_session_id: SessionId,
    pub(super) extended_master_secret: bool,
    pub(super) supports_tickets: bool,
    pub(super) requests_ocsp_response: bool,
    names_point_formats: bool,
    knows_renegotiation: bool,
}

impl HelloFacts {
    pub(super) fn of(hello: &ClientHello<'_>) -> Self {
        let extensions = &hello.extensions;
        Self {
            random: hello.random,
            legacy_session_id: hello.legacy_session_id,
            extended_master_secret: extensions.extended_master_secret,
            supports_tickets: extensions.session_ticket.is_some(),
            requests_ocsp_response: extensions.status_request
                == Some(CertificateStatusRequest::Ocsp),
            names_point_formats: extensions.ec_point_formats.is_some(),
            // RFC 5746 §3.6: by extension or suite
            knows_renegotiation: extensions.renegotiation_info.is_some()
                || hello
                    .cipher_suites
                    .contains(&CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV),
        }
    }
}

/// Returns the OCSP response to staple, if the client requests one and the certificate has one.
pub(super) fn ocsp_response<'a>(
    facts: &HelloFacts,
    parameters: &'a Parameters,
) -> Option<&'a [u8]> {
    let response = parameters.certified_key.ocsp_response();
    response.filter(|_| facts.requests_ocsp_response)
}

/// Creates the ServerHello for a client that requests `server_name`.
pub(super) fn server_hello<'a>(
    facts: &HelloFacts,
    kind: Kind,
    handshake: &Handshake,
    parameters: &'a Parameters,
    server_name: Option<&str>,
) -> ServerHello<'a> {
    let is_full = kind == Kind::Full;
    let is_ecdhe = parameters.suite.kx == KeyExchangeAlgorithm::ECDHE;
    let protocol = parameters.alpn_protocol.as_deref();

    ServerHello {
        legacy_version: ProtocolVersion::TLSv1_2,
        random: handshake.randoms.server,
        legacy_session_id_echo: handshake.session_id,
        cipher_suite: handshake.suite.common.suite,
        compression: Compression::Null,
        extensions: ServerHelloExtensions {
            // RFC 6066 §3: confirms that the name was used. Forbidden when a session is resumed
            server_name_ack: is_full && server_name.is_some(),
            // RFC 6066 §8: a CertificateStatus follows
            status_request_ack: is_full && ocsp_response(facts, parameters).is_some(),
            // RFC 8422 §5.2: only for clients that sent the extension
            ec_point_formats: (is_ecdhe && facts.names_point_formats)
                .then(|| smallvec::smallvec![ECPointFormat::Uncompressed]),
            selected_protocol: protocol.map(ProtocolName),
            // RFC 7627 §5.2, §5.3
            extended_master_secret_ack: handshake.is_extended,
            session_ticket_ack: handshake.sends_ticket,
            // RFC 5746 §3.6: for clients that support it
            renegotiation_info: facts.knows_renegotiation.then_some(&[]),
            ..ServerHelloExtensions::default()
        },
    }
}
