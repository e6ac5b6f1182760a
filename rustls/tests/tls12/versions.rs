//! Tests of attempts to subvert the version negotiation. `matrix` tests the negotiation.

use harness::peers::configs::{PROVIDERS, Versions, product};
use harness::peers::servers::Settings;
use harness::scripted::tls12::server::{Script, Step};
use harness::wire::client_hello::{ClientHello, SUPPORTED_VERSIONS};
use harness::wire::{self, u8_vec, u16s};
use rustls::ContentType;

use crate::tls12::client;

/// RFC 9846 §4.2.2: the second ClientHello equals the first, except for the changes that the retry
/// requests.
#[test]
fn a_retry_is_not_answered_with_tls12() {
    for provider in PROVIDERS {
        let both = Settings::tls12(provider).edit(|it| it.versions = Versions::Both);
        for server in &both.servers()[..2] {
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
