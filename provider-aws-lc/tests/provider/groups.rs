//! Tests of the key exchange groups: each of both providers with upstream, and shares that must be
//! rejected.

use rustls_core::crypto::SupportedKxGroup;
use rustls_core::enums::NamedGroup;
use rustls_core::error::{Error, PeerMisbehaved};
use rustls_provider_aws_lc as aws_lc;
use rustls_provider_ring as ring;
use rustls_upstream::crypto as upstream;

use crate::x25519_small_order;

fn names(groups: &[&dyn SupportedKxGroup]) -> Vec<NamedGroup> {
    groups.iter().map(|group| group.name()).collect()
}

fn all_groups() -> impl Iterator<Item = &'static dyn SupportedKxGroup> {
    aws_lc::ALL_KX_GROUPS
        .iter()
        .chain(ring::ALL_KX_GROUPS)
        .copied()
}

/// The expected orders are those of upstream 0.23.46, built with and without the feature.
#[test]
fn the_order_of_groups_matches_upstream() {
    use NamedGroup::*;

    let classical = [X25519, secp256r1, secp384r1];
    let hybrid = [X25519MLKEM768, secp256r1MLKEM768];
    let kem = [MLKEM768, MLKEM1024];
    let (default, all) = if cfg!(feature = "prefer-post-quantum") {
        (
            [&hybrid[..1], &classical].concat(),
            [&hybrid[..], &classical, &kem].concat(),
        )
    } else {
        (
            [&classical[..], &hybrid[..1]].concat(),
            [&classical[..], &hybrid, &kem].concat(),
        )
    };
    // FIPS approves X25519 only as the second half of a hybrid
    let mut default = default;
    default.retain(|name| !cfg!(feature = "fips") || *name != X25519);
    assert_eq!(names(aws_lc::DEFAULT_KX_GROUPS), default);
    assert_eq!(names(aws_lc::ALL_KX_GROUPS), all);
    assert_eq!(names(&aws_lc::default_provider().kx_groups), default);
    for group in aws_lc::ALL_KX_GROUPS {
        assert_eq!(format!("{group:?}"), format!("{:?}", group.name()));
    }
}

fn upstream_group(
    groups: &'static [&'static dyn upstream::SupportedKxGroup],
    name: NamedGroup,
) -> &'static dyn upstream::SupportedKxGroup {
    *groups
        .iter()
        .find(|group| u16::from(group.name()) == u16::from(name))
        .unwrap()
}

#[test]
fn both_sides_derive_the_same_secret_with_upstream() {
    for group in all_groups() {
        let theirs = upstream_group(upstream::aws_lc_rs::ALL_KX_GROUPS, group.name());

        let client = group.start().unwrap();
        let server = theirs.start_and_complete(client.pub_key()).unwrap();
        let secret = client.complete(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());

        let client = theirs.start().unwrap();
        let server = group.start_and_complete(client.pub_key()).unwrap();
        let secret = client.complete(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
    }
}

/// A server may choose the classical part if a client offered both it and the hybrid.
#[test]
fn the_classical_part_of_a_hybrid_works_alone() {
    for hybrid in [
        aws_lc::kx_group::X25519MLKEM768,
        aws_lc::kx_group::SECP256R1MLKEM768,
    ] {
        let client = hybrid.start().unwrap();
        let (name, share) = client.hybrid_component().unwrap();
        assert!(client.pub_key().starts_with(share) || client.pub_key().ends_with(share));
        let component = all_groups().find(|group| group.name() == name).unwrap();
        let server = component.start_and_complete(share).unwrap();
        let secret = client.complete_hybrid_component(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());

        let client = hybrid.start().unwrap();
        assert_invalid(client.complete_hybrid_component(&[4; 64]).map(drop));
    }
    for group in [aws_lc::kx_group::X25519, aws_lc::kx_group::MLKEM768] {
        let exchange = group.start().unwrap();
        assert!(exchange.hybrid_component().is_none());
        let completed = exchange.complete_hybrid_component(&[9; 32]);
        assert!(matches!(completed, Err(Error::General(_))));
    }
}

#[test]
fn shares_of_the_wrong_length_are_rejected() {
    for group in all_groups() {
        let client = group.start().unwrap();
        let server = group.start_and_complete(client.pub_key()).unwrap();
        for len in lengths_around(client.pub_key().len()) {
            let mut share = client.pub_key().to_vec();
            share.resize(len, 1);
            assert_invalid(group.start_and_complete(&share).map(drop));
        }
        for len in lengths_around(server.pub_key.len()) {
            let mut share = server.pub_key.clone();
            share.resize(len, 1);
            assert_invalid(group.start().unwrap().complete(&share).map(drop));
        }
    }
}

fn lengths_around(len: usize) -> Vec<usize> {
    vec![0, 1, 31, 33, len / 2, len - 1, len + 1, 2 * len]
}

/// RFC 9846 §7.4.2: an all-zero result is rejected.
#[test]
fn x25519_points_of_small_order_are_rejected() {
    let hybrid = aws_lc::kx_group::X25519MLKEM768;
    let mut share = hybrid.start().unwrap().pub_key().to_vec();
    let at = share.len() - 32;
    for point in x25519_small_order() {
        for group in [aws_lc::kx_group::X25519, ring::kx_group::X25519] {
            assert_refused(group, &point);
        }
        share[at..].copy_from_slice(&point);
        assert_invalid(hybrid.start_and_complete(&share).map(drop));
    }
}

/// RFC 9846 §4.3.8.2: points of NIST curves are uncompressed and on the curve.
#[test]
fn compressed_points_and_points_off_the_curve_are_rejected() {
    for group in all_groups() {
        if !matches!(group.name(), NamedGroup::secp256r1 | NamedGroup::secp384r1) {
            continue;
        }
        let client = group.start().unwrap();
        let share = client.pub_key();
        let (x, y) = share[1..].split_at(share.len() / 2);
        let odd = y[y.len() - 1] & 1;

        let compressed = [&[2 + odd], x].concat();
        let hybrid = [&[6 + odd], x, y].concat();
        let swapped = [&[4], y, x].concat();
        let infinity = vec![0];
        let zeros = [vec![4], vec![0; x.len() + y.len()]].concat();
        let ones = [vec![4], vec![0xff; x.len() + y.len()]].concat();
        let mut other_y = share.to_vec();
        other_y[share.len() - 1] ^= 1;
        for bad in [compressed, hybrid, swapped, infinity, zeros, ones, other_y] {
            assert_refused(group, &bad);
        }
    }
}

/// FIPS 203 §7.2: an encapsulation key with an unreduced coefficient is rejected.
#[test]
fn unreduced_ml_kem_keys_are_rejected() {
    for group in [aws_lc::kx_group::MLKEM768, aws_lc::kx_group::MLKEM1024] {
        let mut share = group.start().unwrap().pub_key().to_vec();
        share[..3].fill(0xff);
        assert_invalid(group.start_and_complete(&share).map(drop));
    }
}

/// Asserts that neither side accepts this share.
fn assert_refused(group: &dyn SupportedKxGroup, share: &[u8]) {
    assert_invalid(group.start_and_complete(share).map(drop));
    assert_invalid(group.start().unwrap().complete(share).map(drop));
}

fn assert_invalid(result: Result<(), Error>) {
    assert_eq!(result, Err(PeerMisbehaved::InvalidKeyShare.into()));
}
