//! The checks for all providers.

use provider_checks as checks;
use rustls_core::blocks::{Aes128Gcm, Aes256Gcm, Chacha20Poly1305};

use crate::aead::Ring;
use crate::hash::{Sha256, Sha384};
use crate::{ALL_CIPHER_SUITES, ALL_KX_GROUPS, default_provider};

#[test]
fn aeads_match_wycheproof() {
    checks::check_aead::<Ring<Aes128Gcm>>();
    checks::check_aead::<Ring<Aes256Gcm>>();
    checks::check_aead::<Ring<Chacha20Poly1305>>();
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
