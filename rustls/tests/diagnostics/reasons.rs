//! The reasons that a server logs for not resuming a session, or not accepting early data.

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange};
use harness::peers::log_lines::listen;
use harness::peers::servers;
use log::Level;
use rustls::crypto::CryptoProvider;
use rustls::server::ServerSessionMemoryCache;
use rustls::{CipherSuite, ServerConfig};

const KEY_TYPE: KeyType = KeyType::Ed25519;

/// A change of the server before the second connection.
type Change = fn(&mut ServerConfig, Provider);

/// Returns the lines at debug level of a connection to a server after `change`, with early data if
/// the server has allowed it before.
fn lines_after(
    provider: Provider,
    versions: Versions,
    before: ServerConfig,
    mut after: ServerConfig,
    change: Change,
    rejects: bool,
) -> Vec<String> {
    let mut client =
        configs::this::client_of(versions, provider.this(), KEY_TYPE, ClientAuth::None);
    client.enable_early_data = true;
    let client = Arc::new(client);
    change(&mut after, provider);
    let (mut first, mut server) = (
        ThisBuffered::client(client.clone()),
        ThisBuffered::server(before),
    );
    exchange(&mut first, &mut server).unwrap();
    let ((), lines) = listen(|| {
        let mut client = ThisBuffered::client(client.clone());
        let mut server = ThisBuffered::server(after);
        client.send_early(b"early");
        if rejects {
            server.as_server().reject_early_data();
        }
        exchange(&mut client, &mut server).unwrap();
        assert!(!server.is_handshaking());
    });
    let debug = lines.into_iter().filter(|line| line.level == Level::Debug);
    debug.map(|line| line.text).collect()
}

fn server_with(provider: Provider, versions: Versions, auth: ClientAuth) -> ServerConfig {
    configs::this::server_of(versions, provider.this(), KEY_TYPE, auth)
}

/// Asserts that a line with this text is logged with the change, and not without it.
#[track_caller]
fn assert_reason(versions: Versions, prepare: Change, change: Change, text: &str) {
    for provider in PROVIDERS {
        let mut server = server_with(provider, versions, ClientAuth::None);
        prepare(&mut server, provider);
        let unchanged: Change = |_, _| {};
        for (change, is_there) in [(unchanged, false), (change, true)] {
            let (before, after) = (server.clone(), server.clone());
            let lines = lines_after(provider, versions, before, after, change, false);
            let found = lines.iter().filter(|line| line.contains(text)).count();
            assert_eq!(found, usize::from(is_there), "{text}: {lines:#?}");
        }
    }
}

#[test]
fn tickets_that_cannot_be_opened_are_logged() {
    let new_ticketer: Change = |config, provider| config.ticketer = provider.this_ticketer();
    for versions in Versions::EACH {
        let text = "a session is not resumed: the ticket cannot be opened";
        assert_reason(versions, new_ticketer, new_ticketer, text);
    }
}

#[test]
fn missing_sessions_are_logged() {
    let new_storage: Change =
        |config, _| config.session_storage = ServerSessionMemoryCache::new(10);
    for versions in Versions::EACH {
        let text = "a session is not resumed: the session is not in the storage";
        assert_reason(versions, |_, _| {}, new_storage, text);
    }
}

#[test]
fn unsuitable_sessions_are_logged() {
    let text = "a session is not resumed: the policy for certificates has changed";
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let before = server_with(provider, versions, ClientAuth::None);
        let mut after = server_with(provider, versions, ClientAuth::OptionalAbsent);
        after.session_storage = before.session_storage.clone();
        let lines = lines_after(provider, versions, before, after, |_, _| {}, false);
        assert!(lines.iter().any(|line| line == text), "{lines:#?}");
    }
    let other_suite: Change = |config, _| {
        let mut crypto = (**config.crypto_provider()).clone();
        let other = CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256;
        crypto.cipher_suites.retain(|suite| suite.suite() == other);
        replace(config, crypto, Versions::Tls12);
        config.alpn_protocols = vec![b"h2".to_vec()];
    };
    let text = "a session is not resumed: the cipher suite, or its hash, differs";
    let h2: Change = |config, _| config.alpn_protocols = vec![b"h2".to_vec()];
    assert_reason(Versions::Tls12, h2, other_suite, text);
}

#[test]
fn rejected_early_data_is_logged() {
    let allow: Change = |config, _| config.max_early_data_size = 1000;
    let forbid: Change = |config, _| config.max_early_data_size = 0;
    let other_protocol: Change = |config, _| config.alpn_protocols = vec![b"h2".to_vec()];
    let new_storage: Change =
        |config, _| config.session_storage = ServerSessionMemoryCache::new(10);
    let cases: [(Change, &str); 4] = [
        (forbid, "the ticket or the configuration does not allow it"),
        (
            other_protocol,
            "the application protocol differs from the session's",
        ),
        (new_storage, "no session is resumed"),
        (request_another_share, "a HelloRetryRequest is needed"),
    ];
    for (change, reason) in cases {
        let text = format!("the client's early data is not accepted: {reason}");
        assert_reason(Versions::Tls13, allow, change, &text);
    }
    for provider in PROVIDERS {
        let mut server = server_with(provider, Versions::Tls13, ClientAuth::None);
        allow(&mut server, provider);
        let (before, after) = (server.clone(), server);
        let lines = lines_after(provider, Versions::Tls13, before, after, |_, _| {}, true);
        let text = "the client's early data is not accepted: the application rejects it";
        assert!(lines.iter().any(|line| line == text), "{lines:#?}");
    }
}

fn request_another_share(config: &mut ServerConfig, provider: Provider) {
    let mut crypto = provider.this();
    servers::request_another_share(&mut crypto);
    replace(config, crypto, Versions::Tls13);
}

/// Replaces the provider of a server, which keeps its sessions.
fn replace(config: &mut ServerConfig, crypto: CryptoProvider, versions: Versions) {
    let mut new = configs::this::server_of(versions, crypto, KEY_TYPE, ClientAuth::None);
    new.session_storage = config.session_storage.clone();
    new.max_early_data_size = config.max_early_data_size;
    *config = new;
}
