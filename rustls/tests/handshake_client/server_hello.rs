//! Valid and invalid ServerHellos: RFC 9846 §4.2.3.

use harness::peers::configs::product;
use harness::scripted::{KEY_SHARE, SUPPORTED_VERSIONS, Script, bytes};
use rustls::{
    AlertDescription as Alert, Error, HandshakeType, InvalidMessage, NamedGroup, PeerIncompatible,
    PeerMisbehaved,
};

use crate::handshake_client::{
    Peers, illegal, refused, script, undecodable, unexpected, unsupported, wrong_version,
};

#[test]
fn valid_ones_are_accepted() {
    let peers = Peers::new();
    peers.both_accept(&Script::new());
    // a downgrade marker does not matter to TLS 1.3
    peers.both_accept(&script(|script| {
        script.server_hello.random[24..].copy_from_slice(b"DOWNGRD\x01");
    }));
}

/// RFC 9846 §4.2.3: a client aborts the handshake if legacy_session_id_echo differs.
#[test]
fn session_id_must_be_echoed() {
    let peers = Peers::new();
    let error = Error::General("the ServerHello does not echo the legacy_session_id".into());
    for session_id in [vec![], vec![1; 32], vec![1]] {
        let wrong = script(|script| script.server_hello.session_id = Some(session_id));
        peers.only_we_refuse(&wrong, illegal(error.clone()));
    }
}

#[test]
fn legacy_version_must_be_tls12() {
    let peers = Peers::new();
    let with = |version| script(|script| script.server_hello.legacy_version = version);
    let error = PeerIncompatible::ServerDoesNotSupportTls12Or13;
    peers.both_refuse(&with(0x0302), wrong_version(error.clone()));
    peers.only_we_refuse(&with(0x0304), wrong_version(error));
}

#[test]
fn suite_must_be_one_offered() {
    let peers = Peers::new();
    let with = |suite| script(|script| script.server_hello.suite = suite);
    peers.both_refuse_alerting(
        &with(0x1304),
        illegal(PeerMisbehaved::SelectedUnofferedCipherSuite),
        Alert::HandshakeFailure,
    );
    #[cfg(feature = "tls12")]
    peers.both_refuse(
        &with(0xc02f),
        illegal(PeerMisbehaved::SelectedUnusableCipherSuiteForVersion),
    );
}

#[test]
fn compression_must_be_null() {
    Peers::new().both_refuse(
        &script(|script| script.server_hello.compression = 1),
        illegal(PeerMisbehaved::SelectedUnofferedCompression),
    );
}

#[test]
fn without_supported_versions_it_is_an_older_version() {
    let peers = Peers::new();
    let with = |version| {
        script(|script| {
            script.server_hello.extensions.remove(0);
            script.server_hello.legacy_version = version;
        })
    };
    peers.both_refuse(
        &with(0x0303),
        wrong_version(PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig),
    );
    let too_old = PeerIncompatible::ServerDoesNotSupportTls12Or13;
    peers.both_refuse(&with(0x0302), wrong_version(too_old.clone()));
    peers.both_refuse(&with(0x0301), wrong_version(too_old.clone()));
    peers.only_we_refuse(&with(0x0304), wrong_version(too_old));

    let mut no_block = with(0x0303);
    no_block.server_hello.extensions.clear();
    peers.both_refuse(
        &no_block,
        wrong_version(PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig),
    );
}

#[test]
fn downgrade_markers_are_seen() {
    // without TLS 1.2, upstream rejects the version before it checks the random
    let peers = Peers::new();
    for (marker, version) in product([b"DOWNGRD\x01", b"DOWNGRD\x00"], [0x0303, 0x0302]) {
        let script = script(|script| {
            script.server_hello.extensions.remove(0);
            script.server_hello.legacy_version = version;
            script.server_hello.random[24..].copy_from_slice(marker);
        });
        assert_eq!(
            peers.ours(&script),
            illegal(PeerMisbehaved::AttemptedDowngradeToTls12WhenTls13IsSupported)
        );
    }
}

#[test]
fn supported_versions_must_select_tls13() {
    let peers = Peers::new();
    let with = |version: &[u8]| {
        script(|script| script.server_hello.extensions[0] = bytes(SUPPORTED_VERSIONS, version))
    };
    for version in [[3, 2], [3, 5], [0x7f, 0x1c]] {
        peers.both_refuse(
            &with(&version),
            wrong_version(PeerIncompatible::ServerDoesNotSupportTls12Or13),
        );
    }
    // without TLS 1.2, upstream does not check how the version was selected
    assert_eq!(
        peers.ours(&with(&[3, 3])),
        illegal(PeerMisbehaved::SelectedTls12UsingTls13VersionExtension)
    );
    peers.both_refuse(
        &with(&[3, 4, 0]),
        undecodable(InvalidMessage::TrailingData("ServerExtensions")),
    );
}

#[test]
fn key_share_must_answer_one_offered() {
    let peers = Peers::new();
    peers.both_refuse(
        &script(|script| {
            script.server_hello.extensions.pop();
        }),
        refused(PeerMisbehaved::MissingKeyShare, Alert::MissingExtension),
    );
    for group in [NamedGroup::secp256r1, NamedGroup::secp384r1] {
        peers.both_refuse(
            &script(|script| script.group = group),
            illegal(PeerMisbehaved::WrongGroupForKeyShare),
        );
    }
    let with_share = |share: &[u8]| {
        let entry = [&[0, 29, 0, share.len() as u8], share].concat();
        script(|script| script.server_hello.extensions[1] = bytes(KEY_SHARE, &entry))
    };
    // RFC 9846 §7.4.2: includes the all-zero result
    for share in [&[1, 2, 3][..], &[0; 32]] {
        peers.both_refuse(&with_share(share), illegal(PeerMisbehaved::InvalidKeyShare));
    }
}

#[test]
fn extensions_must_have_been_offered() {
    let peers = Peers::new();
    let with =
        |typ, body: &[u8]| script(|script| script.server_hello.extensions.push(bytes(typ, body)));
    // unknown, ALPN, pre_shared_key, early_data, cookie
    let unsolicited = [
        (0xfafa, &[][..]),
        (16, &[0, 3, 2, b'h', b'2']),
        (41, &[0, 0]),
        (42, &[]),
        (44, &[0, 1, 1]),
    ];
    for (typ, body) in unsolicited {
        peers.both_refuse(
            &with(typ, body),
            unsupported(PeerMisbehaved::UnsolicitedServerHelloExtension),
        );
    }
}

#[test]
fn extensions_must_belong_here() {
    let peers = Peers::new();
    let with =
        |typ, body: &[u8]| script(|script| script.server_hello.extensions.push(bytes(typ, body)));
    let error = PeerMisbehaved::UnexpectedCleartextExtension;
    // server_name
    peers.both_refuse_alerting(
        &with(0, &[]),
        illegal(error.clone()),
        Alert::UnsupportedExtension,
    );
    // supported_groups
    peers.only_we_refuse(&with(10, &[0, 2, 0, 29]), illegal(error));
    peers.both_refuse(
        &with(SUPPORTED_VERSIONS, &[3, 4]),
        illegal(InvalidMessage::DuplicateExtension(SUPPORTED_VERSIONS)),
    );
}

#[test]
fn nothing_may_follow_in_its_record() {
    let peers = Peers::new();
    // EncryptedExtensions, and the first byte of one
    for rest in [vec![8, 0, 0, 2, 0, 0], vec![8]] {
        peers.both_refuse(
            &script(|script| script.after_server_hello = rest),
            unexpected(PeerMisbehaved::KeyEpochWithPendingFragment),
        );
    }
}

#[test]
fn messages_come_in_order() {
    use HandshakeType as T;
    let expect = |flight: &[T], expected: &[T], got_type| {
        let error = Error::InappropriateHandshakeMessage {
            expect_types: expected.to_vec(),
            got_type,
        };
        let script = script(|script| script.flight = flight.to_vec());
        Peers::new().both_refuse(&script, unexpected(error));
    };
    let ee = T::EncryptedExtensions;
    let (request, certificate) = (T::CertificateRequest, T::Certificate);
    let compressed = T::CompressedCertificate;
    let (verify, finished) = (T::CertificateVerify, T::Finished);

    expect(&[certificate], &[ee], certificate);
    expect(&[request], &[ee], request);
    expect(&[finished], &[ee], finished);
    expect(&[ee, ee], &[certificate, request, compressed], ee);
    expect(&[ee, verify], &[certificate, request, compressed], verify);
    expect(
        &[ee, finished],
        &[certificate, request, compressed],
        finished,
    );
    expect(&[ee, request, request], &[certificate, compressed], request);
    expect(&[ee, request, verify], &[certificate, compressed], verify);
    expect(&[ee, certificate, request], &[verify], request);
    expect(&[ee, certificate, certificate], &[verify], certificate);
    expect(&[ee, certificate, finished], &[verify], finished);
    expect(&[ee, certificate, verify, ee], &[finished], ee);
    expect(&[ee, certificate, verify, verify], &[finished], verify);
}
