//! Recorded conversations: a receiver that has come to some point, and the flight that it gets next.
//!
//! Connections use the transparent provider, so that what a peer sent once can be changed and replayed to any number of
//! fresh connections of both crates. [`outcome`] says what came of it.

mod conversation;
mod conversations;
pub mod extensions;
pub mod flights;
pub mod outcome;

use self::conversation::Conversation;
use self::conversations::conversations;
use self::flights::{APPLICATION_DATA, Framing, Record};
use self::outcome::Outcome;
use crate::deviations::noted;
use crate::endpoints::Endpoint;
use crate::transparent::TAG;
use crate::wire::records;

/// A flight and who it is for.
pub struct Scene {
    pub name: String,
    conversation: &'static Conversation,
    side: Side,
    /// Which of the flights for that side.
    index: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    Client,
    Server,
}

/// What came of the same on each kind of connection.
pub struct Outcomes {
    pub buffered: Outcome,
    /// QUIC has one API.
    pub unbuffered: Option<Outcome>,
    pub upstream: Outcome,
}

impl Scene {
    /// Whose receiver it is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The flight as this crate's receiver gets it. Upstream's has the same records and messages of the
    /// same lengths, but for other hashes in them.
    pub fn flight(&self) -> &'static [u8] {
        self.conversation.ours[self.side as usize][self.index].as_slice()
    }

    /// Whether the connection is QUIC's, which has one API.
    pub fn is_quic(&self) -> bool {
        self.conversation.is_quic
    }

    pub fn framing(&self) -> Framing {
        self.conversation.framing
    }

    /// The records of a flight like this one.
    pub fn records(&self, flight: &[u8]) -> Vec<Record> {
        flights::records(self.framing(), flight)
    }

    /// The same with each handshake message in a record of its own.
    pub fn messages(&self, flight: &[u8]) -> Vec<Record> {
        flights::messages(self.framing(), flight)
    }

    /// The flight as upstream's receiver gets it.
    pub fn upstream_flight(&self) -> &'static [u8] {
        self.conversation.theirs[self.side as usize][self.index].as_slice()
    }

    /// What comes of the flight after `change`: of both crates the same change, each of its own flight. `None` if it is
    /// a change for one of them only.
    pub fn outcomes(&self, change: impl Fn(&[u8]) -> Vec<u8>) -> Option<Outcomes> {
        let (ours, theirs) = (change(self.flight()), change(self.upstream_flight()));
        // what happens to have that value anyway in one of the two is no change
        if (ours == self.flight()) != (theirs == self.upstream_flight())
            || !self.are_comparable([&ours, &theirs])
        {
            return None;
        }
        let outcome = |receiver, bytes| Outcome::new(&mut *self.receiver(receiver), bytes);
        Some(Outcomes {
            buffered: outcome(Receiver::Buffered, &ours),
            unbuffered: (!self.is_quic()).then(|| outcome(Receiver::Unbuffered, &ours)),
            upstream: outcome(Receiver::Upstream, &theirs),
        })
    }

    /// What its receiver gets with these `bytes`, to which `what` was done, in the words of [`crate::deviations`].
    pub fn case(&self, what: &str, bytes: &[u8]) -> String {
        format!("{}: {what}{}", self.name, noted(bytes))
    }

    /// Whether changed flights have the same headers and content types. Where a MAC or a signature, which the two crates do
    /// not have alike, is taken for one of them, it is chance what it says.
    pub fn are_comparable(&self, flights: [&[u8]; 2]) -> bool {
        let [ours, theirs] = flights.map(|flight| self.structure(flight));
        ours == theirs
    }

    /// The header of each record, also of one that is cut short, and behind it the content type that is inside, if any.
    fn structure(&self, mut flight: &[u8]) -> Vec<u8> {
        let mut structure = Vec::new();
        for record in records(flight) {
            let (header, rest) = flight.split_at(HEADER_LEN);
            structure.extend_from_slice(header);
            if (record.typ, self.framing()) == (APPLICATION_DATA, Framing::Tls13) {
                let content = record.payload.len().saturating_sub(TAG.len());
                let mut content = record.payload[..content].iter().rev();
                structure.extend(content.find(|&&byte| byte != 0));
            }
            flight = &rest[record.payload.len()..];
        }
        structure.extend(flight.iter().take(HEADER_LEN));
        structure
    }

    /// The flight and those after it, as this crate's receiver gets them.
    pub fn rest(&self) -> Vec<u8> {
        self.conversation.ours[self.side as usize][self.index..].concat()
    }

    /// As upstream's receiver gets them.
    pub fn upstream_rest(&self) -> Vec<u8> {
        self.conversation.theirs[self.side as usize][self.index..].concat()
    }

    /// A connection that waits for the flight.
    pub fn receiver(&self, receiver: Receiver) -> Box<dyn Endpoint> {
        let flights = match receiver {
            Receiver::Upstream => &self.conversation.theirs,
            _ => &self.conversation.ours,
        };
        let mut endpoint = self.conversation.endpoint(self.side, receiver);
        endpoint.take_output();
        for flight in &flights[self.side as usize][..self.index] {
            endpoint.receive(flight).unwrap();
            endpoint.take_output();
        }
        endpoint
    }
}

/// How long the header of a record is.
const HEADER_LEN: usize = 5;

/// Who the flight is for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Receiver {
    Buffered,
    Unbuffered,
    Upstream,
}

/// All scenes, with transcripts that are hashed or not.
pub fn scenes(hashes_transcript: bool) -> Vec<Scene> {
    let mut scenes = Vec::new();
    for (conversation, names) in conversations(hashes_transcript) {
        for side in [Side::Client, Side::Server] {
            let names = names[side as usize];
            assert_eq!(names.len(), conversation.ours[side as usize].len());
            for (index, name) in names
                .iter()
                .enumerate()
                .filter(|(_, name)| !name.is_empty())
            {
                scenes.push(Scene {
                    name: name.to_string(),
                    conversation,
                    side,
                    index,
                });
            }
        }
    }
    scenes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn genuine_flights_are_accepted() {
        for hashes_transcript in [false, true] {
            for scene in scenes(hashes_transcript) {
                for receiver in [Receiver::Buffered, Receiver::Unbuffered, Receiver::Upstream] {
                    let flight = match receiver {
                        Receiver::Upstream => scene.upstream_flight(),
                        _ => scene.flight(),
                    };
                    let outcome = Outcome::new(&mut *scene.receiver(receiver), flight);
                    assert_eq!(outcome.name(), "none / none", "{} {receiver:?}", scene.name);
                }
            }
        }
    }

    /// But for what a client of TLS 1.2 signs, which is not a hash of the messages but all of them.
    #[test]
    fn without_hashes_both_crates_receive_the_same() {
        for scene in scenes(false) {
            if !["ClientHello of 1.2", "client's flight of 1.2"].contains(&&*scene.name) {
                assert_eq!(scene.rest(), scene.upstream_rest(), "{}", scene.name);
            }
        }
    }
}
