use alloc::string::ToString;
use alloc::{format, vec};

use super::*;
use crate::certificates::certificate::tests::{OID, SEQUENCE, SET, tlv};

const UTF8: u8 = 0x0c;
const NUMERIC: u8 = 0x12;
const PRINTABLE: u8 = 0x13;
const TELETEX: u8 = 0x14;
const IA5: u8 = 0x16;
const GRAPHIC: u8 = 0x19;
const VISIBLE: u8 = 0x1a;
const GENERAL: u8 = 0x1b;
const UNIVERSAL: u8 = 0x1c;
const BMP: u8 = 0x1e;

const ORGANIZATION: &[u8] = &[0x55, 4, 10];
const COUNTRY: &[u8] = &[0x55, 4, 6];

fn attribute(oid: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
    tlv(SEQUENCE, &[tlv(OID, oid), tlv(tag, value)].concat())
}

/// Encodes a name with one set per element.
fn name(sets: &[Vec<u8>]) -> Vec<u8> {
    let sets: Vec<_> = sets.iter().map(|set| tlv(SET, set)).collect();
    tlv(SEQUENCE, &sets.concat())
}

fn common_name(tag: u8, value: &[u8]) -> Vec<u8> {
    name(&[attribute(COMMON_NAME, tag, value)])
}

fn show(der: &[u8]) -> String {
    Name::read(der).unwrap().to_string()
}

#[test]
fn names_are_printed_last_attribute_first() {
    let der = name(&[
        attribute(COUNTRY, PRINTABLE, b"NO"),
        [
            attribute(ORGANIZATION, UTF8, b"Example, Inc."),
            attribute(&[0x2a, 3], UTF8, b"x"),
        ]
        .concat(),
        attribute(COMMON_NAME, UTF8, "\u{c5}se".as_bytes()),
    ]);
    let name = Name::read(&der).unwrap();
    assert_eq!(
        name.to_string(),
        "CN=\u{c5}se,O=Example\\, Inc.+1.2.3=#0C0178,C=NO"
    );
    assert_eq!(name.common_name(), Some("\u{c5}se"));
    assert_eq!(name.der(), der);
    assert!(!name.is_empty());

    let attributes: Vec<_> = name.attributes().collect();
    assert_eq!(
        attributes.iter().map(Attribute::text).collect::<Vec<_>>(),
        [
            Some("NO"),
            Some("Example, Inc."),
            Some("x"),
            Some("\u{c5}se")
        ]
    );
    assert_eq!(
        attributes
            .iter()
            .map(Attribute::joins_previous)
            .collect::<Vec<_>>(),
        [false, false, true, false]
    );
    assert_eq!(attributes[0].value_der(), [PRINTABLE, 2, b'N', b'O']);
    assert_eq!(attributes[0].oid().as_bytes(), COUNTRY);
}

#[test]
fn a_name_may_be_empty() {
    let name = Name::read(&[SEQUENCE, 0]).unwrap();
    assert!(name.is_empty());
    assert_eq!(name.to_string(), "");
    assert_eq!(name.common_name(), None);
}

#[test]
fn deceptive_characters_are_escaped() {
    for (text, shown) in [
        ("a\0b", "CN=a\\00b"),
        ("a\nb\u{7f}\u{85}", "CN=a\\0Ab\\7F\\C2\\85"),
        ("\u{202e}gpj.exe", "CN=\\E2\\80\\AEgpj.exe"),
        (" #a ", "CN=\\ #a\\ "),
        ("#a", "CN=\\#a"),
        (" ", "CN=\\ "),
        ("a\"+,;<>\\=", "CN=a\\\"\\+\\,\\;\\<\\>\\\\="),
        ("", "CN="),
    ] {
        assert_eq!(show(&common_name(UTF8, text.as_bytes())), shown);
    }
    let with_nul = Name::read(&common_name(UTF8, b"good.example\0.evil.example")).unwrap();
    assert_eq!(with_nul.common_name(), Some("good.example\0.evil.example"));
}

#[test]
fn common_name_must_be_unique() {
    let cn = |value| attribute(COMMON_NAME, UTF8, value);
    let two = Name::read(&name(&[cn(b"a"), cn(b"b")])).unwrap();
    assert_eq!(two.common_name(), None);
    assert_eq!(two.to_string(), "CN=b,CN=a");
    // also if both are in one set
    let two = Name::read(&name(&[[cn(b"a"), cn(b"b")].concat()])).unwrap();
    assert_eq!(two.common_name(), None);
    assert_eq!(two.to_string(), "CN=a+CN=b");
    // a number is not text
    let number = Name::read(&common_name(2, &[1])).unwrap();
    assert_eq!(number.common_name(), None);
    assert_eq!(number.to_string(), "CN=#020101");
}

#[test]
fn texts_are_parsed_by_type() {
    for (tag, value, text) in [
        (PRINTABLE, &b"a*@_"[..], "a*@_"),
        (IA5, b"a", "a"),
        (TELETEX, &[0xe5], "\u{e5}"),
        (BMP, &[0, 0x61, 0x20, 0xac], "a\u{20ac}"),
        (BMP, &[0xd8, 0x3d, 0xde, 0x00], "\u{1f600}"),
        (UNIVERSAL, &[0, 0, 0, 0x61, 0, 1, 0xf6, 0], "a\u{1f600}"),
        (UNIVERSAL, &[], ""),
    ] {
        let name = Name::read(&common_name(tag, value)).unwrap();
        assert_eq!(name.common_name(), Some(text));
    }
}

/// Authorities have issued names with texts that violate their declared type. The rest of such a
/// name stays readable.
#[test]
fn values_that_violate_their_type_have_no_text() {
    for (tag, value) in [
        (UTF8, &[0xff][..]),
        (UTF8, b"Certificado ra\xedz"),
        // a surrogate in UTF-8
        (UTF8, &[0xed, 0xa0, 0x80]),
        (PRINTABLE, b"M\xfcller"),
        (NUMERIC, &[0xb2]),
        (VISIBLE, &[0xb2]),
        (IA5, &[0xc3, 0xa5]),
        (BMP, &[0]),
        (BMP, &[0xd8, 0x00, 0, 0x61]),
        (UNIVERSAL, &[0, 0, 0x61]),
        (UNIVERSAL, &[0, 0, 0xd8, 0]),
        (UNIVERSAL, &[0, 0x11, 0, 0]),
        // types that are not in RFC 5280, and a text in pieces
        (GRAPHIC, b"a"),
        (GENERAL, b"a"),
        (0x20 | UTF8, &[UTF8, 1, b'a']),
    ] {
        let odd = attribute(ORGANIZATION, tag, value);
        let der = name(&[odd, attribute(COMMON_NAME, UTF8, b"leaf")]);
        let name = Name::read(&der).unwrap();
        assert_eq!(name.der(), der);
        assert_eq!(name.common_name(), Some("leaf"));
        let [odd, _] = &*name.attributes().collect::<Vec<_>>() else {
            panic!("{name}");
        };
        let value = tlv(tag, value);
        assert_eq!((odd.text(), odd.value_der()), (None, &value[..]));
        let hex: String = value.iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(name.to_string(), format!("CN=leaf,O=#{hex}"));

        // it does not count as a common name, and does not make another one unique
        let odd = attribute(COMMON_NAME, tag, &value[2..]);
        let good = attribute(COMMON_NAME, UTF8, b"leaf");
        let two = self::name(&[odd.clone(), good]);
        for der in [self::name(&[odd]), two] {
            assert_eq!(Name::read(&der).unwrap().common_name(), None);
        }
    }
}

#[test]
fn malformed_names_are_rejected() {
    let good = common_name(UTF8, b"a");
    Name::read(&good).unwrap();
    for der in [
        vec![],
        good[..good.len() - 1].to_vec(),
        [&good[..], &[0]].concat(),
        tlv(SET, &good[2..]),
        // not a set, an empty set, an empty attribute, an attribute with a third element
        tlv(
            SEQUENCE,
            &tlv(SEQUENCE, &attribute(COMMON_NAME, UTF8, b"a")),
        ),
        name(&[vec![]]),
        name(&[tlv(SEQUENCE, &[])]),
        name(&[tlv(
            SEQUENCE,
            &[tlv(OID, COMMON_NAME), tlv(UTF8, b"a"), tlv(UTF8, b"a")].concat(),
        )]),
        name(&[attribute(&[0x80], UTF8, b"a")]),
        name(&[tlv(SEQUENCE, &[tlv(UTF8, b"a"), tlv(UTF8, b"a")].concat())]),
    ] {
        assert!(Name::read(&der).is_err(), "{der:x?}");
    }
}
