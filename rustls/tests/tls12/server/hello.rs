//! Tests of valid and invalid ClientHellos, and of the answers to them.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks;
use harness::peers::configs::{KeyType, PROVIDERS, Versions, product, product3};
use harness::peers::servers::{Server, Settings};
use harness::scripted::Refused;
use harness::scripted::tls12::client::ScriptedClient;
use harness::table;
use harness::wire::client_hello::{
    ALPN, ClientHello, EARLY_DATA, EC_POINT_FORMATS, EXTENDED_MASTER_SECRET, RENEGOTIATION_INFO,
    SERVER_NAME, SESSION_TICKET, SIGNATURE_ALGORITHMS, STATUS_REQUEST, SUPPORTED_GROUPS,
    SUPPORTED_VERSIONS, X448, host_name, protocols,
};
use harness::wire::{u8_vec, u16_vec, u16s, vector};
use rustls::HandshakeType;

use super::all_settings;

/// Describes the outcome of `hello`: the answer and the rest of the handshake, or the error.
fn outcome(server: &Server, hello: &ClientHello) -> String {
    let mut client = match server.connect_tls12(hello, None) {
        Ok(client) => client,
        Err(Refused { error, alert }) => return format!("{error} {alert:?}"),
    };
    let result = client.finish();
    let mut extensions = client.extensions.clone();
    // RFC 8422 §5.2 requires it in the answer; upstream omits it
    extensions.retain(|(typ, _)| *typ != EC_POINT_FORMATS);
    extensions.sort();
    format!(
        "{result:?} {:?} {extensions:?} {:?} {}",
        client.suite,
        client.flight_types(),
        client.server.negotiated()
    )
}

/// Returns hellos that upstream answers in the same way.
fn hellos() -> Vec<(&'static str, ClientHello)> {
    let hello = ClientHello::tls12;
    let and = |typ, body: &[u8]| hello().and(typ, body.to_vec());
    let with = |typ, body: &[u8]| hello().with(typ, body.to_vec());
    let compression = |methods: &[u8]| hello().edit(|it| it.compression = methods.to_vec());
    let suites = |suites: &[u16]| hello().edit(|it| it.cipher_suites = suites.to_vec());
    let version = |version| hello().edit(|it| it.legacy_version = version);
    let id = |len| hello().edit(|it| it.session_id = vec![3; len]);
    let versions = |versions: &[u16]| u8_vec(&u16s(versions));
    let signalling = |it: &mut ClientHello| it.cipher_suites.push(0x00ff);
    Vec::from(table! {
        "usual": hello();
        "no null compression": compression(&[1]);
        "two compressions": compression(&[1, 0]);
        "early data": and(EARLY_DATA, &[]);
        "no groups": hello().without(SUPPORTED_GROUPS);
        "unknown groups": with(SUPPORTED_GROUPS, &u16_vec(&u16s(&[X448])));
        "no point formats": hello().without(EC_POINT_FORMATS);
        "compressed points": with(EC_POINT_FORMATS, &u8_vec(&[1, 2]));
        "all point formats": with(EC_POINT_FORMATS, &u8_vec(&[2, 1, 0]));
        "no schemes": hello().without(SIGNATURE_ALGORITHMS);
        "schemes of another key": with(SIGNATURE_ALGORITHMS, &[0, 2, 8, 4]);
        "no extended master secret": hello().without(EXTENDED_MASTER_SECRET);
        "no renegotiation info": hello().without(RENEGOTIATION_INFO);
        "renegotiation info as a suite": hello().without(RENEGOTIATION_INFO).edit(signalling);
        "suites of another key": suites(&[0xc02f]);
        "unknown suites": suites(&[0x009c]);
        "TLS 1.1": version(0x0302);
        "TLS 1.3 in legacy_version": version(0x0304);
        "TLS 1.1 with versions": version(0x0302).and(SUPPORTED_VERSIONS, versions(&[0x0303]));
        "versions": and(SUPPORTED_VERSIONS, &versions(&[0x0303, 0x0302]));
        "versions without 1.2 and 1.3": and(SUPPORTED_VERSIONS, &versions(&[0x0302]));
        "an address as name": with(SERVER_NAME, &host_name(b"127.0.0.1"));
        "no name": hello().without(SERVER_NAME);
        "protocols": and(ALPN, &protocols(&[b"h2", b"http/1.1"]));
        "unknown protocols": and(ALPN, &protocols(&[b"h5"]));
        "an unknown session": id(32);
        "a short session id": id(3);
        "requests a ticket": and(SESSION_TICKET, &[]);
        "an unknown ticket": and(SESSION_TICKET, &[1; 50]);
        "requests a status": and(STATUS_REQUEST, &[1, 0, 0, 0, 0]);
    })
}

#[test]
fn hellos_are_answered_like_upstream() {
    for (settings, versions) in product(all_settings(), [Versions::Tls12, Versions::Both]) {
        let settings = settings.edit(|it| it.versions = versions);
        let [ours @ .., upstream] = settings.servers();
        for (what, hello) in hellos() {
            let expected = outcome(&upstream, &hello);
            for server in &ours {
                let outcome = outcome(server, &hello);
                assert_eq!(outcome, expected, "{what}, {settings:?}, {}", server.name());
            }
        }
    }
}

/// Tries hellos that are rejected because of a setting of the server.
#[test]
fn hellos_that_the_configuration_forbids_are_refused() {
    let without_secret = ClientHello::tls12().without(EXTENDED_MASTER_SECRET);
    let renegotiating = ClientHello::tls12().with(RENEGOTIATION_INFO, u8_vec(&[7; 12]));
    for settings in PROVIDERS.map(Settings::tls12) {
        let tls13 = settings.clone().edit(|it| it.versions = Versions::Tls13);
        let demanding =
            settings.servers_with(|it| it.require_ems = true, |it| it.require_ems = true);
        for server in &demanding {
            assert!(outcome(server, &ClientHello::tls12()).starts_with("Ok"));
        }
        let [ours @ .., _] = settings.servers();
        let needs_tls13 = "PeerIncompatible(SupportedVersionsExtensionRequired) Some([2, 70])";
        let needs_ems = "PeerIncompatible(ExtendedMasterSecretExtensionRequired) Some([2, 40])";
        let no_info = "InvalidMessage(TrailingData(\"RenegotiationInfo\")) Some([2, 40])";
        for (servers, hello, expected) in [
            (&tls13.servers()[..], &ClientHello::tls12(), needs_tls13),
            (&demanding, &without_secret, needs_ems),
            // RFC 5746 §3.6; upstream does not check it
            (&ours, &renegotiating, no_info),
        ] {
            for server in servers {
                assert_eq!(outcome(server, hello), expected, "{}", server.name());
            }
        }
    }
}

/// RFC 9846 §4.2.3: a server that supports TLS 1.3 marks the random of a TLS 1.2 hello.
#[test]
fn a_server_that_has_tls13_marks_its_random() {
    for provider in PROVIDERS {
        for (versions, is_marked) in [(Versions::Tls12, false), (Versions::Both, true)] {
            let settings = Settings::tls12(provider).edit(|it| it.versions = versions);
            for server in settings.servers() {
                let client = server.connect_tls12(&ClientHello::tls12(), None).unwrap();
                // after header and version
                let random = &client.flight[0][4 + 2..][..32];
                let marked = random.ends_with(b"DOWNGRD\x01");
                assert_eq!(marked, is_marked, "{}", server.name());
            }
        }
    }
}

#[test]
fn suites_follow_the_certificate_and_the_preference() {
    let firsts = [(KeyType::EcdsaP256, 0xc02b), (KeyType::Rsa2048, 0xc02f)];
    for (provider, (key_type, first), ignore_client_order) in
        product3(PROVIDERS, firsts, [false, true])
    {
        let settings = Settings::tls12(provider).edit(|it| it.key_type = key_type);
        let servers = settings.servers_with(
            |ours| ours.ignore_client_order = ignore_client_order,
            |theirs| theirs.ignore_client_order = ignore_client_order,
        );
        let hello = ClientHello::tls12();
        let expected = outcome(&servers[2], &hello);
        assert!(expected.starts_with("Ok"), "{expected}");
        let suites = servers
            .each_ref()
            .map(|server| u16::from(server.connect_tls12(&hello, None).unwrap().suite));
        assert_eq!(suites, [suites[2]; 3]);
        assert_eq!(suites[0] == first, !ignore_client_order, "{suites:x?}");
    }
}

/// Returns servers whose resolver staples `response`.
pub(super) fn stapling(settings: &Settings, response: &[u8]) -> [Server; 3] {
    macro_rules! staple {
        ($tls:ident, $config:ident) => {{
            let identity = &KeyType::EcdsaP256.identities().server;
            let (chain, provider) = (identity.chain.clone(), $config.crypto_provider());
            let key = $tls::sign::CertifiedKey::from_der(chain, identity.key(), provider);
            let mut key = key.unwrap();
            key.ocsp = Some(response.to_vec());
            $config.cert_resolver = Arc::new($tls::sign::SingleCertAndKey::from(key));
        }};
    }
    settings.servers_with(
        |config| staple!(rustls, config),
        |config| staple!(rustls_upstream, config),
    )
}

/// RFC 6066 §8: a response is stapled on request. It must have at least one byte.
#[test]
fn the_ocsp_response_is_stapled_on_request() {
    let requesting = |typ| ClientHello::tls12().and(STATUS_REQUEST, vec![typ, 0, 0, 0, 0]);
    let has_status = |client: &ScriptedClient| {
        let status = client.message_of(HandshakeType::CertificateStatus);
        let is_announced = client.extensions.contains(&(STATUS_REQUEST, vec![]));
        assert_eq!(status.is_some(), is_announced);
        is_announced
    };
    for settings in PROVIDERS.map(Settings::tls12) {
        let response = b"a response that nobody reads";
        for server in stapling(&settings, response) {
            let name = server.name();
            let mut client = server.connect_tls12(&requesting(1), None).unwrap();
            let flight = [
                HandshakeType::ServerHello,
                HandshakeType::Certificate,
                HandshakeType::CertificateStatus,
                HandshakeType::ServerKeyExchange,
                HandshakeType::ServerHelloDone,
            ];
            assert_eq!(client.flight_types(), flight);
            assert!(has_status(&client));
            let status = client.message_of(HandshakeType::CertificateStatus).unwrap();
            assert_eq!(status[4..], [&[1][..], &vector(3, response)].concat());
            client.finish().unwrap();
            assert!(client.server_finished);

            let client = server.connect_tls12(&ClientHello::tls12(), None).unwrap();
            assert!(!has_status(&client), "{name} without a request");
            // upstream treats any type of status as OCSP
            let client = server.connect_tls12(&requesting(2), None).unwrap();
            assert_eq!(has_status(&client), name == "upstream", "{name}");
        }
        // debug builds of upstream's server panic
        for server in &stapling(&settings, b"")[..2] {
            let mut client = server.connect_tls12(&requesting(1), None).unwrap();
            assert!(!has_status(&client), "{}, empty", server.name());
            client.finish().unwrap();
        }
    }
}

/// The resolver only sees schemes that a common suite can use, because a certificate for any other
/// could not be used. Upstream passes all schemes if the client also offers suites of TLS 1.3.
#[test]
fn resolvers_see_the_schemes_that_suites_can_use() {
    for settings in PROVIDERS.map(Settings::tls12) {
        let (schemes, upstream_schemes) = (Schemes::default(), Schemes::default());
        // resolvers that record the schemes, and return no certificate
        macro_rules! recording {
            ($module:ident, $schemes:ident) => {{
                let seen = $schemes.clone();
                callbacks::$module::ServerKey::by(move |hello| {
                    let schemes = hello.signature_schemes().iter();
                    *seen.lock().unwrap() = schemes.map(|it| u16::from(*it)).collect();
                    None
                })
            }};
        }
        let servers = settings.servers_with(
            |config| config.cert_resolver = recording!(this, schemes),
            |config| config.cert_resolver = recording!(upstream, upstream_schemes),
        );
        let all = [0x0403, 0x0804, 0x0807, 0x0401];
        let (ecdsa, rsa) = (&[0x0403, 0x0807][..], &[0x0804, 0x0401][..]);
        for (suites, expected, by_upstream) in [
            (vec![0xc02b, 0xc02f], &all[..], &all[..]),
            (vec![0xc02b], ecdsa, ecdsa),
            (vec![0xc02f], rsa, rsa),
            (vec![0x1301, 0xc02b], ecdsa, &all),
            (vec![0x1301, 0xc02f], rsa, &all),
        ] {
            let hello = ClientHello::tls12()
                .edit(|hello| hello.cipher_suites = suites)
                .with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(&all)));
            // only the schemes matter, not the result
            let _ = servers[0].connect_tls12(&hello, None);
            assert_eq!(*schemes.lock().unwrap(), expected);
            let _ = servers[2].connect_tls12(&hello, None);
            assert_eq!(*upstream_schemes.lock().unwrap(), by_upstream);
        }
    }
}

type Schemes = Arc<Mutex<Vec<u16>>>;
