//! Clients that run against a scripted server: this crate's and upstream's.

use std::sync::Arc;

use harness::peers::configs::{self, Provider, Versions};
use harness::peers::endpoints::{ThisBuffered, ThisUnbuffered, UpstreamBuffered};
use harness::scripted::Identity;
use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;

/// Returns the provider selected by the enabled features.
pub(crate) fn full_provider() -> CryptoProvider {
    if cfg!(feature = "aws_lc_rs") {
        Provider::AwsLc.this()
    } else {
        Provider::Ring.this()
    }
}

pub(crate) fn provider() -> CryptoProvider {
    configs::this::with_few_groups(full_provider())
}

/// Creates a configuration for TLS 1.3 only that trusts `identity`.
pub(crate) fn config(identity: &Identity, provider: CryptoProvider) -> ClientConfig {
    configs::this::client_trusting(&identity.certificate, Versions::Tls13, provider)
}

/// Creates a client of this crate.
pub(crate) fn our_client(config: impl Into<Arc<ClientConfig>>) -> ThisBuffered {
    our_client_to("localhost", config)
}

pub(crate) fn our_client_to(server: &str, config: impl Into<Arc<ClientConfig>>) -> ThisBuffered {
    let name = ServerName::try_from(server).unwrap().to_owned();
    ThisBuffered::client_of(name, config)
}

pub(crate) fn our_unbuffered_client(
    config: impl Into<Arc<ClientConfig>>,
) -> ThisUnbuffered<UnbufferedClientConnection> {
    let name = ServerName::try_from("localhost").unwrap();
    ThisUnbuffered::client_of(name, config)
}

/// Creates a client of upstream for TLS 1.3 only.
pub(crate) fn their_client(identity: &Identity, alpn_protocols: &[&[u8]]) -> UpstreamBuffered {
    let provider = configs::upstream::with_few_groups(Provider::Ring.upstream());
    let versions = Versions::Tls13;
    let mut config = configs::upstream::client_trusting(&identity.certificate, versions, provider);
    config.alpn_protocols = alpn_protocols.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    UpstreamBuffered::client_of(name, config)
}
