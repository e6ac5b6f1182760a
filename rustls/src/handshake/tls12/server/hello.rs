//! The ServerHello (RFC 5246 §7.4.1.3), for full and abbreviated handshakes.

use super::handshake::Handshake;
use super::parameters::Parameters;
use crate::enums::{
    CipherSuite, Compression, ECPointFormat, KeyExchangeAlgorithm, ProtocolVersion,
};
use crate::msgs::client_extensions::CertificateStatusRequest;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::extensions::ProtocolName;
use crate::msgs::server_hello::{ServerHello, ServerHelloExtensions};

/// The kind of handshake: full, or abbreviated if a session is resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Full,
    Abbreviated,
}

/// Returns the OCSP response to staple, if the client asks for one and the certificate has one.
pub(super) fn ocsp_response<'a>(
    hello: &ClientHello<'_>,
    parameters: &'a Parameters,
) -> Option<&'a [u8]> {
    let asks = hello.extensions.status_request == Some(CertificateStatusRequest::Ocsp);
    parameters.certified_key.ocsp_response().filter(|_| asks)
}

/// Creates the ServerHello that answers `hello`, which asks for `server_name`.
pub(super) fn server_hello<'a>(
    hello: &ClientHello<'_>,
    kind: Kind,
    handshake: &Handshake,
    parameters: &'a Parameters,
    server_name: Option<&str>,
) -> ServerHello<'a> {
    let offered = &hello.extensions;
    let is_full = kind == Kind::Full;
    let is_ecdhe = parameters.suite.kx == KeyExchangeAlgorithm::ECDHE;
    let protocol = parameters.alpn_protocol.as_deref();
    // RFC 5746 §3.6: for clients that support it, by extension or suite
    let knows_renegotiation = offered.renegotiation_info.is_some()
        || hello
            .cipher_suites
            .contains(&CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV);

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
            status_request_ack: is_full && ocsp_response(hello, parameters).is_some(),
            // RFC 8422 §5.2: only for clients that sent the extension
            ec_point_formats: (is_ecdhe && offered.ec_point_formats.is_some())
                .then(|| smallvec::smallvec![ECPointFormat::Uncompressed]),
            selected_protocol: protocol.map(ProtocolName),
            // RFC 7627 §5.2, §5.3
            extended_master_secret_ack: handshake.is_extended,
            session_ticket_ack: handshake.sends_ticket,
            renegotiation_info: knows_renegotiation.then_some(&[]),
            ..ServerHelloExtensions::default()
        },
    }
}
