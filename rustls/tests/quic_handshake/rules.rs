//! Rules of RFC 9001 for handshake messages.

use harness::peers::configs::{Versions, product};
use harness::peers::endpoints::Transfer;
use harness::wire::client_hello::{ClientHello, SIGNATURE_ALGORITHMS};
use rustls::quic::Version;
use rustls::{AlertDescription as Alert, Error, HandshakeType, PeerIncompatible, PeerMisbehaved};

use super::*;

const KEY_TYPE: KeyType = KeyType::Ed25519;
const TRANSPORT_PARAMETERS: u16 = 57;
const DRAFT_PARAMETERS: u16 = 0xffa5;
const SUPPORTED_VERSIONS: u16 = 43;

fn refuses(conn: &mut Connection, bytes: &[u8], error: impl Into<Error>, alert: Option<Alert>) {
    assert_eq!(conn.read_hs(bytes), Err(error.into()));
    assert_eq!(conn.alert(), alert);
}

/// RFC 9001 §8.2, §8.4, §4.2: a ClientHello for QUIC.
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
        // legacy_session_id is empty, and there are no TLS 1.2 suites
        assert_eq!(hello[38], 0);
        let suites_len = usize::from(u16::from_be_bytes([hello[39], hello[40]]));
        let mut suites = hello[41..][..suites_len].chunks(2);
        assert!(suites.all(|suite| suite[0] == 0x13), "{version:?}");
        // extended_master_secret, session_ticket and renegotiation_info belong to TLS 1.2
        let types = messages::extension_types(&hello);
        assert!(!types.iter().any(|typ| [23, 35, 0xff01].contains(typ)));
        let ours = |typ: &&u16| [TRANSPORT_PARAMETERS, DRAFT_PARAMETERS].contains(typ);
        assert!(types.iter().filter(ours).eq([&parameters]), "{version:?}");
        messages::with_extensions(&hello, |typ, body| {
            if typ == SUPPORTED_VERSIONS {
                assert_eq!(body, [2, 3, 4]);
            }
            None
        });
    }
}

/// RFC 9001 §8.2: each version has its own code point.
#[test]
fn parameters_of_another_version_are_missing() {
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

#[test]
fn a_client_needs_the_server_s_parameters() {
    for configs in PROVIDERS.map(Configs::new) {
        let (mut client, mut server) = (configs.client(), configs.server());
        relay(&mut client, &mut server);
        let [hello, flight] = two_levels(&mut server);
        client.read_hs(&hello).unwrap();
        let extensions = &messages::split(&flight)[0];
        let without = messages::with_extensions(extensions, |typ, body| {
            (typ != TRANSPORT_PARAMETERS).then(|| body.to_vec())
        });
        let error = PeerMisbehaved::MissingQuicTransportParameters;
        refuses(&mut client, &without, error, Some(Alert::MissingExtension));
    }
}

/// RFC 9001 §8.4: a PROTOCOL_VIOLATION, which QUIC has to report.
#[test]
fn a_server_refuses_a_session_id() {
    for configs in PROVIDERS.map(Configs::new) {
        let hello = write(&mut configs.client()).bytes;
        for len in [1, 32] {
            let hello = messages::with_session_id(&hello, &vec![5; len]);
            let mut server = configs.server();
            let error = Error::General("a ClientHello over QUIC has a legacy_session_id".into());
            refuses(&mut server, &hello, error, None);
        }
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
    let hello = write(&mut configs.client()).bytes;
    for (versions, error) in [
        (None, PeerIncompatible::Tls13RequiredForQuic),
        (
            Some(vec![2, 3, 3]),
            PeerIncompatible::Tls12NotOfferedOrEnabled,
        ),
    ] {
        let hello = messages::with_extensions(&hello, |typ, body| match typ {
            SUPPORTED_VERSIONS => versions.clone(),
            _ => Some(body.to_vec()),
        });
        let mut server = server(&config, Version::V1);
        refuses(&mut server, &hello, error, Some(Alert::ProtocolVersion));
    }
}

/// A change of a handshake message.
type Change<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

/// Only changes that lead to another result are refused. `differential` compares with upstream.
#[test]
fn harmless_changes_of_a_second_hello_are_accepted() {
    const SUPPORTED_GROUPS: u16 = 10;
    const ALPN: u16 = 16;
    const PSK_KEY_EXCHANGE_MODES: u16 = 45;
    const RANDOM_AT: usize = 4 + 2;

    for provider in PROVIDERS {
        let mut configs = Configs::new(provider);
        configs.server = Arc::new(retrying(provider));
        let after_retry = |change: Change<'_>| {
            let (mut client, mut server) = (configs.client(), configs.server());
            relay(&mut client, &mut server);
            relay(&mut server, &mut client);
            let second = write(&mut client).bytes;
            (server.read_hs(&change(&second)), server)
        };
        let replaced = |typ, body: Option<&[u8]>| {
            let body = body.map(<[u8]>::to_vec);
            move |hello: &[u8]| {
                messages::with_extensions(hello, |other, old| match other == typ {
                    true => body.clone(),
                    false => Some(old.to_vec()),
                })
            }
        };
        let new_random = |hello: &[u8]| {
            let mut hello = hello.to_vec();
            hello[RANDOM_AT..][..32].fill(9);
            hello
        };
        let one_group = replaced(SUPPORTED_GROUPS, Some(&[0, 2, 0, 23]));
        let no_modes = replaced(PSK_KEY_EXCHANGE_MODES, None);
        let parameters = replaced(TRANSPORT_PARAMETERS, Some(b"new"));
        let harmless: [Change<'_>; 4] = [&new_random, &one_group, &no_modes, &parameters];
        for change in harmless {
            let (read, mut server) = after_retry(change);
            assert_eq!(read, Ok(()));
            two_levels(&mut server);
        }
        let (_, server) = after_retry(&parameters);
        assert_eq!(server.quic_transport_parameters(), Some(&b"new"[..]));

        let another_group = replaced(SUPPORTED_GROUPS, Some(&[0, 2, 0, 29]));
        let (read, _) = after_retry(&another_group);
        assert_eq!(read, Err(PeerIncompatible::NoKxGroupsInCommon.into()));
        let another_protocol = replaced(ALPN, Some(&[0, 2, 1, b'x']));
        let (read, _) = after_retry(&another_protocol);
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
        let key_update = messages::message(24, &[0]);
        let end_of_early_data = messages::message(5, &[]);
        for (message, typ) in [
            (&key_update, HandshakeType::KeyUpdate),
            (&end_of_early_data, HandshakeType::EndOfEarlyData),
        ] {
            let (mut client, mut server) = configs.connected();
            let alert = Some(Alert::UnexpectedMessage);
            let error = unexpected(typ, &[HandshakeType::NewSessionTicket]);
            refuses(&mut client, message, error, alert);
            refuses(&mut server, message, unexpected(typ, &[]), alert);
        }

        // a PROTOCOL_VIOLATION
        let request = messages::message(13, &[0, 0, 0]);
        let (mut client, _) = configs.connected();
        let error = unexpected(
            HandshakeType::CertificateRequest,
            &[HandshakeType::NewSessionTicket],
        );
        refuses(&mut client, &request, error, None);
    }
}

/// RFC 9001 §4.6.1: also a PROTOCOL_VIOLATION.
#[test]
fn a_ticket_limits_no_early_data() {
    for configs in PROVIDERS.map(Configs::new) {
        for size in [0, 1, 16384, u32::MAX - 1, u32::MAX] {
            let (mut client, _) = configs.connected();
            let mut ticket = vec![
                0, 0, 0, 100, 1, 2, 3, 4, 1, 9, 0, 2, 7, 7, 0, 8, 0, 42, 0, 4,
            ];
            ticket.extend(u32::to_be_bytes(size));
            let ticket = messages::message(4, &ticket);
            if size == u32::MAX {
                client.read_hs(&ticket).unwrap();
            } else {
                let error = PeerMisbehaved::InvalidMaxEarlyDataSize;
                refuses(&mut client, &ticket, error, None);
            }
        }
    }
}

/// RFC 9001 §8.2: a fatal unsupported_extension if the transport is not QUIC.
#[test]
fn parameters_over_records_are_refused() {
    for (provider, version) in product(PROVIDERS, [Version::V2, Version::V1]) {
        let configs = Configs::new(provider);
        let both = this::server_of(Versions::Both, provider.this(), KEY_TYPE, ClientAuth::None);
        let hello = write(&mut client(&configs.client, version)).bytes;
        // neither version of TLS has them over records
        let tls12 = ClientHello::tls12().and(TRANSPORT_PARAMETERS, vec![1, 1, 0]);
        for (config, hello) in [
            (configs.server.clone(), hello),
            (Arc::new(both), tls12.message()),
        ] {
            let mut server = rustls::ServerConnection::new(config).unwrap();
            let record = harness::wire::record(22, &hello);
            server.read_tls(&mut &record[..]).unwrap();
            assert_eq!(
                server.process_new_packets().unwrap_err(),
                Error::General("QUIC's transport parameters came over TLS records".into())
            );
            let alert = [21, 3, 3, 0, 2, 2, u8::from(Alert::UnsupportedExtension)];
            assert_eq!(server.output(), alert);
        }
    }
}

/// The code point of drafts belongs to no extension, so servers ignore it like any unknown one.
#[test]
fn parameters_of_a_draft_over_records_are_ignored() {
    for provider in PROVIDERS {
        let configs = Configs::new(provider);
        let both = this::server_of(Versions::Both, provider.this(), KEY_TYPE, ClientAuth::None);
        let hello = write(&mut client(&configs.client, Version::V1Draft)).bytes;
        let ed25519 = vec![0, 2, 8, 7];
        let tls12 = ClientHello::tls12().with(SIGNATURE_ALGORITHMS, ed25519);
        let tls12 = tls12.and(DRAFT_PARAMETERS, vec![1, 1, 0]);
        for (config, hello) in [
            (configs.server.clone(), hello),
            (Arc::new(both), tls12.message()),
        ] {
            let mut server = rustls::ServerConnection::new(config).unwrap();
            let record = harness::wire::record(22, &hello);
            server.read_tls(&mut &record[..]).unwrap();
            server.process_new_packets().unwrap();
            // the ServerHello
            assert_eq!(server.output()[0], 22);
        }
    }
}

#[test]
fn unusable_configurations_are_refused() {
    let general = |message: &str| Some(Error::General(message.into()));
    let (ring, key_type, auth) = (Provider::Ring, KEY_TYPE, ClientAuth::None);
    let client = |config| {
        let config = Arc::new(config);
        ClientConnection::new(config, Version::V1, server_name(), Vec::new()).err()
    };
    let server = |config| ServerConnection::new(Arc::new(config), Version::V1, Vec::new()).err();

    let tls12 = Versions::Tls12;
    let error = general("TLS 1.3 support is required for QUIC");
    assert_eq!(
        client(this::client_of(tls12, ring.this(), key_type, auth)),
        error
    );
    assert_eq!(
        server(this::server_of(tls12, ring.this(), key_type, auth)),
        error
    );

    let error = general("at least one ciphersuite must support QUIC");
    assert_eq!(client(this::client(without_quic(0), key_type, auth)), error);
    assert_eq!(server(this::server(without_quic(0), key_type, auth)), error);

    let error = general("QUIC sessions must set a max early data of 0 or 2^32-1");
    for (size, error) in [
        (0, None),
        (1, error.clone()),
        (16_384, error.clone()),
        (u32::MAX - 1, error),
        (u32::MAX, None),
    ] {
        let mut config = server_config(ring);
        config.max_early_data_size = size;
        assert_eq!(server(config), error, "{size}");
    }
}

/// A suite without QUIC support is neither offered nor chosen.
#[test]
fn unusable_suites_are_omitted() {
    let one = || without_quic(1);
    let provider = Provider::Ring;
    let only = one().cipher_suites[0].suite();
    let configs = Configs::new(provider);

    let mut config = this::client(one(), KeyType::Ed25519, ClientAuth::None);
    config.alpn_protocols = vec![b"h3".to_vec()];
    let mut limited = client(&Arc::new(config), Version::V1);
    let mut server_end = configs.server();
    let hello = write(&mut limited).bytes;
    assert_eq!(hello[39..41], [0, 2]);
    assert_eq!(hello[41..43], u16::from(only).to_be_bytes());
    server_end.read_hs(&hello).unwrap();

    let mut config = this::server(one(), KeyType::Ed25519, ClientAuth::None);
    config.alpn_protocols = vec![b"h3".to_vec()];
    config.ignore_client_order = true;
    let mut limited = server(&Arc::new(config), Version::V1);
    let mut client_end = configs.client();
    exchange(&mut client_end, &mut limited);
    assert_eq!(client_end.negotiated_cipher_suite().unwrap().suite(), only);
}

/// ring's provider, in which only the first `kept` TLS 1.3 suites support QUIC.
fn without_quic(kept: usize) -> rustls::crypto::CryptoProvider {
    let mut provider = Provider::Ring.this();
    let mut tls13 = 0;
    for suite in &mut provider.cipher_suites {
        let rustls::SupportedCipherSuite::Tls13(known) = *suite else {
            continue;
        };
        tls13 += 1;
        if tls13 > kept {
            let without = rustls::Tls13CipherSuite {
                common: rustls::CipherSuiteCommon {
                    suite: known.common.suite,
                    hash_provider: known.common.hash_provider,
                    confidentiality_limit: known.common.confidentiality_limit,
                },
                hkdf_provider: known.hkdf_provider,
                aead_alg: known.aead_alg,
                quic: None,
            };
            *suite = rustls::SupportedCipherSuite::Tls13(Box::leak(Box::new(without)));
        }
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

/// RFC 9001 §8.1: a client that offered protocols requires one of them.
#[test]
fn a_client_insists_on_an_application_protocol() {
    for check_selected_alpn in [true, false] {
        let mut configs = Configs::new(Provider::Ring);
        let config = Arc::get_mut(&mut configs.client).unwrap();
        config.check_selected_alpn = check_selected_alpn;
        let (mut client, mut server) = (configs.client(), configs.server());
        relay(&mut client, &mut server);
        let [hello, flight] = two_levels(&mut server);
        client.read_hs(&hello).unwrap();
        let extensions = &messages::split(&flight)[0];
        let without =
            messages::with_extensions(extensions, |typ, body| (typ != 16).then(|| body.to_vec()));
        let alert = Some(Alert::NoApplicationProtocol);
        refuses(&mut client, &without, Error::NoApplicationProtocol, alert);
    }
}
