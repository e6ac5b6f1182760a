//! Tests of the rules of RFC 9001 for handshake messages.

use harness::peers::configs::{Versions, product, product3};
use harness::peers::endpoints::Transfer;
use harness::providers::suites::this::changed;
use harness::wire::client_hello::{
    ALPN, PSK_KEY_EXCHANGE_MODES, SIGNATURE_ALGORITHMS, SUPPORTED_GROUPS, SUPPORTED_VERSIONS,
};
use rustls::quic::Version;
use rustls::{AlertDescription as Alert, Error, HandshakeType, PeerIncompatible, PeerMisbehaved};

use super::*;

const KEY_TYPE: KeyType = KeyType::Ed25519;
const TRANSPORT_PARAMETERS: u16 = 57;
const DRAFT_PARAMETERS: u16 = 0xffa5;

fn refuses(conn: &mut Connection, bytes: &[u8], error: impl Into<Error>, alert: Option<Alert>) {
    assert_eq!(conn.read_hs(bytes), Err(error.into()));
    assert_eq!(conn.alert(), alert);
}

/// RFC 9001 §8.2, §8.4 and §4.2 have rules for a ClientHello.
#[test]
fn a_client_hello_follows_the_rules() {
    for (version, parameters) in [
        (Version::V1Draft, DRAFT_PARAMETERS),
        (Version::V1, TRANSPORT_PARAMETERS),
        (Version::V2, TRANSPORT_PARAMETERS),
    ] {
        let crypto = Provider::Ring.this();
        let mut config = this::client_of(Versions::Both, crypto, KEY_TYPE, ClientAuth::None);
        config.alpn_protocols = vec![b"h3".to_vec()];
        let hello = write(&mut client(&Arc::new(config), version)).bytes;
        let hello = ClientHello::read(&hello);
        // legacy_session_id is empty, and there are no TLS 1.2 suites
        assert_eq!(hello.session_id, b"");
        let mut suites = hello.cipher_suites.iter();
        assert!(suites.all(|suite| suite >> 8 == 0x13), "{version:?}");
        // extended_master_secret, session_ticket and renegotiation_info belong to TLS 1.2
        let types = hello.extension_types();
        assert!(!types.iter().any(|typ| [23, 35, 0xff01].contains(typ)));
        let ours = |typ: &&u16| [TRANSPORT_PARAMETERS, DRAFT_PARAMETERS].contains(typ);
        assert!(types.iter().filter(ours).eq([&parameters]), "{version:?}");
        assert_eq!(hello.extension(parameters), Some(CLIENT_PARAMETERS));
        assert_eq!(hello.extension(SUPPORTED_VERSIONS), Some(&[2, 3, 4][..]));
    }
}

/// RFC 9001 §8.2: each version has its own code point.
#[test]
fn parameters_for_another_version_count_as_missing() {
    let configs = Configs::new(Provider::Ring);
    for (client_version, server_version) in [
        (Version::V1Draft, Version::V1),
        (Version::V1Draft, Version::V2),
        (Version::V1, Version::V1Draft),
    ] {
        let hello = write(&mut client(&configs.client, client_version)).bytes;
        let mut server = server(&configs.server, server_version);
        let error = PeerMisbehaved::MissingQuicTransportParameters;
        refuses(&mut server, &hello, error, Some(Alert::MissingExtension));
    }
}

/// RFC 9001 §8.1, §8.2: a client requires the server's parameters, and one of the protocols that it
/// has offered.
#[test]
fn a_client_requires_parameters_and_a_common_protocol() {
    let no_parameters = PeerMisbehaved::MissingQuicTransportParameters.into();
    let needed = [
        (TRANSPORT_PARAMETERS, no_parameters, Alert::MissingExtension),
        (
            ALPN,
            Error::NoApplicationProtocol,
            Alert::NoApplicationProtocol,
        ),
    ];
    for (provider, (typ, error, alert), checks) in product3(PROVIDERS, needed, [true, false]) {
        let mut configs = Configs::new(provider);
        let config = Arc::get_mut(&mut configs.client).unwrap();
        config.check_selected_alpn = checks;
        let (mut client, mut server) = (configs.client(), configs.server());
        relay(&mut client, &mut server);
        let [hello, flight] = two_levels(&mut server);
        client.read_hs(&hello).unwrap();
        let without = without_extension(split(&flight)[0], typ);
        refuses(&mut client, &without, error, Some(alert));
    }
}

/// RFC 9001 §4.2: QUIC requires TLS 1.3.
#[test]
fn older_versions_are_refused() {
    let crypto = Provider::Ring.this();
    let mut config = this::server_of(Versions::Both, crypto, KEY_TYPE, ClientAuth::None);
    config.alpn_protocols = vec![b"h3".to_vec()];
    let config = Arc::new(config);
    let configs = Configs::new(Provider::Ring);
    let hello = ClientHello::read(&write(&mut configs.client()).bytes);
    let only_tls12 = hello.clone().with(SUPPORTED_VERSIONS, vec![2, 3, 3]);
    let without = hello.without(SUPPORTED_VERSIONS);
    for (hello, error) in [
        (without, PeerIncompatible::Tls13RequiredForQuic),
        (only_tls12, PeerIncompatible::Tls12NotOfferedOrEnabled),
    ] {
        let (mut server, alert) = (server(&config, Version::V1), Alert::ProtocolVersion);
        refuses(&mut server, &hello.message(), error, Some(alert));
    }
}

/// Only changes that lead to another result are rejected. `differential` compares with upstream.
#[test]
fn harmless_changes_of_a_second_hello_are_accepted() {
    type Change = fn(ClientHello) -> ClientHello;

    for provider in PROVIDERS {
        let mut configs = Configs::new(provider);
        configs.server = Arc::new(retrying(provider));
        let after_retry = |change: Change| {
            let (mut client, mut server) = (configs.client(), configs.server());
            relay(&mut client, &mut server);
            relay(&mut server, &mut client);
            let second = ClientHello::read(&write(&mut client).bytes);
            (server.read_hs(&change(second).message()), server)
        };
        let parameters: Change = |hello| hello.with(TRANSPORT_PARAMETERS, b"new".to_vec());
        let harmless: [Change; 4] = [
            |hello| hello.edit(|hello| hello.random = [9; 32]),
            |hello| hello.with(SUPPORTED_GROUPS, vec![0, 2, 0, 23]),
            |hello| hello.without(PSK_KEY_EXCHANGE_MODES),
            parameters,
        ];
        for change in harmless {
            let (read, mut server) = after_retry(change);
            assert_eq!(read, Ok(()));
            two_levels(&mut server);
        }
        let (_, server) = after_retry(parameters);
        assert_eq!(server.quic_transport_parameters(), Some(&b"new"[..]));

        let (read, _) = after_retry(|hello| hello.with(SUPPORTED_GROUPS, vec![0, 2, 0, 29]));
        assert_eq!(read, Err(PeerIncompatible::NoKxGroupsInCommon.into()));
        let (read, _) = after_retry(|hello| hello.with(ALPN, vec![0, 2, 1, b'x']));
        assert_eq!(read, Err(Error::NoApplicationProtocol));
    }
}

/// RFC 9001 §6, §8.3, §4.4: no other message is allowed.
#[test]
fn only_tickets_may_follow_the_handshake() {
    for configs in PROVIDERS.map(Configs::new) {
        let unexpected =
            |got_type, expect_types: &[HandshakeType]| Error::InappropriateHandshakeMessage {
                expect_types: expect_types.to_vec(),
                got_type,
            };
        let key_update = message(24, &[0]);
        let end_of_early_data = message(5, &[]);
        for (unexpected_message, typ) in [
            (&key_update, HandshakeType::KeyUpdate),
            (&end_of_early_data, HandshakeType::EndOfEarlyData),
        ] {
            let (mut client, mut server) = configs.connected();
            let alert = Some(Alert::UnexpectedMessage);
            let error = unexpected(typ, &[HandshakeType::NewSessionTicket]);
            refuses(&mut client, unexpected_message, error, alert);
            refuses(&mut server, unexpected_message, unexpected(typ, &[]), alert);
        }

        // a PROTOCOL_VIOLATION
        let request = message(13, &[0, 0, 0]);
        let (mut client, _) = configs.connected();
        let error = unexpected(
            HandshakeType::CertificateRequest,
            &[HandshakeType::NewSessionTicket],
        );
        refuses(&mut client, &request, error, None);
    }
}

/// RFC 9001 §8.2: transport parameters cause a fatal unsupported_extension if the transport is not
/// QUIC. The code point of drafts is unassigned, so servers ignore it like any unknown extension.
#[test]
fn parameters_over_records_are_refused_except_those_of_drafts() {
    let versions = [
        (Version::V2, TRANSPORT_PARAMETERS),
        (Version::V1, TRANSPORT_PARAMETERS),
        (Version::V1Draft, DRAFT_PARAMETERS),
    ];
    for (provider, (version, typ)) in product(PROVIDERS, versions) {
        let configs = Configs::new(provider);
        let both = this::server_of(Versions::Both, provider.this(), KEY_TYPE, ClientAuth::None);
        let hello = write(&mut client(&configs.client, version)).bytes;
        // neither version of TLS has them over records
        let ed25519 = vec![0, 2, 8, 7];
        let tls12 = ClientHello::tls12().with(SIGNATURE_ALGORITHMS, ed25519);
        let tls12 = tls12.and(typ, vec![1, 1, 0]).message();
        for (config, hello) in [(configs.server.clone(), hello), (Arc::new(both), tls12)] {
            let mut server = rustls::ServerConnection::new(config).unwrap();
            let record = harness::wire::record(22, &hello);
            server.read_tls(&mut &record[..]).unwrap();
            let processed = server.process_new_packets().map(drop);
            let output = server.output();
            if typ == DRAFT_PARAMETERS {
                processed.unwrap();
                // the ServerHello
                assert_eq!(output[0], 22);
            } else {
                let error = "QUIC's transport parameters came over TLS records";
                assert_eq!(processed.unwrap_err(), Error::General(error.into()));
                let alert = [21, 3, 3, 0, 2, 2, u8::from(Alert::UnsupportedExtension)];
                assert_eq!(output, alert);
            }
        }
    }
}

#[test]
fn unusable_configurations_are_refused() {
    let general = |message: &str| Some(Error::General(message.into()));
    let (ring, auth) = (Provider::Ring, ClientAuth::None);
    let client = |config| {
        let config = Arc::new(config);
        ClientConnection::new(config, Version::V1, server_name(), Vec::new()).err()
    };
    let server = |config| ServerConnection::new(Arc::new(config), Version::V1, Vec::new()).err();

    let (tls12, tls13) = (Versions::Tls12, Versions::Tls13);
    let no_suite = "at least one ciphersuite must support QUIC";
    for (versions, crypto, error) in [
        (tls12, ring.this(), "TLS 1.3 support is required for QUIC"),
        (tls13, without_quic(0), no_suite),
    ] {
        let config = this::client_of(versions, crypto.clone(), KEY_TYPE, auth);
        assert_eq!(client(config), general(error));
        let config = this::server_of(versions, crypto, KEY_TYPE, auth);
        assert_eq!(server(config), general(error));
    }
}

/// A suite without QUIC support is neither offered nor chosen.
#[test]
fn unusable_suites_are_omitted() {
    let one = || without_quic(1);
    let provider = Provider::Ring;
    let only = one().cipher_suites[0].suite();
    let configs = Configs::new(provider);

    let mut limited = client(&Arc::new(client_config(one())), Version::V1);
    let hello = write(&mut limited).bytes;
    assert_eq!(ClientHello::read(&hello).cipher_suites, [u16::from(only)]);
    configs.server().read_hs(&hello).unwrap();

    let mut config = server_config(one());
    config.ignore_client_order = true;
    let mut limited = server(&Arc::new(config), Version::V1);
    let mut client_end = configs.client();
    exchange(&mut client_end, &mut limited);
    assert_eq!(client_end.negotiated_cipher_suite().unwrap().suite(), only);
}

/// Returns ring's provider, in which only the first `kept` TLS 1.3 suites support QUIC.
fn without_quic(kept: usize) -> CryptoProvider {
    let mut provider = Provider::Ring.this();
    let suites = provider.cipher_suites.iter_mut();
    let tls13 = suites.filter(|suite| suite.tls13().is_some());
    for suite in tls13.skip(kept) {
        *suite = changed(*suite, |_| (), |suite| suite.quic = None);
    }
    provider
}

/// RFC 9001 §8.1: both ends must agree on a protocol if either has any.
#[test]
fn an_application_protocol_is_required_if_either_side_has_any() {
    let with = |names: &[&str]| {
        let names = names.iter().map(|name| name.as_bytes().to_vec());
        names.collect::<Vec<_>>()
    };
    let sets: [&[&str]; 4] = [&[], &["h3"], &["x"], &["x", "h3"]];
    for (ours, theirs) in product(sets, sets) {
        let mut configs = Configs::new(Provider::Ring);
        Arc::get_mut(&mut configs.client).unwrap().alpn_protocols = with(ours);
        Arc::get_mut(&mut configs.server).unwrap().alpn_protocols = with(theirs);
        let (mut client, mut server) = (configs.client(), configs.server());
        let agrees = ours.iter().any(|name| theirs.contains(name));
        if agrees || ours.is_empty() && theirs.is_empty() {
            exchange(&mut client, &mut server);
            assert_eq!(client.alpn_protocol().is_some(), agrees);
            assert_eq!(client.alpn_protocol(), server.alpn_protocol());
        } else {
            let hello = write(&mut client).bytes;
            let alert = Some(Alert::NoApplicationProtocol);
            refuses(&mut server, &hello, Error::NoApplicationProtocol, alert);
        }
    }
}
