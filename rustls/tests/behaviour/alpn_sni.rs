//! Tests of the client's hello and the server's use of it: ALPN, server names and resolvers.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use harness::describe_hello;
use harness::peers::configs::{PROVIDERS, Provider, product, product3};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};
use harness::peers::roles::ROLES;
use harness::wire::client_hello::{ClientHello, SERVER_NAME};
use harness::wire::plain_messages;
use rustls::pki_types::ServerName;

use crate::behaviour::compared::outcome;
use crate::behaviour::connected;
use crate::cases::{Case, KEY_TYPE, Role, tls13_cases};

fn protocols(names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

macro_rules! scripts {
    ($module:ident, $tls:ident, $endpoint:ident) => {
        mod $module {
            use harness::peers::callbacks::$module::ServerKey;
            use $tls::server::ResolvesServerCertUsingSni;
            use $tls::sign::CertifiedKey;

            use super::*;
            use crate::behaviour::connected::$module::{client_config, config, server_config};

            pub fn alpn(case: Case, ours: &[&str], theirs: &[&str]) -> String {
                let (ours, theirs) = (protocols(ours), protocols(theirs));
                let mut conn = config(case)
                    .edit(
                        |client| {
                            client.alpn_protocols = ours.clone();
                            client.check_selected_alpn = true;
                        },
                        |server| server.alpn_protocols = ours.clone(),
                    )
                    .buffered();
                let mut peer = connected::upstream::config(case.other())
                    .edit(
                        |client| client.alpn_protocols = theirs.clone(),
                        |server| server.alpn_protocols = theirs.clone(),
                    )
                    .buffered();
                outcome(&mut conn, &mut peer, case.role)
            }

            /// Returns the client's hello as this crate's resolver sees it, and how the handshake
            /// ends without a certificate.
            pub fn resolver_sees(
                provider: Provider,
                mut peer: UpstreamBuffered,
            ) -> (String, String) {
                let seen = Arc::new(Mutex::new(Vec::new()));
                let log = seen.clone();
                let mut config = server_config(provider);
                config.cert_resolver = ServerKey::by(move |hello| {
                    log.lock().unwrap().push(describe_hello!(hello));
                    None
                });
                let end = outcome(&mut $endpoint::server(config), &mut peer, Role::Server);
                let seen = seen.lock().unwrap().join("; ");
                (seen, end)
            }

            /// Resolves the certificate for a server that knows a single name.
            pub fn resolver_by_name(
                provider: Provider,
                known: &str,
                mut peer: UpstreamBuffered,
            ) -> String {
                let identity = &KEY_TYPE.identities().server;
                let (chain, key) = (identity.chain.clone(), identity.key());
                let key = CertifiedKey::from_der(chain, key, &provider.$module()).unwrap();
                let mut resolver = ResolvesServerCertUsingSni::new();
                let added = resolver.add(known, key);
                let mut config = server_config(provider);
                config.cert_resolver = Arc::new(resolver);
                let end = outcome(&mut $endpoint::server(config), &mut peer, Role::Server);
                format!("{} {end}", added.is_ok())
            }

            /// Returns the server name that upstream's server receives.
            pub fn name_sent(
                provider: Provider,
                name: ServerName<'static>,
                enable: bool,
            ) -> Option<String> {
                let mut config = client_config(provider);
                config.enable_sni = enable;
                let hello = $endpoint::client_of(name, config).take_output();
                let config = connected::upstream::server_config(provider);
                let mut server = UpstreamBuffered::server(config);
                server.receive(&hello).unwrap();
                // upstream's server does not report an address that a client sends as a name
                let sent = ClientHello::read(&plain_messages(&hello));
                let has_name = sent.extension(SERVER_NAME).is_some();
                assert_eq!(has_name, server.server_name().is_some());
                server.server_name()
            }

            /// Returns the server name that this crate's server reports.
            pub fn name_received(provider: Provider, name: ServerName<'static>) -> Option<String> {
                let config = Arc::new(connected::upstream::client_config(provider));
                let mut peer = UpstreamBuffered::client_of(name, config);
                let mut server = $endpoint::server(server_config(provider));
                server.receive(&peer.take_output()).unwrap();
                server.server_name()
            }

            /// Returns the error of a server without a certificate or without a common protocol,
            /// and the server name that it still reports.
            pub fn name_after(
                provider: Provider,
                has_certificate: bool,
                mut peer: UpstreamBuffered,
            ) -> (String, Option<String>) {
                let mut config = server_config(provider);
                if has_certificate {
                    config.alpn_protocols = protocols(&["other"]);
                } else {
                    config.cert_resolver = ServerKey::by(|_| None);
                }
                let mut server = $endpoint::server(config);
                let error = server.receive(&peer.take_output()).unwrap_err();
                (error, server.server_name())
            }
        }
    };
}

scripts!(this, rustls, ThisBuffered);
scripts!(upstream, rustls_upstream, UpstreamBuffered);

#[test]
fn the_servers_first_common_protocol_is_chosen() {
    let long = "long enough to be a name of many bytes";
    let cases: [(&[&str], &[&str]); 9] = [
        (&[], &[]),
        (&["h2"], &[]),
        (&[], &["h2"]),
        (&["h2"], &["h2"]),
        (&["a", "b", "c"], &["c", "b"]),
        (&["c", "b"], &["a", "b", "c"]),
        (&["a"], &["b"]),
        (&["a", "aa"], &["aa", "aaa"]),
        (&[long; 3], &["h2", "h3"]),
    ];
    for case in tls13_cases() {
        for (ours, theirs) in cases {
            let expected = upstream::alpn(case, ours, theirs);
            let what = format!("{case:?} {ours:?} {theirs:?}");
            assert_eq!(this::alpn(case, ours, theirs), expected, "{what}");
        }
    }
    let (of_server, of_client) = (&["a", "b", "c"], &["c", "b"]);
    let [client, server] = ROLES.map(|role| Case::tls13(PROVIDERS[0], role));
    for agreed in [
        this::alpn(server, of_server, of_client),
        this::alpn(client, of_client, of_server),
    ] {
        assert!(agreed.contains("Some([98])"), "{agreed}");
    }
    let failed = this::alpn(server, &["a"], &["b"]);
    let alert = "AlertReceived(NoApplicationProtocol)";
    assert!(failed.contains(alert), "{failed}");
}

fn names() -> Vec<ServerName<'static>> {
    vec![
        "server.example".try_into().unwrap(),
        "SERVER.Example".try_into().unwrap(),
        "a.b.c.server.example".try_into().unwrap(),
        "server.example.".try_into().unwrap(),
        "xn--e1afmkfd.example".try_into().unwrap(),
        ServerName::IpAddress(IpAddr::from([127, 0, 0, 1]).into()),
        ServerName::IpAddress(IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]).into()),
    ]
}

#[test]
fn the_server_name_is_sent_unless_it_is_an_address_or_disabled() {
    for (provider, name) in product(PROVIDERS, names()) {
        let name = || name.clone();
        for enable in [true, false] {
            let sent = this::name_sent(provider, name(), enable);
            let theirs = upstream::name_sent(provider, name(), enable);
            assert_eq!(sent, theirs, "{:?}", name());
            let is_address = matches!(name(), ServerName::IpAddress(_));
            assert_eq!(sent.is_some(), enable && !is_address, "{:?}", name());
        }
        let received = this::name_received(provider, name());
        assert_eq!(received, upstream::name_received(provider, name()));
    }
}

fn peer_client(provider: Provider, name: ServerName<'static>, sni: bool) -> UpstreamBuffered {
    let mut config = connected::upstream::client_config(provider);
    config.enable_sni = sni;
    UpstreamBuffered::client_of(name, config)
}

#[test]
fn a_resolver_without_a_certificate_sees_the_same_hello_as_upstreams() {
    for (provider, name, sni) in product3(PROVIDERS, names(), [true, false]) {
        let peer = || peer_client(provider, name.clone(), sni);
        let ours = this::resolver_sees(provider, peer());
        let theirs = upstream::resolver_sees(provider, peer());
        assert_eq!(ours, theirs, "{provider:?} {name:?} {sni}");
        assert!(!ours.0.is_empty());
    }
}

/// Servers log the name.
#[test]
fn the_server_name_is_known_after_a_failure() {
    for (provider, name, has_certificate) in product3(PROVIDERS, names(), [false, true]) {
        let peer = || peer_client(provider, name.clone(), true);
        let ours = this::name_after(provider, has_certificate, peer());
        let theirs = upstream::name_after(provider, has_certificate, peer());
        assert_eq!(ours, theirs, "{provider:?} {name:?} {has_certificate}");
    }
}

#[test]
fn a_server_resolves_certificates_by_name() {
    let known = [
        "server.example",
        "SERVER.EXAMPLE",
        "other.example",
        "not a name",
    ];
    for (provider, known, name) in product3(PROVIDERS, known, names()) {
        let peer = || peer_client(provider, name.clone(), true);
        let ours = this::resolver_by_name(provider, known, peer());
        let theirs = upstream::resolver_by_name(provider, known, peer());
        assert_eq!(ours, theirs, "{provider:?} {known} {name:?}");
    }
}
