//! BoringSSL, as the crate `boring` builds it.

// the same source as for OpenSSL
#[path = "../../openssl/src/sides.rs"]
mod sides;

use std::process::ExitCode;

use boring as tls;
use boring::ssl::{CompliancePolicy, SslContextBuilder};
use kit::{Cipher, Result, Scenario, Version};
use sides::Library;

fn main() -> ExitCode {
    kit::run::<Library>()
}

/// Sets the suites of TLS 1.2, and the group. BoringSSL has no list of suites for TLS 1.3: it
/// prefers AES-128-GCM. Only policies that demand more prefer AES-256-GCM; their other demands are
/// overridden.
fn set_suites_and_groups(builder: &mut SslContextBuilder, scenario: &Scenario) -> Result<()> {
    if scenario.version == Version::Tls13 && scenario.cipher == Cipher::Aes256Gcm {
        builder.set_compliance_policy(CompliancePolicy::WPA3_192_202304)?;
        let algorithms = "ECDSA+SHA256:RSA-PSS+SHA256";
        builder.set_sigalgs_list(algorithms)?;
        builder.set_verify_algorithm_prefs(&[
            boring::ssl::SslSignatureAlgorithm::ECDSA_SECP256R1_SHA256,
        ])?;
    }
    if scenario.version == Version::Tls12 {
        builder.set_cipher_list(&scenario.openssl_suite())?;
    }
    Ok(builder.set_curves_list(&sides::groups(scenario))?)
}
