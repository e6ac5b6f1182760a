//! Tests of our client with upstream's server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use harness::peers::callbacks::Clock;
use harness::peers::clients::Client;
use harness::peers::configs::{self, ClientAuth, PROVIDERS, Provider, product, server_name};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, handshake};
use harness::peers::servers::{KEY_TYPE, Server};
use harness::providers::leak;
use harness::providers::suites::this::changed;
use harness::wire::client_hello::{
    ClientHello, EARLY_DATA, PRE_SHARED_KEY, PSK_KEY_EXCHANGE_MODES, TICKET_REQUEST,
};
use harness::wire::plain_messages;
use rustls::client::{TicketRequest, WebPkiServerVerifier};
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock};
use rustls::crypto::{CryptoProvider, hmac};
use rustls::{CipherSuite, ClientConfig};

use crate::resumption::{kind, kind_of};

type ServerConfig = rustls_upstream::ServerConfig;

fn client_config(provider: Provider) -> ClientConfig {
    configs::this::client(provider.this(), KEY_TYPE, ClientAuth::None)
}

fn server_config(provider: Provider) -> ServerConfig {
    configs::upstream::server(provider.upstream(), KEY_TYPE, ClientAuth::None)
}

/// A function that creates a client of one API.
type New = fn(Arc<ClientConfig>) -> Client;

const APIS: [New; 2] = [Client::Buffered, Client::Unbuffered];

fn server(config: &Arc<ServerConfig>) -> UpstreamBuffered {
    UpstreamBuffered::server(config.clone())
}

/// Connects, checks that the connection works, and returns its kind of handshake.
fn connect(new: New, client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> String {
    kind(&new(client.clone()), &Server::Upstream(server.clone()))
}

/// Creates a client's configuration with `verifier`.
fn with_verifier(crypto: CryptoProvider, verifier: &Arc<WebPkiServerVerifier>) -> ClientConfig {
    ClientConfig::builder_with_provider(crypto.into())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_webpki_verifier(verifier.clone())
        .with_no_client_auth()
}

fn verifier(provider: Provider) -> Arc<WebPkiServerVerifier> {
    let roots = configs::this::roots(KEY_TYPE);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.this().into());
    verifier.build().unwrap()
}

/// Shares the sessions of `first` with a configuration that has the same verifier.
fn share(first: &ClientConfig, second: &mut ClientConfig) {
    second.resumption = first.resumption.clone();
    second.client_auth_cert_resolver = first.client_auth_cert_resolver.clone();
}

/// Returns the first ClientHello of a connection.
fn first_hello(config: &Arc<ClientConfig>) -> ClientHello {
    ClientHello::read(&plain_messages(
        &ThisBuffered::client(config.clone()).take_output(),
    ))
}

/// The offer is the last extension, and there is an extension with the key exchange modes.
#[test]
fn a_ticket_is_offered_once() {
    for provider in PROVIDERS {
        let client = Arc::new(client_config(provider));
        let mut server = server_config(provider);
        server.send_tls13_tickets = 2;
        let server = Arc::new(server);
        connect(Client::Buffered, &client, &server);

        let offers = [true, true, false].map(|is_offered| {
            let hello = first_hello(&client);
            assert_eq!(hello.extension(PSK_KEY_EXCHANGE_MODES), Some(&[1, 1][..]));
            let (last, body) = hello.extensions.last().unwrap().clone();
            assert_eq!(last == PRE_SHARED_KEY, is_offered);
            assert_eq!(hello.extension(PRE_SHARED_KEY).is_some(), is_offered);
            body
        });
        assert_ne!(offers[0], offers[1]);
        assert_eq!(connect(Client::Buffered, &client, &server), "Full");
    }
}

/// Resumption skips the verifier and the client's certificate. So sessions must not be used by
/// configurations in which those differ.
#[test]
fn a_session_resumes_only_with_its_verifier_and_client_certificate() {
    for (provider, new) in product(PROVIDERS, APIS) {
        let server = Arc::new(server_config(provider));
        let prime = || {
            let config = Arc::new(client_config(provider));
            connect(new, &config, &server);
            (*config).clone()
        };
        assert_eq!(connect(new, &Arc::new(prime()), &server), "Resumed");

        let mut config = prime();
        config
            .dangerous()
            .set_certificate_verifier(verifier(provider));
        assert_eq!(connect(new, &Arc::new(config), &server), "Full");

        let mut config = prime();
        config.client_auth_cert_resolver = client_config(provider).client_auth_cert_resolver;
        assert_eq!(connect(new, &Arc::new(config), &server), "Full");
    }
}

#[test]
fn sessions_are_stored_separately_for_each_server() {
    for provider in PROVIDERS {
        let client = Arc::new(client_config(provider));
        connect(
            Client::Buffered,
            &client,
            &Arc::new(server_config(provider)),
        );
        for name in ["other.example", "192.0.2.1", configs::SERVER_NAME] {
            let server = name.try_into().unwrap();
            let hello = ThisBuffered::client_of(server, client.clone()).take_output();
            let hello = ClientHello::read(&plain_messages(&hello));
            let is_offered = hello.extension(PRE_SHARED_KEY).is_some();
            assert_eq!(is_offered, name == configs::SERVER_NAME, "{name}");
        }
    }
}

/// RFC 9846 §4.3.11: the protocol is negotiated again, unless early data is used.
#[test]
fn a_session_resumes_with_another_application_protocol() {
    for (provider, new) in product(PROVIDERS, APIS) {
        let server = Arc::new(server_config(provider));
        let config = Arc::new(client_config(provider));
        connect(new, &config, &server);
        for protocols in [vec![b"h2".to_vec()], vec![]] {
            let mut config = (*config).clone();
            config.alpn_protocols = protocols;
            assert_eq!(connect(new, &Arc::new(config), &server), "Resumed");
        }
    }
}

/// Early data requires the session's own suite.
#[test]
fn a_session_is_offered_with_a_suite_of_its_hash() {
    use CipherSuite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
    for provider in PROVIDERS {
        let mut server = server_config(provider);
        server.max_early_data_size = 1000;
        let server = Arc::new(server);
        let verifier = verifier(provider);
        let with = |suite: CipherSuite| {
            let crypto = configs::this::provider_of(provider, suite);
            let mut config = with_verifier(crypto, &verifier);
            config.enable_early_data = true;
            config
        };
        let first = Arc::new(with(TLS13_AES_128_GCM_SHA256));
        for (suite, offered, early, kind) in [
            (TLS13_AES_128_GCM_SHA256, true, true, "Resumed"),
            // upstream's server resumes only with exactly the same suite
            (TLS13_CHACHA20_POLY1305_SHA256, true, false, "Full"),
            (TLS13_AES_256_GCM_SHA384, false, false, "Full"),
        ] {
            let mut second = with(suite);
            share(&first, &mut second);
            let second = Arc::new(second);
            connect(Client::Buffered, &first, &server);
            let hello = first_hello(&second);
            assert_eq!(
                hello.extension(PRE_SHARED_KEY).is_some(),
                offered,
                "{suite:?}"
            );
            assert_eq!(hello.extension(EARLY_DATA).is_some(), early, "{suite:?}");
            connect(Client::Buffered, &first, &server);
            assert_eq!(
                connect(Client::Buffered, &second, &server),
                kind,
                "{suite:?}"
            );
        }
    }
}

/// An HKDF that counts its calls.
struct Counted {
    inner: &'static dyn Hkdf,
    uses: AtomicU64,
}

impl Counted {
    fn inner(&self) -> &'static dyn Hkdf {
        self.uses.fetch_add(1, Ordering::Relaxed);
        self.inner
    }
}

impl Hkdf for Counted {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.inner().extract_from_zero_ikm(salt)
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        self.inner().extract_from_secret(salt, secret)
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        self.inner().expander_for_okm(okm)
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> hmac::Tag {
        self.inner().hmac_sign(key, message)
    }
}

/// Configurations that share a store may have different providers. A session resumes with the
/// current configuration's provider, to which `fips` refers.
#[test]
fn a_session_resumes_with_the_suites_of_the_configuration() {
    for provider in PROVIDERS {
        let mut server = server_config(provider);
        server.max_early_data_size = 1000;
        let server = Arc::new(server);
        let mut crypto = provider.this();
        let mut all_counted = Vec::new();
        for suite in &mut crypto.cipher_suites {
            *suite = changed(
                *suite,
                |_| (),
                |suite| {
                    let (inner, uses) = (suite.hkdf_provider, AtomicU64::new(0));
                    let counted = leak(Counted { inner, uses });
                    all_counted.push(counted);
                    suite.hkdf_provider = counted;
                },
            );
        }
        let verifier = verifier(provider);
        let with = |crypto: CryptoProvider| {
            let mut config = with_verifier(crypto, &verifier);
            config.enable_early_data = true;
            config
        };
        let first = Arc::new(with(crypto));
        let mut second = with(provider.this());
        share(&first, &mut second);
        let second = Arc::new(second);

        let uses = || {
            let uses = all_counted.iter().map(|it| it.uses.load(Ordering::Relaxed));
            uses.sum::<u64>()
        };
        connect(Client::Buffered, &first, &server);
        let before = uses();
        assert_ne!(before, 0);
        let hello = first_hello(&second);
        assert!(hello.extension(EARLY_DATA).is_some());
        assert_eq!(connect(Client::Buffered, &second, &server), "Resumed");
        assert_eq!(uses(), before);
    }
}

const START: u64 = 2_000_000_000;

/// Creates a server that requests another share than the one that clients send.
fn retrying_server_config(provider: Provider) -> rustls_upstream::ServerConfig {
    let mut crypto = provider.upstream();
    let groups = &mut crypto.kx_groups;
    groups.retain(|group| group.name() == rustls_upstream::NamedGroup::secp384r1);
    configs::upstream::server(crypto, KEY_TYPE, ClientAuth::None)
}

/// Creates a configuration with a clock. Its verifier must ignore the time.
fn with_clock(provider: Provider) -> (ClientConfig, Arc<Clock>) {
    let clock = Clock::at(START);
    let mut config = client_config(provider);
    config.time_provider = clock.clone();
    (config, clock)
}

/// If the clock was set back by more than a session's lifetime, or returns no time, its age is
/// unknown.
#[test]
fn tickets_expire() {
    for provider in PROVIDERS {
        let server = Arc::new(server_config(provider));
        // upstream's tickets last a day
        for (later, offered) in [
            (0, true),
            (86_399, true),
            (86_400, false),
            (700_000, false),
            (-60, true),
            (-8 * 86_400, false),
            (-(START as i64), false),
        ] {
            let (config, clock) = with_clock(provider);
            let config = Arc::new(config);
            connect(Client::Buffered, &config, &server);
            clock.advance(later);
            let hello = first_hello(&config);
            let is_offered = hello.extension(PRE_SHARED_KEY).is_some();
            assert_eq!(is_offered, offered, "{later}");
            // with the other ticket; certificates cannot be verified without the time
            if clock.seconds() != 0 {
                let kind = if offered { "Resumed" } else { "Full" };
                assert_eq!(connect(Client::Buffered, &config, &server), kind, "{later}");
            }
        }
    }
}

/// RFC 9846 §4.7.1: a chain of sessions ends, and a new verification of the server starts another.
#[test]
fn resumption_does_not_extend_sessions_forever() {
    for provider in PROVIDERS {
        let server = Arc::new(server_config(provider));
        for new in APIS {
            let (config, clock) = with_clock(provider);
            let config = Arc::new(config);
            for hours in (0..=340).step_by(20) {
                clock.set(START + hours * 60 * 60);
                let is_full = [0, 180].contains(&hours);
                let expected = if is_full { "Full" } else { "Resumed" };
                let kind = connect(new, &config, &server);
                assert_eq!(kind, expected, "after {hours} hours");
            }
        }
    }
}

/// Returns the ticket age in the ClientHello, in milliseconds, plus `ticket_age_add`.
fn obfuscated_age(hello: &ClientHello) -> u32 {
    let psk = hello.extension(PRE_SHARED_KEY).unwrap();
    let identity_len = usize::from(u16::from_be_bytes([psk[2], psk[3]]));
    let age = &psk[4 + identity_len..][..4];
    u32::from_be_bytes(age.try_into().unwrap())
}

/// The session's `Debug` output contains the `ticket_age_add`, which is subtracted.
#[test]
fn ages_are_in_milliseconds_and_never_negative() {
    use rustls::client::{ClientSessionStore, Resumption};

    let provider = Provider::AwsLc;
    let server = Arc::new(server_config(provider));
    let mut ages = Vec::new();
    for later in [0_i64, 1, 1000, -1, -1000] {
        let (mut config, clock) = with_clock(provider);
        let store = Arc::new(rustls::client::ClientSessionMemoryCache::new(8));
        config.resumption = Resumption::store(store.clone());
        let config = Arc::new(config);
        connect(Client::Buffered, &config, &server);
        let session = store.take_tls13_ticket(&server_name()).unwrap();
        let text = format!("{session:?}");
        store.insert_tls13_ticket(server_name(), session);
        let age_add = text.split_once("age_add: ").unwrap().1;
        let age_add: u32 = age_add.split([',', ' ']).next().unwrap().parse().unwrap();
        clock.set(START.checked_add_signed(later).unwrap());
        ages.push(obfuscated_age(&first_hello(&config)).wrapping_sub(age_add));
    }
    assert_eq!(ages, [0, 1_000, 1_000_000, 0, 0]);
}

/// RFC 9846 §4.2.2: the second ClientHello has the ticket's current age.
#[test]
fn the_age_is_updated_after_a_retry() {
    let provider = Provider::AwsLc;
    let first = Arc::new(server_config(provider));
    let (config, clock) = with_clock(provider);
    let config = Arc::new(config);
    connect(Client::Buffered, &config, &first);

    let mut retrying = retrying_server_config(provider);
    retrying.session_storage = first.session_storage.clone();
    let mut server = server(&Arc::new(retrying));
    let mut client = ThisBuffered::client(config.clone());
    let hello = client.take_output();
    let before = obfuscated_age(&ClientHello::read(&plain_messages(&hello)));
    server.receive(&hello).unwrap();
    clock.set(START + 7);
    client.receive(&server.take_output()).unwrap();
    let hello = client.take_output();
    let after = obfuscated_age(&ClientHello::read(&plain_messages(&hello)));
    assert_eq!(after.wrapping_sub(before), 7_000);
    // the binder covers the new age
    server.receive(&hello).unwrap();
    handshake(&mut client, &mut server);
    assert!(client.negotiated().contains("Resumed"));
}

/// RFC 9149 §3: both ClientHellos contain the request if it is configured. Upstream's server sends
/// as many tickets as requested.
#[test]
fn tickets_are_requested_as_configured() {
    for provider in PROVIDERS {
        let mut config = client_config(provider);
        assert_eq!(config.send_ticket_request, None);
        let without = first_hello(&Arc::new(config.clone()));
        assert_eq!(without.extension(TICKET_REQUEST), None);

        config.send_ticket_request = Some(TicketRequest {
            new_session_count: 5,
            resumption_count: 1,
        });
        let config = Arc::new(config);
        let request = Some(&[5, 1][..]);
        assert_eq!(first_hello(&config).extension(TICKET_REQUEST), request);

        let retrying = retrying_server_config(provider);
        let mut server = server(&Arc::new(retrying));
        let mut client = ThisBuffered::client(config.clone());
        server.receive(&client.take_output()).unwrap();
        client.receive(&server.take_output()).unwrap();
        let second = ClientHello::read(&plain_messages(&client.take_output()));
        assert_eq!(second.extension(TICKET_REQUEST), request);

        let mut granting = server_config(provider);
        granting.max_tls13_tickets = 8;
        let granting = Arc::new(granting);
        for (kind, tickets) in [("Full", 5), ("Resumed", 1)] {
            let mut client = ThisBuffered::client(config.clone());
            handshake(&mut client, &mut self::server(&granting));
            assert_eq!(kind_of(&client), kind);
            assert_eq!(client.as_client().tls13_tickets_received(), tickets);
        }
    }
}
