//! TLS 1.3 with upstream rustls as the peer, in either role, and with itself: what can be negotiated
//! is negotiated, and data flows.

use std::sync::Arc;

use harness::configs::{
    CLIENT_AUTHS, ClientAuth, KEY_TYPES, KeyType, PROVIDERS, Provider, server_name, this, upstream,
};
use harness::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, handshake, talk_and_close,
};

/// What implements an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Implementation {
    Buffered,
    Unbuffered,
    /// Unbuffered, and encrypting in place.
    InPlace,
    Upstream,
    UpstreamUnbuffered,
}

use Implementation::{Buffered, InPlace, Unbuffered, Upstream, UpstreamUnbuffered};

/// The pairs that are tested: each of our APIs in each role against upstream, and against the other.
const PAIRS: [(Implementation, Implementation); 8] = [
    (Buffered, Upstream),
    (Unbuffered, Upstream),
    (Upstream, Buffered),
    (Upstream, Unbuffered),
    (Buffered, Unbuffered),
    (Unbuffered, Buffered),
    (InPlace, UpstreamUnbuffered),
    (UpstreamUnbuffered, InPlace),
];

/// What a test restricts both ends to.
#[derive(Clone, Copy, Debug)]
struct Case {
    provider: Provider,
    key_type: KeyType,
    auth: ClientAuth,
    /// Index into the provider's TLS 1.3 suites.
    suite: usize,
    /// Index into all of the provider's groups.
    group: usize,
    /// The client offers a share of another group first.
    retry: bool,
}

/// The groups of an end: the client's first one, of which it sends a share, is not the server's when
/// the handshake is to take a HelloRetryRequest.
fn groups<G: Copy>(all: &[G], case: &Case, is_client: bool) -> Vec<G> {
    let group = all[case.group];
    let other = all[(case.group + 1) % all.len()];
    match (case.retry, is_client) {
        (true, true) => vec![other, group],
        _ => vec![group],
    }
}

macro_rules! restricted_provider {
    ($name:ident, $tls:ident, $provider:ident, $groups:ident) => {
        fn $name(case: &Case, is_client: bool) -> $tls::crypto::CryptoProvider {
            let mut provider = case.provider.$provider();
            provider
                .cipher_suites
                .retain(|suite| suite.tls13().is_some());
            provider.cipher_suites = vec![provider.cipher_suites[case.suite]];
            provider.kx_groups = groups(&case.provider.$groups(), case, is_client);
            provider
        }
    };
}

restricted_provider!(this_provider, rustls, this, this_groups);
restricted_provider!(
    upstream_provider,
    rustls_upstream,
    upstream,
    upstream_groups
);

fn client(implementation: Implementation, case: &Case) -> Box<dyn Endpoint> {
    let (key_type, auth, name) = (case.key_type, case.auth, server_name());
    if matches!(implementation, Upstream | UpstreamUnbuffered) {
        let provider = upstream_provider(case, true);
        let config = Arc::new(upstream::client(provider, key_type, auth));
        return if implementation == Upstream {
            let conn = rustls_upstream::ClientConnection::new(config, name).unwrap();
            Box::new(UpstreamBuffered::new(conn))
        } else {
            let conn =
                rustls_upstream::client::UnbufferedClientConnection::new(config, name).unwrap();
            Box::new(harness::endpoints::UpstreamUnbuffered::new(conn))
        };
    }
    let provider = this_provider(case, true);
    let config = Arc::new(this::client(provider, key_type, auth));
    if implementation == Buffered {
        let conn = rustls::ClientConnection::new(config, name).unwrap();
        return Box::new(ThisBuffered::new(conn));
    }
    let conn = rustls::client::UnbufferedClientConnection::new(config, name).unwrap();
    if implementation == InPlace {
        Box::new(ThisUnbuffered::in_place(conn))
    } else {
        Box::new(ThisUnbuffered::new(conn))
    }
}

fn server(implementation: Implementation, case: &Case) -> Box<dyn Endpoint> {
    let (key_type, auth) = (case.key_type, case.auth);
    if matches!(implementation, Upstream | UpstreamUnbuffered) {
        let provider = upstream_provider(case, false);
        let config = Arc::new(upstream::server(provider, key_type, auth));
        return if implementation == Upstream {
            let conn = rustls_upstream::ServerConnection::new(config).unwrap();
            Box::new(UpstreamBuffered::new(conn))
        } else {
            let conn = rustls_upstream::server::UnbufferedServerConnection::new(config).unwrap();
            Box::new(harness::endpoints::UpstreamUnbuffered::new(conn))
        };
    }
    let provider = this_provider(case, false);
    let config = Arc::new(this::server(provider, key_type, auth));
    if implementation == Buffered {
        let conn = rustls::ServerConnection::new(config).unwrap();
        return Box::new(ThisBuffered::new(conn));
    }
    let conn = rustls::server::UnbufferedServerConnection::new(config).unwrap();
    if implementation == InPlace {
        Box::new(ThisUnbuffered::in_place(conn))
    } else {
        Box::new(ThisUnbuffered::new(conn))
    }
}

fn connect_and_talk(case: &Case) {
    for (client_is, server_is) in PAIRS {
        println!("{case:?} {client_is:?} to {server_is:?}");
        let mut client = client(client_is, case);
        let mut server = server(server_is, case);
        handshake(&mut *client, &mut *server);
        let kind = match case.retry {
            true => "Some(FullWithHelloRetryRequest)",
            false => "Some(Full)",
        };
        assert!(
            client.negotiated().ends_with(kind),
            "{}",
            client.negotiated()
        );

        let identities = case.key_type.identities();
        assert_eq!(client.peer_certificates(), [&*identities.server.chain[0]]);
        match case.auth.is_presented() {
            true => assert_eq!(server.peer_certificates(), [&*identities.client.chain[0]]),
            false => assert!(server.peer_certificates().is_empty()),
        }
        talk_and_close(&mut *client, &mut *server);
    }
}

fn base(provider: Provider) -> Case {
    Case {
        provider,
        key_type: KeyType::EcdsaP256,
        auth: ClientAuth::None,
        suite: 0,
        group: 0,
        retry: false,
    }
}

#[test]
fn every_suite_with_every_group_and_retry() {
    for provider in PROVIDERS {
        let groups = provider.this_groups().len();
        assert_eq!(groups, provider.upstream_groups().len());
        for suite in 0..3 {
            for group in 0..groups {
                for retry in [false, true] {
                    connect_and_talk(&Case {
                        suite,
                        group,
                        retry,
                        ..base(provider)
                    });
                }
            }
        }
    }
}

#[test]
fn every_key_type_with_every_client_authentication() {
    for provider in PROVIDERS {
        for key_type in KEY_TYPES {
            if !key_type.usable_with(provider) {
                continue;
            }
            for auth in CLIENT_AUTHS {
                connect_and_talk(&Case {
                    key_type,
                    auth,
                    ..base(provider)
                });
            }
        }
    }
}

/// Client authentication and a retry at once: both change the flights.
#[test]
fn retry_with_client_authentication() {
    for provider in PROVIDERS {
        connect_and_talk(&Case {
            auth: ClientAuth::Required,
            retry: true,
            ..base(provider)
        });
    }
}
