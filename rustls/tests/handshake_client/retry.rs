//! Valid and invalid HelloRetryRequests (RFC 9846 §4.2.4), and the second ClientHello.

use harness::peers::endpoints::Endpoint;
use harness::scripted::{KEY_SHARE, SUPPORTED_VERSIONS, Script, bytes};
use harness::wire::client_hello::{COOKIE, ClientHello};
use harness::wire::{self, plain_messages, u16_vec, vector};
use rustls::{
    AlertDescription as Alert, ContentType, Error, HandshakeKind, HandshakeType, InvalidMessage,
    NamedGroup, PeerIncompatible, PeerMisbehaved,
};

use crate::handshake_client::clients::{
    Recorded, config, our_client, our_unbuffered_client, provider, their_client,
};
use crate::handshake_client::{
    ACCEPTED, Peers, illegal, script, undecodable, unexpected, unsupported, wrong_version,
};

fn with(change: impl FnOnce(&mut Script)) -> Script {
    let mut script = Script::with_retry();
    change(&mut script);
    script
}

/// A script whose retry only sends a cookie.
fn for_cookie() -> Script {
    with(|script| {
        script.group = NamedGroup::X25519;
        script.retries[0].extensions[1] = bytes(COOKIE, &[0, 3, b'a', b'b', b'c']);
    })
}

#[test]
fn both_causes_are_accepted() {
    let peers = Peers::new();
    peers.both_accept(&Script::with_retry());
    peers.both_accept(&for_cookie());
    let both = with(|script| {
        script.retries[0]
            .extensions
            .push(bytes(COOKIE, &[0, 1, b'a']));
    });
    peers.both_accept(&both);

    let mut client = our_client(config(&peers.identity, provider()));
    peers.identity.run(&mut client, &both);
    assert_eq!(
        client.conn.handshake_kind(),
        Some(HandshakeKind::FullWithHelloRetryRequest)
    );
    let group = client.conn.negotiated_key_exchange_group().unwrap();
    assert_eq!(group.name(), NamedGroup::secp256r1);
}

/// Returns the client's output before, in answer to, and after the script's HelloRetryRequest.
fn sent(script: &Script) -> Vec<Vec<u8>> {
    let peers = Peers::new();
    let mut recorded = Recorded::new(our_client(config(&peers.identity, provider())));
    assert_eq!(peers.identity.run(&mut recorded, script), ACCEPTED);
    recorded.sent
}

/// The content types and versions of the records.
fn record_headers(sent: &[u8]) -> Vec<(ContentType, u16)> {
    let records = wire::records(sent).into_iter();
    let headers = records.map(|record| (record.typ.into(), record.legacy_version));
    headers.collect()
}

/// The ClientHello without the extensions that may change.
fn unchanged(hello: &ClientHello) -> ClientHello {
    let mut hello = hello.clone();
    if let Some((_, body)) = hello
        .extensions
        .iter_mut()
        .find(|(typ, _)| *typ == KEY_SHARE)
    {
        body.clear();
    }
    hello.without(COOKIE)
}

#[test]
fn the_second_client_hello_follows_the_request_and_changes_nothing_else() {
    for script in [Script::with_retry(), for_cookie()] {
        let sent = sent(&script);
        let [first, second] =
            [&sent[0], &sent[1]].map(|sent| ClientHello::read(&plain_messages(sent)));
        assert_eq!(unchanged(&first), unchanged(&second));

        let groups = |hello: &ClientHello| -> Vec<NamedGroup> {
            let shares = hello.key_shares().into_iter();
            shares.map(|(group, _)| group.into()).collect()
        };
        assert_eq!(groups(&first), [NamedGroup::X25519]);
        assert_eq!(groups(&second), [script.group]);
        assert_eq!(first.extension(COOKIE), None);
        let cookie = (script.group == NamedGroup::X25519).then(|| u16_vec(b"abc"));
        assert_eq!(second.extension(COOKIE), cookie.as_deref());
        if cookie.is_some() {
            assert_eq!(first.key_shares(), second.key_shares());
        }
    }
}

#[test]
fn change_cipher_spec_is_sent_once_before_the_second_flight() {
    use ContentType::{ApplicationData, ChangeCipherSpec, Handshake};
    let sent_headers = |script: &Script| -> Vec<Vec<(ContentType, u16)>> {
        let sent = sent(script);
        sent.iter().map(|sent| record_headers(sent)).collect()
    };
    let retried = sent_headers(&Script::with_retry());
    assert_eq!(retried[0], [(Handshake, 0x0301)]);
    assert_eq!(
        retried[1],
        [(ChangeCipherSpec, 0x0303), (Handshake, 0x0303)]
    );
    assert_eq!(retried[2], [(ApplicationData, 0x0303)]);

    let straight = sent_headers(&Script::new());
    assert_eq!(straight[0], [(Handshake, 0x0301)]);
    assert_eq!(
        straight[1],
        [(ChangeCipherSpec, 0x0303), (ApplicationData, 0x0303)]
    );
}

/// Up to its end, the connection looks like a resumed TLS 1.2 session (RFC 9846 §E.4).
#[test]
fn change_cipher_spec_is_sent_before_an_alert_that_is_protected() {
    use ContentType::{ApplicationData, ChangeCipherSpec, Handshake};
    let peers = Peers::new();
    let unsolicited = script(|script| script.encrypted_extensions = vec![bytes(0xfafa, &[])]);
    let sent_headers = |client: &mut dyn Endpoint| {
        let conversation = peers.identity.converse(client, &unsolicited);
        let alert = conversation.outcome.alert;
        assert_eq!(alert, Some(Alert::UnsupportedExtension));
        record_headers(&conversation.sent)
    };
    let expected = [
        (Handshake, 0x0301),
        (ChangeCipherSpec, 0x0303),
        (ApplicationData, 0x0303),
    ];
    let config = || config(&peers.identity, provider());
    assert_eq!(sent_headers(&mut our_client(config())), expected);
    assert_eq!(sent_headers(&mut our_unbuffered_client(config())), expected);
    let theirs = sent_headers(&mut their_client(&peers.identity, &[]));
    assert_eq!(theirs, expected);
}

#[test]
fn versions_are_checked() {
    let peers = Peers::new();
    let version =
        |version: &[u8]| with(|script| script.retries[0].extensions[0] = bytes(43, version));
    let none = with(|script| {
        script.retries[0].extensions.remove(0);
    });
    for script in [version(&[3, 3]), version(&[3, 5]), none] {
        peers.both_refuse(
            &script,
            illegal(PeerMisbehaved::IllegalHelloRetryRequestWithUnsupportedVersion),
        );
    }
    for legacy_version in [0x0302, 0x0304] {
        peers.only_we_refuse(
            &with(|script| script.retries[0].legacy_version = legacy_version),
            wrong_version(PeerIncompatible::ServerDoesNotSupportTls12Or13),
        );
    }
}

#[test]
fn legacy_fields_are_checked() {
    let peers = Peers::new();
    peers.both_refuse(
        &with(|script| script.retries[0].session_id = Some(vec![])),
        illegal(PeerMisbehaved::IllegalHelloRetryRequestWithWrongSessionId),
    );
    peers.both_refuse_alerting(
        &with(|script| script.retries[0].compression = 1),
        illegal(InvalidMessage::UnsupportedCompression),
        Alert::DecodeError,
    );
}

#[test]
fn the_suite_must_be_one_offered_and_stay() {
    let peers = Peers::new();
    let suite = |suite| with(|script| script.retries[0].suite = suite);
    peers.both_refuse(
        &suite(0x1304),
        illegal(PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedCipherSuite),
    );
    // upstream notices one message later that a TLS 1.2 suite does not fit TLS 1.3
    assert_eq!(
        peers.ours(&suite(0xc02f)),
        illegal(PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedCipherSuite)
    );
    // a suite with another hash, and one with the same
    for other in [0x1302, 0x1303] {
        peers.both_refuse(
            &suite(other),
            illegal(PeerMisbehaved::SelectedDifferentCipherSuiteAfterRetry),
        );
    }
}

#[test]
fn the_group_must_be_one_offered_without_a_share() {
    let peers = Peers::new();
    let group =
        |group: u8| with(|script| script.retries[0].extensions[1] = bytes(KEY_SHARE, &[0, group]));
    peers.both_refuse(
        &group(29),
        illegal(PeerMisbehaved::IllegalHelloRetryRequestWithOfferedGroup),
    );
    peers.both_refuse(
        &group(24),
        illegal(PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedNamedGroup),
    );
    // a cookie does not make the retry valid
    let mut with_cookie = for_cookie();
    with_cookie.retries[0]
        .extensions
        .push(bytes(KEY_SHARE, &[0, 29]));
    peers.only_we_refuse(
        &with_cookie,
        illegal(PeerMisbehaved::IllegalHelloRetryRequestWithOfferedGroup),
    );
}

#[test]
fn the_retry_must_change_the_hello() {
    Peers::new().both_refuse(
        &with(|script| {
            script.retries[0].extensions.pop();
        }),
        illegal(PeerMisbehaved::IllegalHelloRetryRequestWithNoChanges),
    );
}

#[test]
fn extensions_are_checked() {
    let peers = Peers::new();
    let extension =
        |typ, body: &[u8]| with(|script| script.retries[0].extensions.push(bytes(typ, body)));
    // unknown, ALPN, supported_groups
    for (typ, body) in [
        (0xfafa, &[][..]),
        (16, &[0, 3, 2, b'h', b'2']),
        (10, &[0, 2, 0, 29]),
    ] {
        peers.both_refuse(
            &extension(typ, body),
            unsupported(InvalidMessage::UnknownHelloRetryRequestExtension),
        );
    }
    peers.both_refuse(
        &extension(0xfe0d, &[0; 8]),
        unsupported(PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch),
    );
    peers.both_refuse(
        &extension(SUPPORTED_VERSIONS, &[3, 4]),
        illegal(InvalidMessage::DuplicateExtension(SUPPORTED_VERSIONS)),
    );
    let mut empty_cookie = for_cookie();
    empty_cookie.retries[0].extensions[1] = bytes(COOKIE, &[0, 0]);
    assert_eq!(peers.ours(&empty_cookie), peers.theirs(&empty_cookie));
    assert_ne!(peers.ours(&empty_cookie), ACCEPTED);
}

#[test]
fn a_cookie_that_does_not_fit_is_refused_and_any_other_echoed() {
    let peers = Peers::new();
    let cookie = |len| {
        let mut script = for_cookie();
        let cookie = vec![7; len];
        script.retries[0].extensions[1] = bytes(COOKIE, &vector(2, &cookie));
        script
    };
    let first_len =
        plain_messages(&our_client(config(&peers.identity, provider())).take_output()).len();
    let fits = 0xffff - first_len - 32;
    assert_eq!(peers.ours(&cookie(fits)), ACCEPTED);
    assert_eq!(
        peers.ours(&cookie(fits + 1)),
        undecodable(InvalidMessage::MessageTooLarge)
    );
    // the longest cookie that fits into a HelloRetryRequest
    assert_ne!(peers.ours(&cookie(0xffff - 90)), ACCEPTED);
}

#[test]
fn nothing_may_follow_in_its_record() {
    let peers = Peers::new();
    for rest in [vec![2], vec![8, 0, 0, 2, 0, 0]] {
        peers.both_refuse(
            &with(|script| script.after_retry = rest),
            unexpected(PeerMisbehaved::KeyEpochWithPendingFragment),
        );
    }
}

#[test]
fn a_second_one_is_unexpected() {
    let peers = Peers::new();
    let error = Error::InappropriateHandshakeMessage {
        expect_types: vec![HandshakeType::ServerHello],
        got_type: HandshakeType::HelloRetryRequest,
    };
    let twice = with(|script| script.retries.push(script.retries[0].clone()));
    peers.both_refuse(&twice, unexpected(error.clone()));
    let other = with(|script| script.retries.push(for_cookie().retries[0].clone()));
    peers.both_refuse(&other, unexpected(error));
}

#[test]
fn the_server_hello_must_match_the_retry() {
    let peers = Peers::new();
    // back to the first share, or to a group that was never offered
    for group in [NamedGroup::X25519, NamedGroup::secp384r1] {
        peers.both_refuse(
            &with(|script| script.group = group),
            illegal(PeerMisbehaved::WrongGroupForKeyShare),
        );
    }
    let version_changed = with(|script| {
        script.server_hello.extensions[0] = bytes(SUPPORTED_VERSIONS, &[3, 3]);
    });
    assert_eq!(
        peers.ours(&version_changed),
        illegal(PeerMisbehaved::SelectedTls12UsingTls13VersionExtension)
    );
}
