//! Compares both providers with upstream's: they make the same QUIC packets, and tickets of the
//! same lifetime. The test `configuration` of rustls compares lists, properties and records.

use rustls_core::enums::Side;
use rustls_core::quic;
use rustls_core::suites::SupportedCipherSuite;
use rustls_provider_aws_lc as aws_lc;
use rustls_provider_ring as ring;
use rustls_upstream as upstream;

use crate::Provider;

/// Returns the suites of this crate and of upstream, in pairs.
fn suites() -> impl Iterator<Item = (SupportedCipherSuite, upstream::SupportedCipherSuite)> {
    Provider::ALL.into_iter().flat_map(|provider| {
        let (ours, theirs) = (provider.ours(), provider.upstream());
        ours.cipher_suites.into_iter().zip(theirs.cipher_suites)
    })
}

/// Compares Initial packets: keys from the connection ID, payload and header.
#[test]
fn quic_packets_match_upstream() {
    let ids = [&b"connection id"[..], &[], &[1], &[0xff; 20]];
    let pairs = [
        (quic::Version::V1, upstream::quic::Version::V1),
        (quic::Version::V2, upstream::quic::Version::V2),
        (quic::Version::V1Draft, upstream::quic::Version::V1Draft),
    ];
    for (ours, theirs) in suites() {
        let (Some(ours), Some(theirs)) = (ours.tls13(), theirs.tls13()) else {
            continue;
        };
        let (ours, theirs) = (ours.quic_suite().unwrap(), theirs.quic_suite().unwrap());
        for ((version, their_version), id) in
            pairs.into_iter().flat_map(|pair| ids.map(|id| (pair, id)))
        {
            let ours = ours.keys(id, Side::Client, version).local;
            let theirs = theirs.keys(id, upstream::Side::Client, their_version).local;
            let (packet, their_packet) = (&ours.packet, &theirs.packet);
            assert_eq!(packet.tag_len(), their_packet.tag_len());
            let limits = (packet.confidentiality_limit(), packet.integrity_limit());
            let of_upstream = their_packet.confidentiality_limit();
            assert_eq!(limits, (of_upstream, their_packet.integrity_limit()));

            let (mut payload, mut their_payload) = ([7; 99], [7; 99]);
            let tag = packet.encrypt_in_place(5, b"header", &mut payload);
            let their_tag = their_packet.encrypt_in_place(5, b"header", &mut their_payload);
            assert_eq!(payload, their_payload);
            assert_eq!(tag.unwrap().as_ref(), their_tag.unwrap().as_ref());
            let opened = their_packet.decrypt_in_place(6, b"header", &mut payload);
            assert!(opened.is_err());

            // a long header and a short one
            for mut first in [0xc3, 0x43] {
                let sample = &their_payload[..ours.header.sample_len()];
                let (mut their_first, mut number, mut their_number) = (first, [1; 4], [1; 4]);
                let header = ours
                    .header
                    .encrypt_in_place(sample, &mut first, &mut number);
                header.unwrap();
                let header = &theirs.header;
                let header = header.encrypt_in_place(sample, &mut their_first, &mut their_number);
                header.unwrap();
                assert_eq!((first, number), (their_first, their_number));
            }
        }
    }
}

/// The tickets cannot be compared: only their creator can open them.
#[test]
fn tickets_have_the_lifetime_of_upstream() {
    let ours = [aws_lc::Ticketer::new(), ring::Ticketer::new()].map(Result::unwrap);
    let of_aws_lc = upstream::crypto::aws_lc_rs::Ticketer::new();
    let theirs = [of_aws_lc, upstream::crypto::ring::Ticketer::new()].map(Result::unwrap);

    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!(ours.enabled());
        assert_eq!(ours.lifetime(), theirs.lifetime());

        for len in [0, 1, 1000, 16_000] {
            let plain = vec![7; len];
            assert_eq!(ours.decrypt(&ours.encrypt(&plain).unwrap()), Some(plain));
        }
        let ticket = ours.encrypt(b"state").unwrap();
        assert!(!ticket.windows(5).any(|bytes| bytes == b"state"));
        assert_eq!(ours.decrypt(&ticket).unwrap(), b"state");
        assert_ne!(ours.encrypt(b"state").unwrap(), ticket);
        for at in 0..ticket.len() {
            let mut tampered = ticket.clone();
            tampered[at] ^= 1;
            assert!(ours.decrypt(&tampered).is_none());
            assert!(ours.decrypt(&ticket[..at]).is_none());
        }
    }
    let ticket = ours[0].encrypt(b"state").unwrap();
    assert!(ours[1].decrypt(&ticket).is_none());
    assert!(aws_lc::Ticketer::new().unwrap().decrypt(&ticket).is_none());
}
