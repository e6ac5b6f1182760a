//! Extensions (RFC 9846 §4.3): the table of which extension is allowed in which message, the
//! framing of received blocks, and the bodies that occur in several messages.
//!
//! The handshake checks whether a received extension was solicited. For that, received messages
//! keep the list of their extension types, unless reading already rejects unknown ones.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::slice;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes};
use rustls_core::enums::{ExtensionType, NamedGroup, SignatureScheme};
use rustls_core::error::InvalidMessage;

use super::extension_block::{ExtensionWriter, Form, encode_items};
use super::short_list::{List, ShortList, read_code_points, read_items};

/// A message that carries extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExtensionContext {
    /// `CH` in the table of RFC 9846 §4.3.
    ClientHello,
    /// `SH` in the table of RFC 9846 §4.3.
    ServerHello,
    /// `HRR` in the table of RFC 9846 §4.3.
    HelloRetryRequest,
    /// `EE` in the table of RFC 9846 §4.3.
    EncryptedExtensions,
    /// `CT` in the table of RFC 9846 §4.3: an entry of a Certificate.
    Certificate,
    /// `CR` in the table of RFC 9846 §4.3.
    CertificateRequest,
    /// `NST` in the table of RFC 9846 §4.3.
    NewSessionTicket,
}

impl ExtensionContext {
    /// Returns the block's name for error messages.
    fn block_name(self) -> &'static str {
        match self {
            Self::ClientHello => "ClientExtensions",
            Self::ServerHello | Self::EncryptedExtensions => "ServerExtensions",
            Self::HelloRetryRequest => "HelloRetryRequestExtensions",
            Self::Certificate => "CertificateExtensions",
            Self::CertificateRequest => "CertificateRequestExtensions",
            Self::NewSessionTicket => "NewSessionTicketExtensions",
        }
    }
}

/// True if TLS 1.3 allows `typ` in `context`.
///
/// True for types that the table lacks: the caller decides whether to ignore them or to reject them
/// as unsolicited.
pub(crate) fn allowed_in(typ: ExtensionType, context: ExtensionContext) -> bool {
    contexts(typ).is_none_or(|contexts| contexts.contains(&context))
}

/// Returns the messages in which `typ` is allowed, from the table of RFC 9846 §4.3 and from other
/// documents. Returns `None` for all other types.
fn contexts(typ: ExtensionType) -> Option<&'static [ExtensionContext]> {
    use ExtensionContext::{
        Certificate as CT, CertificateRequest as CR, ClientHello as CH, EncryptedExtensions as EE,
        HelloRetryRequest as HRR, NewSessionTicket as NST, ServerHello as SH,
    };
    Some(match typ {
        ExtensionType::ServerName => &[CH, EE, CR],
        ExtensionType::StatusRequest => &[CH, CR, CT],
        ExtensionType::SupportedGroups => &[CH, EE],
        ExtensionType::SignatureAlgorithms => &[CH, CR],
        ExtensionType::UseSrtp => &[CH, EE],
        ExtensionType::Heartbeat => &[CH, EE],
        ExtensionType::ApplicationLayerProtocolNegotiation => &[CH, EE],
        ExtensionType::ClientCertificateType => &[CH, EE],
        ExtensionType::ServerCertificateType => &[CH, EE],
        ExtensionType::Padding => &[CH],
        ExtensionType::CompressCertificate => &[CH, CR],
        ExtensionType::RecordSizeLimit => &[CH, EE],
        ExtensionType::DelegatedCredential => &[CH, CR, CT],
        ExtensionType::SupportedEktCiphers => &[CH, EE],
        ExtensionType::PreSharedKey => &[CH, SH],
        ExtensionType::EarlyData => &[CH, EE, NST],
        ExtensionType::SupportedVersions => &[CH, SH, HRR],
        ExtensionType::Cookie => &[CH, HRR],
        ExtensionType::PskKeyExchangeModes => &[CH],
        ExtensionType::CertificateAuthorities => &[CH, CR],
        ExtensionType::OidFilters => &[CR],
        ExtensionType::PostHandshakeAuth => &[CH],
        ExtensionType::SignatureAlgorithmsCert => &[CH, CR],
        ExtensionType::KeyShare => &[CH, SH, HRR],
        ExtensionType::TransparencyInfo => &[CH, CR, CT],
        ExtensionType::ExternalIdHash => &[CH, EE],
        ExtensionType::ExternalSessionId => &[CH, EE],
        ExtensionType::QuicTransportParameters => &[CH, EE],
        ExtensionType::TicketRequest => &[CH, EE],
        ExtensionType::EchOuterExtensions => &[CH],
        ExtensionType::EncryptedClientHello => &[CH, HRR, EE],

        // RFC 9846 §4.5.1.1, with the messages of RFC 8446 §4.2
        ExtensionType::SignedCertificateTimestamp => &[CH, CR, CT],
        // the code point of QUIC's drafts, allowed wherever the final one is
        ExtensionType::QuicTransportParametersDraft => &[CH, EE],
        // RFC 8446 §4.2
        ExtensionType::MaxFragmentLength => &[CH, EE],
        // for TLS 1.2: a server that negotiates TLS 1.3 does not reply to any of them
        ExtensionType::EcPointFormats
        | ExtensionType::EncryptThenMac
        | ExtensionType::ExtendedMasterSecret
        | ExtensionType::RenegotiationInfo
        | ExtensionType::SessionTicket
        | ExtensionType::StatusRequestV2 => &[CH],
        _ => return None,
    })
}

/// Reads an extension block from `r`. Passes the body of each extension to `read_one`, which must
/// consume it.
///
/// Returns the types in wire order. Returns [`InvalidMessage::DuplicateExtension`] if a type occurs
/// twice, [`InvalidMessage::PreSharedKeyIsNotFinalExtension`] if an extension of a ClientHello
/// follows pre_shared_key, and [`InvalidMessage::TrailingData`] if `read_one` does not consume a
/// whole body.
pub(super) fn read_extensions<'a>(
    r: &mut Reader<'a>,
    context: ExtensionContext,
    mut read_one: impl FnMut(ExtensionType, &mut Reader<'a>) -> Result<(), InvalidMessage>,
) -> Result<ShortList<ExtensionType>, InvalidMessage> {
    let mut block = r.prefixed(LengthSize::U16)?;
    let mut received = ShortList::new();
    let mut seen = ExtensionSet::default();
    while block.any_left() {
        // RFC 9846 §4.3.11: nothing follows pre_shared_key in a ClientHello
        if context == ExtensionContext::ClientHello
            && received.last() == Some(&ExtensionType::PreSharedKey)
        {
            return Err(InvalidMessage::PreSharedKeyIsNotFinalExtension);
        }
        let typ = ExtensionType::read(&mut block)?;
        let mut body = block.prefixed(LengthSize::U16)?;

        // RFC 9846 §4.3: no extension may occur twice in one block
        if !seen.insert(typ) {
            return Err(InvalidMessage::DuplicateExtension(typ.into()));
        }
        received.push(typ);

        read_one(typ, &mut body)?;
        // RFC 9846 §4.3: data left over after parsing the structure is a decode_error
        body.expect_empty(context.block_name())?;
    }
    Ok(received)
}

/// A set of extension types. Lookup is sublinear, because a hostile block may hold thousands.
/// Frequent types need no allocation.
#[derive(Debug, Default)]
pub(crate) struct ExtensionSet {
    usual: u64,
    others: BTreeSet<u16>,
}

impl ExtensionSet {
    /// Returns the bit of a frequent type: one with a small number, or one that many hellos
    /// contain.
    fn bit(typ: ExtensionType) -> Option<u64> {
        const RENEGOTIATION_INFO: u16 = 0xff01;
        const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;
        match u16::from(typ) {
            number @ 0..62 => Some(1 << number),
            RENEGOTIATION_INFO => Some(1 << 62),
            ENCRYPTED_CLIENT_HELLO => Some(1 << 63),
            _ => None,
        }
    }

    /// Adds `typ`. Returns false if it was already present.
    pub(crate) fn insert(&mut self, typ: ExtensionType) -> bool {
        match Self::bit(typ) {
            Some(bit) => {
                let is_new = self.usual & bit == 0;
                self.usual |= bit;
                is_new
            }
            None => self.others.insert(typ.into()),
        }
    }

    pub(crate) fn contains(&self, typ: ExtensionType) -> bool {
        match Self::bit(typ) {
            Some(bit) => self.usual & bit != 0,
            None => self.others.contains(&typ.into()),
        }
    }
}

/// Reads the body of an extension whose body must be empty.
pub(super) fn read_empty(r: &mut Reader<'_>) -> Result<(), InvalidMessage> {
    r.expect_empty("Empty")
}

/// Reads a vector of `T`. Returns [`InvalidMessage::IllegalEmptyList`] with `name` if it is empty.
pub(super) fn read_list<'a, L>(
    r: &mut Reader<'a>,
    size: LengthSize,
    name: &'static str,
) -> Result<L, InvalidMessage>
where
    L: List,
    L::Item: Codec<'a>,
{
    let list: L = read_items(&mut r.prefixed(size)?)?;
    if list.is_empty() {
        return Err(InvalidMessage::IllegalEmptyList(name));
    }
    Ok(list)
}

/// Reads a vector of two-byte code points, like [`read_list`].
pub(super) fn read_code_list<'a, T: Codec<'a> + From<u16>>(
    r: &mut Reader<'a>,
    size: LengthSize,
    name: &'static str,
) -> Result<ShortList<T>, InvalidMessage> {
    let list = read_code_points(&mut r.prefixed(size)?)?;
    if list.is_empty() {
        return Err(InvalidMessage::IllegalEmptyList(name));
    }
    Ok(list)
}

/// Reads an opaque vector. Returns [`InvalidMessage::IllegalEmptyValue`] if it is empty.
pub(super) fn read_value<'a>(
    r: &mut Reader<'a>,
    size: LengthSize,
) -> Result<&'a [u8], InvalidMessage> {
    match r.prefixed_bytes(size)? {
        [] => Err(InvalidMessage::IllegalEmptyValue),
        value => Ok(value),
    }
}

/// Reads a `SignatureSchemeList`. Returns [`InvalidMessage::NoSignatureSchemes`] if it is empty.
pub(super) fn read_signature_schemes(
    r: &mut Reader<'_>,
) -> Result<ShortList<SignatureScheme>, InvalidMessage> {
    // RFC 9846 §4.3.3: at least one scheme
    let schemes = read_code_points(&mut r.prefixed(LengthSize::U16)?)?;
    if schemes.is_empty() {
        return Err(InvalidMessage::NoSignatureSchemes);
    }
    Ok(schemes)
}

/// The form of `signature_algorithms`: a `SignatureSchemeList`.
pub(super) struct SignatureSchemes;

impl Form<'_, Option<ShortList<SignatureScheme>>> for SignatureSchemes {
    #[inline]
    fn encode(
        self,
        typ: ExtensionType,
        field: &Option<ShortList<SignatureScheme>>,
        block: &mut ExtensionWriter<'_>,
    ) {
        encode_items(LengthSize::U16, typ, field.as_deref(), block);
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<ShortList<SignatureScheme>>,
        r: &mut Reader<'_>,
    ) -> Result<(), InvalidMessage> {
        *field = Some(read_signature_schemes(r)?);
        Ok(())
    }
}

/// `KeyShareEntry`: RFC 9846 §4.3.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyShareEntry<'a> {
    pub(crate) group: NamedGroup,
    /// `key_exchange`: a public key, or a KEM's ciphertext. Never empty in a decoded message.
    pub(crate) payload: &'a [u8],
}

impl<'a> Codec<'a> for KeyShareEntry<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        self.group.encode(bytes);
        encode_bytes(bytes, LengthSize::U16, self.payload);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            group: NamedGroup::read(r)?,
            // RFC 9846 §4.3.8: key_exchange has at least one byte
            payload: read_value(r, LengthSize::U16)?,
        })
    }
}

/// `ProtocolName` of ALPN: RFC 7301 §3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtocolName<'a>(pub(crate) &'a [u8]);

impl<'a> Codec<'a> for ProtocolName<'a> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        encode_bytes(bytes, LengthSize::U8, self.0);
    }

    fn read(r: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        // RFC 7301 §3.1: a protocol name must not be empty
        read_value(r, LengthSize::U8).map(Self)
    }
}

/// The form of a server's `application_layer_protocol_negotiation`: a `ProtocolNameList` of exactly
/// one protocol.
pub(super) struct SelectedProtocol;

impl<'a> Form<'a, Option<ProtocolName<'a>>> for SelectedProtocol {
    #[inline]
    fn encode(
        self,
        typ: ExtensionType,
        field: &Option<ProtocolName<'a>>,
        block: &mut ExtensionWriter<'_>,
    ) {
        encode_items(
            LengthSize::U16,
            typ,
            field.as_ref().map(slice::from_ref),
            block,
        );
    }

    #[inline]
    fn read(
        self,
        _: ExtensionType,
        field: &mut Option<ProtocolName<'a>>,
        r: &mut Reader<'a>,
    ) -> Result<(), InvalidMessage> {
        let mut list = r.prefixed(LengthSize::U16)?;
        if !list.any_left() {
            return Err(InvalidMessage::IllegalEmptyList("ProtocolNames"));
        }
        *field = Some(ProtocolName::read(&mut list)?);
        // RFC 7301 §3.1: the server's list holds exactly one name
        list.expect_empty("SingleProtocolName")
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::msgs::extension_block::encode_extensions;

    /// The table of RFC 9846 §4.3. After the empty line, extensions that are not in it.
    const TABLE: &str = "
        server_name 0: CH EE CR
        status_request 5: CH CR CT
        supported_groups 10: CH EE
        signature_algorithms 13: CH CR
        use_srtp 14: CH EE
        heartbeat 15: CH EE
        application_layer_protocol_negotiation 16: CH EE
        client_certificate_type 19: CH EE
        server_certificate_type 20: CH EE
        padding 21: CH
        compress_certificate 27: CH CR
        record_size_limit 28: CH EE
        delegated_credential 34: CH CR CT
        supported_ekt_ciphers 39: CH EE
        pre_shared_key 41: CH SH
        early_data 42: CH EE NST
        supported_versions 43: CH SH HRR
        cookie 44: CH HRR
        psk_key_exchange_modes 45: CH
        certificate_authorities 47: CH CR
        oid_filters 48: CR
        post_handshake_auth 49: CH
        signature_algorithms_cert 50: CH CR
        key_share 51: CH SH HRR
        transparency_info 52: CH CR CT
        external_id_hash 55: CH EE
        external_session_id 56: CH EE
        quic_transport_parameters 57: CH EE
        ticket_request 58: CH EE
        ech_outer_extensions 64768: CH
        encrypted_client_hello 65037: CH HRR EE

        max_fragment_length 1: CH EE
        ec_point_formats 11: CH
        status_request_v2 17: CH
        signed_certificate_timestamp 18: CH CR CT
        encrypt_then_mac 22: CH
        extended_master_secret 23: CH
        session_ticket 35: CH
        quic_transport_parameters of drafts 65445: CH EE
        renegotiation_info 65281: CH
    ";

    #[test]
    fn the_table_determines_where_a_known_type_is_allowed() {
        let contexts = [
            ("CH", ExtensionContext::ClientHello),
            ("SH", ExtensionContext::ServerHello),
            ("HRR", ExtensionContext::HelloRetryRequest),
            ("EE", ExtensionContext::EncryptedExtensions),
            ("CT", ExtensionContext::Certificate),
            ("CR", ExtensionContext::CertificateRequest),
            ("NST", ExtensionContext::NewSessionTicket),
        ];
        let mut known = ExtensionSet::default();
        for row in TABLE.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let (typ, allowed) = row.split_once(": ").unwrap();
            let typ = typ.rsplit(' ').next().unwrap().parse::<u16>().unwrap();
            known.insert(typ.into());
            for (name, context) in contexts {
                assert_eq!(
                    allowed_in(typ.into(), context),
                    allowed.split(' ').any(|allowed| allowed == name),
                    "{row} in {name}"
                );
            }
        }
        // unknown types are left to the rules of each message
        for typ in (0..=u16::MAX).map(ExtensionType::from) {
            let anywhere = contexts
                .iter()
                .all(|&(_, context)| allowed_in(typ, context));
            assert_eq!(anywhere, !known.contains(typ), "{typ:?}");
        }
    }

    #[test]
    fn a_set_distinguishes_all_types() {
        let mut set = ExtensionSet::default();
        for typ in (0..=u16::MAX).map(ExtensionType::from) {
            assert!(!set.contains(typ), "{typ:?}");
            assert!(set.insert(typ), "{typ:?}");
            assert!(!set.insert(typ), "{typ:?}");
            assert!(set.contains(typ), "{typ:?}");
        }
    }

    /// Reads a block of empty extensions of the given types.
    fn read_types(
        types: impl Iterator<Item = u16>,
    ) -> Result<ShortList<ExtensionType>, InvalidMessage> {
        let mut bytes = vec![];
        encode_extensions(&mut bytes, |block| {
            types.for_each(|typ| block.add(typ.into(), |_| ()));
        });
        read_extensions(
            &mut Reader::new(&bytes),
            ExtensionContext::EncryptedExtensions,
            |_, _| Ok(()),
        )
    }

    #[test]
    fn a_block_of_maximum_length_is_read() {
        // each extension has a type and a length of two bytes
        let most = 0xffff / 4;
        let received = read_types(0..most).unwrap();
        assert!(received.iter().copied().map(u16::from).eq(0..most));

        for again in [0, 63, 64, most - 2] {
            assert_eq!(
                read_types((0..most - 1).chain([again])),
                Err(InvalidMessage::DuplicateExtension(again))
            );
        }
    }

    #[test]
    fn a_body_must_be_read_completely() {
        let block = [0, 5, 0x12, 0x34, 0, 1, 9];
        for (context, name) in [
            (ExtensionContext::ClientHello, "ClientExtensions"),
            (
                ExtensionContext::NewSessionTicket,
                "NewSessionTicketExtensions",
            ),
        ] {
            assert_eq!(
                read_extensions(&mut Reader::new(&block), context, |_, _| Ok(())),
                Err(InvalidMessage::TrailingData(name))
            );
        }
    }
}
