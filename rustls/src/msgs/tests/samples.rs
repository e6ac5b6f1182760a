//! Samples of TLS 1.3 messages, with all fields set that this version has.

use alloc::vec;
use alloc::vec::Vec;

use pki_types::{CertificateDer, DnsName};
use rustls_core::enums::{
    CertificateCompressionAlgorithm, CertificateType, CipherSuite, Compression, ECPointFormat,
    ExtensionType, KeyUpdateRequest, NamedGroup, ProtocolVersion, PskKeyExchangeMode,
    SignatureScheme,
};
use smallvec::smallvec;

use crate::msgs::certificate::CertificateMsg;
use crate::msgs::certificate_request::{CertificateRequest, DistinguishedName};
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::msgs::client_extensions::{
    CertificateStatusRequest, ClientExtensions, Layout, TicketRequest,
};
use crate::msgs::client_hello::{ClientHello, Random, SessionId};
use crate::msgs::encrypted_extensions::EncryptedExtensions;
use crate::msgs::extensions::{KeyShareEntry, ProtocolName};
use crate::msgs::pre_shared_key::{OfferedPsks, PskBinderEntry, PskIdentity};
use crate::msgs::server_hello::{
    HelloRetryRequest, HelloRetryRequestExtensions, ServerHello, ServerHelloExtensions,
};
use crate::msgs::server_name::ServerNamePayload;
use crate::msgs::session_ticket::NewSessionTicket;
use crate::msgs::short_list::ShortList;
use crate::msgs::transport_parameters::TransportParameters;
use crate::msgs::{EncodeMessage, Finished};

/// The seed for the order of the ClientHello's extensions.
pub(super) const SAMPLE_SEED: u32 = 7;

/// Builds a message from its type and body.
pub(super) fn message(typ: u8, body: &[u8]) -> Vec<u8> {
    let [_, len @ ..] = (body.len() as u32).to_be_bytes();
    [&[typ], &len[..], body].concat()
}

pub(super) fn encode(message: &impl EncodeMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode_message(&mut bytes).unwrap();
    bytes
}

/// Returns the samples by name.
pub(super) fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let chain = [
        CertificateDer::from(&b"end entity"[..]),
        CertificateDer::from(&b"issuer"[..]),
    ];
    vec![
        ("ClientHello", encode(&client_hello())),
        ("ServerHello", encode(&server_hello())),
        ("HelloRetryRequest", encode(&hello_retry_request())),
        ("EncryptedExtensions", encode(&encrypted_extensions())),
        ("CertificateRequest", encode(&certificate_request())),
        (
            "Certificate",
            encode(&CertificateMsg::new(b"context", &chain, Some(b"response"))),
        ),
        (
            "CertificateVerify",
            encode(&DigitallySignedStruct::new(
                SignatureScheme::ED25519,
                vec![7; 64],
            )),
        ),
        ("Finished", encode(&Finished(&[5; 32]))),
        ("NewSessionTicket", encode(&new_session_ticket())),
        ("KeyUpdate", encode(&KeyUpdateRequest::UpdateRequested)),
    ]
}

fn client_hello() -> ClientHello<'static> {
    ClientHello {
        legacy_version: ProtocolVersion::TLSv1_2,
        random: Random([1; 32]),
        legacy_session_id: SessionId::from([2; 32]),
        cipher_suites: smallvec![
            CipherSuite::TLS13_AES_128_GCM_SHA256,
            CipherSuite::Unknown(0x0a0a),
        ],
        compression_methods: smallvec![Compression::Null],
        extensions: ClientExtensions {
            server_name: Some(ServerNamePayload::DnsName(
                DnsName::try_from("example.com").unwrap(),
            )),
            status_request: Some(CertificateStatusRequest::Ocsp),
            supported_groups: Some(smallvec![NamedGroup::X25519, NamedGroup::secp256r1]),
            ec_point_formats: Some(smallvec![ECPointFormat::Uncompressed]),
            signature_algorithms: Some(smallvec![SignatureScheme::ED25519]),
            alpn_protocol_names: Some(vec![ProtocolName(b"h2"), ProtocolName(b"http/1.1")]),
            client_certificate_type: Some(vec![CertificateType::RawPublicKey]),
            server_certificate_type: Some(vec![CertificateType::X509]),
            extended_master_secret: true,
            compress_certificate: Some(smallvec![CertificateCompressionAlgorithm::Zlib]),
            session_ticket: Some(b"ticket"),
            pre_shared_key: Some(OfferedPsks {
                identities: vec![PskIdentity {
                    identity: b"identity",
                    obfuscated_ticket_age: 0x0102_0304,
                }],
                binders: vec![PskBinderEntry(&[3; 32])],
            }),
            early_data: true,
            supported_versions: Some(smallvec![
                ProtocolVersion::TLSv1_3,
                ProtocolVersion::TLSv1_2
            ]),
            cookie: Some(b"cookie"),
            psk_key_exchange_modes: Some(smallvec![PskKeyExchangeMode::PskDheKe]),
            certificate_authorities: Some(vec![DistinguishedName::in_sequence(b"name")]),
            key_shares: Some(vec![
                KeyShareEntry {
                    group: NamedGroup::X25519,
                    payload: &[4; 32],
                },
                KeyShareEntry {
                    group: NamedGroup::secp256r1,
                    payload: &[5; 65],
                },
            ]),
            transport_parameters: parameters(),
            ticket_request: Some(TicketRequest {
                new_session_count: 2,
                resumption_count: 1,
            }),
            // an inner ClientHello: RFC 9849 §5
            encrypted_client_hello: Some(&[1]),
            renegotiation_info: Some(&[]),
            order_seed: SAMPLE_SEED,
            layout: Layout::Shuffled,
            received: ShortList::new(),
        },
    }
}

/// Unlike real messages, the samples have both code points.
fn parameters() -> TransportParameters<'static> {
    let mut parameters =
        TransportParameters::new(ExtensionType::QuicTransportParameters, b"parameters");
    parameters.set(ExtensionType::QuicTransportParametersDraft, b"draft's");
    parameters
}

fn server_hello() -> ServerHello<'static> {
    ServerHello {
        legacy_version: ProtocolVersion::TLSv1_2,
        random: Random([6; 32]),
        legacy_session_id_echo: SessionId::from([2; 32]),
        cipher_suite: CipherSuite::TLS13_AES_256_GCM_SHA384,
        compression: Compression::Null,
        extensions: ServerHelloExtensions {
            supported_version: Some(ProtocolVersion::TLSv1_3),
            key_share: Some(KeyShareEntry {
                group: NamedGroup::X25519,
                payload: &[7; 32],
            }),
            pre_shared_key: Some(1),
            ..ServerHelloExtensions::default()
        },
    }
}

fn hello_retry_request() -> HelloRetryRequest<'static> {
    HelloRetryRequest {
        legacy_version: ProtocolVersion::TLSv1_2,
        legacy_session_id_echo: SessionId::EMPTY,
        cipher_suite: CipherSuite::TLS13_AES_256_GCM_SHA384,
        extensions: HelloRetryRequestExtensions {
            supported_version: Some(ProtocolVersion::TLSv1_3),
            key_share: Some(NamedGroup::secp384r1),
            cookie: Some(b"cookie"),
            encrypted_client_hello: Some(&[8; 8]),
        },
    }
}

fn encrypted_extensions() -> EncryptedExtensions<'static> {
    EncryptedExtensions {
        server_name_ack: true,
        selected_protocol: Some(ProtocolName(b"h2")),
        client_certificate_type: Some(CertificateType::X509),
        server_certificate_type: Some(CertificateType::RawPublicKey),
        early_data_ack: true,
        transport_parameters: parameters(),
        ticket_request: Some(3),
        // an ECHConfigList with one entry of an unknown version: RFC 9849 §4
        encrypted_client_hello: Some(&[0, 5, 0xfe, 0x0c, 0, 1, 9]),
        received: ShortList::new(),
    }
}

fn certificate_request() -> CertificateRequest<'static> {
    CertificateRequest {
        context: b"context",
        signature_algorithms: Some(smallvec![
            SignatureScheme::ED25519,
            SignatureScheme::ECDSA_NISTP256_SHA256,
        ]),
        certificate_authorities: Some(vec![DistinguishedName::in_sequence(b"name")]),
        compress_certificate: Some(smallvec![CertificateCompressionAlgorithm::Brotli]),
        received: ShortList::new(),
    }
}

fn new_session_ticket() -> NewSessionTicket<'static> {
    NewSessionTicket {
        lifetime: 3600,
        age_add: 0x0506_0708,
        nonce: &[1, 2],
        ticket: b"ticket",
        max_early_data_size: Some(16384),
        received: ShortList::new(),
    }
}
