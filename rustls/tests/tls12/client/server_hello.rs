//! ServerHellos that select TLS 1.2, valid and invalid.

use harness::peers::configs::{PROVIDERS, Provider, Versions};
use harness::scripted::tls12::server::Script;
use harness::scripted::{Identity, bytes};
use harness::wire::client_hello::{
    ALPN, EC_POINT_FORMATS, EXTENDED_MASTER_SECRET, RENEGOTIATION_INFO, SESSION_TICKET,
    SUPPORTED_VERSIONS,
};
use harness::wire::{u8_vec, u16_vec};

use super::{Client, UNOFFERED_SUITE, clients_with, end, ends, forgetful, script};

/// The outcome of this crate's clients where upstream differs.
#[track_caller]
fn our_end(clients: &[Client], identity: &Identity, script: &Script) -> (String, Option<u8>) {
    let ends = ends(&clients[..2], identity, script);
    assert!(ends[0].is_like(&ends[1]), "{ends:?}");
    (ends[0].error.clone().unwrap_or_default(), ends[0].alert)
}

fn without(typ: u16) -> Script {
    script(|script| script.hello.extensions.retain(|(other, _)| *other != typ))
}

#[test]
fn optional_extensions() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for versions in [Versions::Tls12, Versions::Both] {
            let clients = forgetful(&identity, provider, versions);
            for script in [
                Script::new(),
                without(RENEGOTIATION_INFO),
                without(EXTENDED_MASTER_SECRET),
                script(|script| script.hello.extensions.clear()),
                Script::new().with_extension(bytes(EC_POINT_FORMATS, &u8_vec(&[1, 0]))),
                Script::new().with_extension(bytes(ALPN, &u16_vec(&u8_vec(b"h2")))),
                Script::new().with_extension(bytes(0, &[])),
            ] {
                assert_eq!(end(&clients, &identity, &script).error, None);
            }
        }
    }
}

#[test]
fn wrong_selections() {
    let identity = Identity::new(Provider::AwsLc.this());
    for versions in [Versions::Tls12, Versions::Both] {
        let clients = forgetful(&identity, Provider::AwsLc, versions);
        for (script, error, alert) in [
            (
                script(|script| script.hello.suite = UNOFFERED_SUITE),
                "SelectedUnofferedCipherSuite",
                47,
            ),
            (
                script(|script| script.hello.compression = 1),
                "SelectedUnofferedCompression",
                47,
            ),
            (
                Script::new().with_extension(bytes(0x1234, &[])),
                "UnsolicitedServerHelloExtension",
                110,
            ),
            (
                Script::new().with_extension(bytes(ALPN, &u16_vec(&u8_vec(b"h3")))),
                "SelectedUnofferedApplicationProtocol",
                47,
            ),
            (
                Script::new().with_extension(bytes(EC_POINT_FORMATS, &u8_vec(&[1, 2]))),
                "ServerHelloMustOfferUncompressedEcPoints",
                47,
            ),
            (
                Script::new().with_extension(bytes(EXTENDED_MASTER_SECRET, &[])),
                "DuplicateExtension(23)",
                47,
            ),
            (
                script(|script| script.hello.legacy_version = 0x0302),
                "ServerDoesNotSupportTls12Or13",
                70,
            ),
        ] {
            let end = end(&clients, &identity, &script);
            let text = end.error.as_deref().unwrap_or_default();
            assert!(text.contains(error), "{error}: {text}");
            assert_eq!(end.alert, Some(alert), "{error}");
        }
    }
}

/// Selections that upstream accepts or answers differently.
#[test]
fn wrong_selections_beyond_upstream() {
    let identity = Identity::new(Provider::AwsLc.this());
    for versions in [Versions::Tls12, Versions::Both] {
        let clients = forgetful(&identity, Provider::AwsLc, versions);
        // RFC 5746 §3.4: a handshake_failure
        let info = script(|script| {
            script.hello.extensions = vec![bytes(RENEGOTIATION_INFO, &u8_vec(&[1]))];
        });
        let (error, alert) = our_end(&clients, &identity, &info);
        assert!(error.contains("renegotiation_info"), "{error}");
        assert_eq!(alert, Some(40));
        // RFC 9846 §4.2.3: legacy_version is at most 0x0303; upstream reports another error
        let newer = script(|script| script.hello.legacy_version = 0x0304);
        let (error, alert) = our_end(&clients, &identity, &newer);
        assert!(error.contains("ServerDoesNotSupportTls12Or13"), "{error}");
        assert_eq!(alert, Some(70));
    }
    // RFC 9846 §4.3.1: supported_versions must not select an older version, and was not offered
    // with TLS 1.2 alone
    for (versions, selected, error, alert) in [
        (
            Versions::Both,
            0x0303_u16,
            "SelectedTls12UsingTls13VersionExtension",
            47,
        ),
        (Versions::Both, 0x0302, "ServerDoesNotSupportTls12Or13", 70),
        (
            Versions::Tls12,
            0x0303,
            "UnsolicitedServerHelloExtension",
            110,
        ),
        (
            Versions::Tls12,
            0x0304,
            "UnsolicitedServerHelloExtension",
            110,
        ),
    ] {
        let clients = forgetful(&identity, Provider::AwsLc, versions);
        let script =
            Script::new().with_extension(bytes(SUPPORTED_VERSIONS, &selected.to_be_bytes()));
        let (text, sent) = our_end(&clients, &identity, &script);
        assert!(text.contains(error), "{versions:?} {selected:#x}: {text}");
        assert_eq!(sent, Some(alert), "{versions:?} {selected:#x}");
    }
}

/// RFC 9846 §4.2.3: the marker at the end of a server's random if it knows a newer version.
#[test]
fn downgrade_markers() {
    let identity = Identity::new(Provider::AwsLc.this());
    for marker in [b"DOWNGRD\x01", b"DOWNGRD\x00"] {
        let script = script(|script| script.hello.random[24..].copy_from_slice(marker));
        let both = forgetful(&identity, Provider::AwsLc, Versions::Both);
        // upstream only knows the first marker
        let (error, alert) = our_end(&both, &identity, &script);
        assert!(error.contains("AttemptedDowngradeToTls12"), "{error}");
        assert_eq!(alert, Some(47));

        // a client without TLS 1.3 receives the marker for TLS 1.2 from any server with TLS 1.3
        let tls12 = forgetful(&identity, Provider::AwsLc, Versions::Tls12);
        assert_eq!(end(&tls12, &identity, &script).error, None);
    }
    // one byte off, the random is an ordinary one
    let script = script(|script| script.hello.random[24..].copy_from_slice(b"DOWNGRD\x02"));
    let both = forgetful(&identity, Provider::AwsLc, Versions::Both);
    assert_eq!(end(&both, &identity, &script).error, None);
}

#[test]
fn a_session_id_for_middleboxes_names_no_session() {
    let identity = Identity::new(Provider::AwsLc.this());
    let clients = forgetful(&identity, Provider::AwsLc, Versions::Both);
    // `None` echoes it
    let script = script(|script| script.hello.session_id = None);
    let end = end(&clients, &identity, &script);
    let error = end.error.unwrap_or_default();
    assert!(
        error.contains("ServerEchoedCompatibilitySessionId"),
        "{error}"
    );
    assert_eq!(end.alert, Some(47));
}

#[test]
fn an_extended_master_secret_may_be_required() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for versions in [Versions::Tls12, Versions::Both] {
            let clients = clients_with(
                &identity,
                provider,
                versions,
                |config| config.require_ems = true,
                |config| config.require_ems = true,
            );
            let refused = end(&clients, &identity, &without(EXTENDED_MASTER_SECRET));
            let error = refused.error.unwrap_or_default();
            assert!(
                error.contains("ExtendedMasterSecretExtensionRequired"),
                "{error}"
            );
            assert_eq!(refused.alert, Some(40));
            assert_eq!(end(&clients, &identity, &Script::new()).error, None);
        }
    }
}

#[test]
fn a_ticket_must_have_been_requested() {
    let identity = Identity::new(Provider::AwsLc.this());
    let clients = clients_with(
        &identity,
        Provider::AwsLc,
        Versions::Tls12,
        |config| config.resumption = rustls::client::Resumption::disabled(),
        |config| config.resumption = rustls_upstream::client::Resumption::disabled(),
    );
    let script = Script::new().with_extension(bytes(SESSION_TICKET, &[]));
    let end = end(&clients, &identity, &script);
    let error = end.error.unwrap_or_default();
    assert!(error.contains("UnsolicitedServerHelloExtension"), "{error}");
}
