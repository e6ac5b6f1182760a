//! The checks for all providers.

use provider_checks as checks;
use rustls_core::blocks::{Aes128Gcm, Aes256Gcm, Chacha20Poly1305};

use crate::aead::AwsLc;
#[cfg(feature = "fips")]
use crate::fips;
use crate::hash::{Sha256, Sha384, Sha512};
use crate::hpke::{P256, P384, P521, X25519};
use crate::{ALL_CIPHER_SUITES, ALL_KX_GROUPS, default_provider, is_fips_module};

#[test]
fn aeads_match_wycheproof() {
    checks::check_aead::<AwsLc<Aes128Gcm>>();
    checks::check_aead::<AwsLc<Aes256Gcm>>();
    checks::check_aead::<AwsLc<Chacha20Poly1305>>();
}

#[cfg(feature = "fips")]
#[test]
fn aeads_with_fips_keys_match_wycheproof() {
    checks::check_aead::<fips::Tls13Gcm<Aes128Gcm>>();
    checks::check_aead::<fips::Tls13Gcm<Aes256Gcm>>();
}

#[cfg(feature = "fips")]
#[test]
fn fips_keys_reject_repeated_nonces() {
    checks::check_increasing_nonces::<fips::Tls12Gcm<Aes128Gcm>>();
    checks::check_increasing_nonces::<fips::Tls12Gcm<Aes256Gcm>>();
}

#[test]
fn hashes_and_derivations_match_the_rfcs() {
    checks::check_sha256_and_sha384::<Sha256, Sha384>();
}

#[test]
fn quic_packets_match_rfc9001() {
    checks::check_quic(ALL_CIPHER_SUITES, !cfg!(feature = "fips"));
}

#[test]
fn hpke_matches_rfc9180() {
    checks::check_hpke::<P256, Sha256, AwsLc<Aes128Gcm>>();
    checks::check_hpke::<P256, Sha256, AwsLc<Aes256Gcm>>();
    checks::check_hpke::<P256, Sha256, AwsLc<Chacha20Poly1305>>();
    checks::check_hpke::<P384, Sha384, AwsLc<Aes128Gcm>>();
    checks::check_hpke::<P384, Sha384, AwsLc<Aes256Gcm>>();
    checks::check_hpke::<P384, Sha384, AwsLc<Chacha20Poly1305>>();
    checks::check_hpke::<P521, Sha512, AwsLc<Aes128Gcm>>();
    checks::check_hpke::<P521, Sha512, AwsLc<Aes256Gcm>>();
    checks::check_hpke::<P521, Sha512, AwsLc<Chacha20Poly1305>>();
    checks::check_hpke::<X25519, Sha256, AwsLc<Aes128Gcm>>();
    checks::check_hpke::<X25519, Sha256, AwsLc<Aes256Gcm>>();
    checks::check_hpke::<X25519, Sha256, AwsLc<Chacha20Poly1305>>();
}

#[test]
fn hpke_rejects_a_shared_secret_of_zeros() {
    checks::check_hpke_rejects_zeros::<X25519, Sha256, AwsLc<Aes128Gcm>>();
}

#[cfg(feature = "fips")]
#[test]
fn hpke_with_fips_keys_matches_rfc9180() {
    checks::check_hpke::<P256, Sha256, fips::Tls13Gcm<Aes128Gcm>>();
    checks::check_hpke::<P384, Sha384, fips::Tls13Gcm<Aes256Gcm>>();
}

#[test]
fn the_provider_passes_the_checks_of_all_providers() {
    let provider = default_provider();
    checks::check_random(provider.secure_random);
    checks::check_groups(ALL_KX_GROUPS);
    checks::check_approval(
        &provider,
        ALL_CIPHER_SUITES,
        ALL_KX_GROUPS,
        is_fips_module(),
    );
}
