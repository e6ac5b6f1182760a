//! The extensions of a ClientHello: RFC 9846 §4.3.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes};
use rustls_core::enums::{
    CertificateCompressionAlgorithm, CertificateStatusType, CertificateType, ECPointFormat,
    ExtensionType, NamedGroup, ProtocolVersion, PskKeyExchangeMode, SignatureScheme,
};
use rustls_core::error::InvalidMessage;

use super::certificate_request::{DistinguishedName, read_authorities};
use super::extensions::{
    ExtensionContext, ExtensionWriter, KeyShareEntry, ProtocolName, encode_extensions,
    read_code_list, read_empty, read_extensions, read_list, read_signature_schemes, read_value,
};
use super::pre_shared_key::OfferedPsks;
use super::server_name::ServerNamePayload;
use super::short_list::{ShortList, read_items};
use super::transport_parameters::TransportParameters;

/// The extensions of a ClientHello: a field for each extension that this library supports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientExtensions<'a> {
    pub(crate) server_name: Option<ServerNamePayload<'a>>,
    pub(crate) status_request: Option<CertificateStatusRequest>,
    pub(crate) supported_groups: Option<ShortList<NamedGroup>>,
    pub(crate) ec_point_formats: Option<Vec<ECPointFormat>>,
    pub(crate) signature_algorithms: Option<ShortList<SignatureScheme>>,
    /// `application_layer_protocol_negotiation`.
    pub(crate) alpn_protocol_names: Option<Vec<ProtocolName<'a>>>,
    pub(crate) client_certificate_type: Option<Vec<CertificateType>>,
    pub(crate) server_certificate_type: Option<Vec<CertificateType>>,
    /// `extended_master_secret`, which is empty.
    pub(crate) extended_master_secret: bool,
    pub(crate) compress_certificate: Option<ShortList<CertificateCompressionAlgorithm>>,
    /// `session_ticket`: a TLS 1.2 ticket; empty to ask for one.
    pub(crate) session_ticket: Option<&'a [u8]>,
    pub(crate) pre_shared_key: Option<OfferedPsks<'a>>,
    /// `early_data`, which is empty.
    pub(crate) early_data: bool,
    pub(crate) supported_versions: Option<ShortList<ProtocolVersion>>,
    /// `cookie`, not empty if received.
    pub(crate) cookie: Option<&'a [u8]>,
    pub(crate) psk_key_exchange_modes: Option<ShortList<PskKeyExchangeMode>>,
    pub(crate) certificate_authorities: Option<Vec<DistinguishedName>>,
    /// `key_share`; empty to ask for a HelloRetryRequest.
    pub(crate) key_shares: Option<Vec<KeyShareEntry<'a>>>,
    /// `quic_transport_parameters`.
    pub(crate) transport_parameters: TransportParameters<'a>,
    pub(crate) ticket_request: Option<TicketRequest>,
    /// `encrypted_client_hello`, as encoded by `msgs::ech`.
    pub(crate) encrypted_client_hello: Option<&'a [u8]>,
    /// `renegotiation_info`: empty in an initial handshake.
    pub(crate) renegotiation_info: Option<&'a [u8]>,

    /// The seed that determines the order of the sent extensions. The order does not depend on
    /// which fields are set, because a ClientHello after a retry must keep it. Not received.
    pub(crate) order_seed: u32,
    /// The layout of the extensions. Not received.
    pub(crate) layout: Layout,
    /// The types of all received extensions, in order. Not sent.
    pub(crate) received: ShortList<ExtensionType>,
}

/// The layout of a ClientHello's extensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Shuffled order.
    #[default]
    Shuffled,
    /// The layout of a ClientHelloInner: the extensions shared with the ClientHelloOuter are
    /// together at the end, in the outer order (RFC 9849 §5.1).
    Inner,
    /// The layout of an EncodedClientHelloInner: `ech_outer_extensions` lists the shared extensions
    /// instead.
    EncodedInner,
}

/// All extensions that are sent in shuffled order: all except `pre_shared_key`.
const SHUFFLED: [ExtensionType; 22] = [
    ExtensionType::ServerName,
    ExtensionType::StatusRequest,
    ExtensionType::SupportedGroups,
    ExtensionType::EcPointFormats,
    ExtensionType::SignatureAlgorithms,
    ExtensionType::ApplicationLayerProtocolNegotiation,
    ExtensionType::ClientCertificateType,
    ExtensionType::ServerCertificateType,
    ExtensionType::ExtendedMasterSecret,
    ExtensionType::CompressCertificate,
    ExtensionType::SessionTicket,
    ExtensionType::EarlyData,
    ExtensionType::SupportedVersions,
    ExtensionType::Cookie,
    ExtensionType::PskKeyExchangeModes,
    ExtensionType::CertificateAuthorities,
    ExtensionType::TicketRequest,
    ExtensionType::KeyShare,
    ExtensionType::QuicTransportParameters,
    ExtensionType::QuicTransportParametersDraft,
    ExtensionType::EncryptedClientHello,
    ExtensionType::RenegotiationInfo,
];

impl<'a> Codec<'a> for ClientExtensions<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_extensions(bytes, |block| {
            let order = shuffled(self.order_seed);
            match self.layout {
                Layout::Shuffled => self.encode_each(order.into_iter(), block),
                Layout::Inner => {
                    self.encode_each(order.into_iter().filter(|typ| !is_outer(*typ)), block);
                    self.encode_each(order.into_iter().filter(|typ| is_outer(*typ)), block);
                }
                Layout::EncodedInner => {
                    self.encode_each(order.into_iter().filter(|typ| !is_outer(*typ)), block);
                    let outer = order.into_iter().filter(|typ| is_outer(*typ));
                    let outer: ShortList<_> = outer.filter(|typ| self.has(*typ)).collect();
                    block.list(
                        ExtensionType::EchOuterExtensions,
                        LengthSize::U8,
                        Some(&outer),
                    );
                }
            }
            // RFC 9846 §4.3.11: pre_shared_key is the last extension
            self.encode_one(ExtensionType::PreSharedKey, block);
        });
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut extensions = Self::default();
        // RFC 9846 §4.2.2: a client of an older version may omit the whole block
        if !r.any_left() {
            return Ok(extensions);
        }
        let received = read_extensions(r, ExtensionContext::ClientHello, |typ, body| {
            extensions.read_one(typ, body)
        })?;
        extensions.received = received;
        Ok(extensions)
    }
}

impl<'a> ClientExtensions<'a> {
    fn encode_each(
        &self,
        types: impl Iterator<Item = ExtensionType>,
        block: &mut ExtensionWriter<'_>,
    ) {
        for typ in types {
            self.encode_one(typ, block);
        }
    }

    /// True if the field of the extension `typ` is set.
    fn has(&self, typ: ExtensionType) -> bool {
        let mut bytes = Vec::new();
        self.encode_one(typ, &mut ExtensionWriter::new(&mut bytes));
        !bytes.is_empty()
    }

    /// Appends the extension `typ` to `block` if its field is set.
    fn encode_one(&self, typ: ExtensionType, block: &mut ExtensionWriter<'_>) {
        use LengthSize::{U8, U16};

        match typ {
            ExtensionType::ServerName => {
                let name = self.server_name.as_ref();
                block.value(
                    typ,
                    name.filter(|name| matches!(name, ServerNamePayload::DnsName(_))),
                );
            }
            ExtensionType::StatusRequest => block.value(typ, self.status_request.as_ref()),
            ExtensionType::SupportedGroups => {
                block.list(typ, U16, self.supported_groups.as_deref());
            }
            ExtensionType::EcPointFormats => block.list(typ, U8, self.ec_point_formats.as_deref()),
            ExtensionType::SignatureAlgorithms => {
                block.list(typ, U16, self.signature_algorithms.as_deref());
            }
            ExtensionType::ApplicationLayerProtocolNegotiation => {
                block.list(typ, U16, self.alpn_protocol_names.as_deref());
            }
            ExtensionType::ClientCertificateType => {
                block.list(typ, U8, self.client_certificate_type.as_deref());
            }
            ExtensionType::ServerCertificateType => {
                block.list(typ, U8, self.server_certificate_type.as_deref());
            }
            ExtensionType::ExtendedMasterSecret => block.flag(typ, self.extended_master_secret),
            ExtensionType::CompressCertificate => {
                block.list(typ, U8, self.compress_certificate.as_deref());
            }
            ExtensionType::SessionTicket => block.raw(typ, self.session_ticket),
            ExtensionType::PreSharedKey => block.value(typ, self.pre_shared_key.as_ref()),
            ExtensionType::EarlyData => block.flag(typ, self.early_data),
            ExtensionType::SupportedVersions => {
                block.list(typ, U8, self.supported_versions.as_deref());
            }
            ExtensionType::Cookie => block.opaque(typ, U16, self.cookie),
            ExtensionType::PskKeyExchangeModes => {
                block.list(typ, U8, self.psk_key_exchange_modes.as_deref());
            }
            ExtensionType::CertificateAuthorities => {
                block.list(typ, U16, self.certificate_authorities.as_deref());
            }
            ExtensionType::KeyShare => block.list(typ, U16, self.key_shares.as_deref()),
            ExtensionType::QuicTransportParameters
            | ExtensionType::QuicTransportParametersDraft => {
                block.raw(typ, self.transport_parameters.get(typ));
            }
            ExtensionType::TicketRequest => block.value(typ, self.ticket_request.as_ref()),
            ExtensionType::EncryptedClientHello => block.raw(typ, self.encrypted_client_hello),
            ExtensionType::RenegotiationInfo => block.opaque(typ, U8, self.renegotiation_info),
            _ => {}
        }
    }

    /// Reads the body of the extension `typ` into its field.
    fn read_one(&mut self, typ: ExtensionType, r: &mut Reader<'a>) -> Result<(), InvalidMessage> {
        use LengthSize::{U8, U16};

        match typ {
            ExtensionType::ServerName => self.server_name = Some(ServerNamePayload::read(r)?),
            ExtensionType::StatusRequest => {
                self.status_request = Some(CertificateStatusRequest::read(r)?);
            }
            ExtensionType::SupportedGroups => {
                self.supported_groups = Some(read_code_list(r, U16, "NamedGroups")?);
            }
            ExtensionType::EcPointFormats => {
                self.ec_point_formats = Some(read_list(r, U8, "ECPointFormats")?);
            }
            ExtensionType::SignatureAlgorithms => {
                self.signature_algorithms = Some(read_signature_schemes(r)?);
            }
            ExtensionType::ApplicationLayerProtocolNegotiation => {
                self.alpn_protocol_names = Some(read_list(r, U16, "ProtocolNames")?);
            }
            ExtensionType::ClientCertificateType => {
                self.client_certificate_type = Some(read_list(r, U8, "CertificateTypes")?);
            }
            ExtensionType::ServerCertificateType => {
                self.server_certificate_type = Some(read_list(r, U8, "CertificateTypes")?);
            }
            ExtensionType::ExtendedMasterSecret => {
                read_empty(r)?;
                self.extended_master_secret = true;
            }
            ExtensionType::CompressCertificate => {
                self.compress_certificate =
                    Some(read_code_list(r, U8, "CertificateCompressionAlgorithms")?);
            }
            ExtensionType::SessionTicket => self.session_ticket = Some(r.rest()),
            ExtensionType::PreSharedKey => self.pre_shared_key = Some(OfferedPsks::read(r)?),
            ExtensionType::EarlyData => {
                read_empty(r)?;
                self.early_data = true;
            }
            ExtensionType::SupportedVersions => {
                self.supported_versions = Some(read_code_list(r, U8, "ProtocolVersions")?);
            }
            // RFC 9846 §4.3.2: a cookie has at least one byte
            ExtensionType::Cookie => self.cookie = Some(read_value(r, U16)?),
            ExtensionType::PskKeyExchangeModes => {
                self.psk_key_exchange_modes = Some(read_list(r, U8, "PskKeyExchangeModes")?);
            }
            ExtensionType::CertificateAuthorities => {
                self.certificate_authorities = Some(read_authorities(r)?);
            }
            ExtensionType::KeyShare => self.key_shares = Some(read_items(&mut r.prefixed(U16)?)?),
            ExtensionType::QuicTransportParameters
            | ExtensionType::QuicTransportParametersDraft => {
                self.transport_parameters.set(typ, r.rest());
            }
            ExtensionType::TicketRequest => self.ticket_request = Some(TicketRequest::read(r)?),
            ExtensionType::EncryptedClientHello => self.encrypted_client_hello = Some(r.rest()),
            ExtensionType::RenegotiationInfo => {
                self.renegotiation_info = Some(r.prefixed_bytes(U8)?);
            }
            // RFC 9846 §4.2.2: servers ignore unrecognized extensions
            _ => {
                r.rest();
            }
        }
        Ok(())
    }
}

/// True if a ClientHelloOuter has the same extension with the same body as the ClientHelloInner.
/// The answer is the same for all hellos: an extension that is only sometimes shared must not be
/// compressed (RFC 9849 §10.5).
fn is_outer(typ: ExtensionType) -> bool {
    // pre_shared_key is not shuffled
    !matches!(
        typ,
        ExtensionType::ServerName | ExtensionType::EncryptedClientHello
    )
}

/// Returns [`SHUFFLED`] in the order for `seed`: a Fisher-Yates shuffle with numbers drawn from the
/// seed.
///
/// A varying order keeps servers and middleboxes from relying on one. It need not be unpredictable.
fn shuffled(seed: u32) -> [ExtensionType; SHUFFLED.len()] {
    let mut order = SHUFFLED;
    let mut state = u64::from(seed);
    for left in (2..=order.len()).rev() {
        // Knuth's MMIX generator: its high bits are the random ones
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(left - 1, (state >> 33) as usize % left);
    }
    order
}

/// `CertificateStatusRequest`: RFC 6066 §8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateStatusRequest {
    /// An OCSP response. Responders and extensions named by the client are ignored, and none are
    /// sent.
    Ocsp,
    /// An unknown type of status.
    Unknown(CertificateStatusType),
}

impl Codec<'_> for CertificateStatusRequest {
    fn encode(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Ocsp => {
                CertificateStatusType::Ocsp.encode(bytes);
                encode_bytes(bytes, LengthSize::U16, &[]);
                encode_bytes(bytes, LengthSize::U16, &[]);
            }
            Self::Unknown(typ) => typ.encode(bytes),
        }
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        match CertificateStatusType::read(r)? {
            CertificateStatusType::Ocsp => {
                let mut responder_ids = r.prefixed(LengthSize::U16)?;
                while responder_ids.any_left() {
                    responder_ids.prefixed_bytes(LengthSize::U16)?;
                }
                r.prefixed_bytes(LengthSize::U16)?;
                Ok(Self::Ocsp)
            }
            typ => {
                r.rest();
                Ok(Self::Unknown(typ))
            }
        }
    }
}

/// The number of session tickets that a client asks for: the `ticket_request` extension of RFC
/// 9149.
///
/// A server may not know the extension, and may send fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketRequest {
    /// The number of tickets if the server creates a new session.
    pub new_session_count: u8,
    /// The number of tickets if the server resumes the client's session.
    pub resumption_count: u8,
}

impl Codec<'_> for TicketRequest {
    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&[self.new_session_count, self.resumption_count]);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            new_session_count: u8::read(r)?,
            resumption_count: u8::read(r)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    /// Returns the types of `extensions` in the order in which they are sent.
    fn sent_order(extensions: &ClientExtensions<'_>) -> ShortList<ExtensionType> {
        let bytes = extensions.get_encoding();
        ClientExtensions::read_bytes(&bytes).unwrap().received
    }

    #[test]
    fn every_seed_sends_each_extension_once() {
        let all: BTreeSet<u16> = SHUFFLED.into_iter().map(u16::from).collect();
        assert_eq!(all.len(), SHUFFLED.len());
        for seed in 0..1000 {
            assert_eq!(
                shuffled(seed)
                    .into_iter()
                    .map(u16::from)
                    .collect::<BTreeSet<_>>(),
                all
            );
        }
    }

    #[test]
    fn every_extension_may_be_sent_first() {
        let first: BTreeSet<u16> = (0..1000).map(|seed| shuffled(seed)[0].into()).collect();
        assert_eq!(first.len(), SHUFFLED.len());
    }

    #[test]
    fn the_order_is_kept_after_a_retry() {
        for order_seed in 0..100 {
            let first = ClientExtensions {
                supported_versions: Some(smallvec::smallvec![ProtocolVersion::TLSv1_3]),
                psk_key_exchange_modes: Some(smallvec::smallvec![PskKeyExchangeMode::PskDheKe]),
                extended_master_secret: true,
                early_data: true,
                order_seed,
                ..ClientExtensions::default()
            };
            let second = ClientExtensions {
                early_data: false,
                cookie: Some(b"cookie"),
                ..first.clone()
            };
            let kept = |extensions: &ClientExtensions<'_>| {
                let mut order = sent_order(extensions);
                order
                    .retain(|typ| !matches!(typ, ExtensionType::EarlyData | ExtensionType::Cookie));
                order
            };
            assert_eq!(kept(&first), kept(&second));
            assert_eq!(sent_order(&second).len(), 4);
        }
    }

    #[test]
    fn pre_shared_key_is_sent_last() {
        for order_seed in 0..100 {
            let extensions = ClientExtensions {
                extended_master_secret: true,
                renegotiation_info: Some(&[]),
                pre_shared_key: Some(
                    OfferedPsks::read_bytes(&[0, 7, 0, 1, 9, 0, 0, 0, 1, 0, 2, 1, 9]).unwrap(),
                ),
                order_seed,
                ..ClientExtensions::default()
            };
            assert_eq!(
                sent_order(&extensions).last(),
                Some(&ExtensionType::PreSharedKey)
            );
        }
    }

    /// Splits a block into the types and bodies of its extensions.
    fn block(bytes: &[u8]) -> Vec<(ExtensionType, &[u8])> {
        let mut r = Reader::new(bytes).prefixed(LengthSize::U16).unwrap();
        let mut block = Vec::new();
        while r.any_left() {
            let typ = ExtensionType::read(&mut r).unwrap();
            block.push((typ, r.prefixed_bytes(LengthSize::U16).unwrap()));
        }
        block
    }

    /// Decodes an EncodedClientHelloInner like a server (RFC 9849 §5.1).
    #[test]
    fn an_inner_hello_is_restored_from_its_encoding_and_the_outer_hello() {
        let psk = [0, 7, 0, 1, 9, 0, 0, 0, 1, 0, 2, 1, 9];
        for order_seed in 0..1000 {
            let inner = ClientExtensions {
                supported_versions: Some(smallvec::smallvec![ProtocolVersion::TLSv1_3]),
                psk_key_exchange_modes: Some(smallvec::smallvec![PskKeyExchangeMode::PskDheKe]),
                key_shares: Some(Vec::new()),
                cookie: Some(b"cookie"),
                early_data: order_seed % 2 == 0,
                ticket_request: Some(TicketRequest {
                    new_session_count: 2,
                    resumption_count: 1,
                }),
                encrypted_client_hello: Some(b"inner"),
                pre_shared_key: Some(OfferedPsks::read_bytes(&psk).unwrap()),
                order_seed,
                layout: Layout::Inner,
                ..ClientExtensions::default()
            };
            let encoded = ClientExtensions {
                layout: Layout::EncodedInner,
                ..inner.clone()
            };
            let outer = ClientExtensions {
                encrypted_client_hello: Some(b"outer"),
                layout: Layout::Shuffled,
                ..inner.clone()
            };
            let (inner, encoded) = (inner.get_encoding(), encoded.get_encoding());
            let outer = outer.get_encoding();
            let mut rest = block(&outer).into_iter();

            let mut decoded = Vec::new();
            for (typ, body) in block(&encoded) {
                if typ != ExtensionType::EchOuterExtensions {
                    decoded.push((typ, body));
                    continue;
                }
                let mut types = Reader::new(body).prefixed(LengthSize::U8).unwrap();
                let types: Vec<ExtensionType> = types.list().unwrap();
                assert!(types.len() >= 5);
                // they are in outer order, so each is found after the previous one
                let found = types
                    .iter()
                    .map(|typ| rest.find(|(outer, _)| outer == typ).unwrap());
                decoded.extend(found);
            }
            assert_eq!(decoded, block(&inner), "{order_seed}");
            assert_eq!(decoded.last().unwrap().0, ExtensionType::PreSharedKey);
        }
    }
}
