use alloc::format;
use alloc::vec::Vec;

use super::*;
use crate::codec::{Codec, Reader};
use crate::error::InvalidMessage;

/// Checks that every value of an enum survives a round trip, named or not.
macro_rules! round_trips {
    ($name:ident: u8) => {
        for value in 0..=u8::MAX {
            let read = $name::read_bytes(&[value]).unwrap();
            assert_eq!(u8::from(read), value);
            assert_eq!(read.to_array(), [value]);
            assert_eq!(read.get_encoding(), [value]);
            assert_eq!(read.as_str().is_none(), read == $name::Unknown(value));
        }
        assert_eq!(
            $name::read_bytes(&[]),
            Err(InvalidMessage::MissingData(stringify!($name)))
        );
    };
    ($name:ident: u16) => {
        for value in 0..=u16::MAX {
            let bytes = [(value >> 8) as u8, value as u8];
            let read = $name::read_bytes(&bytes).unwrap();
            assert_eq!(u16::from(read), value);
            assert_eq!(read.to_array(), bytes);
            assert_eq!(read.get_encoding(), bytes);
            assert_eq!(read.as_str().is_none(), read == $name::Unknown(value));
        }
        assert_eq!(
            $name::read_bytes(&[1]),
            Err(InvalidMessage::MissingData(stringify!($name)))
        );
    };
}

#[test]
#[cfg_attr(miri, ignore = "all values of 16 bits")]
fn every_value_round_trips() {
    round_trips!(AlertDescription: u8);
    round_trips!(AlertLevel: u8);
    round_trips!(CertificateCompressionAlgorithm: u16);
    round_trips!(CertificateStatusType: u8);
    round_trips!(CertificateType: u8);
    round_trips!(CipherSuite: u16);
    round_trips!(ClientCertificateType: u8);
    round_trips!(Compression: u8);
    round_trips!(ContentType: u8);
    round_trips!(ECCurveType: u8);
    round_trips!(ECPointFormat: u8);
    round_trips!(EchVersion: u16);
    round_trips!(ExtensionType: u16);
    round_trips!(HandshakeType: u8);
    round_trips!(HashAlgorithm: u8);
    round_trips!(HpkeAead: u16);
    round_trips!(HpkeKdf: u16);
    round_trips!(HpkeKem: u16);
    round_trips!(KeyUpdateRequest: u8);
    round_trips!(NamedGroup: u16);
    round_trips!(ProtocolVersion: u16);
    round_trips!(PskKeyExchangeMode: u8);
    round_trips!(ServerNameType: u8);
    round_trips!(SignatureAlgorithm: u8);
    round_trips!(SignatureScheme: u16);
}

/// Round trips cannot detect a name with the wrong value. A handshake depends on these values.
#[test]
fn names_have_the_assigned_code_points() {
    assert_eq!(
        CipherSuite::from(0x1301),
        CipherSuite::TLS13_AES_128_GCM_SHA256
    );
    assert_eq!(
        CipherSuite::from(0x1302),
        CipherSuite::TLS13_AES_256_GCM_SHA384
    );
    assert_eq!(
        CipherSuite::from(0x1303),
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256
    );
    for (value, suite) in [
        (0xc02b, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
        (0xc02c, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
        (0xc02f, CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
        (0xc030, CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
        (
            0xcca8,
            CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ),
        (
            0xcca9,
            CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        ),
        (0x00ff, CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV),
    ] {
        assert_eq!(CipherSuite::from(value), suite);
    }
    assert_eq!(ProtocolVersion::TLSv1_2.to_array(), [3, 3]);
    assert_eq!(ProtocolVersion::TLSv1_3.to_array(), [3, 4]);
    assert_eq!(NamedGroup::X25519.to_array(), [0, 29]);
    assert_eq!(NamedGroup::secp256r1.to_array(), [0, 23]);
    assert_eq!(NamedGroup::X25519MLKEM768.to_array(), [0x11, 0xec]);
    assert_eq!(SignatureScheme::RSA_PSS_SHA256.to_array(), [8, 4]);
    assert_eq!(SignatureScheme::ECDSA_NISTP256_SHA256.to_array(), [4, 3]);
    assert_eq!(ExtensionType::KeyShare.to_array(), [0, 51]);
    assert_eq!(ExtensionType::PreSharedKey.to_array(), [0, 41]);
    assert_eq!(ExtensionType::EncryptedClientHello.to_array(), [0xfe, 0x0d]);
    assert_eq!(HandshakeType::Finished.to_array(), [20]);
    assert_eq!(ContentType::ApplicationData.to_array(), [23]);
    assert_eq!(
        AlertDescription::EncryptedClientHelloRequired.to_array(),
        [121]
    );
    assert_eq!(HpkeKem::DHKEM_X25519_HKDF_SHA256.to_array(), [0, 0x20]);
}

#[test]
fn debug_prints_the_name_or_the_value() {
    assert_eq!(format!("{:?}", ContentType::Handshake), "Handshake");
    assert_eq!(
        format!("{:?}", ContentType::Unknown(0x42)),
        "ContentType(0x42)"
    );
    assert_eq!(
        format!("{:?}", CipherSuite::from(0x4242)),
        "CipherSuite(0x4242)"
    );
    assert_eq!(
        format!("{:?}", CipherSuite::TLS13_AES_128_GCM_SHA256),
        "TLS13_AES_128_GCM_SHA256"
    );
    assert_eq!(
        format!("{:?}", CipherSuite::TLS_RSA_WITH_RC4_128_MD5),
        "CipherSuite(0x4)"
    );
}

#[test]
fn a_value_is_read_from_the_front() {
    let mut r = Reader::new(&[3, 4, 5]);
    assert_eq!(ProtocolVersion::read(&mut r), Ok(ProtocolVersion::TLSv1_3));
    assert_eq!(r.rest(), &[5]);
    assert_eq!(
        ProtocolVersion::read_bytes(&[3, 4, 5]),
        Err(InvalidMessage::TrailingData("read_bytes"))
    );
}

#[test]
#[cfg_attr(miri, ignore = "all values of 16 bits")]
fn only_the_range_of_rfc_7919_has_finite_field_groups() {
    let finite_field: Vec<u16> = (0..=u16::MAX)
        .filter(|value| {
            NamedGroup::from(*value).key_exchange_algorithm() == KeyExchangeAlgorithm::DHE
        })
        .collect();
    assert_eq!(finite_field, (0x100..=0x1ff).collect::<Vec<_>>());
}

#[test]
fn schemes_report_their_kind_of_key() {
    use SignatureAlgorithm as Kind;
    for (value, kind, tls13) in [
        (0x0201, Kind::RSA, false),
        (0x0203, Kind::ECDSA, false),
        (0x0401, Kind::RSA, false),
        (0x0501, Kind::RSA, false),
        (0x0601, Kind::RSA, false),
        (0x0403, Kind::ECDSA, true),
        (0x0503, Kind::ECDSA, true),
        (0x0603, Kind::ECDSA, true),
        (0x0804, Kind::RSA, true),
        (0x0805, Kind::RSA, true),
        (0x0806, Kind::RSA, true),
        (0x0807, Kind::ED25519, true),
        (0x0808, Kind::ED448, true),
        (0x0904, Kind::Unknown(4), true),
        (0x0905, Kind::Unknown(5), true),
        (0x0906, Kind::Unknown(6), true),
        // unnamed, although their low byte is the value of a TLS 1.2 signature algorithm
        (0x0301, Kind::Unknown(1), false),
        (0x0303, Kind::Unknown(3), false),
        // for private use
        (0xfe01, Kind::Unknown(1), true),
    ] {
        let scheme = SignatureScheme::from(value);
        assert_eq!(scheme.algorithm(), kind, "{scheme:?}");
        assert_eq!(scheme.supported_in_tls13(), tls13, "{scheme:?}");
    }
}

#[test]
fn defaults_are_the_values_without_negotiation() {
    assert_eq!(CertificateType::default(), CertificateType::X509);
    assert_eq!(HpkeKdf::default(), HpkeKdf::HKDF_SHA256);
    assert_eq!(HpkeAead::default(), HpkeAead::AES_128_GCM);
}

#[test]
fn only_sealing_aeads_have_a_tag() {
    assert_eq!(HpkeAead::AES_128_GCM.tag_len(), Some(16));
    assert_eq!(HpkeAead::AES_256_GCM.tag_len(), Some(16));
    assert_eq!(HpkeAead::CHACHA20_POLY_1305.tag_len(), Some(16));
    assert_eq!(HpkeAead::EXPORT_ONLY.tag_len(), None);
    assert_eq!(HpkeAead::Unknown(9).tag_len(), None);
}
