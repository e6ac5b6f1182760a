//! Valid and invalid ServerHellos: RFC 9846 §4.2.3. `differential` changes every byte, extension
//! and message.

use harness::peers::configs::product;
use harness::scripted::{Hello, KEY_SHARE, SUPPORTED_VERSIONS, Script, bytes};
use harness::table;
use rustls::PeerIncompatible::*;
use rustls::PeerMisbehaved::*;
use rustls::{AlertDescription as Alert, Error, InvalidMessage, NamedGroup};

use crate::handshake_client::{
    Peers, illegal, refused, script, undecodable, unexpected, wrong_version,
};

/// Creates a script with a change to its ServerHello.
fn hello(change: impl FnOnce(&mut Hello)) -> Script {
    script(|script| change(&mut script.server_hello))
}

#[test]
fn valid_hellos_are_accepted() {
    // a downgrade marker does not matter to TLS 1.3
    let marked = hello(|it| it.random[24..].copy_from_slice(b"DOWNGRD\x01"));
    Peers::new().both_accept([Script::new(), marked]);
}

/// RFC 9846 §4.2.3: a client aborts the handshake if legacy_session_id_echo differs.
#[test]
fn another_session_id_is_refused() {
    let error = Error::General("the ServerHello does not echo the legacy_session_id".into());
    Peers::new().only_we_refuse([vec![], vec![1; 32], vec![1]].map(|id| {
        let wrong = hello(|it| it.session_id = Some(id));
        ("another session ID", wrong, illegal(error.clone()))
    }));
}

#[test]
fn legacy_version_must_be_tls12() {
    let peers = Peers::new();
    let with = |version| hello(|it| it.legacy_version = version);
    peers.both_refuse(table! {
        "TLS 1.1": with(0x0302), wrong_version(ServerDoesNotSupportTls12Or13);
    });
    peers.only_we_refuse(table! {
        "TLS 1.3": with(0x0304), wrong_version(ServerDoesNotSupportTls12Or13);
    });
}

#[test]
fn the_suite_must_be_offered() {
    let peers = Peers::new();
    let with = |suite| hello(|it| it.suite = suite);
    let unoffered = illegal(SelectedUnofferedCipherSuite);
    peers.both_refuse_alerting(table! {
        "one that was not offered": with(0x1304), unoffered, Alert::HandshakeFailure;
    });
    #[cfg(feature = "tls12")]
    peers.both_refuse(table! {
        "one of TLS 1.2": with(0xc02f), illegal(SelectedUnusableCipherSuiteForVersion);
    });
}

#[test]
fn a_hello_without_supported_versions_selects_an_older_version() {
    let peers = Peers::new();
    let with = |version| {
        hello(|it| {
            it.extensions.remove(0);
            it.legacy_version = version;
        })
    };
    let no_block = hello(|it| it.extensions.clear());
    peers.both_refuse(table! {
        "TLS 1.2": with(0x0303), wrong_version(ServerTlsVersionIsDisabledByOurConfig);
        "TLS 1.1": with(0x0302), wrong_version(ServerDoesNotSupportTls12Or13);
        "TLS 1.0": with(0x0301), wrong_version(ServerDoesNotSupportTls12Or13);
        "no extensions": no_block, wrong_version(ServerTlsVersionIsDisabledByOurConfig);
    });
    peers.only_we_refuse(table! {
        "TLS 1.3": with(0x0304), wrong_version(ServerDoesNotSupportTls12Or13);
    });
}

#[test]
fn downgrade_markers_are_detected() {
    // without TLS 1.2, upstream rejects the version before it checks the random
    for (marker, version) in product([b"DOWNGRD\x01", b"DOWNGRD\x00"], [0x0303, 0x0302]) {
        let marked = hello(|it| {
            it.extensions.remove(0);
            it.legacy_version = version;
            it.random[24..].copy_from_slice(marker);
        });
        Peers::new().we_refuse(table! {
            "a marker": marked, illegal(AttemptedDowngradeToTls12WhenTls13IsSupported);
        });
    }
}

#[test]
fn supported_versions_must_select_tls13() {
    let peers = Peers::new();
    let with = |version: &[u8]| hello(|it| it.extensions[0] = bytes(SUPPORTED_VERSIONS, version));
    peers.both_refuse(table! {
        "TLS 1.1": with(&[3, 2]), wrong_version(ServerDoesNotSupportTls12Or13);
        "an unknown version": with(&[3, 5]), wrong_version(ServerDoesNotSupportTls12Or13);
        "a draft": with(&[0x7f, 0x1c]), wrong_version(ServerDoesNotSupportTls12Or13);
        "more": with(&[3, 4, 0]), undecodable(InvalidMessage::TrailingData("ServerExtensions"));
    });
    // without TLS 1.2, upstream does not check how the version was selected
    peers.we_refuse(table! {
        "TLS 1.2": with(&[3, 3]), illegal(SelectedTls12UsingTls13VersionExtension);
    });
}

#[test]
fn the_key_share_must_be_of_an_offered_group() {
    let none = hello(|it| it.extensions.truncate(1));
    let group = |group| script(|it| it.group = group);
    let share = |share: &[u8]| {
        let entry = [&[0, 29, 0, share.len() as u8], share].concat();
        hello(|it| it.extensions[1] = bytes(KEY_SHARE, &entry))
    };
    Peers::new().both_refuse(table! {
        "none": none, refused(MissingKeyShare, Alert::MissingExtension);
        "of a group without a share": group(NamedGroup::secp256r1), illegal(WrongGroupForKeyShare);
        "of another group": group(NamedGroup::secp384r1), illegal(WrongGroupForKeyShare);
        "too short": share(&[1, 2, 3]), illegal(InvalidKeyShare);
        // RFC 9846 §7.4.2
        "for the all-zero result": share(&[0; 32]), illegal(InvalidKeyShare);
    });
}

#[test]
fn extensions_must_be_allowed_in_the_message() {
    let peers = Peers::new();
    let with = |typ, body: &[u8]| hello(|it| it.extensions.push(bytes(typ, body)));
    let misplaced = || illegal(UnexpectedCleartextExtension);
    peers.both_refuse_alerting(table! {
        "server_name": with(0, &[]), misplaced(), Alert::UnsupportedExtension;
    });
    peers.only_we_refuse(table! {
        "supported_groups": with(10, &[0, 2, 0, 29]), misplaced();
    });
}

#[test]
fn nothing_may_follow_the_hello_in_its_record() {
    let with = |rest: &[u8]| script(|it| it.after_server_hello = rest.to_vec());
    let all = &[8, 0, 0, 2, 0, 0];
    Peers::new().both_refuse(table! {
        "EncryptedExtensions": with(all), unexpected(KeyEpochWithPendingFragment);
        "the first byte of a message": with(&all[..1]), unexpected(KeyEpochWithPendingFragment);
    });
}
