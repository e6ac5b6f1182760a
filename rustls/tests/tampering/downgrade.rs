//! Tests of hellos that are rewritten to downgrade ends that support both versions. The ends notice
//! every change.

use std::slice;

use harness::peers::configs::PROVIDERS;
use harness::peers::roles::Role;
use harness::wire::client_hello::{
    ALPN, ClientHello, KEY_SHARE, P256, SERVER_NAME, SIGNATURE_ALGORITHMS, SUPPORTED_GROUPS,
    SUPPORTED_VERSIONS, X25519, key_shares, protocols,
};
use harness::wire::{Record, u8_vec, u16_vec, u16s};

use crate::tampering::judge::{Ends, Judge};
use crate::tampering::kinds::BOTH;
use crate::tampering::middle::{Change, Step};
use crate::tampering::plans::Plan;

/// The end of the random in a ServerHello that is first in its record. A session ID of 32 bytes
/// follows.
const RANDOM_END: usize = 4 + 2 + 32;
const SUITE_AT: usize = RANDOM_END + 33;

fn hello(record: &Record, edit: impl FnOnce(ClientHello) -> ClientHello) -> Record {
    Record {
        payload: edit(ClientHello::read(&record.payload)).message(),
        ..*record
    }
}

fn payload(record: &Record, edit: impl FnOnce(&mut Vec<u8>)) -> Record {
    let mut record = record.clone();
    edit(&mut record.payload);
    record
}

fn marked(record: &Record, marker: &[u8; 8]) -> Record {
    payload(record, |it| {
        it[RANDOM_END - 8..RANDOM_END].copy_from_slice(marker)
    })
}

/// A description, the change, and the client's error; an empty text if it varies.
type Rewritten = (&'static str, fn(&Record) -> Record, &'static str);

/// Changes to the ClientHello.
#[rustfmt::skip] // a table
const CLIENT_HELLOS: [Rewritten; 16] = [
    ("no supported_versions", |it| hello(it, |it| it.without(SUPPORTED_VERSIONS)), DOWNGRADE),
    ("only TLS 1.2", |it| hello(it, |it| it.with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0303])))), DOWNGRADE),
    ("TLS 1.2 first", |it| hello(it, |it| it.with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0303, 0x0304])))), ""),
    ("only TLS 1.1", |it| hello(it, |it| it.with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0302])))), "AlertReceived(ProtocolVersion)"),
    ("only suites of TLS 1.2", |it| hello(it, |it| it.edit(|it| it.cipher_suites.retain(|it| it >> 8 != 0x13))), "AlertReceived(HandshakeFailure)"),
    ("all of TLS 1.2", |it| hello(it, |it| it.without(SUPPORTED_VERSIONS).edit(|it| it.cipher_suites.retain(|it| it >> 8 != 0x13))), DOWNGRADE),
    ("the suites in reverse", |it| hello(it, |it| it.edit(|it| it.cipher_suites.reverse())), ""),
    ("only the last suite of TLS 1.3", |it| hello(it, |it| it.edit(|it| it.cipher_suites.retain(|it| *it == 0x1303))), ""),
    ("only P-256", |it| hello(it, |it| it.with(SUPPORTED_GROUPS, u16_vec(&u16s(&[P256]))).with(KEY_SHARE, key_shares(&[]))), ""),
    ("no key share", |it| hello(it, |it| it.with(KEY_SHARE, key_shares(&[]))), "IllegalHelloRetryRequestWithOfferedGroup"),
    ("a key share of the attacker", |it| hello(it, |it| it.with(KEY_SHARE, key_shares(&[(X25519, &[9; 32])]))), "DecryptError"),
    ("other signature schemes", |it| hello(it, |it| it.with(SIGNATURE_ALGORITHMS, u16_vec(&u16s(&[0x0807])))), ""),
    ("no ALPN", |it| hello(it, |it| it.without(ALPN)), ""),
    ("another ALPN", |it| hello(it, |it| it.with(ALPN, protocols(&[b"h2"]))), ""),
    ("no server_name", |it| hello(it, |it| it.without(SERVER_NAME)), ""),
    ("TLS_FALLBACK_SCSV", |it| hello(it, |it| it.edit(|it| it.cipher_suites.push(0x5600))), ""),
];

const DOWNGRADE: &str = "PeerMisbehaved(AttemptedDowngradeToTls12WhenTls13IsSupported)";

/// Changes to a TLS 1.3 ServerHello.
#[rustfmt::skip] // a table
const SERVER_HELLOS: [Rewritten; 6] = [
    ("a marker of TLS 1.2", |it| marked(it, b"DOWNGRD\x01"), "DecryptError"),
    ("a marker of TLS 1.1", |it| marked(it, b"DOWNGRD\x00"), "DecryptError"),
    ("another suite", |it| payload(it, |it| it[SUITE_AT..SUITE_AT + 2].copy_from_slice(&[0x13, 0x03])), "DecryptError"),
    ("a suite of TLS 1.2", |it| payload(it, |it| it[SUITE_AT..SUITE_AT + 2].copy_from_slice(&[0xc0, 0x2b])), ""),
    ("legacy_version of TLS 1.1", |it| payload(it, |it| it[5] = 2), ""),
    ("no extensions", |it| payload(it, |it| { it.truncate(SUITE_AT + 3); let len = it.len() - 4; it[2..4].copy_from_slice(&(len as u16).to_be_bytes()); }), ""),
];

/// Removes the downgrade marker from a TLS 1.2 server's random.
fn unmarked(record: &Record) -> Record {
    marked(record, &[7; 8])
}

/// Rewrites the sender's hello.
fn rewriting(sender: Role, rewrite: fn(&Record) -> Record) -> Step {
    Step {
        sender,
        record: 0,
        change: Change::Rewrite(rewrite),
    }
}

pub(crate) fn judge(judge: &Judge) {
    for provider in PROVIDERS {
        let ends = Ends::new(BOTH, provider);
        let mut number = 0;
        let mut try_plan = |what: &str, steps: &[Step], expected| {
            for _ in 0..2 {
                let plan = Plan::new(format!("to a client of both: {what}"), steps.to_vec());
                judge.judge(&ends, &plan, number);
                judge.refused(&ends, &plan, number, expected);
                number += 1;
            }
        };
        for (what, rewrite, expected) in CLIENT_HELLOS {
            let first = rewriting(Role::Client, rewrite);
            try_plan(
                &format!("ClientHello with {what}"),
                slice::from_ref(&first),
                expected,
            );
            if expected == DOWNGRADE {
                let second = rewriting(Role::Server, unmarked);
                let what = format!("ClientHello with {what}, and no marker");
                try_plan(&what, &[first, second], "InvalidCertificate(BadSignature)");
            }
        }
        for (what, rewrite, expected) in SERVER_HELLOS {
            let change = rewriting(Role::Server, rewrite);
            try_plan(&format!("server's flight with {what}"), &[change], expected);
        }
    }
}
