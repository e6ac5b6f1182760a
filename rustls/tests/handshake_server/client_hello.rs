//! First ClientHellos, valid and invalid.

use harness::peers::endpoints::Endpoint;
use harness::table;
use harness::wire::client_hello::*;
use harness::wire::*;
use rustls::AlertDescription::{
    self, DecodeError, HandshakeFailure, IllegalParameter, MissingExtension, ProtocolVersion,
    UnexpectedMessage,
};
use rustls::HandshakeType;

use crate::handshake_server::servers::{PROVIDERS, Sent, Setup, records};

/// A server's response to the last of several records.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) error: Option<String>,
    pub(crate) sent: Vec<Sent>,
}

pub(crate) fn answer(server: &mut dyn Endpoint, received: &[Vec<u8>]) -> Answer {
    let mut error = None;
    let mut output = vec![];
    for record in received {
        assert_eq!(error, None, "the server gave up too early");
        error = server.receive(record).err();
        output = server.take_output();
    }
    Answer {
        error,
        sent: records(&output),
    }
}

pub(crate) fn refused(error: &str, alert: AlertDescription) -> Answer {
    Answer {
        error: Some(error.to_string()),
        sent: vec![Sent::Alert(alert)],
    }
}

pub(crate) fn misbehaved(error: &str, alert: AlertDescription) -> Answer {
    refused(&format!("PeerMisbehaved({error})"), alert)
}

pub(crate) fn incompatible(error: &str, alert: AlertDescription) -> Answer {
    refused(&format!("PeerIncompatible({error})"), alert)
}

pub(crate) fn invalid(error: &str, alert: AlertDescription) -> Answer {
    refused(&format!("InvalidMessage({error})"), alert)
}

pub(crate) fn flight() -> Answer {
    Answer {
        error: None,
        sent: vec![
            Sent::Handshake(HandshakeType::ServerHello),
            Sent::ChangeCipherSpec,
            Sent::Encrypted,
        ],
    }
}

pub(crate) fn retry_request() -> Answer {
    let mut answer = flight();
    answer.sent.pop();
    answer
}

/// A description, a ClientHello and the expected answer.
pub(crate) type Case<'a> = (&'a str, ClientHello, &'a Answer);

impl Setup {
    /// Asserts that the servers of both crates give the expected answer to the last record.
    pub(crate) fn expect_answer(&self, what: &str, records: &[Vec<u8>], expected: &Answer) {
        for (api, mut server) in ["buffered", "unbuffered", "upstream"]
            .iter()
            .zip(self.all())
        {
            let answer = answer(&mut *server, records);
            assert_eq!(answer, *expected, "{what}, {api}");
        }
    }

    pub(crate) fn expect_same<'a>(&self, cases: impl IntoIterator<Item = Case<'a>>) {
        for (what, hello, expected) in cases {
            self.expect_answer(what, &[hello.record()], expected);
        }
    }

    /// Asserts that only this crate's servers give the expected answers.
    fn expect_ours<'a>(&self, cases: impl IntoIterator<Item = Case<'a>>) {
        for (name, hello, expected) in cases {
            let answers = self.all().map(|mut it| answer(&mut *it, &[hello.record()]));
            for answer in &answers[..2] {
                assert_eq!(answer, expected, "{name}");
            }
            assert_ne!(&answers[2], expected, "{name}: not a difference");
        }
    }
}

#[test]
fn versions_are_negotiated_or_refused() {
    let not_offered = incompatible("Tls12NotOffered", ProtocolVersion);
    let neither = incompatible("Tls12NotOfferedOrEnabled", ProtocolVersion);
    let no_extension = incompatible("SupportedVersionsExtensionRequired", ProtocolVersion);
    let empty = invalid("IllegalEmptyList(\"ProtocolVersions\")", DecodeError);
    let flight = flight();
    let setup = Setup::new(PROVIDERS[0]);

    let versions =
        |versions: &[u16]| ClientHello::new().with(SUPPORTED_VERSIONS, u8_vec(&u16s(versions)));
    let legacy = |version| ClientHello::new().edit(|hello| hello.legacy_version = version);
    let old_style = |version| legacy(version).without(SUPPORTED_VERSIONS);
    setup.expect_same(table! {
        "1.3": ClientHello::new(), &flight;
        "unknown and 1.3": versions(&[0x0a0a, 0x0304]), &flight;
        "1.2 and 1.3": versions(&[0x0303, 0x0304]), &flight;
        "1.2": versions(&[0x0303]), &neither;
        "unknown": versions(&[0x0a0a]), &neither;
        "1.2, 1.2 style": old_style(0x0303), &no_extension;
        "1.3, 1.2 style": old_style(0x0304), &no_extension;
        "1.1": old_style(0x0302), &not_offered;
        "none": versions(&[]), &empty;
        "no extensions": ClientHello::new().edit(|hello| hello.extensions = vec![]),
            &incompatible("SignatureAlgorithmsExtensionRequired", HandshakeFailure);
    });
    // RFC 9846 §4.2.2: legacy_version must be 0x0303, which upstream does not check
    for version in [0x0300, 0x0301, 0x0302, 0x0304, 0x0403] {
        let name = format!("legacy_version {version:#x}");
        setup.expect_ours([(&*name, legacy(version), &not_offered)]);
    }
}

/// RFC 9846 §4.2.3: the server generates a random for each handshake.
#[test]
fn no_two_server_hellos_have_the_same_random() {
    for provider in PROVIDERS {
        let setup = Setup::new(provider);
        let random = || {
            let mut server = setup.ours();
            server.receive(&ClientHello::new().record()).unwrap();
            let server_hello = plain_messages(&server.take_output());
            server_hello[6..38].to_vec()
        };
        assert_ne!(random(), random());
    }
}

#[test]
fn compression_and_session_ids_are_checked() {
    let incorrect = misbehaved("OfferedIncorrectCompressions", IllegalParameter);
    let not_null = incompatible("NullCompressionRequired", IllegalParameter);
    let empty = invalid("IllegalEmptyList(\"Compressions\")", DecodeError);
    let too_long = invalid("TrailingData(\"SessionID\")", DecodeError);
    let setup = Setup::new(PROVIDERS[0]);

    let compression =
        |methods: &[u8]| ClientHello::new().edit(|hello| hello.compression = methods.to_vec());
    let session_id = |len| ClientHello::new().edit(|hello| hello.session_id = vec![1; len]);
    setup.expect_same(table! {
        "null and deflate": compression(&[0, 1]), &incorrect;
        "deflate": compression(&[1]), &not_null;
        "none": compression(&[]), &empty;
        "short session id": session_id(1), &flight();
        "long session id": session_id(33), &too_long;
    });
    // RFC 9846 §E.4: change_cipher_spec answers a session ID; upstream always sends one
    let without = |mut answer: Answer| {
        answer.sent.retain(|sent| *sent != Sent::ChangeCipherSpec);
        answer
    };
    let (flight, retry) = (without(flight()), without(retry_request()));
    let no_share = session_id(0).with(KEY_SHARE, key_shares(&[]));
    setup.expect_ours(table! {
        "no session id": session_id(0), &flight;
        "no session id, retried": no_share, &retry;
    });
}

#[test]
fn server_names_are_checked() {
    let no_host_name = misbehaved("ServerNameMustContainOneHostName", IllegalParameter);
    let two = invalid("InvalidServerName", DecodeError);
    let flight = flight();
    let setup = Setup::new(PROVIDERS[0]);

    let name = |name: &[u8]| ClientHello::new().with(SERVER_NAME, host_name(name));
    let list = |list: &[u8]| ClientHello::new().with(SERVER_NAME, u16_vec(list));
    setup.expect_same(table! {
        "upper case": name(b"LOCALHOST"), &flight;
        "an address": name(b"127.0.0.1"), &flight;
        "none": ClientHello::new().without(SERVER_NAME), &flight;
        "a space": name(b"local host"), &no_host_name;
        "another type": list(&[1, 0, 1, b'a']), &no_host_name;
        "two": list(&[0, 0, 1, b'a', 0, 0, 1, b'b']), &two;
    });

    let reported = |hello: ClientHello| {
        let mut server = setup.ours();
        server.receive(&hello.record()).unwrap();
        server.server_name()
    };
    let lower_case = reported(name(b"Example.COM"));
    assert_eq!(lower_case.as_deref(), Some("example.com"));
    assert_eq!(reported(name(b"127.0.0.1")), None);
}

#[test]
fn pre_shared_keys_are_checked_even_if_none_is_used() {
    let mismatch = misbehaved("PskExtensionWithMismatchedIdsAndBinders", IllegalParameter);
    let no_modes = misbehaved("MissingPskModesExtension", MissingExtension);
    let not_last = invalid("PreSharedKeyIsNotFinalExtension", IllegalParameter);
    let empty = invalid("IllegalEmptyList(\"PskIdentities\")", DecodeError);
    let flight = flight();

    let modes = || ClientHello::new().and(PSK_KEY_EXCHANGE_MODES, u8_vec(&[1]));
    let psks = |identities, binders| modes().and(PRE_SHARED_KEY, offered_psks(identities, binders));
    let without_modes = psks(1, 1).without(PSK_KEY_EXCHANGE_MODES);
    let padded = ClientHello::new().with_psk().and(PADDING, vec![]);
    Setup::new(PROVIDERS[0]).expect_same(table! {
        "good": psks(1, 1), &flight;
        "two": psks(2, 2), &flight;
        "early data": ClientHello::new().with_early_data(), &flight;
        "a missing binder": psks(2, 1), &mismatch;
        "an extra binder": psks(1, 2), &mismatch;
        "no modes": without_modes, &no_modes;
        "not last": padded, &not_last;
        "no identities": psks(0, 0), &empty;
    });
}

#[test]
fn unknown_extensions_are_ignored_and_duplicate_ones_refused() {
    let known_twice = invalid("DuplicateExtension(0)", IllegalParameter);
    let unknown_twice = invalid("DuplicateExtension(30583)", IllegalParameter);
    let trailing = invalid("TrailingData(\"ClientHelloPayload\")", DecodeError);
    let flight = flight();

    let with = |typ, body| ClientHello::new().and(typ, body);
    let trailing_data = ClientHello::new().edit(|hello| hello.trailing = vec![0]);
    let twice = with(0x7777, vec![]).and(0x7777, vec![]);
    let same_name = with(SERVER_NAME, host_name(b"localhost"));
    Setup::new(PROVIDERS[0]).expect_same(table! {
        "unknown": with(0x0a0a, vec![1]), &flight;
        "padding": with(PADDING, vec![0; 100]), &flight;
        "unsolicited cookie": with(COOKIE, u16_vec(b"c")), &flight;
        // the code point of QUIC's drafts, which is unassigned
        "a draft of QUIC": with(0xffa5, vec![1, 2, 3]), &flight;
        "a known one twice": same_name, &known_twice;
        "an unknown one twice": twice, &unknown_twice;
        "trailing data": trailing_data, &trailing;
    });
}

/// RFC 9846 §5.1: handshake messages must not span key changes.
#[test]
fn nothing_may_follow_the_client_hello_in_its_record() {
    let pending = misbehaved("KeyEpochWithPendingFragment", UnexpectedMessage);
    let hello = ClientHello::new().message();
    let without_share = ClientHello::without_share().message();
    for (what, hello, behind) in table! {
        "the start of a message": &hello, &[20][..];
        "another hello": &hello, &hello;
        "the start of another hello": &without_share, &[1];
    } {
        let records = [record(0x16, &[hello, behind].concat())];
        Setup::new(PROVIDERS[0]).expect_answer(what, &records, &pending);
    }
}
