//! The checks that every provider passes.

use provider_checks as checks;
use rustls_core::blocks::{Aes128Gcm, Aes256Gcm, Chacha20Poly1305};

use crate::aead::AwsLc;
use crate::hash::{Sha256, Sha384};
use crate::{ALL_CIPHER_SUITES, ALL_KX_GROUPS, default_provider, is_fips_module};

#[test]
fn aead_vectors_of_wycheproof() {
    checks::check_aead::<AwsLc<Aes128Gcm>>();
    checks::check_aead::<AwsLc<Aes256Gcm>>();
    checks::check_aead::<AwsLc<Chacha20Poly1305>>();
}

#[cfg(feature = "fips")]
#[test]
fn aead_vectors_of_wycheproof_with_the_keys_of_fips() {
    checks::check_aead::<fips::Tls13Gcm<Aes128Gcm>>();
    checks::check_aead::<fips::Tls13Gcm<Aes256Gcm>>();
}

#[cfg(all(feature = "fips", feature = "tls12"))]
#[test]
fn keys_of_fips_take_no_nonce_twice() {
    checks::check_nonces_that_grow::<fips::Tls12Gcm<Aes128Gcm>>();
    checks::check_nonces_that_grow::<fips::Tls12Gcm<Aes256Gcm>>();
}

#[test]
fn hash_and_derivation_vectors_of_the_rfcs() {
    checks::check_sha256_and_sha384::<Sha256, Sha384>();
}

#[test]
fn quic_packets_of_rfc9001() {
    checks::check_quic(ALL_CIPHER_SUITES, !cfg!(feature = "fips"));
}

#[test]
fn provider_as_a_whole() {
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
