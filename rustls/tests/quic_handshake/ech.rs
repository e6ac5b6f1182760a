//! Tests of Encrypted ClientHello (RFC 9849) over QUIC, with a server that does not support it.

use harness::peers::configs::SERVER_NAME;
use harness::scripted::ech::EchKey;
use harness::wire::client_hello::{EARLY_DATA, PRE_SHARED_KEY};
use rustls::client::{EchConfig, EchGreaseConfig, EchMode, WebPkiServerVerifier};
use rustls::crypto::aws_lc_rs::hpke::{ALL_SUPPORTED_SUITES, DH_KEM_X25519_HKDF_SHA256_AES_128};
use rustls::crypto::hpke::Hpke;
use rustls::pki_types::{EchConfigListBytes, ServerName};
use rustls::{AlertDescription as Alert, PeerIncompatible};

use super::*;

const ECH: u16 = 0xfe0d;

fn config(provider: Provider, mode: EchMode) -> Arc<ClientConfig> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider.this()))
        .with_ech(mode)
        .unwrap()
        .with_root_certificates(this::roots(KeyType::Ed25519))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h3".to_vec()];
    Arc::new(config)
}

fn connect(config: &Arc<ClientConfig>, name: ServerName<'static>) -> Connection {
    let parameters = CLIENT_PARAMETERS.to_vec();
    ClientConnection::new(config.clone(), Version::V1, name, parameters)
        .unwrap()
        .into()
}

/// Runs a handshake until the server's flight tells the client of the rejection. Neither end has
/// keys for early data. Returns the ClientHello.
fn rejected_flight(client: &mut Connection, server: &mut Connection) -> Vec<u8> {
    let hello = write(client).bytes;
    server.read_hs(&hello).unwrap();
    assert!(server.zero_rtt_keys().is_none());
    let flight = write_all(server);
    client.read_hs(&flight[0].bytes).unwrap();
    assert!(client.zero_rtt_keys().is_none());
    assert_eq!(write(client).keys, Some("Handshake"));
    let rejected = PeerIncompatible::ServerRejectedEncryptedClientHello(None);
    assert_eq!(client.read_hs(&flight[1].bytes), Err(rejected.into()));
    hello
}

fn ech() -> EchMode {
    let key = EchKey::new(7, SERVER_NAME, (0x20, 1, 1));
    let list = EchConfigListBytes::from(key.config.list());
    EchConfig::new(list, ALL_SUPPORTED_SUITES).unwrap().into()
}

/// The handshake with the public name continues until its end and then fails with an alert and
/// without 1-RTT keys.
#[test]
fn a_rejection_ends_the_connection() {
    for provider in PROVIDERS {
        let name = ServerName::try_from("secret.example").unwrap();
        let mut client = connect(&config(provider, ech()), name);
        let mut server = server(&Arc::new(server_config(provider.this())), Version::V1);

        let hello = rejected_flight(&mut client, &mut server);
        let types = ClientHello::read(&hello).extension_types();
        assert!(types.contains(&ECH) && types.contains(&57));
        // RFC 9001 §8.4: no legacy_session_id
        assert_eq!(ClientHello::read(&hello).session_id, b"");
        assert_eq!(client.alert(), Some(Alert::EncryptedClientHelloRequired));
        assert_eq!(client.alpn_protocol(), None);
        assert!(client.peer_certificates().is_none());
        assert!(client.is_handshaking());
        assert!(write_all(&mut client).iter().all(|it| it.keys.is_none()));
    }
}

/// The client has a session of the inner server, and 0-RTT keys that only that server has.
#[test]
fn early_data_ends_with_a_rejection() {
    for provider in PROVIDERS {
        let mut plain = client_config(provider.this());
        let (roots, crypto) = (this::roots(KeyType::Ed25519), Arc::new(provider.this()));
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, crypto);
        let verifier = verifier.build().unwrap();
        plain.dangerous().set_certificate_verifier(verifier.clone());

        let mut encrypting = ClientConfig::clone(&config(provider, ech()));
        encrypting.enable_early_data = true;
        encrypting.resumption = plain.resumption.clone();
        encrypting.client_auth_cert_resolver = plain.client_auth_cert_resolver.clone();
        encrypting.dangerous().set_certificate_verifier(verifier);

        let configs = Configs {
            client: Arc::new(plain),
            server: Arc::new(server_config(provider.this())),
        };
        configs.connected();

        let mut client = connect(&Arc::new(encrypting), server_name());
        assert!(client.zero_rtt_keys().is_some());
        // this server has the session, but the outer hello does not name it
        let mut server = configs.server();
        let hello = rejected_flight(&mut client, &mut server);
        let types = ClientHello::read(&hello).extension_types();
        assert!(types.contains(&EARLY_DATA) && types.contains(&PRE_SHARED_KEY));
        assert!(client.zero_rtt_keys().is_none());
        assert!(write_all(&mut client).is_empty());
        let exported = client.export_keying_material([0; 8], b"label", None);
        assert!(exported.is_err());
    }
}

#[test]
fn grease_does_not_change_the_handshake() {
    for provider in PROVIDERS {
        let suite = DH_KEM_X25519_HKDF_SHA256_AES_128;
        let (key, _) = suite.generate_key_pair().unwrap();
        let config = config(provider, EchGreaseConfig::new(suite, key).into());
        let mut client = connect(&config, server_name());
        let mut server = server(&Arc::new(server_config(provider.this())), Version::V1);
        let hello = write(&mut client).bytes;
        assert!(ClientHello::read(&hello).extension_types().contains(&ECH));
        server.read_hs(&hello).unwrap();
        exchange(&mut client, &mut server);
        assert!(!client.is_handshaking() && !server.is_handshaking());
        assert_eq!(client.alpn_protocol(), Some(&b"h3"[..]));
    }
}
