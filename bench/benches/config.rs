//! Work outside the data path: building configurations, once for many connections, and verifying a
//! server's certificate, once per handshake.
//!
//! `cargo bench -p bench --bench config`

// the function that `benchmark_group!` generates is public and undocumented
#![allow(missing_docs)]

use std::sync::Arc;

use bencher::{Bencher, benchmark_group, benchmark_main};
use harness::peers::configs::{Identities, KeyType, server_name};
use pki_types::UnixTime;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

benchmark_group!(
    benches,
    client_config_aws_lc_rs,
    client_config_ring,
    server_config_aws_lc_rs,
    server_config_ring,
    verify_ecdsa_p256_aws_lc_rs,
    verify_ecdsa_p256_ring,
    verify_rsa_2048_aws_lc_rs,
    verify_rsa_2048_ring
);
benchmark_main!(benches);

macro_rules! with_both_providers {
    ($($name:ident, $name_ring:ident: $work:ident($($key_type:expr)?);)*) => {$(
        fn $name(bencher: &mut Bencher) {
            $work(bencher, aws_lc_rs::default_provider() $(, $key_type)?);
        }

        fn $name_ring(bencher: &mut Bencher) {
            $work(bencher, ring::default_provider() $(, $key_type)?);
        }
    )*};
}

with_both_providers! {
    client_config_aws_lc_rs, client_config_ring: client_config();
    server_config_aws_lc_rs, server_config_ring: server_config();
    verify_ecdsa_p256_aws_lc_rs, verify_ecdsa_p256_ring: verify(KeyType::EcdsaP256);
    verify_rsa_2048_aws_lc_rs, verify_rsa_2048_ring: verify(KeyType::Rsa2048);
}

fn client_config(bencher: &mut Bencher, provider: CryptoProvider) {
    let provider = Arc::new(provider);
    let roots = Arc::new(roots(KeyType::EcdsaP256.identities()));
    bencher.iter(|| {
        ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("the provider has suites")
            .with_root_certificates(roots.clone())
            .with_no_client_auth()
    });
}

fn server_config(bencher: &mut Bencher, provider: CryptoProvider) {
    let provider = Arc::new(provider);
    let server = &KeyType::EcdsaP256.identities().server;
    bencher.iter(|| {
        ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("the provider has suites")
            .with_no_client_auth()
            .with_single_cert(server.chain.clone(), server.key())
            .expect("the key is one the provider signs with")
    });
}

fn verify(bencher: &mut Bencher, provider: CryptoProvider, key_type: KeyType) {
    let identities = key_type.identities();
    let verifier = WebPkiServerVerifier::builder_with_provider(
        Arc::new(roots(identities)),
        Arc::new(provider),
    )
    .build()
    .expect("the store has a root");
    let (end_entity, intermediates) = identities
        .server
        .chain
        .split_first()
        .expect("a chain has an end entity");
    let name = server_name();
    let now = UnixTime::now();
    bencher.iter(|| {
        verifier
            .verify_server_cert(end_entity, intermediates, &name, &[], now)
            .expect("the certificate is good")
    });
}

fn roots(identities: &Identities) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots
        .add(identities.ca.clone())
        .expect("it is a certificate");
    roots
}
