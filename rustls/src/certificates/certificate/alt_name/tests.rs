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

/// A malformed name is returned as it is, and does not hide the other names.
#[track_caller]
fn assert_odd(name: Vec<u8>) {
    let names = read(&[
        tlv(0x82, b"first.example"),
        name.clone(),
        tlv(0x82, b"last.example"),
    ]);
    let expected = [
        GeneralName::Dns("first.example".into()),
        GeneralName::Other(name.into()),
        GeneralName::Dns("last.example".into()),
    ];
    assert_eq!(*names.unwrap(), expected);
}

/// A reader that treats NUL as the end would see a different name, and a line break could forge a
/// log line.
#[test]
fn deceptive_names_are_of_unknown_kind() {
    for tag in [0x81, 0x82, 0x86] {
        read(&[tlv(tag, b"good.example")]).unwrap();
        for name in [
            &b"good.example\0.evil.example"[..],
            b"good.example\0",
            b"a\nb",
            b"\x7f",
            "\u{e5}.example".as_bytes(),
            "https://a.example/\u{e9}".as_bytes(),
            b"j\xf6rg@a.example",
            &[0xff],
        ] {
            assert_odd(tlv(tag, name));
        }
    }
}

#[test]
fn an_address_has_4_or_16_bytes() {
    for len in (0..=17).chain([32]) {
        let name = tlv(0x87, &vec![1; len]);
        if matches!(len, 4 | 16) {
            let names = read(&[name]).unwrap();
            assert!(matches!(*names, [GeneralName::Ip(_)]), "{len}");
        } else {
            assert_odd(name);
        }
    }
    assert_odd(tlv(0x87, b"192.0.2.1"));
}

#[test]
fn unknown_names_do_not_hide_the_others() {
    let not_utf_8 = [tlv(6, &[0x55, 4, 10]), tlv(0x0c, b"ra\xedz")].concat();
    let not_utf_8 = tlv(SEQUENCE, &tlv(0x31, &tlv(SEQUENCE, &not_utf_8)));
    let names = read(&[tlv(0xa4, &not_utf_8)]).unwrap();
    let GeneralName::DirectoryName(name) = &names[0] else {
        panic!("{names:?}");
    };
    assert_eq!(name.der(), not_utf_8);
    assert_eq!(name.attributes().next().unwrap().text(), None);

    for name in [
        // not a context-specific tag, a number beyond the CHOICE, and wrong primitive or
        // constructed forms
        tlv(0x0c, b"a"),
        tlv(0x19, b"a"),
        tlv(0x89, b"a"),
        tlv(0xa2, b"a"),
        tlv(0xa2, &tlv(0x16, b"a.example")),
        tlv(0x84, &[SEQUENCE, 0]),
        tlv(0x80, &[6, 1, 0x2a]),
        // a directory name with more, and without one
        tlv(0xa4, &[SEQUENCE, 0, 0]),
        tlv(0xa4, &[]),
        [&[0x9f, 0x22][..], &[1, b'a']].concat(),
    ] {
        assert_odd(name);
    }
}

#[test]
fn malformed_lists_are_rejected() {
    for names in [
        vec![],
        // longer than the list
        vec![vec![0x82, 5, b'a']],
        vec![vec![0x9f, 0x82]],
        // of indefinite length
        vec![vec![0xa4, 0x80, 0, 0]],
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
