//! The checks for all providers.

use provider_checks as checks;

use super::*;

#[test]
fn aeads_match_wycheproof() {
    checks::check_aead::<Aes128>();
    checks::check_aead::<Aes256>();
    checks::check_aead::<Chacha20>();
}

#[test]
fn hashes_and_derivations_match_the_rfcs() {
    checks::check_sha256_and_sha384::<Sha256, Sha384>();
}

#[test]
fn quic_packets_match_rfc9001() {
    checks::check_quic(ALL_CIPHER_SUITES, true);
}

#[test]
fn the_provider_passes_the_checks_of_all_providers() {
    let provider = default_provider();
    checks::check_random(provider.secure_random);
    checks::check_groups(ALL_KX_GROUPS);
    checks::check_approval(&provider, ALL_CIPHER_SUITES, ALL_KX_GROUPS, false);
}

#[test]
fn a_suite_without_a_quic_part_has_no_quic_suite() {
    let suite = Tls13Suite::<Aes128, Sha256>::WITHOUT_QUIC;
    assert_eq!(suite, Tls13Suite::<Aes128, Sha256>::WITH_QUIC);
    assert!(suite.tls13().unwrap().quic_suite().is_none());
}
