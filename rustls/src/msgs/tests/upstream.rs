//! Reads the same bytes with rustls 0.23 and with this crate: both accept them, or both reject them
//! with the same error.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use harness::peers::additions;
use harness::wire::Reader;
use harness::wire::client_hello::ClientHello;
use rustls_core::enums::ExtensionType;
use rustls_core::error::InvalidMessage;
use rustls_upstream::internal::msgs::base::Payload;
use rustls_upstream::internal::msgs::message::{Message, PlainMessage};
use rustls_upstream::{ContentType, ProtocolVersion};

use super::decoded::{self, Decoded};
use super::samples::{message, samples};

/// Returns the samples without the extensions that only one of the crates parses: ECH, which
/// upstream parses, and the additions of this crate.
fn shared_samples() -> Vec<(&'static str, Vec<u8>)> {
    const ECH: u16 = 0xfe0d;
    let is_shared = |(typ, _): &(u16, Vec<u8>)| *typ != ECH && !additions::EXTENSIONS.contains(typ);
    let mut samples = samples();
    for (name, bytes) in &mut samples {
        match *name {
            "ClientHello" => {
                let mut hello = ClientHello::read(bytes);
                hello.extensions.retain(is_shared);
                *bytes = hello.message();
            }
            "EncryptedExtensions" => {
                let mut block = Reader::of_message(bytes, bytes[0]).extensions();
                block.retain(is_shared);
                let block = block.iter().map(|(typ, body)| extension(*typ, body));
                *bytes = message(bytes[0], &vector16(&block.collect::<Vec<_>>().concat()));
            }
            _ => {}
        }
    }
    samples
}

#[test]
fn undamaged_messages_are_read_as_upstream_reads_them() {
    for (name, bytes) in samples() {
        assert_eq!(upstream_verdict(&bytes), Ok(()), "{name}");
    }
}

#[test]
fn messages_with_a_changed_byte_are_read_as_upstream_reads_them() {
    for (name, bytes) in shared_samples() {
        // the joiner handles the header
        for at in 4..bytes.len() {
            for value in [
                0,
                1,
                2,
                0x7f,
                0xff,
                bytes[at] ^ 1,
                bytes[at].wrapping_add(1),
            ] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                assert_same_verdict(&format!("{name}: {value:#04x} at {at}"), &damaged);
            }
        }
    }
}

#[test]
fn truncated_and_extended_messages_are_read_as_upstream_reads_them() {
    for (name, bytes) in shared_samples() {
        let body = &bytes[4..];
        for at in 0..=body.len() {
            let (front, back) = body.split_at(at);
            assert_same_verdict(
                &format!("{name} truncated to {at}"),
                &message(bytes[0], front),
            );
            for value in [0, 1, 0xff] {
                let stretched = message(bytes[0], &[front, &[value], back].concat());
                assert_same_verdict(&format!("{name} with {value} inserted at {at}"), &stretched);
            }
        }
    }
}

/// Both libraries reject these types as unexpected, although upstream has no number for some of
/// them.
#[test]
fn types_without_a_message_are_handled_like_upstream() {
    for typ in [0, 7, 9, 26, 67, 255] {
        assert_same_verdict(&format!("type {typ}"), &message(typ, b""));
        assert_same_verdict(&format!("type {typ}"), &message(typ, b"body"));
    }
    assert_same_verdict("EndOfEarlyData", &message(5, b""));
}

#[test]
fn extension_bodies_are_read_as_upstream_reads_them() {
    // for each type, bodies of the shapes that extensions have: empty, numbers, vectors of each
    // width
    let bodies: Vec<Vec<u8>> = [
        &[][..],
        &[0],
        &[1],
        &[0, 0],
        &[1, 0],
        &[2, 0],
        &[3, 4],
        &[0, 1, 0],
        &[0, 1, 1],
        &[0, 2, 0],
        &[2, 0, 1],
        &[2, 3, 4],
        &[3, 3, 4, 3],
        &[0, 0, 0],
        &[0, 2, 4, 3],
        &[0, 2, 4, 3, 0],
        &[0, 3, 2, b'h', b'2'],
        &[0, 3, 2, b'h', b'2', 0],
        &[0, 3, 3, b'h', b'2'],
        &[0, 4, 1, b'h', 1, b'h'],
        &[0, 3, 1, b'h', 0],
        &[0, 5, 0, 29, 0, 1, 9],
        &[0, 4, 0, 29, 0, 0],
        &[0, 29, 0, 1, 9],
        &[0, 29, 0, 0],
        &[0, 29, 0, 2, 9],
        &[1, 0, 0, 0, 0],
        &[1, 0, 0, 0, 0, 0],
        &[1, 0, 3, 0, 1, 9, 0, 1, 9],
        &[1, 0, 3, 0, 2, 9, 0, 0],
        &[1, 0, 0, 1, 9],
        &[1, 0, 0, 1, 9, 9],
        &[1, 0, 0, 0],
        &[2, 0, 0, 1, 9],
        &[0, 0, 64, 0],
        &[0, 0, 64, 0, 0],
    ]
    .map(<[u8]>::to_vec)
    .into();

    for block in Block::ALL {
        for typ in extension_types() {
            for body in &bodies {
                let once = extension(typ, body);
                assert_same_verdict(&format!("{block:?} {typ} {body:?}"), &block.message(&once));
            }
        }
    }
}

#[test]
fn duplicate_extensions_are_handled_like_upstream() {
    let bodies = [
        &[][..],
        &[0],
        &[3, 4],
        &[0; 4],
        &[1, 0, 0, 1, 9],
        &[0, 2, 4, 3],
    ];
    let mut compared = 0;
    for block in Block::ALL {
        for (typ, body) in extension_types()
            .into_iter()
            .flat_map(|typ| bodies.map(|body| (typ, body)))
        {
            let once = extension(typ, body);
            // so that only the second one is an error
            if upstream_verdict(&block.message(&once)).is_ok() {
                let what = format!("{block:?} {typ} twice");
                assert_same_verdict(&what, &block.message(&once.repeat(2)));
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn a_pre_shared_key_must_be_last() {
    let psk = |identities: &[u8], binders: &[u8]| {
        extension(
            41,
            &[&vector16(identities)[..], &vector16(binders)].concat(),
        )
    };
    let identity = [0, 1, 9, 0, 0, 0, 1];
    let binder = [&[32][..], &[7; 32]].concat();
    let good = psk(&identity, &binder);
    for (name, extensions) in [
        ("last", vec![extension(23, &[]), good.clone()]),
        ("not last", vec![good.clone(), extension(45, &[1, 1])]),
        (
            "before an unknown one",
            vec![good.clone(), extension(0x1234, &[])],
        ),
        (
            "before a malformed one",
            vec![good.clone(), extension(45, &[])],
        ),
        ("before half an extension", vec![good.clone(), vec![0]]),
        (
            "before a second one",
            vec![extension(23, &[]), good.clone(), extension(23, &[])],
        ),
        ("twice", vec![good.clone(), good]),
        ("no identity", vec![psk(&[], &binder)]),
        ("no binder", vec![psk(&identity, &[])]),
        ("empty identity", vec![psk(&[0, 0, 0, 0, 0, 1], &binder)]),
        ("empty binder", vec![psk(&identity, &[0])]),
        ("short binder", vec![psk(&identity, &[1, 7])]),
        ("truncated identity", vec![psk(&identity[..5], &binder)]),
        ("unequal numbers", vec![psk(&identity.repeat(2), &binder)]),
    ] {
        let bytes = Block::ClientHello.message(&extensions.concat());
        assert_same_verdict(&format!("pre_shared_key {name}"), &bytes);
    }
}

#[test]
fn server_names_are_read_as_upstream_reads_them() {
    let name = |typ: u8, name: &[u8]| [&[typ][..], &vector16(name)].concat();
    for list in [
        vec![],
        vec![name(0, b"a.example")],
        vec![name(0, b"A.example.")],
        vec![name(0, b"")],
        vec![name(0, b"a..example")],
        vec![name(0, b"*.example")],
        vec![name(0, b"10.0.0.1")],
        vec![name(0, b"::1")],
        vec![name(0, b"\xff")],
        vec![name(1, b"a.example")],
        vec![name(0, b"a.example"), name(0, b"b.example")],
        vec![name(0, b"10.0.0.1"), name(0, b"b.example")],
        vec![name(0, b"a.example"), name(1, b"b.example")],
        vec![name(1, b"a.example"), name(0, b"b.example")],
        vec![
            name(0, b"a.example"),
            name(1, b"b.example"),
            name(0, b"c.example"),
        ],
        vec![name(0, b"a.example"), vec![0, 0]],
        vec![name(0, b"a.example"), name(0, b"b.example"), vec![0]],
        vec![name(0, b"a.example"), vec![9]],
        vec![vec![0, 0]],
    ] {
        let body = vector16(&list.concat());
        let bytes = Block::ClientHello.message(&extension(0, &body));
        assert_same_verdict(&format!("server_name {list:?}"), &bytes);
    }
}

#[test]
fn client_hello_lists_are_read_as_upstream_reads_them() {
    for (name, session_id, suites, compressions) in [
        ("no cipher suite", 0, &[][..], &[0][..]),
        ("half a cipher suite", 0, &[0x13], &[0]),
        ("no compression method", 0, &[0x13, 1], &[]),
        ("several compression methods", 0, &[0x13, 1], &[1, 0]),
        ("longest session id", 32, &[0x13, 1], &[0]),
        ("too long a session id", 33, &[0x13, 1], &[0]),
    ] {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.push(session_id);
        body.resize(body.len() + usize::from(session_id), 9);
        body.extend(vector16(suites));
        body.push(compressions.len() as u8);
        body.extend(compressions);
        assert_same_verdict(name, &message(1, &body));
    }
}

#[test]
fn certificate_lists_are_read_as_upstream_reads_them() {
    let entry = |len: usize| {
        let [_, prefix @ ..] = (len as u32).to_be_bytes();
        [&prefix[..], &vec![1; len], &[0, 0]].concat()
    };
    let list = |entries: &[u8]| {
        let [_, prefix @ ..] = (entries.len() as u32).to_be_bytes();
        message(11, &[&[0][..], &prefix, entries].concat())
    };
    assert_same_verdict("none", &list(&[]));
    // RFC 9846 §4.5.1: a certificate has at least one byte
    for empty in [list(&entry(0)), list(&[entry(9), entry(0)].concat())] {
        let ours = Decoded::read(&empty).map(|_| ());
        assert_eq!(ours, Err(InvalidMessage::IllegalEmptyValue));
        assert_eq!(upstream_verdict(&empty), Ok(()));
    }
    assert_same_verdict("three", &list(&[entry(1), entry(300), entry(2)].concat()));
    assert_same_verdict("half an entry", &list(&entry(3)[..7]));
    assert_same_verdict("of maximum length", &list(&entry(0x1_0000 - 5)));
    assert_same_verdict("longer", &list(&entry(0x1_0000 - 4)));
    assert_same_verdict("claims to be longer", &message(11, &[0, 1, 0, 1]));
}

/// Returns all types with a name, except additions, and some without one.
fn extension_types() -> Vec<u16> {
    let is_known = |typ: &u16| {
        let is_named = ExtensionType::from(*typ).as_str().is_some();
        is_named && !additions::EXTENSIONS.contains(typ)
    };
    let known = (0..=u16::MAX).filter(is_known);
    known.chain([0x0a0a, 0x1234, 0xfafa]).collect()
}

/// A message around an extension block.
#[derive(Clone, Copy, Debug)]
enum Block {
    ClientHello,
    ServerHello,
    HelloRetryRequest,
    EncryptedExtensions,
    CertificateRequest,
    CertificateEntry,
    NewSessionTicket,
}

impl Block {
    const ALL: [Self; 7] = [
        Self::ClientHello,
        Self::ServerHello,
        Self::HelloRetryRequest,
        Self::EncryptedExtensions,
        Self::CertificateRequest,
        Self::CertificateEntry,
        Self::NewSessionTicket,
    ];

    fn message(self, extensions: &[u8]) -> Vec<u8> {
        let retry = crate::msgs::server_hello::HELLO_RETRY_REQUEST_RANDOM.0;
        let block = vector16(extensions);
        let hello = |random: [u8; 32], rest: &[u8]| [&[3, 3], &random[..], rest, &block].concat();
        match self {
            Self::ClientHello => message(1, &hello([7; 32], &[0, 0, 2, 0x13, 1, 1, 0])),
            Self::ServerHello => message(2, &hello([7; 32], &[0, 0x13, 1, 0])),
            Self::HelloRetryRequest => message(2, &hello(retry, &[0, 0x13, 1, 0])),
            Self::EncryptedExtensions => message(8, &block),
            Self::CertificateRequest => message(13, &[&[0], &block[..]].concat()),
            Self::CertificateEntry => {
                let entry = [&[0, 0, 1, 0x30], &block[..]].concat();
                let [_, len @ ..] = (entry.len() as u32).to_be_bytes();
                message(11, &[&[0], &len[..], &entry].concat())
            }
            Self::NewSessionTicket => message(
                4,
                &[&[0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 0, 1, 4], &block[..]].concat(),
            ),
        }
    }
}

fn extension(typ: u16, body: &[u8]) -> Vec<u8> {
    [&typ.to_be_bytes(), &vector16(body)[..]].concat()
}

fn vector16(contents: &[u8]) -> Vec<u8> {
    [&(contents.len() as u16).to_be_bytes(), contents].concat()
}

fn upstream_verdict(bytes: &[u8]) -> Result<(), String> {
    Message::try_from(PlainMessage {
        typ: ContentType::Handshake,
        version: ProtocolVersion::TLSv1_3,
        payload: Payload::new(bytes.to_vec()),
    })
    .map(|_| ())
    .map_err(|error| format!("{error:?}"))
}

/// The handshake type of a Certificate.
const CERTIFICATE: u8 = 11;

fn assert_same_verdict(what: &str, bytes: &[u8]) {
    let upstream = upstream_verdict(bytes);
    let read = Decoded::read(bytes);
    if upstream.is_err() && read.as_ref().is_ok_and(has_unread_extension) {
        return;
    }
    if bytes[0] == CERTIFICATE && matches!(read, Err(InvalidMessage::IllegalEmptyValue)) {
        // upstream accepts an empty certificate and continues after it
        return;
    }
    let ours = read.map(|_| ()).map_err(|error| format!("{error:?}"));
    assert_eq!(ours, upstream, "{what}: {bytes:02x?}");
}

/// True if `message` has an extension whose body only upstream parses: ECH, or one that this crate
/// rejects by its type, because it is for TLS 1.2 or not allowed in the message.
fn has_unread_extension(message: &Decoded<'_>) -> bool {
    let (received, unread) = match &message.payload {
        decoded::Payload::ClientHello(m) => (&m.extensions.received, &[0xfd00, 0xfe0d][..]),
        decoded::Payload::ServerHello(m) => (&m.extensions.received, &[19, 20, 42, 58, 0xfe0d][..]),
        decoded::Payload::EncryptedExtensions(m) => (
            &m.received,
            &[5, 11, 23, 35, 41, 43, 51, 0xfe0d, 0xff01][..],
        ),
        _ => return false,
    };
    received
        .iter()
        .any(|typ: &ExtensionType| unread.contains(&u16::from(*typ)))
}
