//! ServerHellos that select TLS 1.2, valid and invalid.

use harness::peers::configs::{PROVIDERS, Provider, Versions};
use harness::scripted::bytes;
use harness::scripted::tls12::server::Script;
use harness::wire::client_hello::{
    ALPN, EC_POINT_FORMATS, EXTENDED_MASTER_SECRET, RENEGOTIATION_INFO, SESSION_TICKET,
    SUPPORTED_VERSIONS,
};
use harness::wire::{u8_vec, u16_vec};

use super::{UNOFFERED_SUITE, clients_with, end, forgetful, our_end, script};

fn without(typ: u16) -> Script {
    script(|script| script.hello.extensions.retain(|(other, _)| *other != typ))
}

#[test]
fn optional_extensions() {
    for provider in PROVIDERS {
        for versions in [Versions::Tls12, Versions::Both] {
            let clients = forgetful(provider, versions);
            for script in [
                Script::new(),
                without(RENEGOTIATION_INFO),
                without(EXTENDED_MASTER_SECRET),
                script(|script| script.hello.extensions.clear()),
                Script::new().with_extension(bytes(EC_POINT_FORMATS, &u8_vec(&[1, 0]))),
                Script::new().with_extension(bytes(ALPN, &u16_vec(&u8_vec(b"h2")))),
                Script::new().with_extension(bytes(0, &[])),
            ] {
                assert_eq!(end(&clients, &script).error, None);
            }
        }
    }
}

#[test]
fn wrong_selections() {
    for versions in [Versions::Tls12, Versions::Both] {
        let clients = forgetful(Provider::AwsLc, versions);
        let with = |typ, body: &[u8]| Script::new().with_extension(bytes(typ, body));
        let suite = script(|script| script.hello.suite = UNOFFERED_SUITE);
        let compression = script(|script| script.hello.compression = 1);
        let tls11 = script(|script| script.hello.legacy_version = 0x0302);
        let h3 = u16_vec(&u8_vec(b"h3"));
        for (script, error, alert) in [
            (suite, "SelectedUnofferedCipherSuite", 47),
            (compression, "SelectedUnofferedCompression", 47),
            (with(0x1234, &[]), "UnsolicitedServerHelloExtension", 110),
            (with(ALPN, &h3), "SelectedUnofferedApplicationProtocol", 47),
            (
                with(EC_POINT_FORMATS, &u8_vec(&[1, 2])),
                "ServerHelloMustOfferUncompressedEcPoints",
                47,
            ),
            (
                with(EXTENDED_MASTER_SECRET, &[]),
                "DuplicateExtension(23)",
                47,
            ),
            (tls11, "ServerDoesNotSupportTls12Or13", 70),
        ] {
            end(&clients, &script).assert_refused(&format!("{versions:?}"), error, alert);
        }
    }
}

/// Selections that upstream accepts or answers differently.
#[test]
fn wrong_selections_beyond_upstream() {
    for versions in [Versions::Tls12, Versions::Both] {
        let clients = forgetful(Provider::AwsLc, versions);
        // RFC 5746 §3.4: a handshake_failure
        let info = script(|script| {
            script.hello.extensions = vec![bytes(RENEGOTIATION_INFO, &u8_vec(&[1]))];
        });
        let what = format!("{versions:?}");
        our_end(&clients, &info).assert_refused(&what, "renegotiation_info", 40);
        // RFC 9846 §4.2.3: legacy_version is at most 0x0303; upstream reports another error
        let newer = script(|script| script.hello.legacy_version = 0x0304);
        our_end(&clients, &newer).assert_refused(&what, "ServerDoesNotSupportTls12Or13", 70);
    }
    // RFC 9846 §4.3.1: supported_versions must not select an older version, and was not offered
    // with TLS 1.2 alone
    let (both, tls12) = (Versions::Both, Versions::Tls12);
    for (versions, selected, error, alert) in [
        (
            both,
            0x0303_u16,
            "SelectedTls12UsingTls13VersionExtension",
            47,
        ),
        (both, 0x0302, "ServerDoesNotSupportTls12Or13", 70),
        (tls12, 0x0303, "UnsolicitedServerHelloExtension", 110),
        (tls12, 0x0304, "UnsolicitedServerHelloExtension", 110),
    ] {
        let clients = forgetful(Provider::AwsLc, versions);
        let selection = bytes(SUPPORTED_VERSIONS, &selected.to_be_bytes());
        let end = our_end(&clients, &Script::new().with_extension(selection));
        end.assert_refused(&format!("{versions:?} {selected:#x}"), error, alert);
    }
}

/// RFC 9846 §4.2.3: the marker at the end of a server's random if it knows a newer version.
#[test]
fn downgrade_markers() {
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
fn a_session_id_for_middleboxes_names_no_session() {
    let clients = forgetful(Provider::AwsLc, Versions::Both);
    // `None` echoes it
    let echo = script(|script| script.hello.session_id = None);
    end(&clients, &echo).assert_refused("", "ServerEchoedCompatibilitySessionId", 47);
}

#[test]
fn an_extended_master_secret_may_be_required() {
    for provider in PROVIDERS {
        for versions in [Versions::Tls12, Versions::Both] {
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
}

#[test]
fn a_ticket_must_have_been_requested() {
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
