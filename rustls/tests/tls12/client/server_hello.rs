//! Tests of valid and invalid ServerHellos that select TLS 1.2.

use harness::peers::configs::{PROVIDERS, Provider, Versions, product};
use harness::scripted::bytes;
use harness::scripted::tls12::server::Script;
use harness::table;
use harness::wire::client_hello::{
    ALPN, EC_POINT_FORMATS, EXTENDED_MASTER_SECRET, RENEGOTIATION_INFO, SESSION_TICKET,
    SUPPORTED_VERSIONS, protocols,
};
use harness::wire::u8_vec;

use super::{UNOFFERED_SUITE, changing, clients_with, end, forgetful, our_end, script};

fn without(typ: u16) -> Script {
    script(|script| script.hello.extensions.retain(|(other, _)| *other != typ))
}

fn with(typ: u16, body: &[u8]) -> Script {
    Script::new().with_extension(bytes(typ, body))
}

#[test]
fn wrong_selections_are_refused() {
    let compressed = with(EC_POINT_FORMATS, &u8_vec(&[1, 2]));
    let (h3, twice) = (
        with(ALPN, &protocols(&[b"h3"])),
        with(EXTENDED_MASTER_SECRET, &[]),
    );
    // after header, version, random and an empty session ID
    let old_suite = |message: &mut Vec<u8>| message[39..41].copy_from_slice(&[0, 0x9c]);
    let cases = table! {
        "suite": script(|script| script.hello.suite = UNOFFERED_SUITE),
            "SelectedUnofferedCipherSuite", 47;
        "a suite without forward secrecy": changing(Script::new(), 0, old_suite),
            "SelectedUnofferedCipherSuite", 47;
        "compression": script(|script| script.hello.compression = 1),
            "SelectedUnofferedCompression", 47;
        "extension": with(0x1234, &[]), "UnsolicitedServerHelloExtension", 110;
        "protocol": h3, "SelectedUnofferedApplicationProtocol", 47;
        "points": compressed, "ServerHelloMustOfferUncompressedEcPoints", 47;
        "an extension twice": twice, "DuplicateExtension(23)", 47;
        "TLS 1.1": script(|script| script.hello.legacy_version = 0x0302),
            "ServerDoesNotSupportTls12Or13", 70;
    };
    for versions in [Versions::Tls12, Versions::Both] {
        let clients = forgetful(Provider::AwsLc, versions);
        for (what, script, error, alert) in &cases {
            let what = format!("{versions:?} {what}");
            end(&clients, script).assert_refused(&what, error, *alert);
        }
    }
}

/// Tries selections that upstream accepts, or to which it reacts differently.
#[test]
fn wrong_selections_are_refused_even_where_upstream_differs() {
    let info = bytes(RENEGOTIATION_INFO, &u8_vec(&[1]));
    let selection = |version: u16| with(SUPPORTED_VERSIONS, &version.to_be_bytes());
    let (tls12, both) = (Versions::Tls12, Versions::Both);
    let unsolicited = "UnsolicitedServerHelloExtension";
    for (what, offered, script, error, alert) in table! {
        // RFC 5746 §3.4: a handshake_failure
        "a renegotiation": vec![tls12, both], script(|it| it.hello.extensions = vec![info]),
            "renegotiation_info", 40;
        // RFC 9846 §4.2.3: legacy_version is at most 0x0303; upstream reports another error
        "newer": vec![tls12, both], script(|it| it.hello.legacy_version = 0x0304),
            "ServerDoesNotSupportTls12Or13", 70;
        // RFC 9846 §4.3.1: supported_versions must not select an older version, and was not offered
        // with TLS 1.2 alone
        "TLS 1.2": vec![both], selection(0x0303), "SelectedTls12UsingTls13VersionExtension", 47;
        "TLS 1.1": vec![both], selection(0x0302), "ServerDoesNotSupportTls12Or13", 70;
        "the only one": vec![tls12], selection(0x0303), unsolicited, 110;
        "an unoffered one": vec![tls12], selection(0x0304), unsolicited, 110;
    } {
        for versions in offered {
            let clients = forgetful(Provider::AwsLc, versions);
            let what = format!("{versions:?} {what}");
            our_end(&clients, &script).assert_refused(&what, error, alert);
        }
    }
}

/// RFC 9846 §4.2.3: a server that supports a newer version ends its random with a marker.
#[test]
fn downgrade_markers_are_detected() {
    for marker in [b"DOWNGRD\x01", b"DOWNGRD\x00"] {
        let script = script(|script| script.hello.random[24..].copy_from_slice(marker));
        let both = forgetful(Provider::AwsLc, Versions::Both);
        // upstream only knows the first marker
        our_end(&both, &script).assert_refused("", "AttemptedDowngradeToTls12", 47);

        // a client without TLS 1.3 receives the marker for TLS 1.2 from any server with TLS 1.3
        let tls12 = forgetful(Provider::AwsLc, Versions::Tls12);
        assert_eq!(end(&tls12, &script).error, None);
    }
    // one byte off, the random is an ordinary one
    let script = script(|script| script.hello.random[24..].copy_from_slice(b"DOWNGRD\x02"));
    let both = forgetful(Provider::AwsLc, Versions::Both);
    assert_eq!(end(&both, &script).error, None);
}

#[test]
fn a_session_id_for_middleboxes_does_not_name_a_session() {
    let clients = forgetful(Provider::AwsLc, Versions::Both);
    // `None` echoes it
    let echo = script(|script| script.hello.session_id = None);
    end(&clients, &echo).assert_refused("", "ServerEchoedCompatibilitySessionId", 47);
}

#[test]
fn a_server_without_the_required_extended_master_secret_is_refused() {
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Both]) {
        let clients = clients_with(
            provider,
            versions,
            |config| config.require_ems = true,
            |config| config.require_ems = true,
        );
        let refused = end(&clients, &without(EXTENDED_MASTER_SECRET));
        let what = format!("{provider:?} {versions:?}");
        refused.assert_refused(&what, "ExtendedMasterSecretExtensionRequired", 40);
        assert_eq!(end(&clients, &Script::new()).error, None, "{what}");
    }
}

#[test]
fn an_unrequested_ticket_is_refused() {
    let clients = clients_with(
        Provider::AwsLc,
        Versions::Tls12,
        |config| config.resumption = rustls::client::Resumption::disabled(),
        |config| config.resumption = rustls_upstream::client::Resumption::disabled(),
    );
    let script = Script::new().with_extension(bytes(SESSION_TICKET, &[]));
    let end = end(&clients, &script);
    let error = end.error.unwrap_or_default();
    assert!(error.contains("UnsolicitedServerHelloExtension"), "{error}");
}
