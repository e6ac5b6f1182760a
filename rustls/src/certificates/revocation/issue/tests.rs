//! Parsing of issues, from lists and from other bytes.

use rcgen::{SerialNumber, date_time_ymd};
use rustls_core::der::{SEQUENCE, der};

use super::*;
use crate::config::webpki::tests::pki::{at, crl, root};

#[test]
fn the_fields_of_a_list_are_parsed() {
    let root = root("Root", |_| ());
    for revoked in [&[][..], &[1, 2]] {
        for (number, expected) in [
            (&[7][..], &[7][..]),
            (&[0], &[]),
            (&[0, 0x80], &[0x80]),
            (&[0x7f; 20], &[0x7f; 20]),
        ] {
            let list = crl(&root, revoked, |params| {
                params.crl_number = SerialNumber::from_slice(number);
            });
            let issue = Issue::read(&list).unwrap();
            assert_eq!(issue.this_update, at(1_672_531_200));
            assert_eq!(issue.next_update, at(1_704_067_200));
            assert_eq!(issue.number.as_deref(), Some(expected));
        }
    }
}

#[test]
fn dates_of_any_century_are_parsed() {
    let root = root("Root", |_| ());
    for (year, month, day, secs) in [
        (1970, 1, 1, 0),
        (1999, 12, 31, 946_598_400),
        (2000, 2, 29, 951_782_400),
        (2000, 3, 1, 951_868_800),
        (2023, 2, 28, 1_677_542_400),
        (2024, 2, 29, 1_709_164_800),
        (2024, 12, 31, 1_735_603_200),
        // GeneralizedTime from here on
        (2050, 1, 1, 2_524_608_000),
        (2100, 3, 1, 4_107_542_400),
    ] {
        let list = crl(&root, &[], |params| {
            params.this_update = date_time_ymd(year, month, day);
            params.next_update = date_time_ymd(9999, 12, 31);
        });
        let issue = Issue::read(&list).unwrap();
        assert_eq!(issue.this_update, at(secs), "{year}-{month}-{day}");
        assert_eq!(issue.next_update, at(253_402_214_400));
    }

    let time_of = |tag: &Tlv, text: &[u8]| time(&mut &*der(tag.0, &[text]));
    assert_eq!(time_of(&Tlv::UTC_TIME, b"700101000001Z"), Some(at(1)));
    assert_eq!(
        time_of(&Tlv::GENERALIZED_TIME, b"19700101235959Z"),
        Some(at(86_399))
    );
    for (tag, text) in [
        (Tlv::UTC_TIME, &b"691231235959Z"[..]),
        (Tlv::UTC_TIME, b"700101000001+0000"),
        (Tlv::UTC_TIME, b"7001010000Z"),
        (Tlv::UTC_TIME, b""),
        (Tlv::UTC_TIME, b"70-101000001Z"),
        (Tlv::GENERALIZED_TIME, b"19701301000000Z"),
        (Tlv::GENERALIZED_TIME, b"19700001000000Z"),
        (Tlv::GENERALIZED_TIME, b"00000101000000Z"),
        (Tlv::GENERALIZED_TIME, b"19700100000000Z"),
        (Tlv::SEQUENCE, b"700101000001Z"),
    ] {
        assert_eq!(time_of(&tag, text), None, "{text:?}");
    }
}

#[test]
fn damaged_lists_have_no_fields() {
    let good = crl(&root("Root", |_| ()), &[1], |_| ());
    assert!(Issue::read(&good).is_some());
    for end in 0..good.len() {
        assert_eq!(Issue::read(&good[..end]), None);
    }
    for at in 0..good.len() {
        for byte in 0..=u8::MAX {
            let mut bytes = good.to_vec();
            bytes[at] = byte;
            // any result is fine, but no panic
            let _ = Issue::read(&bytes);
        }
    }
    for bytes in [
        &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff][..],
        &[0x30, 0x85, 0, 0, 0, 0, 0],
        &[0x30, 0x80, 0, 0],
        &der(SEQUENCE, &[]),
    ] {
        assert_eq!(Issue::read(bytes), None);
    }
}
