//! Changes every byte of a server's resumption flight and truncates every message at every byte,
//! before encryption. Our client and upstream's must fail in the same way.

use std::sync::{Arc, Mutex};

use harness::scripted::{Corrupt, Outcome, Script};
use rustls::{AlertDescription as Alert, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};

use super::scripted::{ACCEPTED, Resumption, accept_early_data, refused, ticket};

/// The length of a handshake message's type and length fields.
const HEADER: usize = 4;

const CHANGED: &str = "changed";

/// The indices of ServerHello, EncryptedExtensions and Finished.
const MESSAGES: [usize; 3] = [0, 1, 2];

fn resumption(accepts: bool, corrupt: Corrupt) -> Resumption {
    Resumption::new(move |script| {
        if accepts {
            accept_early_data(script);
        }
        script.corrupt = corrupt.clone();
    })
}

fn message_len(accepts: bool, position: usize) -> usize {
    let len = Arc::new(Mutex::new(0));
    let noted = len.clone();
    let note = move |at, message: &mut Vec<u8>| {
        if at == position {
            *noted.lock().unwrap() = message.len();
        }
    };
    assert_eq!(resumption(accepts, Arc::new(note)).ours().outcome, ACCEPTED);
    *len.lock().unwrap()
}

/// Describes how two outcomes differ. Returns nothing if RFC 9846 requires a check that upstream
/// lacks, or another alert.
fn difference(ours: Outcome, theirs: Outcome, offset: usize, how: &str) -> Option<String> {
    let illegal = |error: Error| refused(error, Alert::IllegalParameter);
    let protocol = "early data was accepted under another application protocol";
    let echo = "the ServerHello does not echo the legacy_session_id";
    let not_checked = [
        refused(
            PeerIncompatible::ServerDoesNotSupportTls12Or13,
            Alert::ProtocolVersion,
        ),
        illegal(Error::General(protocol.into())),
        illegal(Error::General(echo.into())),
    ];
    let other_alert = [
        illegal(PeerMisbehaved::SelectedUnofferedCipherSuite.into()),
        illegal(InvalidMessage::UnsupportedCompression.into()),
    ];
    // RFC 9846 §6.2: a message of incorrect length is a decode_error
    let short_finished = refused(InvalidMessage::MissingData("Finished"), Alert::DecodeError);
    // a changed type may be one that only one of the clients knows
    let disabled = PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig;
    let other_type = [
        refused(disabled, Alert::ProtocolVersion),
        illegal(PeerMisbehaved::DisallowedEncryptedExtension.into()),
    ];
    let is_deliberate = theirs == ACCEPTED && not_checked.contains(&ours)
        || ours == short_finished && theirs == refused(Error::DecryptError, Alert::DecryptError)
        || theirs.error == ours.error && other_alert.contains(&ours)
        || how == CHANGED && other_type.contains(&ours);
    (ours != theirs && !is_deliberate)
        .then(|| format!("{how} at {offset}: {ours:?}, theirs {theirs:?}"))
}

#[test]
fn changed_flights_have_the_same_outcome_as_upstream() {
    for accepts in [true, false] {
        let mut different = Vec::new();
        for position in MESSAGES {
            for offset in HEADER..message_len(accepts, position) {
                let mut compare = |how, change: fn(&mut Vec<u8>, usize)| {
                    let corrupt = move |at, message: &mut Vec<u8>| {
                        if at == position {
                            change(message, offset);
                        }
                    };
                    let resumption = resumption(accepts, Arc::new(corrupt));
                    let (ours, theirs) = (resumption.our_buffered(), resumption.theirs());
                    different
                        .extend(difference(ours, theirs, offset, how).map(|it| (position, it)));
                };
                compare(CHANGED, |message, offset| message[offset] ^= 1);
                compare("inverted", |message, offset| message[offset] ^= 0xff);
                compare("cut", |message, offset| {
                    message.truncate(offset);
                    let len = (offset - HEADER) as u32;
                    message[1..HEADER].copy_from_slice(&len.to_be_bytes()[1..]);
                });
            }
        }
        assert!(different.is_empty(), "{different:#?}");
    }
}

/// Changes each byte of a NewSessionTicket in transit.
#[test]
fn changed_tickets_have_the_same_outcome_as_upstream() {
    let whole = ticket(100);
    let mut different = Vec::new();
    for offset in HEADER..whole.len() {
        for bits in [0x01, 0xff] {
            let mut changed = whole.clone();
            changed[offset] ^= bits;
            let with = |ticket: &[u8]| {
                let ticket = ticket.to_vec();
                Resumption::new(move |script| {
                    *script = Script::new();
                    script.post_handshake = vec![ticket.clone()];
                })
            };
            let resumption = with(&changed);
            let (ours, theirs) = (resumption.our_buffered(), resumption.theirs());
            different.extend(difference(ours, theirs, offset, CHANGED));
        }
    }
    assert!(different.is_empty(), "{different:#?}");
}
