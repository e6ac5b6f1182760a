//! Configurations and callbacks whose values are too long for a message are rejected when the
//! connection is created, or the handshake fails; nothing is truncated and nothing panics.

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, Provider, Versions, server_name};
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange};
use harness::providers::constant::this::{Group, Key};
use harness::providers::tickets::this::Tickets;
use harness::verifiers::this::Verifier;
use rustls::client::UnbufferedClientConnection;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use rustls::server::UnbufferedServerConnection;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, DistinguishedName, Error, NamedGroup, ServerConfig,
    ServerConnection, SignatureAlgorithm, SignatureScheme,
};

use crate::behaviour::connected::this::{client_config, server_config};
use crate::cases::{KEY_TYPE, Role};

const PROVIDER: Provider = Provider::AwsLc;

/// The bytes for authorities in a CertificateRequest: the limit of a two-byte length, less 1 KiB
/// for the rest of the message.
const AUTHORITIES_LEN: usize = 0xffff - 0x400;

/// Accepts every certificate and names `authorities`.
fn verifier(authorities: Vec<DistinguishedName>) -> Verifier {
    Verifier::accepting(Versions::Tls13, &[SignatureScheme::ED25519])
        .optional()
        .with_hints(authorities, 0)
}

/// Accepts every certificate and reports more schemes than a message can carry.
fn verifier_of_many_schemes() -> Verifier {
    Verifier::accepting(Versions::Tls13, &[SignatureScheme::ED25519; 0x8000])
        .optional()
        .with_hints(Vec::new(), 0)
}

/// Returns distinguished names that take `len` bytes in a list.
fn authorities(len: usize) -> Vec<DistinguishedName> {
    const NAME_LEN: usize = 1000;
    let mut names = vec![DistinguishedName::from(vec![7; NAME_LEN]); len / (2 + NAME_LEN) - 1];
    let rest = len - names.len() * (2 + NAME_LEN);
    names.push(vec![7; rest - 2].into());
    names
}

fn server_verifying_by(verifier: Verifier) -> ServerConfig {
    let identity = &KEY_TYPE.identities().server;
    ServerConfig::builder_with_provider(Arc::new(PROVIDER.this()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(identity.chain.clone(), identity.key())
        .unwrap()
}

fn client_verifying_by(verifier: Verifier) -> ClientConfig {
    client_with_provider(PROVIDER.this(), verifier)
}

fn client_with_provider(provider: CryptoProvider, verifier: Verifier) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth()
}

/// Returns the text of the error that prevents a server connection of either API.
#[track_caller]
fn server_refusal(config: ServerConfig) -> String {
    let config = Arc::new(config);
    let buffered = ServerConnection::new(config.clone()).map(drop);
    refusal([buffered, UnbufferedServerConnection::new(config).map(drop)])
}

/// Returns the text of the error that prevents a client connection of either API.
#[track_caller]
fn client_refusal(config: ClientConfig) -> String {
    let config = Arc::new(config);
    let buffered = ClientConnection::new(config.clone(), server_name()).map(drop);
    let unbuffered = UnbufferedClientConnection::new(config, server_name()).map(drop);
    refusal([buffered, unbuffered])
}

#[track_caller]
fn refusal([buffered, unbuffered]: [Result<(), Error>; 2]) -> String {
    assert_eq!(unbuffered, buffered);
    match buffered {
        Err(Error::General(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// Returns the result of a handshake, and the other side's error for the alert it receives.
fn outcome(client: ClientConfig, server: ServerConfig) -> (Result<(), String>, String) {
    let (mut client, mut server) = (ThisBuffered::client(client), ThisBuffered::server(server));
    let result = exchange(&mut client, &mut server);
    let to_server = server.receive(&client.take_output());
    let to_client = client.receive(&server.take_output());
    let alert = [to_server, to_client].into_iter().find_map(Result::err);
    (result, alert.unwrap_or_default())
}

/// Asserts that the given side fails with `text` and that the other side receives an alert.
#[track_caller]
fn assert_ends(client: ClientConfig, server: ServerConfig, by: Role, text: &str) {
    let (result, alert) = outcome(client, server);
    let error = result.unwrap_err();
    let start = format!("{}: General", by.name());
    assert!(error.starts_with(&start) && error.contains(text), "{error}");
    assert_eq!(alert, "AlertReceived(InternalError)");
}

#[test]
fn a_server_with_too_many_authorities_is_refused() {
    let most = server_verifying_by(verifier(authorities(AUTHORITIES_LEN)));
    assert_eq!(outcome(client_config(PROVIDER), most).0, Ok(()));

    let more = server_verifying_by(verifier(authorities(AUTHORITIES_LEN + 1)));
    assert_eq!(
        server_refusal(more),
        "the names of 64 authorities take 64512 bytes, and a CertificateRequest has room for 64511"
    );
    let one = verifier(vec![vec![7; 0x1_0000].into()]);
    assert!(server_refusal(server_verifying_by(one)).contains("the names of 1 authorities"));
    let empty = verifier(vec![Vec::new().into()]);
    let refusal = server_refusal(server_verifying_by(empty));
    assert_eq!(refusal, "an authority's name is empty");
}

/// A verifier may return other values during the handshake than before it.
#[test]
fn a_certificate_request_that_becomes_too_long_fails_the_handshake() {
    let changing = verifier(Vec::new()).with_hints(authorities(0x1_0000), 1);
    for verifier in [changing, verifier_of_many_schemes()] {
        let (client, server) = (client_config(PROVIDER), server_verifying_by(verifier));
        let error = "CertificateRequest cannot be sent";
        assert_ends(client, server, Role::Server, error);
    }
}

#[test]
fn overlong_lists_in_a_client_configuration_are_refused() {
    let hints = client_verifying_by(verifier(authorities(0x1_0000)));
    assert!(client_refusal(hints).contains("too long for a ClientHello"));

    let schemes = client_verifying_by(verifier_of_many_schemes());
    assert!(client_refusal(schemes).contains("ClientHello cannot be sent"));

    let mut provider = PROVIDER.this();
    provider.cipher_suites = vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256; 0x8000];
    let suites = client_with_provider(provider, verifier(Vec::new()));
    assert!(client_refusal(suites).contains("ClientHello cannot be sent"));
}

#[test]
fn too_long_key_shares_are_refused() {
    let mut provider = PROVIDER.this();
    provider.kx_groups = vec![Group::new(NamedGroup::X25519, &[7; 0x1_0000]).leak()];
    let client = client_with_provider(provider.clone(), verifier(Vec::new()));
    assert!(client_refusal(client).contains("ClientHello cannot be sent"));

    let server = configs::this::server(provider, KEY_TYPE, ClientAuth::None);
    let mut provider = PROVIDER.this();
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519];
    let client = configs::this::client(provider, KEY_TYPE, ClientAuth::None);
    assert_ends(client, server, Role::Server, "ServerHello cannot be sent");
}

/// Creates a certificate of `cert_len` bytes with a key that makes signatures of `signature_len`.
fn certified_key(cert_len: usize, signature_len: usize) -> CertifiedKey {
    let cert = CertificateDer::from(vec![7; cert_len]);
    let key = Key {
        algorithm: SignatureAlgorithm::ED25519,
        scheme: SignatureScheme::ED25519,
        signature: vec![7; signature_len],
    };
    CertifiedKey::new(vec![cert], Arc::new(key))
}

/// Creates a client and a server that accept any certificate. The side `role` presents the given
/// one.
fn with_certified_key(role: Role, certified_key: CertifiedKey) -> (ClientConfig, ServerConfig) {
    let mut client = client_verifying_by(verifier(Vec::new()));
    let mut server = server_verifying_by(verifier(Vec::new()));
    let resolver = Arc::new(SingleCertAndKey::from(certified_key));
    match role {
        Role::Client => client.client_auth_cert_resolver = resolver,
        Role::Server => server.cert_resolver = resolver,
    }
    (client, server)
}

#[test]
fn too_long_certificates_and_signatures_end_the_handshake() {
    for role in [Role::Client, Role::Server] {
        let (client, server) = with_certified_key(role, certified_key(100, 60_000));
        assert_eq!(outcome(client, server).0, Ok(()));

        // one certificate that is too long, and many that together are too long
        let mut many = certified_key(0x1_0000, 100);
        many.cert = vec![many.cert[0].clone(); 0x100];
        for (key, message) in [
            (certified_key(100, 0x1_0000), "CertificateVerify"),
            (certified_key(0x100_0000, 100), "Certificate"),
            (many, "Certificate"),
        ] {
            let (client, server) = with_certified_key(role, key);
            assert_ends(client, server, role, &format!("{message} cannot be sent"));
        }
    }
}

#[test]
fn too_long_ocsp_responses_end_the_handshake() {
    // 2^16 - 1, less the headers of the extension and of the status in it
    const MOST: usize = 0xffff - 8;
    for (len, fits) in [(MOST, true), (MOST + 1, false), (0x100_0000, false)] {
        let mut certified_key = certified_key(100, 100);
        certified_key.ocsp = Some(vec![7; len]);
        let (client, server) = with_certified_key(Role::Server, certified_key);
        let (result, alert) = outcome(client, server);
        let error = result.unwrap_err();
        if fits {
            // the message was sent, but exceeds our client's limit
            assert!(error.contains("MessageTooLarge"), "{error}");
        } else {
            assert!(error.starts_with("server: General"), "{error}");
            let text = format!("an OCSP response of {len} bytes cannot be sent");
            assert!(error.contains(&text), "{error}");
            assert_eq!(alert, "AlertReceived(InternalError)");
        }
    }
}

/// Without a ticket, a client cannot resume; nothing else fails.
#[test]
fn too_long_tickets_are_not_sent() {
    for (len, sent) in [(65_000, true), (0xffff, false), (0x1_0000, false)] {
        let mut config = server_config(PROVIDER);
        config.ticketer = Arc::new(Tickets::of_len(len));
        config.send_tls13_tickets = 1;
        let mut client = ThisBuffered::client(client_config(PROVIDER));
        let mut server = ThisBuffered::server(config);
        server.receive(&client.take_output()).unwrap();
        client.receive(&server.take_output()).unwrap();
        server.receive(&client.take_output()).unwrap();
        let tickets = server.take_output();
        assert_eq!(tickets.len() > len, sent, "{len}");
        assert_eq!(tickets.is_empty(), !sent, "{len}");
        client.receive(&tickets).unwrap();
        assert!(!client.is_handshaking() && !server.is_handshaking());
    }
}
