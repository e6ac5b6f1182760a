//! Arbitrary bytes as the body of any message, at any point of a handshake. They are framed with
//! the right lengths, so that they reach the parser and the handler.

mod conversations;

use harness::peers::endpoints::{Endpoint, ThisBuffered};
use harness::scripted::recorded::Side;
use harness::wire::message;
use rustls::PeerMisbehaved;
use rustls::server::Acceptor;

use self::conversations::{
    APPLICATION_DATA, Api, CHANGE_CIPHER_SPEC, COMPRESSING, Conversation, HANDSHAKE, Protection,
    Unit, conversations,
};
use super::{INPUT_LIMIT, records};

const ALERT: u8 = 21;
const FINISHED: u8 = 20;

/// The kinds that the third byte of an input chooses from: the genuine type, other types, and
/// records that are not handshake messages.
const KINDS: [Kind; 24] = [
    Kind::Genuine,
    Kind::Message(0),
    Kind::Message(1),
    Kind::Message(2),
    Kind::Message(4),
    Kind::Message(5),
    Kind::Message(8),
    Kind::Message(11),
    Kind::Message(12),
    Kind::Message(13),
    Kind::Message(14),
    Kind::Message(15),
    Kind::Message(16),
    Kind::Message(FINISHED),
    Kind::Message(21),
    Kind::Message(22),
    Kind::Message(23),
    Kind::Message(24),
    Kind::Message(25),
    Kind::Message(254),
    // arbitrary bytes in a record of the handshake
    Kind::Record(HANDSHAKE),
    Kind::Record(ALERT),
    Kind::Record(CHANGE_CIPHER_SPEC),
    Kind::Record(APPLICATION_DATA),
];

#[derive(Clone, Copy)]
enum Kind {
    /// The type of the next genuine message.
    Genuine,
    Message(u8),
    Record(u8),
}

/// The input starts with four bytes:
/// 1. the receiver (bit 0) and the conversation;
/// 2. the number of messages received before;
/// 3. the kind of the body, which is the rest of the input;
/// 4. the comparison (bits 0 and 1), whether the body replaces the next message (bit 2), whether
///    the genuine messages follow (bit 3), and the length of the pieces (bits 4 to 7).
pub fn messages(input: &[u8]) {
    let &[which, position, kind, how, ref body @ ..] = input else {
        return;
    };
    let side = if which & 1 == 0 {
        Side::Client
    } else {
        Side::Server
    };
    let all = conversations();
    let conversation = &all[usize::from(which >> 1) % all.len()];
    let units = conversation.units(side);
    let position = usize::from(position) % (units.len() + 1);
    let body = &body[..body.len().min(INPUT_LIMIT)];

    let next = units.get(position).unwrap_or(&units[units.len() - 1]);
    let unit = framed(KINDS[usize::from(kind) % KINDS.len()], next, body);
    let rest = match how & 8 {
        0 => usize::MAX,
        _ => position + usize::from(how >> 2 & 1),
    };
    let trial = Trial::new(conversation, side, position, unit, rest);
    let whole = trial.outcome(Api::Buffered, usize::MAX);
    trial.check_accepted(&whole);
    let piece_len = 1 + usize::from(how >> 4) * 3;
    match how & 3 {
        0 => assert_eq!(whole, trial.outcome(Api::Buffered, piece_len), "in pieces"),
        1 if side == Side::Server && position == 0 => trial.compare_acceptor(&whole),
        1 | 2 => {
            let unbuffered = trial.outcome(Api::Unbuffered, usize::MAX);
            assert_eq!(whole, unbuffered, "unbuffered");
        }
        _ => {
            let unbuffered = trial.outcome(Api::Unbuffered, piece_len);
            assert_eq!(whole, unbuffered, "unbuffered in pieces");
        }
    }
}

/// True if `body` is accepted as a message of this type at the point of a certificate that may be
/// compressed. The peer accepts any certificate.
pub(super) fn is_certificate_accepted(side: Side, typ: u8, body: &[u8]) -> bool {
    let conversation = &conversations()[COMPRESSING];
    let units = conversation.units(side);
    let is_certificate = |unit: &Unit| unit.typ == HANDSHAKE && unit.content[0] == 25;
    let position = units.iter().position(is_certificate).unwrap();
    let unit = framed(Kind::Message(typ), &units[position], body);
    let trial = Trial::new(conversation, side, position, unit, usize::MAX);
    let whole = trial.outcome(Api::Buffered, usize::MAX);
    assert!(whole.is_handshaking);
    whole.error.is_none()
}

/// Frames `body` as a message of this kind, protected like the `next` one.
fn framed(kind: Kind, next: &Unit, body: &[u8]) -> Unit {
    let (typ, content) = match (kind, next.content.first()) {
        (Kind::Genuine, Some(&typ)) if next.typ == HANDSHAKE => (HANDSHAKE, message(typ, body)),
        (Kind::Genuine, _) => (next.typ, body.to_vec()),
        (Kind::Message(typ), _) => (HANDSHAKE, message(typ, body)),
        (Kind::Record(typ), _) => (typ, body.to_vec()),
    };
    // RFC 9846 §5: a change_cipher_spec for middleboxes is never protected
    let protection = match (typ, next.protection) {
        (CHANGE_CIPHER_SPEC, Protection::Tls13) => Protection::None,
        (_, protection) => protection,
    };
    Unit {
        typ,
        protection,
        content,
    }
}

/// A message at some point of a conversation, followed by the genuine ones.
struct Trial {
    conversation: &'static Conversation,
    side: Side,
    position: usize,
    unit: Unit,
    /// The index of the first genuine message that follows.
    rest: usize,
    bytes: Vec<u8>,
}

#[derive(Debug, PartialEq)]
struct Outcome {
    error: Option<String>,
    early_data: Vec<u8>,
    plaintext: Vec<u8>,
    is_handshaking: bool,
    peer_has_closed: bool,
    certificates: Vec<Vec<u8>>,
    output: Vec<u8>,
}

impl Trial {
    fn new(
        conversation: &'static Conversation,
        side: Side,
        position: usize,
        unit: Unit,
        rest: usize,
    ) -> Self {
        let mut bytes = Vec::new();
        unit.encode(&mut bytes);
        bytes.extend_from_slice(conversation.wire_from(side, rest));
        Self {
            conversation,
            side,
            position,
            unit,
            rest,
            bytes,
        }
    }

    fn outcome(&self, api: Api, piece_len: usize) -> Outcome {
        let mut end = self.conversation.staged(self.side, self.position, api);
        // ignore earlier output
        end.take_output();
        let mut error = None;
        for piece in self.bytes.chunks(piece_len) {
            error = end.receive(piece).err();
            if error.is_some() || end.peer_has_closed() {
                break;
            }
        }
        Outcome::of(&mut *end, error)
    }

    /// Checks that a handshake completes only with the genuine Finished and the genuine peer.
    fn check_accepted(&self, outcome: &Outcome) {
        let units = self.conversation.units(self.side);
        let is_finished =
            |unit: &&Unit| unit.typ == HANDSHAKE && unit.content.first() == Some(&FINISHED);
        let finished = units.iter().position(|unit| is_finished(&unit)).unwrap();
        if outcome.is_handshaking || self.position > finished {
            return;
        }
        let genuine = &units[finished].content;
        let content = &self.unit.content;
        let has_finished =
            self.rest <= finished || content.windows(genuine.len()).any(|it| it == genuine);
        assert!(has_finished, "completed without Finished");
        if let Some(leaf) = self.conversation.leaf(self.side) {
            assert_eq!(outcome.certificates.first().map(|it| &it[..]), Some(leaf));
        }
    }

    /// Compares with the same bytes through an [`Acceptor`].
    fn compare_acceptor(&self, whole: &Outcome) {
        let mut rest = &self.bytes[..];
        let mut acceptor = Acceptor::default();
        let accepted = loop {
            if rest.is_empty() {
                // an incomplete ClientHello, which an acceptor says nothing about
                assert_eq!(whole.error, None);
                return;
            }
            acceptor.read_tls(&mut rest).unwrap();
            match acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => break Ok(accepted),
                Err(refused) => break Err(refused),
            }
        };
        let made = accepted.and_then(|accepted| {
            accepted.client_hello();
            accepted.into_connection(self.conversation.server_config())
        });
        match made {
            Ok(conn) => {
                let mut end = ThisBuffered::new(conn);
                let error = end.process().and_then(|()| end.receive(rest)).err();
                assert_eq!(*whole, Outcome::of(&mut end, error), "from an acceptor");
            }
            Err((error, mut alert)) => {
                let name = Some(format!("{error:?}"));
                // an acceptor returns the server name, so it parses that before it detects other
                // faults
                let bad_name = PeerMisbehaved::ServerNameMustContainOneHostName;
                if error == bad_name.into() && whole.error != name {
                    assert_ne!(whole.error, None);
                    return;
                }
                assert_eq!(whole.error, name);
                let mut output = Vec::new();
                alert.write_all(&mut output).unwrap();
                if matches!(error, rustls::Error::InappropriateMessage { .. }) {
                    // an acceptor sends no alert for bytes that are not a handshake
                    assert!(output.is_empty());
                } else {
                    assert_eq!(whole.output, output);
                }
            }
        }
    }
}

impl Outcome {
    /// The visible state of an end. A failed one may send an alert, then only returns its error.
    fn of(end: &mut dyn Endpoint, error: Option<String>) -> Self {
        let (mut early_data, mut plaintext) = (Vec::new(), Vec::new());
        if error.is_none() {
            end.read_early_into(&mut early_data);
            end.read_into(&mut plaintext);
        }
        let output = end.take_output();
        assert_eq!(records::total_len(&output), output.len());
        if error.is_some() {
            for _ in 0..2 {
                assert_eq!(end.process().err(), error);
                assert_eq!(end.receive(b"\x17\x03\x03\x00\x01\x01").err(), error);
                assert!(end.take_output().is_empty());
            }
        }
        Self {
            early_data,
            plaintext,
            is_handshaking: end.is_handshaking(),
            peer_has_closed: end.peer_has_closed(),
            certificates: end.peer_certificates(),
            output,
            error,
        }
    }
}

/// Genuine messages as inputs, with their names: each at its own place, with the following ones.
pub fn genuine() -> Vec<(String, Vec<u8>)> {
    let mut inputs: Vec<(String, Vec<u8>)> = Vec::new();
    for (number, conversation) in conversations().iter().enumerate() {
        for side in [Side::Client, Side::Server] {
            for (position, unit) in conversation.units(side).iter().enumerate() {
                let body = match unit.typ {
                    HANDSHAKE => &unit.content[4..],
                    _ => &unit.content[..],
                };
                let how = 0b1100 | position as u8 & 3 | 0x50;
                let which = (number << 1) as u8 | side as u8;
                let input = [&[which, position as u8, 0, how][..], body].concat();
                // the same message in another conversation finds little
                let is_new = inputs.iter().all(|(_, before)| {
                    which & 1 != before[0] & 1 || before[4..] != *body || body.len() < 20
                });
                if is_new {
                    let name = format!("{side:?}_{number:02}_{position:02}").to_lowercase();
                    inputs.push((name, input));
                }
            }
        }
    }
    inputs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn genuine_messages_are_accepted() {
        for conversation in conversations() {
            for side in [Side::Client, Side::Server] {
                let units = conversation.units(side);
                for (position, unit) in units.iter().enumerate() {
                    let rest = position + 1;
                    let trial = Trial::new(conversation, side, position, unit.clone(), rest);
                    for (api, piece_len) in [(Api::Buffered, 7), (Api::Unbuffered, usize::MAX)] {
                        let outcome = trial.outcome(api, piece_len);
                        assert_eq!(outcome.error, None);
                        assert!(outcome.peer_has_closed && !outcome.is_handshaking);
                        trial.check_accepted(&outcome);
                    }
                }
            }
        }
    }

    #[test]
    fn genuine_inputs_have_every_message() {
        let types: BTreeSet<u8> = conversations()
            .iter()
            .flat_map(|it| [it.units(Side::Client), it.units(Side::Server)].concat())
            .filter(|unit| unit.typ == HANDSHAKE)
            .map(|unit| unit.content[0])
            .collect();
        let expected = vec![1, 2, 4, 5, 8, 11, 12, 13, 14, 15, 16, FINISHED, 22, 24, 25];
        assert_eq!(types.into_iter().collect::<Vec<_>>(), expected);
        for (name, input) in genuine() {
            println!("{name}");
            messages(&input);
        }
    }

    #[test]
    #[should_panic(expected = "completed without Finished")]
    fn completion_without_finished_is_detected() {
        let conversation = &conversations()[0];
        let unit = framed(
            Kind::Message(FINISHED),
            &conversation.units(Side::Server)[0],
            &[],
        );
        let trial = Trial::new(conversation, Side::Server, 0, unit, usize::MAX);
        let mut outcome = trial.outcome(Api::Buffered, 1);
        outcome.is_handshaking = false;
        trial.check_accepted(&outcome);
    }
}
