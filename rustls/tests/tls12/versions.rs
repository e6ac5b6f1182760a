//! Tests of version negotiation, and of attempts to subvert it.

use std::sync::Arc;

use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3,
};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, exchange, send_and_check,
};
use harness::peers::servers::Settings;
use harness::scripted::tls12::server::{Script, Step};
use harness::wire::client_hello::{ClientHello, SUPPORTED_VERSIONS};
use harness::wire::{self, u8_vec, u16s};
use rustls::ContentType;

use crate::tls12::client;

const KEY_TYPE: KeyType = KeyType::EcdsaP256;
const VERSIONS: [Versions; 3] = [Versions::Tls12, Versions::Tls13, Versions::Both];

/// Returns clients in both APIs, and upstream's.
fn clients(provider: Provider, versions: Versions) -> [Box<dyn Endpoint>; 3] {
    let (ours, theirs, auth) = (provider.this(), provider.upstream(), ClientAuth::None);
    let config = Arc::new(configs::this::client_of(versions, ours, KEY_TYPE, auth));
    let upstream = configs::upstream::client_of(versions, theirs, KEY_TYPE, auth);
    [
        Box::new(ThisBuffered::client(config.clone())),
        Box::new(ThisUnbuffered::client(config)),
        Box::new(UpstreamBuffered::client(upstream)),
    ]
}

fn setup(provider: Provider, versions: Versions) -> Settings {
    Settings::tls12(provider).edit(|it| it.versions = versions)
}

/// Returns the values that two ends negotiate, or their failure.
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
fn every_pair_of_endpoints_negotiates_the_same_version_as_upstream() {
    for (provider, of_client, of_server) in product3(PROVIDERS, VERSIONS, VERSIONS) {
        let of = |client: usize, server: usize| {
            let server = &setup(provider, of_server).servers()[server];
            outcome(
                &mut *clients(provider, of_client)[client],
                &mut *server.accept(),
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

/// RFC 9846 §4.2.2: the second ClientHello equals the first, except for the changes that the retry
/// requests.
#[test]
fn a_retry_is_not_answered_with_tls12() {
    for provider in PROVIDERS {
        for server in &setup(provider, Versions::Both).servers()[..2] {
            let mut server = server.accept();
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

/// RFC 5246 §7.1: a change_cipher_spec has one valid position. A client that first dropped one, as
/// TLS 1.3 allows, must not accept TLS 1.2 afterwards.
#[test]
fn a_change_cipher_spec_before_a_tls12_server_hello_is_refused() {
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Both]) {
        let clients = client::clients(provider, versions);
        let ccs = Step::Raw(ContentType::ChangeCipherSpec, vec![1]);
        let early = client::our_end(&clients, &Script::new().with_step(0, ccs));
        early.assert_refused(&format!("{versions:?}"), "InappropriateMessage", 10);
        let usual = client::our_end(&clients, &Script::new());
        assert_eq!(usual.error, None, "{versions:?}");
    }
}
