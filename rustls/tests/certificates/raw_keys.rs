//! Tests of raw public keys (RFC 7250) that are rejected, in both directions. The test `matrix`
//! combines accepted ones with every other feature.

use std::sync::Arc;

use harness::peers::configs::{Provider, Versions, product};
use harness::peers::endpoints::{exchange, handshake};
use rustls::sign::CertifiedKey;
use rustls_upstream as theirs;

use crate::certificates::kit::{Kind, Setup, assert_refused, this, upstream};

/// Raw public keys require TLS 1.3. A server configured for them refuses TLS 1.2 and clients that
/// offer only that. Upstream's TLS 1.2 form of them differs from RFC 7250 §3.
#[test]
fn tls12_has_no_raw_public_keys() {
    let versions = [
        [Versions::Tls12, Versions::Both],
        [Versions::Both, Versions::Tls12],
    ];
    for (versions, (client, server)) in product(versions, RAW) {
        let setup = Setup::new(Provider::AwsLc).with(server, client);
        let [of_client, of_server] = versions.map(|versions| setup.over(versions));
        let mut server = this::server_of(of_server);
        let mut client = upstream::client_of(of_client);
        let error = "server: PeerIncompatible(IncorrectCertificateTypeExtension)";
        assert_refused(&mut client, &mut server, error, "UnsupportedCertificate");
    }
}

/// The kinds of client and server with a raw public key.
const RAW: [(Option<Kind>, Kind); 3] = [
    (None, Kind::Raw),
    (Some(Kind::Raw), Kind::X509),
    (Some(Kind::Raw), Kind::Raw),
];

/// A client configured for raw public keys offers TLS 1.2, but ends the handshake if the server
/// chooses it.
#[test]
fn clients_refuse_raw_public_keys_in_tls12() {
    for (versions, (client, server)) in product([Versions::Tls12, Versions::Both], RAW) {
        let plain = Setup::new(Provider::AwsLc).over(Versions::Tls12);
        let raw = plain.with(server, client);
        let of_client = raw.over(versions);
        // a server with raw keys in upstream's form, and one without
        for of_server in [raw, plain] {
            let mut client = this::client_of(of_client);
            let mut server = upstream::server_of(of_server);
            let error = exchange(&mut client, &mut server).unwrap_err();
            let incorrect = "PeerIncompatible(IncorrectCertificateTypeExtension)";
            assert!(error.ends_with(incorrect), "{of_client:?} {error}");
        }
    }
}

/// Returns both sides with raw public keys.
fn both(provider: Provider) -> Setup {
    Setup::new(provider).with(Kind::Raw, Some(Kind::Raw))
}

/// Asserts that this crate's ends reject upstream's ends whose raw public keys `change` has
/// changed.
#[track_caller]
fn refuse_both(
    setup: Setup,
    change: impl Fn(&mut theirs::sign::CertifiedKey),
    error: &str,
    alert: &str,
) {
    let identities = setup.key_type.identities();
    let changed = |identity| {
        let key = upstream::raw_key(identity, setup.provider);
        let mut key = theirs::sign::CertifiedKey::clone(&key);
        change(&mut key);
        Arc::new(key)
    };
    let mut server = upstream::server_with_key(setup, changed(&identities.server));
    let at_client = format!("client: {error}");
    assert_refused(&mut this::client_of(setup), &mut server, &at_client, alert);

    let mut client = upstream::client_with_key(setup, changed(&identities.client));
    let at_server = format!("server: {error}");
    assert_refused(&mut client, &mut this::server_of(setup), &at_server, alert);
}

/// RFC 9846 §4.5.1: a raw public key has at least one byte. Upstream leaves that to the verifier.
#[test]
fn an_empty_key_is_refused() {
    let empty = |key: &mut theirs::sign::CertifiedKey| key.cert = vec![Vec::new().into()];
    let error = "InvalidMessage(IllegalEmptyValue)";
    refuse_both(both(Provider::AwsLc), empty, error, "BadCertificate");
}

/// RFC 9846 §4.5.1: the Certificate has one entry. Further entries from a resolver are not sent,
/// and a second one from the peer is rejected.
#[test]
fn a_raw_public_key_is_the_only_certificate_entry() {
    let setup = both(Provider::AwsLc);
    let identities = setup.key_type.identities();
    let with_more = |identity: &harness::peers::configs::Identity| {
        let key = this::raw_key(identity, setup.provider);
        let mut more = CertifiedKey::clone(&key);
        more.cert.push(identity.chain[0].clone());
        more.ocsp = Some(b"response".to_vec());
        Arc::new(more)
    };
    // the verifiers of both crates assert that there are no intermediates
    let mut client = this::client_with_key(setup, with_more(&identities.client));
    handshake(&mut client, &mut upstream::server_of(setup));
    let mut server = this::server_with_key(setup, with_more(&identities.server));
    handshake(&mut upstream::client_of(setup), &mut server);

    let twice = |key: &mut theirs::sign::CertifiedKey| key.cert.push(key.cert[0].clone());
    let error = "General(\"a raw public key is followed by more certificates\")";
    refuse_both(setup, twice, error, "IllegalParameter");
}
