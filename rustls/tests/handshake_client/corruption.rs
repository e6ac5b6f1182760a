//! Changes every byte of a server's messages and truncates every message at every byte, before
//! encryption. Our client and upstream's must fail alike.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use harness::scripted::{Outcome, Script, bytes};
use rustls::{AlertDescription as Alert, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};

use crate::{ACCEPTED, Peers, refused, script};

/// The length of a handshake message's type and length fields.
const HEADER: usize = 4;

impl Peers {
    /// The length of message `position` of the script.
    fn message_len(&self, script: &Script, position: usize) -> usize {
        let len = Arc::new(Mutex::new(0));
        let noted = len.clone();
        let mut script = script.clone();
        script.corrupt = Arc::new(move |at, message| {
            if at == position {
                *noted.lock().unwrap() = message.len();
            }
        });
        assert_eq!(self.ours(&script), ACCEPTED);
        *len.lock().unwrap()
    }

    /// Our outcome and upstream's for the script with message `position` changed.
    fn outcomes(
        &self,
        script: &Script,
        position: usize,
        change: impl Fn(&mut Vec<u8>) + 'static,
    ) -> (Outcome, Outcome) {
        let mut script = script.clone();
        script.corrupt = Arc::new(move |at, message| {
            if at == position {
                change(message);
            }
        });
        (self.ours(&script), self.theirs(&script))
    }

    /// Changes each byte of `range`, counted after the header, and truncates the message before it.
    fn check(&self, script: &Script, position: usize, range: Range<usize>) {
        let mut different = Vec::new();
        for offset in range {
            for bits in [0x01, 0x02, 0x10, 0x80, 0xff] {
                let flip = move |message: &mut Vec<u8>| message[HEADER + offset] ^= bits;
                let outcomes = self.outcomes(script, position, flip);
                different.extend(difference(outcomes, offset, "changed"));
            }
            let cut = move |message: &mut Vec<u8>| {
                message.truncate(HEADER + offset);
                message[1..HEADER].copy_from_slice(&(offset as u32).to_be_bytes()[1..]);
            };
            different.extend(difference(
                self.outcomes(script, position, cut),
                offset,
                "cut",
            ));
        }
        assert!(different.is_empty(), "{different:#?}");
    }

    fn check_all(&self, script: &Script, position: usize) {
        self.check(
            script,
            position,
            0..self.message_len(script, position) - HEADER,
        );
    }
}

/// Describes how two outcomes differ. Returns nothing if RFC 9846 demands a check that upstream
/// lacks, or another alert, or for legacy_version.
fn difference((ours, theirs): (Outcome, Outcome), offset: usize, how: &str) -> Option<String> {
    let deliberate = [refused(
        PeerIncompatible::ServerDoesNotSupportTls12Or13,
        Alert::ProtocolVersion,
    )];
    let alert_of_rfc = [
        refused(
            PeerMisbehaved::SelectedUnofferedCipherSuite,
            Alert::IllegalParameter,
        ),
        refused(
            InvalidMessage::UnsupportedCompression,
            Alert::IllegalParameter,
        ),
        refused(
            InvalidMessage::UnknownCertificateExtension,
            Alert::UnsupportedExtension,
        ),
    ];
    // RFC 9846 §6.2: a message of incorrect length is a decode_error
    let short_finished = refused(InvalidMessage::MissingData("Finished"), Alert::DecodeError);
    let is_short_finished =
        ours == short_finished && theirs == refused(Error::DecryptError, Alert::DecryptError);
    let is_deliberate = theirs == ACCEPTED && deliberate.contains(&ours)
        || is_short_finished
        || theirs.error == ours.error && alert_of_rfc.contains(&ours);
    (ours != theirs && !is_deliberate)
        .then(|| format!("{how} at {offset}: {ours:?}, theirs {theirs:?}"))
}

#[test]
fn server_hello() {
    let peers = Peers::new();
    let script = Script::new();
    // without the types of extensions: a changed type may be one that only one client knows
    let len = peers.message_len(&script, 0) - HEADER;
    let extensions = 2 + 32 + 33 + 2 + 1 + 2;
    peers.check(&script, 0, 0..extensions);
    peers.check(&script, 0, extensions + 2..extensions + 6);
    peers.check(&script, 0, extensions + 8..len);
}

#[test]
fn hello_retry_request() {
    let mut script = Script::with_retry();
    script.retries[0].extensions.push(bytes(44, &[0, 2, 9, 9]));
    Peers::new().check_all(&script, 0);
}

#[test]
fn encrypted_extensions() {
    let peers = Peers::new();
    let script = script(|script| {
        script.encrypted_extensions = vec![bytes(10, &[0, 4, 0, 29, 0, 23])];
    });
    // all but the type of the extension
    peers.check(&script, 1, 0..2);
    peers.check(&script, 1, 4..peers.message_len(&script, 1) - HEADER);
}

#[test]
fn certificate_request() {
    let peers = Peers::new();
    let script = Script::with_request();
    // all but the type of the extension
    peers.check(&script, 2, 0..3);
    peers.check(&script, 2, 5..peers.message_len(&script, 2) - HEADER);
}

#[test]
fn certificate() {
    let peers = Peers::new();
    let script = script(|script| {
        script.certificates[0].1 = vec![bytes(5, &[1, 0, 0, 1, 1])];
    });
    // all but the certificate itself
    let len = peers.message_len(&script, 2) - HEADER;
    peers.check(&script, 2, 0..7);
    peers.check(&script, 2, len - 11..len);
}

#[test]
fn certificate_verify_and_finished() {
    let peers = Peers::new();
    let script = Script::new();
    // signatures and their lengths vary from run to run, so the changes are relative to them
    let changes: [fn(u16) -> u16; 4] = [|len| len + 1, |len| len - 1, |_| 0, |_| u16::MAX];
    for change in changes {
        let outcomes = peers.outcomes(&script, 3, move |message| {
            let len: &mut [u8; 2] = message[HEADER + 2..].first_chunk_mut().unwrap();
            *len = change(u16::from_be_bytes(*len)).to_be_bytes();
        });
        assert_eq!(difference(outcomes, 2, "length"), None);
    }
    for len in [2, 3] {
        let outcomes = peers.outcomes(&script, 3, move |message| {
            message.truncate(HEADER + len);
            message[1..HEADER].copy_from_slice(&[0, 0, len as u8]);
        });
        assert_eq!(difference(outcomes, len, "cut"), None);
    }
    peers.check_all(&script, 4);
}
