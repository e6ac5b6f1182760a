//! Tests of upstream's client and ours, which resume with our server.

use std::sync::Arc;

use harness::peers::clients::Client;
use harness::peers::configs::{
    self, CLIENT_AUTHS, ClientAuth, PROVIDERS, Versions, product, product3,
};
use harness::peers::endpoints::{handshake, send_and_check};
use harness::peers::servers::{KEY_TYPE, Server, Settings, request_another_share};
use rustls::ServerConfig;

use crate::resumption::{kind, kind_of};

/// Returns clients of both crates.
fn clients(settings: &Settings, auth: ClientAuth) -> [Client; 3] {
    let (versions, provider) = (settings.versions, settings.provider);
    let ours = || configs::this::client_of(versions, provider.this(), KEY_TYPE, auth).into();
    let theirs = configs::upstream::client_of(versions, provider.upstream(), KEY_TYPE, auth);
    [
        Client::Upstream(theirs.into()),
        Client::Buffered(ours()),
        Client::Unbuffered(ours()),
    ]
}

/// Returns servers in both APIs with two configurations each.
fn pairs(first: ServerConfig, second: ServerConfig) -> [[Server; 2]; 2] {
    let (first, second) = (Arc::new(first), Arc::new(second));
    let buffered = [&first, &second].map(|config| Server::Buffered(config.clone()));
    [buffered, [first, second].map(Server::Unbuffered)]
}

#[test]
fn a_resumed_client_keeps_its_identity() {
    let versions = [Versions::Tls12, Versions::Tls13];
    let kinds = product(versions, [false, true]).collect::<Vec<_>>();
    for (provider, auth, (versions, sealed)) in product3(PROVIDERS, CLIENT_AUTHS, kinds) {
        let settings = Settings {
            auth,
            versions,
            sealed,
            ..Settings::new(provider)
        };
        let expected: &[_] = if auth.is_presented() {
            &KEY_TYPE.identities().client.chain
        } else {
            &[]
        };
        for client in clients(&settings, auth) {
            for server in settings.servers() {
                // sessions from resumed connections keep the identity, too
                for kind in ["Full", "Resumed", "Resumed"] {
                    let (mut client, mut server) = (client.connect(), server.accept());
                    handshake(&mut *client, &mut *server);
                    assert_eq!(kind_of(&*server), kind, "{settings:?}");
                    let chain = server.peer_certificates();
                    assert!(chain.iter().eq(expected.iter().map(|it| it.as_ref())));
                }
            }
        }
    }
}

#[test]
fn a_session_resumes_after_a_hello_retry_request() {
    for settings in Settings::all() {
        let before = settings.ours();
        let mut crypto = settings.provider.this();
        request_another_share(&mut crypto);
        let mut after = configs::this::server(crypto, KEY_TYPE, ClientAuth::None);
        after.session_storage = before.session_storage.clone();
        after.ticketer = before.ticketer.clone();
        for [first, second] in pairs(before, after) {
            for client in clients(&settings, ClientAuth::None) {
                let first = kind(&client, &first);
                assert!(first.starts_with("Full"), "{first}");
                let (mut client, mut server) = (client.connect(), second.accept());
                server.receive(&client.take_output()).unwrap();
                assert_eq!(kind_of(&*server), "FullWithHelloRetryRequest");
                client.receive(&server.take_output()).unwrap();
                handshake(&mut *client, &mut *server);
                assert_eq!(kind_of(&*server), "Resumed");
            }
        }
    }
}

/// RFC 9846 §4.2.2: a client correctly omits a session that does not match the suite of the
/// HelloRetryRequest.
#[test]
fn a_hello_retry_request_with_another_hash_prevents_resumption() {
    for provider in PROVIDERS {
        let settings = Settings::new(provider);
        let with_hash_of = |len| {
            let mut crypto = provider.this();
            crypto.cipher_suites.retain(|suite| {
                let tls13 = suite.tls13();
                tls13.is_some_and(|it| it.common.hash_provider.output_len() == len)
            });
            crypto
        };
        let mut before = configs::this::server(with_hash_of(32), KEY_TYPE, ClientAuth::None);
        before.max_early_data_size = 1000;
        let mut crypto = with_hash_of(48);
        request_another_share(&mut crypto);
        let mut after = configs::this::server(crypto, KEY_TYPE, ClientAuth::None);
        after.session_storage = before.session_storage.clone();
        for [first, second] in pairs(before, after) {
            for client in clients(&settings, ClientAuth::None) {
                kind(&client, &first);
                let (mut client, mut server) = (client.connect(), second.accept());
                handshake(&mut *client, &mut *server);
                assert_eq!(kind_of(&*server), "FullWithHelloRetryRequest");
                send_and_check(&mut *server, &mut *client, b"data");
            }
        }
    }
}
