//! Valid and invalid HelloRetryRequests (RFC 9846 §4.2.4), and the second ClientHello.

use harness::peers::endpoints::Endpoint;
use harness::scripted::{Conversation, Hello, KEY_SHARE, SUPPORTED_VERSIONS, Script, bytes};
use harness::table;
use harness::wire::client_hello::{COOKIE, ClientHello};
use harness::wire::{self, plain_messages, u16_vec};
use rustls::PeerIncompatible::ServerDoesNotSupportTls12Or13;
use rustls::PeerMisbehaved::*;
use rustls::{AlertDescription as Alert, ContentType, HandshakeKind, InvalidMessage, NamedGroup};

use crate::handshake_client::clients::{
    config, our_client, our_unbuffered_client, provider, their_client,
};
use crate::handshake_client::{
    ACCEPTED, Peers, illegal, script, undecodable, unexpected, wrong_version,
};

fn with(change: impl FnOnce(&mut Script)) -> Script {
    let mut script = Script::with_retry();
    change(&mut script);
    script
}

/// Returns a script with a change to its HelloRetryRequest.
fn retry(change: impl FnOnce(&mut Hello)) -> Script {
    with(|script| change(&mut script.retries[0]))
}

/// Creates a script whose HelloRetryRequest only contains a cookie.
fn for_cookie() -> Script {
    cookie(b"abc")
}

fn cookie(cookie: &[u8]) -> Script {
    with(|script| {
        script.group = NamedGroup::X25519;
        script.retries[0].extensions[1] = bytes(COOKIE, &u16_vec(cookie));
    })
}

#[test]
fn requests_for_a_share_or_a_cookie_are_accepted() {
    let peers = Peers::new();
    let both = retry(|it| it.extensions.push(bytes(COOKIE, &[0, 1, b'a'])));
    peers.both_accept([Script::with_retry(), for_cookie(), both.clone()]);
    let mut client = our_client(config(&peers.identity, provider()));
    peers.identity.run(&mut client, &both);
    let kind = client.conn.handshake_kind();
    assert_eq!(kind, Some(HandshakeKind::FullWithHelloRetryRequest));
    let group = client.conn.negotiated_key_exchange_group().unwrap();
    assert_eq!(group.name(), NamedGroup::secp256r1);
}

/// Runs a script that the client accepts.
fn converse(script: &Script) -> Conversation {
    let peers = Peers::new();
    let mut client = our_client(config(&peers.identity, provider()));
    let conversation = peers.identity.converse(&mut client, script);
    assert_eq!(conversation.outcome, ACCEPTED);
    conversation
}

/// Returns the content types and versions of the records.
fn record_headers(sent: &[u8]) -> Vec<(ContentType, u16)> {
    let records = wire::records(sent).into_iter();
    let headers = records.map(|record| (record.typ.into(), record.legacy_version));
    headers.collect()
}

/// Returns the ClientHello without the extensions that may change.
fn unchanged(hello: &ClientHello) -> ClientHello {
    hello.clone().with(KEY_SHARE, vec![]).without(COOKIE)
}

#[test]
fn the_second_client_hello_follows_the_request_and_changes_nothing_else() {
    for script in [Script::with_retry(), for_cookie()] {
        let messages = converse(&script).messages;
        let [first, second] = [0, 1].map(|at: usize| ClientHello::read(&messages[at]));
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
    let mut client = our_client(config(&Peers::new().identity, provider()));
    let first = record_headers(&client.take_output());
    assert_eq!(first, [(Handshake, 0x0301)]);
    let retried = record_headers(&converse(&Script::with_retry()).sent);
    let second = [(ChangeCipherSpec, 0x0303), (Handshake, 0x0303)];
    let third = [(ApplicationData, 0x0303)];
    assert_eq!(retried, [&first[..], &second, &third].concat());
    let straight = record_headers(&converse(&Script::new()).sent);
    assert_eq!(straight, [&first[..], &second[..1], &third].concat());
}

/// The connection looks like a resumed TLS 1.2 session until its end (RFC 9846 §E.4).
#[test]
fn change_cipher_spec_is_sent_before_an_encrypted_alert() {
    use ContentType::{ApplicationData, ChangeCipherSpec, Handshake};
    let peers = Peers::new();
    let unsolicited = script(|script| script.encrypted_extensions = vec![bytes(0xfafa, &[])]);
    let config = || config(&peers.identity, provider());
    let clients: [Box<dyn Endpoint>; 3] = [
        Box::new(our_client(config())),
        Box::new(our_unbuffered_client(config())),
        Box::new(their_client(&peers.identity, &[])),
    ];
    let protected = [(ChangeCipherSpec, 0x0303), (ApplicationData, 0x0303)];
    for (name, mut client) in ["buffered", "unbuffered", "upstream"].iter().zip(clients) {
        let conversation = peers.identity.converse(&mut *client, &unsolicited);
        let alert = conversation.outcome.alert;
        assert_eq!(alert, Some(Alert::UnsupportedExtension), "{name}");
        let expected = [&[(Handshake, 0x0301)][..], &protected].concat();
        assert_eq!(record_headers(&conversation.sent), expected, "{name}");
    }
}

#[test]
fn versions_and_legacy_fields_are_checked() {
    let peers = Peers::new();
    let version = |body: &[u8]| retry(|it| it.extensions[0] = bytes(SUPPORTED_VERSIONS, body));
    let none = retry(|it| drop(it.extensions.remove(0)));
    let unsupported = || illegal(IllegalHelloRetryRequestWithUnsupportedVersion);
    let wrong_id = illegal(IllegalHelloRetryRequestWithWrongSessionId);
    peers.both_refuse(table! {
        "TLS 1.2": version(&[3, 3]), unsupported();
        "an unknown version": version(&[3, 5]), unsupported();
        "no version": none, unsupported();
        "no session ID": retry(|it| it.session_id = Some(vec![])), wrong_id;
    });
    let legacy = |version| retry(|it| it.legacy_version = version);
    peers.only_we_refuse(table! {
        "legacy TLS 1.1": legacy(0x0302), wrong_version(ServerDoesNotSupportTls12Or13);
        "legacy TLS 1.3": legacy(0x0304), wrong_version(ServerDoesNotSupportTls12Or13);
    });
    let compression = illegal(InvalidMessage::UnsupportedCompression);
    peers.both_refuse_alerting(table! {
        "a compression": retry(|it| it.compression = 1), compression, Alert::DecodeError;
    });
}

#[test]
fn the_suite_must_be_offered_and_stay_the_same() {
    let peers = Peers::new();
    let suite = |suite| retry(|it| it.suite = suite);
    let unoffered = || illegal(IllegalHelloRetryRequestWithUnofferedCipherSuite);
    peers.both_refuse(table! {
        "unoffered": suite(0x1304), unoffered();
        "with another hash": suite(0x1302), illegal(SelectedDifferentCipherSuiteAfterRetry);
        "with the same hash": suite(0x1303), illegal(SelectedDifferentCipherSuiteAfterRetry);
    });
    // upstream notices one message later that a TLS 1.2 suite cannot be used in TLS 1.3
    peers.we_refuse(table! { "of TLS 1.2": suite(0xc02f), unoffered(); });
}

#[test]
fn the_group_must_be_offered_without_a_share() {
    let peers = Peers::new();
    let group = |group: u8| retry(|it| it.extensions[1] = bytes(KEY_SHARE, &[0, group]));
    let no_changes = retry(|it| it.extensions.truncate(1));
    peers.both_refuse(table! {
        "with a share": group(29), illegal(IllegalHelloRetryRequestWithOfferedGroup);
        "unoffered": group(24), illegal(IllegalHelloRetryRequestWithUnofferedNamedGroup);
        "none": no_changes, illegal(IllegalHelloRetryRequestWithNoChanges);
    });
    // a cookie does not make the retry valid
    let mut with_cookie = for_cookie();
    let share = bytes(KEY_SHARE, &[0, 29]);
    with_cookie.retries[0].extensions.push(share);
    peers.only_we_refuse(table! {
        "beside a cookie": with_cookie, illegal(IllegalHelloRetryRequestWithOfferedGroup);
    });
}

#[test]
fn a_cookie_is_echoed_unless_it_is_too_long() {
    let peers = Peers::new();
    let of_len = |len| peers.ours(&cookie(&vec![7; len]));
    let mut client = our_client(config(&peers.identity, provider()));
    let first_len = plain_messages(&client.take_output()).len();
    let fits = 0xffff - first_len - 32;
    assert_eq!(of_len(fits), ACCEPTED);
    let too_large = undecodable(InvalidMessage::MessageTooLarge);
    assert_eq!(of_len(fits + 1), too_large);
    // the longest cookie that fits into a HelloRetryRequest
    assert_ne!(of_len(0xffff - 90), ACCEPTED);
}

#[test]
fn nothing_may_follow_the_request_in_its_record() {
    let followed_by = |rest: &[u8]| with(|it| it.after_retry = rest.to_vec());
    let message = &[8, 0, 0, 2, 0, 0];
    Peers::new().both_refuse(table! {
        "the start of a message": followed_by(&[2]), unexpected(KeyEpochWithPendingFragment);
        "a message": followed_by(message), unexpected(KeyEpochWithPendingFragment);
    });
}

#[test]
fn the_server_hello_must_match_the_retry() {
    let peers = Peers::new();
    let group = |group| with(|it| it.group = group);
    peers.both_refuse(table! {
        "the first share": group(NamedGroup::X25519), illegal(WrongGroupForKeyShare);
        "an unoffered group": group(NamedGroup::secp384r1), illegal(WrongGroupForKeyShare);
    });
    let version_changed =
        with(|it| it.server_hello.extensions[0] = bytes(SUPPORTED_VERSIONS, &[3, 3]));
    peers.we_refuse(table! {
        "TLS 1.2": version_changed, illegal(SelectedTls12UsingTls13VersionExtension);
    });
}
