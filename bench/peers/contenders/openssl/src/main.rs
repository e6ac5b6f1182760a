//! OpenSSL, built from source.

mod sides;

use std::process::ExitCode;

use kit::{Result, Scenario, Version};
use openssl as tls;
use openssl::ssl::SslContextBuilder;
use sides::Library;

fn main() -> ExitCode {
    kit::run::<Library>()
}

fn set_suites_and_groups(builder: &mut SslContextBuilder, scenario: &Scenario) -> Result<()> {
    let suite = scenario.openssl_suite();
    match scenario.version {
        Version::Tls12 => builder.set_cipher_list(&suite)?,
        Version::Tls13 => builder.set_ciphersuites(&suite)?,
    }
    Ok(builder.set_groups_list(&sides::groups(scenario))?)
}
