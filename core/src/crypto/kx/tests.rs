use super::*;
use crate::crypto::toy::{ToyExchange, ToyGroup};
use crate::versions::{TLS12, TLS13};

#[test]
fn only_tls12_strips_leading_zeros_from_finite_field_secrets() {
    let complete = |group, version| {
        Box::new(ToyExchange(group))
            .complete_for_tls_version(&[0, 0, 1, 0], version)
            .unwrap()
            .secret_bytes()
            .to_vec()
    };
    assert_eq!(complete(NamedGroup::FFDHE3072, &TLS12), [1, 0]);
    assert_eq!(complete(NamedGroup::FFDHE3072, &TLS13), [0, 0, 1, 0]);
    assert_eq!(complete(NamedGroup::X25519, &TLS12), [0, 0, 1, 0]);
    assert_eq!(complete(NamedGroup::X25519, &TLS13), [0, 0, 1, 0]);
}

#[test]
fn start_and_complete_returns_share_and_secret() {
    let done = ToyGroup(NamedGroup::X25519)
        .start_and_complete(b"theirs")
        .unwrap();
    assert_eq!(done.group, NamedGroup::X25519);
    assert_eq!(done.pub_key, b"ours");
    assert_eq!(done.secret.secret_bytes(), b"theirs");
}

#[test]
fn a_group_is_neither_approved_nor_hybrid_by_default() {
    let x25519 = ToyGroup(NamedGroup::X25519);
    assert!(x25519.ffdhe_group().is_none());
    assert!(!x25519.fips());
    assert!(x25519.usable_for_version(ProtocolVersion::TLSv1_2));
    assert!(x25519.usable_for_version(ProtocolVersion::TLSv1_3));
    assert_eq!(
        ToyGroup(NamedGroup::FFDHE2048).ffdhe_group(),
        Some(ffdhe_groups::FFDHE2048)
    );

    let exchange = x25519.start().unwrap();
    assert!(exchange.hybrid_component().is_none());
    assert!(matches!(
        exchange.complete_hybrid_component(b"theirs"),
        Err(Error::General(_))
    ));
}

#[test]
fn a_shared_secret_keeps_its_bytes() {
    assert_eq!(SharedSecret::from(alloc::vec![0, 1]).secret_bytes(), [0, 1]);
    assert_eq!(SharedSecret::from(&[0, 1][..]).secret_bytes(), [0, 1]);
}
