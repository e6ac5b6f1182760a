//! Tests of finite-field key exchange (RFC 7919) with an external provider, in both roles, and with
//! upstream and a similar provider.

use std::sync::Arc;

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product, product3};
use harness::peers::endpoints::{Endpoint, exchange, send_and_check};
use harness::peers::roles::{Implementation, Role, this, upstream};
use harness::providers::ffdhe::{self, Key, Public, power};
use harness::scripted::Refused;
use harness::scripted::tls12::client::ScriptedClient;
use harness::wire::client_hello::{ClientHello, SIGNATURE_ALGORITHMS, SUPPORTED_GROUPS, X25519};
use harness::wire::{message, u16_vec, u16s};
use num_bigint::BigUint;
use rustls::ffdhe_groups::{FFDHE2048, FFDHE3072};
use rustls::{ContentType, HandshakeType, NamedGroup};

const KEY_TYPE: KeyType = KeyType::Rsa2048;

/// The settings of an end.
#[derive(Clone, Copy, Debug)]
struct End {
    implementation: Implementation,
    versions: Versions,
    groups: &'static [NamedGroup],
    /// True if X25519 follows the finite-field groups.
    curve: bool,
    key: Key,
}

use Implementation::{Buffered, Unbuffered, Upstream};

const PAIRS: [(Implementation, Implementation); 5] = [
    (Buffered, Upstream),
    (Unbuffered, Upstream),
    (Upstream, Buffered),
    (Upstream, Unbuffered),
    (Buffered, Unbuffered),
];

impl End {
    fn new(implementation: Implementation, groups: &'static [NamedGroup]) -> Self {
        Self {
            implementation,
            versions: Versions::Tls12,
            groups,
            curve: false,
            key: Key::Random,
        }
    }
}

macro_rules! provider {
    ($name:ident, $tls:ident, $module:ident, $groups:ident) => {
        fn $name(provider: Provider, end: End) -> Arc<$tls::crypto::CryptoProvider> {
            use $tls::ffdhe_groups::{FFDHE2048, FFDHE3072};
            let groups = end.groups.iter().map(|name| {
                let params = match name {
                    NamedGroup::FFDHE2048 => FFDHE2048,
                    NamedGroup::FFDHE3072 => FFDHE3072,
                    other => panic!("{other:?}"),
                };
                ffdhe::$module::Group::leak(u16::from(*name).into(), params, end.key)
            });
            let mut groups: Vec<_> = groups.collect();
            let curves = provider.$groups().into_iter();
            groups.extend(curves.filter(|it| end.curve && u16::from(it.name()) == X25519));
            ffdhe::$module::provider(provider.$module(), groups)
        }
    };
}

provider! { this_provider, rustls, this, this_groups }
provider! { upstream_provider, rustls_upstream, upstream, upstream_groups }

fn connection(role: Role, provider: Provider, end: End) -> Box<dyn Endpoint> {
    end.implementation.end(
        || {
            let provider = (*this_provider(provider, end)).clone();
            this::Config::new(role, end.versions, provider, KEY_TYPE)
        },
        || {
            let provider = (*upstream_provider(provider, end)).clone();
            upstream::Config::new(role, end.versions, provider, KEY_TYPE)
        },
    )
}

fn client(provider: Provider, end: End) -> Box<dyn Endpoint> {
    connection(Role::Client, provider, end)
}

fn server(provider: Provider, end: End) -> Box<dyn Endpoint> {
    connection(Role::Server, provider, end)
}

/// Creates a scripted client's hello that only offers DHE, with these groups.
fn hello(suite: u16, groups: &[u16]) -> ClientHello {
    ClientHello::tls12()
        .with(SUPPORTED_GROUPS, u16_vec(&u16s(groups)))
        .with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(&[0x0804])))
        .edit(|hello| hello.cipher_suites = vec![suite])
}

const BOTH: &[NamedGroup] = &[NamedGroup::FFDHE3072, NamedGroup::FFDHE2048];
const SMALL: &[NamedGroup] = &[NamedGroup::FFDHE2048];
const LARGE: &[NamedGroup] = &[NamedGroup::FFDHE3072];

/// Completes a handshake and returns the values on which both ends agree.
fn negotiated(provider: Provider, client_end: End, server_end: End) -> String {
    let mut client = client(provider, client_end);
    let mut server = server(provider, server_end);
    exchange(&mut *client, &mut *server).unwrap();
    assert!(!client.is_handshaking() && !server.is_handshaking());
    let [ours, theirs] = [&client, &server].map(|end| {
        // upstream knows the suite but does not print its name
        let negotiated = end.negotiated();
        negotiated.replace("CipherSuite(0x9e)", "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256")
    });
    assert_eq!(ours, theirs);
    if let (Some(ours), Some(theirs)) = (client.exported(), server.exported()) {
        assert_eq!(ours, theirs);
    }
    send_and_check(&mut *client, &mut *server, b"to the server");
    send_and_check(&mut *server, &mut *client, b"to the client");
    ours
}

/// The client's preference determines the group. RFC 7919 §4: a client that offers finite-field
/// groups must not get any other such group; a common curve is used instead.
#[test]
fn both_roles_agree_with_upstream_on_a_group() {
    use Versions::{Tls12, Tls13};
    const DHE: &str = "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256";
    const REVERSED: &[NamedGroup] = &[NamedGroup::FFDHE2048, NamedGroup::FFDHE3072];
    for (provider, (client_end, server_end)) in product(PROVIDERS, PAIRS) {
        for (versions, curve, of_client, of_server, due) in [
            (Tls12, false, SMALL, SMALL, [DHE, "FFDHE2048"]),
            (Tls12, false, LARGE, LARGE, [DHE, "FFDHE3072"]),
            (Tls12, false, BOTH, REVERSED, [DHE, "FFDHE3072"]),
            (Tls12, true, SMALL, LARGE, ["TLSv1_2", "X25519"]),
            // TLS 1.3 keeps leading zeros of the secret
            (Tls13, false, SMALL, SMALL, ["TLSv1_3", "FFDHE2048"]),
        ] {
            let end = |implementation, groups| End {
                versions,
                curve,
                ..End::new(implementation, groups)
            };
            let (ours, theirs) = (end(client_end, of_client), end(server_end, of_server));
            let negotiated = negotiated(provider, ours, theirs);
            let is_due = due.iter().all(|due| negotiated.contains(due));
            assert!(is_due, "{ours:?} {theirs:?}: {negotiated}");
        }
        let mut client = client(provider, End::new(client_end, SMALL));
        let mut server = server(provider, End::new(server_end, LARGE));
        let error = exchange(&mut *client, &mut *server).unwrap_err();
        assert_eq!(error, "server: PeerIncompatible(NoKxGroupsInCommon)");
    }
}

/// RFC 5246 §8.1.2: TLS 1.2 strips leading zeros.
#[test]
fn both_ends_strip_leading_zeros_of_secrets() {
    let p = FFDHE2048.p;
    let ours = 0x0123_4567_89ab_cdef_u64;
    let public = power(FFDHE2048.g, &BigUint::from(ours), p);
    // one in 256 keys yields such a secret
    let theirs = (0x0fed_cba9_8765_4321_u64..)
        .find(|key| power(&public, &BigUint::from(*key), p)[0] == 0)
        .unwrap();
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Tls13]) {
        for (of_client, of_server) in PAIRS {
            let end = |implementation, key| End {
                versions,
                key: Key::Fixed(key),
                ..End::new(implementation, SMALL)
            };
            negotiated(provider, end(of_client, ours), end(of_server, theirs));
        }
    }
}

/// RFC 7919 §4: without an alternative, the alert is insufficient_security.
#[test]
fn no_common_group_causes_insufficient_security() {
    for (provider, implementation) in product(PROVIDERS, [Buffered, Unbuffered]) {
        for (curve, groups, suite, error, alert) in [
            (false, 0x0100, DHE_RSA, "NoKxGroupsInCommon", 71),
            (true, 0x0100, DHE_RSA, "NoCipherSuitesInCommon", 71),
            // an unassigned group
            (false, 0x01ff, DHE_RSA, "NoKxGroupsInCommon", 71),
            (false, 0x0101, 0xffff, "NoCipherSuitesInCommon", 40),
            (false, 0x0017, 0xffff, "NoCipherSuitesInCommon", 40),
        ] {
            let end = End {
                curve,
                ..End::new(implementation, LARGE)
            };
            let hello = hello(suite, &[X25519, groups]);
            let crypto = this_provider(provider, End::new(Buffered, LARGE));
            let result = ScriptedClient::new(server(provider, end), &crypto, &hello, None);
            let refused = Refused {
                error: format!("PeerIncompatible({error})"),
                alert: Some(vec![2, alert]),
            };
            assert_eq!(result.err(), Some(refused), "{groups:#x} {suite:#x}");
        }
    }
}

/// RFC 7919 §4: a client that offers no finite-field group leaves the choice to the server.
#[test]
fn the_server_chooses_a_group_if_the_client_offers_none() {
    for (provider, implementation) in product(PROVIDERS, [Buffered, Unbuffered, Upstream]) {
        let end = End {
            curve: true,
            ..End::new(implementation, LARGE)
        };
        let hello = hello(DHE_RSA, &[X25519]);
        let ours = this_provider(provider, end);
        let client = ScriptedClient::new(server(provider, end), &ours, &hello, None).unwrap();
        assert_eq!(u16::from(client.suite), DHE_RSA, "{end:?}");
        let key_exchange = client.message_of(HandshakeType::ServerKeyExchange);
        let p = &key_exchange.unwrap()[4 + 2..][..384];
        assert_eq!(p, FFDHE3072.p, "{end:?}");
    }
}

/// TLS_DHE_RSA_WITH_AES_128_GCM_SHA256
const DHE_RSA: u16 = 0x009e;

/// Public values; true if they must be rejected.
const PUBLICS: [(Public, bool); 6] = [
    (Public::Zero, true),
    (Public::One, true),
    (Public::Two, false),
    (Public::PMinusTwo, false),
    (Public::PMinusOne, true),
    (Public::P, true),
];

/// RFC 7919 §5.1, RFC 9846 §4.3.8.1: 1 < Y < p - 1 must hold, even if the provider does not check
/// it.
#[test]
fn public_values_that_reveal_the_secret_are_refused() {
    let ours = [Buffered, Unbuffered];
    for (provider, (public, is_refused), implementation) in product3(PROVIDERS, PUBLICS, ours) {
        // an upstream peer that sends this value with a valid signature
        let with = |versions| {
            let end = |implementation, key| End {
                versions,
                key,
                ..End::new(implementation, SMALL)
            };
            (
                end(implementation, Key::Random),
                end(Upstream, Key::Says(public)),
            )
        };
        let fails = |ends: (Box<dyn Endpoint>, Box<dyn Endpoint>), who| {
            let (mut client, mut server) = ends;
            let error = exchange(&mut *client, &mut *server).unwrap_err();
            let is_invalid = error == format!("{who}: PeerMisbehaved(InvalidKeyShare)");
            let what = format!("{provider:?} {implementation:?} {public:?}");
            assert_eq!(is_invalid, is_refused, "{what}: {error}");
        };
        for versions in [Versions::Tls12, Versions::Tls13] {
            let (ours, says) = with(versions);
            fails((client(provider, ours), server(provider, says)), "client");
        }
        let (ours, says) = with(Versions::Tls13);
        fails((client(provider, says), server(provider, ours)), "server");

        // a scripted client of TLS 1.2 that sends this value
        let (end, _) = with(Versions::Tls12);
        let hello = hello(DHE_RSA, &[0x0100]);
        let crypto = this_provider(provider, End::new(Buffered, SMALL));
        let client = ScriptedClient::new(server(provider, end), &crypto, &hello, None);
        let value = u16_vec(&public.value(FFDHE2048.p));
        let message = message(16, &value);
        let result = client.unwrap().send_raw(ContentType::Handshake, &message);
        let refused = Refused {
            error: "PeerMisbehaved(InvalidKeyShare)".into(),
            // RFC 7919 §4
            alert: Some(vec![2, 40]),
        };
        assert_eq!(result.err(), is_refused.then_some(refused), "{public:?}");
    }
}
