//! Version negotiation, and attempts to subvert it.

use std::sync::Arc;

use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3, server_name,
};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, exchange, send_and_check,
};
use harness::scripted::Identity;
use harness::scripted::tls12::server::{Script, Step};
use harness::wire::client_hello::{ClientHello, SUPPORTED_VERSIONS};
use harness::wire::{self, u8_vec, u16s};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::{AlertDescription, ClientConnection, ContentType, ServerConnection};

const KEY_TYPE: KeyType = KeyType::EcdsaP256;
const VERSIONS: [Versions; 3] = [Versions::Tls12, Versions::Tls13, Versions::Both];

/// Clients in both APIs, then upstream's.
fn clients(provider: Provider, versions: Versions) -> Vec<Box<dyn Endpoint>> {
    let auth = ClientAuth::None;
    let config = Arc::new(configs::this::client_of(
        versions,
        provider.this(),
        KEY_TYPE,
        auth,
    ));
    let buffered = ClientConnection::new(config.clone(), server_name()).unwrap();
    let unbuffered = UnbufferedClientConnection::new(config, server_name()).unwrap();
    let config = configs::upstream::client_of(versions, provider.upstream(), KEY_TYPE, auth);
    let upstream = rustls_upstream::ClientConnection::new(Arc::new(config), server_name());
    vec![
        Box::new(ThisBuffered::new(buffered)),
        Box::new(ThisUnbuffered::new(unbuffered)),
        Box::new(UpstreamBuffered::new(upstream.unwrap())),
    ]
}

/// Servers in both APIs, then upstream's.
fn servers(provider: Provider, versions: Versions) -> Vec<Box<dyn Endpoint>> {
    let auth = ClientAuth::None;
    let config = Arc::new(configs::this::server_of(
        versions,
        provider.this(),
        KEY_TYPE,
        auth,
    ));
    let buffered = ServerConnection::new(config.clone()).unwrap();
    let unbuffered = UnbufferedServerConnection::new(config).unwrap();
    let config = configs::upstream::server_of(versions, provider.upstream(), KEY_TYPE, auth);
    let upstream = rustls_upstream::ServerConnection::new(Arc::new(config)).unwrap();
    vec![
        Box::new(ThisBuffered::new(buffered)),
        Box::new(ThisUnbuffered::new(unbuffered)),
        Box::new(UpstreamBuffered::new(upstream)),
    ]
}

/// The values that two ends negotiate, or their failure.
fn outcome(client: &mut dyn Endpoint, server: &mut dyn Endpoint) -> String {
    if let Err(error) = exchange(client, server) {
        let received = client.receive(&server.take_output());
        return format!("{error}, {received:?}");
    }
    send_and_check(client, server, &[1; 20_000]);
    send_and_check(server, client, &[2; 20_000]);
    assert_eq!(client.negotiated(), server.negotiated());
    client.negotiated()
}

#[test]
fn every_pair_of_versions_ends_in_the_same_version_as_with_upstream() {
    for (provider, of_client, of_server) in product3(PROVIDERS, VERSIONS, VERSIONS) {
        let of = |client: usize, server: usize| {
            outcome(
                &mut *clients(provider, of_client).swap_remove(client),
                &mut *servers(provider, of_server).swap_remove(server),
            )
        };
        let expected = of(2, 2);
        let version = match (of_client, of_server) {
            (Versions::Tls12, Versions::Tls13) | (Versions::Tls13, Versions::Tls12) => {
                "AlertReceived(ProtocolVersion)"
            }
            (Versions::Tls12, _) | (_, Versions::Tls12) => "TLSv1_2",
            _ => "TLSv1_3",
        };
        assert!(expected.contains(version), "{expected}");
        for (client, server) in product(0..3, 0..3) {
            let got = of(client, server);
            assert!(
                got.contains(version),
                "{of_client:?} to {of_server:?}: {got}, not {expected}"
            );
        }
    }
}

/// RFC 9846 §4.2.2: the second ClientHello equals the first, apart from the changes that the retry
/// requests.
#[test]
fn a_retry_is_not_answered_with_tls12() {
    for provider in PROVIDERS {
        for mut server in servers(provider, Versions::Both).into_iter().take(2) {
            server
                .receive(&ClientHello::without_share().record())
                .unwrap();
            assert!(!server.take_output().is_empty());
            for second in [
                ClientHello::tls12(),
                ClientHello::tls12().and(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0303]))),
            ] {
                let error = server.receive(&second.record()).unwrap_err();
                assert_eq!(error, "PeerMisbehaved(RefusedToFollowHelloRetryRequest)");
            }
            let alert = wire::records(&server.take_output()).pop().unwrap();
            assert_eq!(alert.payload, [2, 47]);
        }
    }
}

/// RFC 5246 §7.1: a change_cipher_spec has one position. A client that first dropped one, as TLS
/// 1.3 allows, must not accept TLS 1.2 afterwards.
#[test]
fn a_client_drops_no_change_cipher_spec_on_the_way_to_tls12() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for versions in [Versions::Tls12, Versions::Both] {
            let config =
                configs::this::client_of(versions, provider.this(), KEY_TYPE, ClientAuth::None);
            let mut config = config;
            let mut roots = rustls::RootCertStore::empty();
            roots.add(identity.certificate.clone()).unwrap();
            let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(
                Arc::new(roots),
                config.crypto_provider().clone(),
            );
            let verifier = verifier.build().unwrap();
            config.dangerous().set_certificate_verifier(verifier);
            let config = Arc::new(config);
            for early in [false, true] {
                let name = "localhost".try_into().unwrap();
                let conn = ClientConnection::new(config.clone(), name).unwrap();
                let script = Script::new().edit(|script| {
                    if early {
                        let ccs = Step::Raw(ContentType::ChangeCipherSpec, vec![1]);
                        script.steps.insert(0, ccs);
                    }
                });
                let outcome = identity.run_tls12(&mut ThisBuffered::new(conn), &script);
                assert_eq!(outcome.error.is_some(), early, "{:?}", outcome.error);
                if early {
                    assert_eq!(outcome.alert, Some(AlertDescription::UnexpectedMessage));
                    let error = outcome.error.unwrap();
                    assert!(error.starts_with("InappropriateMessage"), "{error}");
                }
            }
        }
    }
}
