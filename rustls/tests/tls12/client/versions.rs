//! Tests of servers that change their version between connections, and of HelloRetryRequests.

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions, this, upstream};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, exchange};
use harness::scripted::{Identity, Script};
use harness::wire::client_hello::ClientHello;
use harness::wire::plain_messages;
use rustls::{HandshakeKind, ProtocolVersion};

use super::clients;

const KEY: KeyType = KeyType::EcdsaP256;
const AUTH: ClientAuth = ClientAuth::None;

#[test]
fn a_server_that_gains_tls13_gets_a_full_handshake() {
    for provider in PROVIDERS {
        let config = this::client_of(Versions::Both, provider.this(), KEY, AUTH);
        let config = Arc::new(config);
        let server = |versions| upstream::server_of(versions, provider.upstream(), KEY, AUTH);
        let old = Arc::new(server(Versions::Tls12));
        let new = Arc::new(server(Versions::Both));
        for (server, kind, version) in [
            (&old, HandshakeKind::Full, ProtocolVersion::TLSv1_2),
            (&old, HandshakeKind::Resumed, ProtocolVersion::TLSv1_2),
            (&new, HandshakeKind::Full, ProtocolVersion::TLSv1_3),
        ] {
            let mut client = ThisBuffered::client(config.clone());
            let mut server = UpstreamBuffered::server(server.clone());
            let output = client.take_output();
            server.receive(&output).unwrap();
            exchange(&mut client, &mut server).unwrap();
            assert_eq!(client.conn.handshake_kind(), Some(kind));
            assert_eq!(client.conn.protocol_version(), Some(version));
            // RFC 9846 §4.2.2: the session's ID, which the new server echoes without resuming
            let hello = ClientHello::read(&plain_messages(&output));
            assert_eq!(hello.session_id.len(), 32);
        }
    }
}

/// RFC 9846 §4.2.4: a HelloRetryRequest fixes the version.
#[test]
fn a_retry_fixes_the_version_to_tls13() {
    let identity = Identity::new(Provider::AwsLc.this());
    let mut script = Script::with_retry();
    let hello = &mut script.server_hello;
    hello.extensions.remove(0);
    hello.suite = 0xc02b;
    for client in clients(Provider::AwsLc, Versions::Both) {
        let end = identity.run(&mut *client.connection(), &script);
        let error = end.error.unwrap_or_default();
        let due = match client.name {
            // upstream checks the suite first
            "upstream" => "SelectedDifferentCipherSuiteAfterRetry",
            _ => "AttemptedDowngradeToTls12",
        };
        assert!(error.contains(due), "{}: {error}", client.name);
        assert_eq!(end.alert.map(u8::from), Some(47), "{}", client.name);
    }
}

/// A client that only supports TLS 1.2 does not know HelloRetryRequests (RFC 8446 §4.1.4).
#[test]
fn a_tls12_client_refuses_a_hello_retry_request() {
    let identity = Identity::new(Provider::AwsLc.this());
    for client in &clients(Provider::AwsLc, Versions::Tls12)[..2] {
        let end = identity.run(&mut *client.connection(), &Script::with_retry());
        let error = end.error.unwrap_or_default();
        let due = "InappropriateHandshakeMessage";
        assert!(error.contains(due), "{}: {error}", client.name);
    }
}
