//! The extensions of a ClientHello: RFC 9846 §4.3.

use alloc::vec::Vec;
use core::array;

use rustls_core::codec::LengthSize::{U8, U16};
use rustls_core::codec::{Codec, Reader, encode_bytes};
use rustls_core::enums::{
    CertificateCompressionAlgorithm, CertificateStatusType, CertificateType, ECPointFormat,
    ExtensionType, NamedGroup, ProtocolVersion, PskKeyExchangeMode, SignatureScheme,
};
use rustls_core::error::InvalidMessage;

use super::certificate_request::DistinguishedName;
use super::extension_block::{
    Codes, ExtensionBlock, ExtensionWriter, Flag, Items, MaybeEmpty, NonEmpty, Opaque, Unparsed,
    Value, encode_extensions, encode_items, extension_block,
};
use super::extensions::{KeyShareEntry, ProtocolName, SignatureSchemes};
use super::pre_shared_key::OfferedPsks;
use super::server_name::{HostName, ServerNamePayload};
use super::short_list::ShortList;
use super::transport_parameters::{EitherCodePoint, TransportParameters};

extension_block! {
    /// The extensions of a ClientHello that this library supports. All but `pre_shared_key` are
    /// sent in a shuffled order; see [`Layout`].
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct ClientExtensions<'a> in ClientHello {
        ServerName => server_name: Option<ServerNamePayload<'a>> as HostName,
        StatusRequest => status_request: Option<CertificateStatusRequest> as Value,
        SupportedGroups =>
            supported_groups: Option<ShortList<NamedGroup>> as Codes(U16, "NamedGroups"),
        EcPointFormats =>
            ec_point_formats: Option<ShortList<ECPointFormat>> as Items(U8, "ECPointFormats"),
        SignatureAlgorithms =>
            signature_algorithms: Option<ShortList<SignatureScheme>> as SignatureSchemes,
        ApplicationLayerProtocolNegotiation =>
            alpn_protocol_names: Option<Vec<ProtocolName<'a>>> as Items(U16, "ProtocolNames"),
        ClientCertificateType =>
            client_certificate_type: Option<Vec<CertificateType>> as Items(U8, "CertificateTypes"),
        ServerCertificateType =>
            server_certificate_type: Option<Vec<CertificateType>> as Items(U8, "CertificateTypes"),
        ExtendedMasterSecret => extended_master_secret: bool as Flag,
        CompressCertificate =>
            compress_certificate: Option<ShortList<CertificateCompressionAlgorithm>>
                as Codes(U8, "CertificateCompressionAlgorithms"),
        /// A TLS 1.2 ticket; empty to ask for one.
        SessionTicket => session_ticket: Option<&'a [u8]> as Unparsed,
        EarlyData => early_data: bool as Flag,
        SupportedVersions =>
            supported_versions: Option<ShortList<ProtocolVersion>> as Codes(U8, "ProtocolVersions"),
        // RFC 9846 §4.3.2: a cookie has at least one byte
        Cookie => cookie: Option<&'a [u8]> as NonEmpty(U16),
        PskKeyExchangeModes =>
            psk_key_exchange_modes: Option<ShortList<PskKeyExchangeMode>>
                as Items(U8, "PskKeyExchangeModes"),
        // deviates from RFC 9846 §4.3.4: an empty list, which rustls 0.23 also accepts, means no
        // restriction
        CertificateAuthorities =>
            certificate_authorities: Option<Vec<DistinguishedName>> as MaybeEmpty(U16),
        TicketRequest => ticket_request: Option<TicketRequest> as Value,
        /// Empty to ask for a HelloRetryRequest.
        KeyShare => key_shares: Option<Vec<KeyShareEntry<'a>>> as MaybeEmpty(U16),
        QuicTransportParameters | QuicTransportParametersDraft =>
            transport_parameters: TransportParameters<'a> as EitherCodePoint,
        /// Encoded by `msgs::ech`.
        EncryptedClientHello => encrypted_client_hello: Option<&'a [u8]> as Unparsed,
        /// Empty in an initial handshake.
        RenegotiationInfo => renegotiation_info: Option<&'a [u8]> as Opaque(U8),

        // RFC 9846 §4.3.11: the last extension, so it is not shuffled
        PreSharedKey => pre_shared_key: Option<OfferedPsks<'a>> as Value,
    }
    besides {
        /// The seed that determines the order of the sent extensions. The order does not depend on
        /// which fields are set, because a ClientHello after a retry must keep it. Received
        /// messages do not set it.
        order_seed: u32,
        /// The layout of the extensions. Received messages do not set it.
        layout: Layout,
        /// The types of all received extensions, in order. Not sent.
        received: ShortList<ExtensionType>,
    }
}

/// The layout of a ClientHello's extensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Shuffled order.
    #[default]
    Shuffled,
    /// The layout of a ClientHelloInner: the extensions shared with the ClientHelloOuter are
    /// together at the end, in the outer order, followed only by `pre_shared_key` (RFC 9849 §5.1).
    Inner,
    /// The layout of an EncodedClientHelloInner: `ech_outer_extensions` lists the shared extensions
    /// instead.
    EncodedInner,
}

/// The extensions that are sent in shuffled order: all except `pre_shared_key`.
const SHUFFLED: [ExtensionType; ClientExtensions::TYPES.len() - 1] =
    match ClientExtensions::TYPES.split_last_chunk() {
        Some((rows, [ExtensionType::PreSharedKey])) => *rows.first_chunk().unwrap(),
        _ => panic!("pre_shared_key is not the last row"),
    };

// `set_rows` has a bit for each row
const _: () = assert!(ClientExtensions::TYPES.len() <= 32);

/// An order of the extensions, as positions in [`SHUFFLED`].
type Order = [u8; SHUFFLED.len()];

impl<'a> Codec<'a> for ClientExtensions<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_extensions(bytes, |block| {
            let mut order = shuffled(self.order_seed);
            let order = self.set_in(&mut order);
            match self.layout {
                Layout::Shuffled => self.encode_each(order, block),
                Layout::Inner => {
                    self.encode_each(order.clone().filter(|typ| !is_outer(*typ)), block);
                    self.encode_each(order.filter(|typ| is_outer(*typ)), block);
                }
                Layout::EncodedInner => {
                    self.encode_each(order.clone().filter(|typ| !is_outer(*typ)), block);
                    let outer: ShortList<_> = order.filter(|typ| is_outer(*typ)).collect();
                    encode_items(U8, ExtensionType::EchOuterExtensions, Some(&outer), block);
                }
            }
            // RFC 9846 §4.3.11: pre_shared_key is the last extension
            self.encode_one(ExtensionType::PreSharedKey, block);
        });
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let mut extensions = Self::default();
        extensions.fill(r)?;
        Ok(extensions)
    }
}

impl<'a> ClientExtensions<'a> {
    /// Reads a block into this empty one.
    pub(super) fn fill(&mut self, r: &mut Reader<'a>) -> Result<(), InvalidMessage> {
        // RFC 9846 §4.2.2: a client of an older version may omit the whole block
        if !r.any_left() {
            return Ok(());
        }
        // RFC 9846 §4.2.2: servers ignore unrecognized extensions
        self.received = self.read_block(r)?;
        Ok(())
    }
}

impl ClientExtensions<'_> {
    /// Moves the extensions whose fields are set to the front of `order`, and returns them.
    fn set_in(&self, order: &mut Order) -> impl Iterator<Item = ExtensionType> + Clone {
        let rows = self.set_rows();
        let mut len = 0;
        for at in 0..order.len() {
            // without branches, because a processor cannot predict them in a shuffled order
            order[len] = order[at];
            len += (rows >> order[at] & 1) as usize;
        }
        order[..len].iter().map(|row| SHUFFLED[usize::from(*row)])
    }

    fn encode_each(
        &self,
        types: impl Iterator<Item = ExtensionType>,
        block: &mut ExtensionWriter<'_>,
    ) {
        for typ in types {
            self.encode_one(typ, block);
        }
    }
}

/// True if a ClientHelloOuter has the same extension with the same body as the ClientHelloInner.
/// The result is the same for all hellos, because an extension that is only sometimes shared should
/// not be compressed (RFC 9849 §10.5).
fn is_outer(typ: ExtensionType) -> bool {
    // pre_shared_key is not shuffled
    !matches!(
        typ,
        ExtensionType::ServerName | ExtensionType::EncryptedClientHello
    )
}

/// Returns the positions of [`SHUFFLED`] in the order for `seed`: a Fisher-Yates shuffle with
/// numbers drawn from the seed.
///
/// A varying order keeps servers and middleboxes from relying on a fixed one. The order need not be
/// unpredictable.
fn shuffled(seed: u32) -> Order {
    let mut order = array::from_fn(|row| row as u8);
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
                encode_bytes(bytes, U16, &[]);
                encode_bytes(bytes, U16, &[]);
            }
            Self::Unknown(typ) => typ.encode(bytes),
        }
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        match CertificateStatusType::read(r)? {
            CertificateStatusType::Ocsp => {
                let mut responder_ids = r.prefixed(U16)?;
                while responder_ids.any_left() {
                    responder_ids.prefixed_bytes(U16)?;
                }
                r.prefixed_bytes(U16)?;
                Ok(Self::Ocsp)
            }
            typ => {
                r.rest();
                Ok(Self::Unknown(typ))
            }
        }
    }
}

/// The number of session tickets that a client requests: the `ticket_request` extension of RFC
/// 9149.
///
/// A server may ignore the request, or send fewer tickets.
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

    /// Returns the types of `extensions` in sending order.
    fn sent_order(extensions: &ClientExtensions<'_>) -> ShortList<ExtensionType> {
        let bytes = extensions.get_encoding();
        ClientExtensions::read_bytes(&bytes).unwrap().received
    }

    #[test]
    fn every_seed_sends_each_extension_once() {
        let types: BTreeSet<u16> = SHUFFLED.into_iter().map(u16::from).collect();
        assert_eq!(types.len(), SHUFFLED.len());
        for seed in 0..1000 {
            let mut order = shuffled(seed);
            order.sort_unstable();
            assert!(order.into_iter().map(usize::from).eq(0..SHUFFLED.len()));
        }
    }

    #[test]
    fn every_extension_may_be_sent_first() {
        let first: BTreeSet<u8> = (0..1000).map(|seed| shuffled(seed)[0]).collect();
        assert_eq!(first.len(), SHUFFLED.len());
    }

    #[test]
    fn extensions_keep_their_order_after_a_retry() {
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
        let mut r = Reader::new(bytes).prefixed(U16).unwrap();
        let mut block = Vec::new();
        while r.any_left() {
            let typ = ExtensionType::read(&mut r).unwrap();
            block.push((typ, r.prefixed_bytes(U16).unwrap()));
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
                let mut types = Reader::new(body).prefixed(U8).unwrap();
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
