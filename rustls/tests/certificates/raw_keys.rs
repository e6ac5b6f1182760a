//! Raw public keys (RFC 7250) between this crate and upstream, in both directions, with each key
//! type.

use std::sync::Arc;

use harness::peers::configs::{KEY_TYPES, PROVIDERS, Provider, SERVER_NAME, Versions, product};
use harness::peers::endpoints::{
    Endpoint, ThisUnbuffered, UpstreamUnbuffered, exchange, handshake, talk_and_close,
};
use pki_types::ServerName;
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;

use crate::kit::{KINDS, Kind, Setup, this, upstream};

const CLIENT_KINDS: [Option<Kind>; 3] = [None, Some(Kind::X509), Some(Kind::Raw)];

fn setups() -> Vec<Setup> {
    let mut setups = Vec::new();
    for (provider, key_type) in product(PROVIDERS, KEY_TYPES) {
        if key_type.usable_with(provider) {
            for server in KINDS {
                setups.extend(CLIENT_KINDS.map(|client| Setup {
                    provider,
                    versions: Versions::Tls13,
                    key_type,
                    server,
                    client,
                }));
            }
        }
    }
    setups
}

/// A name, the client and the server.
type Pair = (&'static str, Box<dyn Endpoint>, Box<dyn Endpoint>);

/// Both ends of this crate in each API, and upstream as either end.
fn pairs(setup: Setup) -> Vec<Pair> {
    let name = || ServerName::try_from(SERVER_NAME).unwrap();
    let unbuffered_client = || {
        let config = Arc::new(this::client_config(setup));
        ThisUnbuffered::client_of(name(), config)
    };
    let unbuffered_server = || {
        let config = Arc::new(this::server_config(setup));
        ThisUnbuffered::server(config)
    };
    let upstream_unbuffered_client = || {
        let config = Arc::new(upstream::client_config(setup));
        UpstreamUnbuffered::client_of(name(), config)
    };
    let client = || Box::new(this::client(this::client_config(setup)));
    let server = || Box::new(this::server(this::server_config(setup)));
    vec![
        ("buffered", client(), server()),
        (
            "unbuffered",
            Box::new(unbuffered_client()),
            Box::new(unbuffered_server()),
        ),
        (
            "upstream's server",
            client(),
            Box::new(upstream::server(upstream::server_config(setup))),
        ),
        (
            "upstream's client",
            Box::new(upstream::client(upstream::client_config(setup))),
            server(),
        ),
        (
            "upstream's unbuffered client",
            Box::new(upstream_unbuffered_client()),
            Box::new(unbuffered_server()),
        ),
    ]
}

#[test]
fn every_kind_authenticates_either_side() {
    for setup in setups() {
        let identities = setup.key_type.identities();
        let expected = |identity, kind| match kind {
            Kind::Raw => vec![this::raw_key(identity, setup.provider).cert[0].to_vec()],
            Kind::X509 => identity.chain.iter().map(|cert| cert.to_vec()).collect(),
        };
        for (name, mut client, mut server) in pairs(setup) {
            println!("{setup:?}, {name}");
            handshake(&mut *client, &mut *server);
            assert_eq!(
                client.peer_certificates(),
                expected(&identities.server, setup.server)
            );
            let of_client = setup.client.map(|kind| expected(&identities.client, kind));
            assert_eq!(server.peer_certificates(), of_client.unwrap_or_default());
            talk_and_close(&mut *client, &mut *server);
        }
    }
}

/// Raw public keys require TLS 1.3. A server configured for them refuses TLS 1.2 and clients that
/// offer only that. Upstream's TLS 1.2 form of them differs from RFC 7250 §3.
#[test]
fn tls12_has_no_raw_public_keys() {
    for versions in [
        (Versions::Tls12, Versions::Both),
        (Versions::Both, Versions::Tls12),
    ] {
        let setup = |client, server| Setup {
            client,
            server,
            ..Setup::new(Provider::AwsLc)
        };
        for setup in [
            setup(None, Kind::Raw),
            setup(Some(Kind::Raw), Kind::X509),
            setup(Some(Kind::Raw), Kind::Raw),
        ] {
            let of_client = Setup {
                versions: versions.0,
                ..setup
            };
            let of_server = Setup {
                versions: versions.1,
                ..setup
            };
            let mut server = this::server(this::server_config(of_server));
            let mut client = upstream::client(upstream::client_config(of_client));
            let error = exchange(&mut client, &mut server).unwrap_err();
            assert_eq!(
                error,
                "server: PeerIncompatible(IncorrectCertificateTypeExtension)"
            );
            let alert = client.receive(&server.take_output()).unwrap_err();
            assert_eq!(alert, "AlertReceived(UnsupportedCertificate)");
        }
    }
}

/// A client configured for raw public keys offers TLS 1.2, but ends the handshake if the server
/// chooses it.
#[test]
fn clients_refuse_raw_public_keys_in_tls12() {
    for versions in [Versions::Tls12, Versions::Both] {
        for (server, client) in [
            (Kind::Raw, None),
            (Kind::X509, Some(Kind::Raw)),
            (Kind::Raw, Some(Kind::Raw)),
        ] {
            let of_client = Setup {
                versions,
                server,
                client,
                ..Setup::new(Provider::AwsLc)
            };
            // a server with raw keys in upstream's form, and one without
            let same = Setup {
                versions: Versions::Tls12,
                ..of_client
            };
            for of_server in [
                same,
                Setup {
                    versions: Versions::Tls12,
                    ..Setup::new(Provider::AwsLc)
                },
            ] {
                let mut client = this::client(this::client_config(of_client));
                let mut server = upstream::server(upstream::server_config(of_server));
                let error = exchange(&mut client, &mut server).unwrap_err();
                let incorrect = "PeerIncompatible(IncorrectCertificateTypeExtension)";
                assert!(error.ends_with(incorrect), "{of_client:?} {error}");
            }
        }
    }
}

/// RFC 9846 §4.5.1: a raw public key has at least one byte. Upstream leaves that to the verifier.
#[test]
fn an_empty_key_is_refused() {
    let setup = Setup {
        server: Kind::Raw,
        client: Some(Kind::Raw),
        ..Setup::new(Provider::AwsLc)
    };
    let empty = |key: Arc<rustls_upstream::sign::CertifiedKey>| {
        let nothing = vec![Vec::new().into()];
        Arc::new(rustls_upstream::sign::CertifiedKey::new(
            nothing,
            key.key.clone(),
        ))
    };
    let identities = setup.key_type.identities();

    let mut config = upstream::server_config(setup);
    let key = empty(upstream::raw_key(&identities.server, setup.provider));
    config.cert_resolver =
        Arc::new(rustls_upstream::server::AlwaysResolvesServerRawPublicKeys::new(key));
    let mut client = this::client(this::client_config(setup));
    let mut server = upstream::server(config);
    let error = exchange(&mut client, &mut server).unwrap_err();
    assert_eq!(error, "client: InvalidMessage(IllegalEmptyValue)");
    let alert = server.receive(&client.take_output()).unwrap_err();
    assert_eq!(alert, "AlertReceived(BadCertificate)");

    let mut config = upstream::client_config(setup);
    let key = empty(upstream::raw_key(&identities.client, setup.provider));
    config.client_auth_cert_resolver =
        Arc::new(rustls_upstream::client::AlwaysResolvesClientRawPublicKeys::new(key));
    let mut client = upstream::client(config);
    let mut server = this::server(this::server_config(setup));
    let error = exchange(&mut client, &mut server).unwrap_err();
    assert_eq!(error, "server: InvalidMessage(IllegalEmptyValue)");
    let alert = client.receive(&server.take_output()).unwrap_err();
    assert_eq!(alert, "AlertReceived(BadCertificate)");
}

/// With both versions enabled on both sides, TLS 1.3 is negotiated and raw public keys work.
#[test]
fn tls12_may_be_enabled_as_well() {
    let setup = Setup {
        versions: Versions::Both,
        server: Kind::Raw,
        client: Some(Kind::Raw),
        ..Setup::new(Provider::AwsLc)
    };
    for (_, mut client, mut server) in pairs(setup) {
        handshake(&mut *client, &mut *server);
    }
}

/// A raw public key other than the trusted one.
#[test]
fn another_key_is_refused() {
    for provider in PROVIDERS {
        let setup = Setup {
            server: Kind::Raw,
            client: Some(Kind::Raw),
            ..Setup::new(provider)
        };
        let identities = setup.key_type.identities();

        let mut config = this::client_config(setup);
        let wrong = this::verifier(&identities.client, provider);
        config.dangerous().set_certificate_verifier(Arc::new(wrong));
        let mut server = upstream::server(upstream::server_config(setup));
        let error = exchange(&mut this::client(config), &mut server).unwrap_err();
        assert_eq!(error, "client: InvalidCertificate(UnknownIssuer)");

        let mut config = upstream::client_config(setup);
        let wrong = upstream::raw_key(&identities.server, provider);
        config.client_auth_cert_resolver =
            Arc::new(rustls_upstream::client::AlwaysResolvesClientRawPublicKeys::new(wrong));
        let mut server = this::server(this::server_config(setup));
        let error = exchange(&mut upstream::client(config), &mut server).unwrap_err();
        assert_eq!(error, "server: InvalidCertificate(UnknownIssuer)");
    }
}

/// The key must prove possession: a signature by another key fails.
#[test]
fn the_key_must_sign() {
    for provider in PROVIDERS {
        let setup = Setup {
            server: Kind::Raw,
            ..Setup::new(provider)
        };
        let identities = setup.key_type.identities();
        // the server claims the trusted key but signs with another
        let claimed = upstream::raw_key(&identities.server, provider);
        let owned = upstream::raw_key(&identities.client, provider);
        let forged =
            rustls_upstream::sign::CertifiedKey::new(claimed.cert.clone(), owned.key.clone());
        let mut server = upstream::server_config(setup);
        server.cert_resolver = Arc::new(
            rustls_upstream::server::AlwaysResolvesServerRawPublicKeys::new(Arc::new(forged)),
        );
        let mut client = this::client(this::client_config(setup));
        let mut server = upstream::server(server);
        let error = exchange(&mut client, &mut server).unwrap_err();
        assert_eq!(error, "client: InvalidCertificate(BadSignature)");
        let alert = server.receive(&client.take_output()).unwrap_err();
        assert_eq!(alert, "AlertReceived(DecryptError)");
    }
}

/// RFC 9846 §4.5.1: there is one entry. Further entries of a resolver are not sent, and a second
/// one from the peer is rejected.
#[test]
fn a_raw_public_key_stands_alone() {
    let setup = Setup {
        server: Kind::Raw,
        client: Some(Kind::Raw),
        ..Setup::new(Provider::AwsLc)
    };
    let identities = setup.key_type.identities();
    let with_more = |identity: &harness::peers::configs::Identity| {
        let key = this::raw_key(identity, setup.provider);
        let mut more = CertifiedKey::clone(&key);
        more.cert.push(identity.chain[0].clone());
        more.ocsp = Some(b"response".to_vec());
        Arc::new(more)
    };
    let mut client = this::client_config(setup);
    let key = with_more(&identities.client);
    client.client_auth_cert_resolver = Arc::new(AlwaysResolvesClientRawPublicKeys::new(key));
    let mut server = this::server_config(setup);
    let key = with_more(&identities.server);
    server.cert_resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(key));
    // the verifiers of both crates assert that there are no intermediates
    let mut peer = upstream::server(upstream::server_config(setup));
    handshake(&mut this::client(client), &mut peer);
    let mut peer = upstream::client(upstream::client_config(setup));
    handshake(&mut peer, &mut this::server(server));

    let two_of = |identity| {
        let key = upstream::raw_key(identity, setup.provider);
        let mut more = rustls_upstream::sign::CertifiedKey::clone(&key);
        more.cert.push(more.cert[0].clone());
        Arc::new(more)
    };
    const ERROR: &str = "General(\"a raw public key is followed by more certificates\")";
    let mut server = upstream::server_config(setup);
    server.cert_resolver = Arc::new(
        rustls_upstream::server::AlwaysResolvesServerRawPublicKeys::new(two_of(&identities.server)),
    );
    let (mut client, mut server) = (
        this::client(this::client_config(setup)),
        upstream::server(server),
    );
    let error = exchange(&mut client, &mut server).unwrap_err();
    assert_eq!(error, format!("client: {ERROR}"));
    let alert = server.receive(&client.take_output()).unwrap_err();
    assert_eq!(alert, "AlertReceived(IllegalParameter)");

    let mut client = upstream::client_config(setup);
    client.client_auth_cert_resolver = Arc::new(
        rustls_upstream::client::AlwaysResolvesClientRawPublicKeys::new(two_of(&identities.client)),
    );
    let (mut client, mut server) = (
        upstream::client(client),
        this::server(this::server_config(setup)),
    );
    let error = exchange(&mut client, &mut server).unwrap_err();
    assert_eq!(error, format!("server: {ERROR}"));
    let alert = client.receive(&server.take_output()).unwrap_err();
    assert_eq!(alert, "AlertReceived(IllegalParameter)");
}
