//! Arbitrary bytes as the body of any message, at any point of a handshake. They are framed with
//! the right lengths, so that they reach the parser and the handler.

mod conversations;

use harness::peers::configs::{Identities, KeyType};
use harness::peers::endpoints::{Endpoint, ThisBuffered};
use harness::peers::roles::{ROLES, Role};
use harness::scripted::recorded::flights::{
    ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, Framing, HANDSHAKE, Record, encode,
};
use harness::scripted::recorded::{Conversation, Receiver};
use harness::wire::{fragments, message};
use rustls::PeerMisbehaved;
use rustls::server::Acceptor;

use self::conversations::COMPRESSING;
pub use self::conversations::conversations;
use super::{INPUT_LIMIT, records};

pub const FINISHED: u8 = 20;

/// The types of the messages and records that the third byte of an input chooses from.
const MESSAGES: [u8; 19] = [
    0, 1, 2, 4, 5, 8, 11, 12, 13, 14, 15, 16, FINISHED, 21, 22, 23, 24, 25, 254,
];
const RECORDS: [u8; 4] = [HANDSHAKE, ALERT, CHANGE_CIPHER_SPEC, APPLICATION_DATA];

/// The kind of an input's body.
#[derive(Clone, Copy)]
enum Kind {
    /// The type of the next genuine message.
    Genuine,
    Message(u8),
    /// Arbitrary bytes in a record.
    Record(u8),
}

impl Kind {
    fn new(choice: u8) -> Self {
        match usize::from(choice) % (1 + MESSAGES.len() + RECORDS.len()) {
            0 => Self::Genuine,
            at if at <= MESSAGES.len() => Self::Message(MESSAGES[at - 1]),
            at => Self::Record(RECORDS[at - 1 - MESSAGES.len()]),
        }
    }
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
    let side = ROLES[usize::from(which & 1)];
    let all = conversations();
    let conversation = &all[usize::from(which >> 1) % all.len()];
    let genuine = conversation.messages(side);
    let position = usize::from(position) % (genuine.len() + 1);
    let body = &body[..body.len().min(INPUT_LIMIT)];

    let next = genuine.get(position).unwrap_or(&genuine[genuine.len() - 1]);
    let message = framed(Kind::new(kind), next, body);
    let rest = match how & 8 {
        0 => usize::MAX,
        _ => position + usize::from(how >> 2 & 1),
    };
    let trial = Trial::new(conversation, side, position, message, rest);
    let whole = trial.outcome(Receiver::Buffered, usize::MAX);
    trial.check_accepted(&whole);
    let piece_len = 1 + usize::from(how >> 4) * 3;
    match how & 3 {
        0 => assert_eq!(
            whole,
            trial.outcome(Receiver::Buffered, piece_len),
            "in pieces"
        ),
        1 if side == Role::Server && position == 0 => trial.compare_acceptor(&whole),
        1 | 2 => {
            let unbuffered = trial.outcome(Receiver::Unbuffered, usize::MAX);
            assert_eq!(whole, unbuffered, "unbuffered");
        }
        _ => {
            let unbuffered = trial.outcome(Receiver::Unbuffered, piece_len);
            assert_eq!(whole, unbuffered, "unbuffered in pieces");
        }
    }
}

/// True if `body` is accepted as a message of this type at the point of a certificate that may be
/// compressed. The peer accepts any certificate.
pub(super) fn is_certificate_accepted(side: Role, typ: u8, body: &[u8]) -> bool {
    let conversation = &conversations()[COMPRESSING];
    let genuine = conversation.messages(side);
    let is_certificate = |it: &Record| it.typ == HANDSHAKE && it.content[0] == 25;
    let position = genuine.iter().position(is_certificate).unwrap();
    let message = framed(Kind::Message(typ), &genuine[position], body);
    let trial = Trial::new(conversation, side, position, message, usize::MAX);
    let whole = trial.outcome(Receiver::Buffered, usize::MAX);
    assert!(whole.is_handshaking);
    whole.error.is_none()
}

/// Frames `body` as a message of this kind, protected like the `next` one.
fn framed(kind: Kind, next: &Record, body: &[u8]) -> Record {
    let (typ, content) = match (kind, next.content.first()) {
        (Kind::Genuine, Some(&typ)) if next.typ == HANDSHAKE => (HANDSHAKE, message(typ, body)),
        (Kind::Genuine, _) => (next.typ, body.to_vec()),
        (Kind::Message(typ), _) => (HANDSHAKE, message(typ, body)),
        (Kind::Record(typ), _) => (typ, body.to_vec()),
    };
    // RFC 9846 §5: a change_cipher_spec for middleboxes is never protected
    let is_for_middleboxes = (typ, next.framing) == (CHANGE_CIPHER_SPEC, Framing::Tls13);
    Record {
        typ,
        protected: next.protected && !is_for_middleboxes,
        content,
        ..*next
    }
}

/// A message at some point of a conversation, followed by the genuine ones.
struct Trial {
    conversation: &'static Conversation,
    side: Role,
    position: usize,
    message: Record,
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
        side: Role,
        position: usize,
        message: Record,
        rest: usize,
    ) -> Self {
        let mut bytes = Vec::new();
        // over several records if it is too long
        for content in fragments(&message.content) {
            let content = content.to_vec();
            bytes.extend(Record { content, ..message }.encode());
        }
        let genuine = conversation.messages(side);
        bytes.extend(encode(&genuine[rest.min(genuine.len())..]));
        Self {
            conversation,
            side,
            position,
            message,
            rest,
            bytes,
        }
    }

    fn outcome(&self, receiver: Receiver, piece_len: usize) -> Outcome {
        let mut end = self.conversation.staged(self.side, self.position, receiver);
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
        let messages = self.conversation.messages(self.side);
        let is_finished =
            |it: &Record| it.typ == HANDSHAKE && it.content.first() == Some(&FINISHED);
        let finished = messages.iter().position(is_finished).unwrap();
        if outcome.is_handshaking || self.position > finished {
            return;
        }
        let genuine = &messages[finished].content;
        let content = &self.message.content;
        let has_finished =
            self.rest <= finished || content.windows(genuine.len()).any(|it| it == genuine);
        assert!(has_finished, "completed without Finished");
        if !self.conversation.setup.trusts {
            let Identities { server, client, .. } = KeyType::Ed25519.identities();
            let peer = [server, client][self.side as usize];
            assert_eq!(
                outcome.certificates.first().map(|it| &it[..]),
                Some(&peer.chain[0][..])
            );
        }
    }

    /// Compares with the same bytes through an [`Acceptor`].
    fn compare_acceptor(&self, whole: &Outcome) {
        let mut rest = &self.bytes[..];
        let mut acceptor = Acceptor::default();
        let accepted = loop {
            if rest.is_empty() {
                // an incomplete ClientHello, about which an acceptor reports nothing
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
            accepted.into_connection(self.conversation.this.server.clone())
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

#[cfg(test)]
mod tests;
