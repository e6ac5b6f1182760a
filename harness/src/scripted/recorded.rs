//! Recorded conversations: a receiver at some point in a handshake, and its next flight.
//!
//! Connections use the transparent provider, so a recorded flight can be changed, and replayed to
//! any number of new connections of both crates.

mod conversation;
mod conversations;
pub mod extensions;
pub mod flights;

use std::sync::Arc;

use rustls::observer::Observer;

pub use self::conversation::Conversation;
use self::conversation::Flights;
use self::conversations::conversations;
use self::flights::{APPLICATION_DATA, Framing, Record};
use crate::comparison::noted;
use crate::peers::endpoints::Endpoint;
/// The kind of connection that receives the flight.
pub use crate::peers::roles::Implementation as Receiver;
use crate::peers::roles::{ROLES, Role};
use crate::providers::transparent::TAG;
use crate::providers::transparent::this::Configs;
use crate::wire::records;

/// A flight and its receiver.
pub struct Scene {
    pub name: String,
    conversation: &'static Conversation,
    side: Role,
    /// The index of the flight among those for this side.
    index: usize,
}

impl Scene {
    /// Returns the side of the receiver.
    pub fn side(&self) -> Role {
        self.side
    }

    /// Returns the flight for this crate's receiver. Upstream's has the same records and messages
    /// of the same lengths, with other hashes.
    pub fn flight(&self) -> &'static [u8] {
        self.conversation.ours[self.side as usize][self.index].as_slice()
    }

    /// True for QUIC connections, which have one API.
    pub fn is_quic(&self) -> bool {
        self.conversation.setup.quic
    }

    pub fn framing(&self) -> Framing {
        self.conversation.framing
    }

    /// Splits a flight of this scene into records.
    pub fn records(&self, flight: &[u8]) -> Vec<Record> {
        flights::records(self.framing(), flight)
    }

    /// Splits a flight of this scene into records, with each handshake message in a separate one.
    pub fn messages(&self, flight: &[u8]) -> Vec<Record> {
        flights::messages(self.framing(), flight)
    }

    /// Returns the flight for upstream's receiver.
    pub fn upstream_flight(&self) -> &'static [u8] {
        self.conversation.theirs[self.side as usize][self.index].as_slice()
    }

    /// Returns both crates' flights after the same `change`. Returns `None` if only one of the
    /// flights changes.
    pub fn changed(&self, change: impl Fn(&[u8]) -> Vec<u8>) -> Option<[Vec<u8>; 2]> {
        let flights = [self.flight(), self.upstream_flight()];
        let [ours, theirs] = flights.map(change);
        // a byte that already has the new value in one of the flights is not changed there
        let is_same = (ours == flights[0]) == (theirs == flights[1]);
        (is_same && self.are_comparable([&ours, &theirs])).then_some([ours, theirs])
    }

    /// This crate's APIs for the receiver.
    pub fn apis(&self) -> &'static [Receiver] {
        match self.is_quic() {
            true => &[Receiver::Buffered],
            false => &[Receiver::Buffered, Receiver::Unbuffered],
        }
    }

    /// Returns the case's description for [`crate::comparison`], if `bytes` are received after the
    /// change `what`.
    pub fn case(&self, what: &str, bytes: &[u8]) -> String {
        format!("{}: {what}{}", self.name, noted(bytes))
    }

    /// True if the changed flights have the same headers and content types. MACs and signatures
    /// differ between the crates, so a MAC or signature that is parsed as a header proves nothing.
    pub fn are_comparable(&self, flights: [&[u8]; 2]) -> bool {
        let [ours, theirs] = flights.map(|flight| self.structure(flight));
        ours == theirs
    }

    /// Returns the header of each record, even of a truncated one, followed by its inner content
    /// type, if any.
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

    /// Returns the flight and those after it, for this crate's receiver.
    pub fn rest(&self) -> Vec<u8> {
        self.conversation.ours[self.side as usize][self.index..].concat()
    }

    /// Returns the flight and those after it, for upstream's receiver.
    pub fn upstream_rest(&self) -> Vec<u8> {
        self.conversation.theirs[self.side as usize][self.index..].concat()
    }

    /// Creates a connection that is waiting for the flight.
    pub fn receiver(&self, receiver: Receiver) -> Box<dyn Endpoint> {
        let flights = match receiver {
            Receiver::Upstream => &self.conversation.theirs,
            _ => &self.conversation.ours,
        };
        let endpoint = self.conversation.endpoint(self.side, receiver);
        self.before(endpoint, flights)
    }

    /// Like [`Self::receiver`], for a connection of this crate with an observer.
    pub fn observed(&self, receiver: Receiver, observer: Arc<dyn Observer>) -> Box<dyn Endpoint> {
        let endpoint = self.conversation.observed(self.side, receiver, observer);
        self.before(endpoint, &self.conversation.ours)
    }

    /// Like [`Self::observed`], for the connection that `make` creates.
    pub fn observed_as(
        &self,
        observer: Arc<dyn Observer>,
        make: impl FnOnce(&Configs) -> Box<dyn Endpoint>,
    ) -> Box<dyn Endpoint> {
        let endpoint = self.conversation.observed_as(self.side, observer, make);
        self.before(endpoint, &self.conversation.ours)
    }

    /// Returns `endpoint` after it has received the flights before this one.
    fn before(&self, mut endpoint: Box<dyn Endpoint>, flights: &Flights) -> Box<dyn Endpoint> {
        endpoint.take_output();
        for flight in &flights[self.side as usize][..self.index] {
            endpoint.receive(flight).unwrap();
            endpoint.take_output();
        }
        endpoint
    }
}

/// The length of a record header.
const HEADER_LEN: usize = 5;

/// Returns all scenes, with or without hashed transcripts.
pub fn scenes(hashes_transcript: bool) -> Vec<Scene> {
    let mut scenes = Vec::new();
    for (conversation, names) in conversations(hashes_transcript) {
        for side in ROLES {
            let names = &names[side as usize];
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
