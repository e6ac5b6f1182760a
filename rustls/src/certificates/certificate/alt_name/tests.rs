use alloc::string::ToString;
use alloc::vec;

use super::*;
use crate::certificates::certificate::tests::{SEQUENCE, tlv};

fn read(names: &[Vec<u8>]) -> Result<Box<[GeneralName]>, Malformed> {
    GeneralName::read_all(&tlv(SEQUENCE, &names.concat()))
}

#[test]
fn names_are_parsed_by_kind() {
    let directory = tlv(0xa4, &[SEQUENCE, 0]);
    let other = tlv(0xa0, &[6, 1, 0x2a, 0xa0, 2, 5, 0]);
    let registered = tlv(0x88, &[0x2a]);
    let names = read(&[
        tlv(0x82, b"*.Example.com"),
        tlv(0x81, b"a@example.com"),
        tlv(0x86, b"spiffe://example.com/a"),
        tlv(0x87, &[192, 0, 2, 1]),
        tlv(
            0x87,
            &[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ),
        directory,
        other.clone(),
        registered.clone(),
    ])
    .unwrap();
    assert_eq!(names[0], GeneralName::Dns("*.Example.com".into()));
    assert_eq!(names[6], GeneralName::Other(other.into()));
    assert_eq!(names[7], GeneralName::Other(registered.into()));
    let shown: Vec<_> = names.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "DNS:*.Example.com",
            "email:a@example.com",
            "URI:spiffe://example.com/a",
            "IP:192.0.2.1",
            "IP:2001:db8::1",
            "directory:",
            "other:#A00706012AA0020500",
            "other:#88012A",
        ]
    );
}

#[test]
fn deceptive_names_are_rejected() {
    for tag in [0x81, 0x82, 0x86] {
        read(&[tlv(tag, b"good.example")]).unwrap();
        for name in [
            &b"good.example\0.evil.example"[..],
            b"a\nb",
            b"\x7f",
            "\u{e5}.example".as_bytes(),
            &[0xff],
        ] {
            let refused = read(&[tlv(0x82, b"first.example"), tlv(tag, name)]);
            assert!(matches!(refused, Err(Malformed::Rule(_))), "{name:x?}");
        }
    }
}

#[test]
fn addresses_of_wrong_length_are_rejected() {
    for len in (0..=17).chain([32]) {
        let refused = read(&[tlv(0x87, &vec![1; len])]);
        assert_eq!(refused.is_ok(), matches!(len, 4 | 16), "{len}");
    }
}

#[test]
fn malformed_lists_are_rejected() {
    for names in [
        vec![],
        // not a context-specific tag, a number beyond the CHOICE, and wrong primitive or
        // constructed forms
        vec![tlv(0x0c, b"a")],
        vec![tlv(0x89, b"a")],
        vec![tlv(0xa2, b"a")],
        vec![tlv(0x84, &[SEQUENCE, 0])],
        vec![tlv(0x80, &[6, 1, 0x2a])],
        vec![tlv(0xa4, &[SEQUENCE, 0, 0])],
        vec![tlv(0xa4, &[])],
        // longer than the list
        vec![vec![0x82, 5, b'a']],
    ] {
        assert!(read(&names).is_err(), "{names:x?}");
    }
    GeneralName::read_all(&[SEQUENCE, 3, 0x82, 1, b'a', 0]).unwrap_err();
}

/// A list of as many of the shortest names as fit.
#[test]
fn memory_is_proportional_to_the_list() {
    let der = tlv(SEQUENCE, &[0x82, 0].repeat(30_000));
    let names = GeneralName::read_all(&der).unwrap();
    assert_eq!(names.len(), 30_000);
    assert!(size_of_val(&*names) <= 12 * der.len());
}
