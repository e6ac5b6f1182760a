//! Recorded conversations: a receiver that has come to some point, and the flight that it gets next.

use std::sync::OnceLock;

use harness::configs::{ClientAuth, server_name};
use harness::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered};
use harness::transparent::{self, Setup};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;

use crate::deviations::Judge;
use crate::outcome::Outcome;

/// A flight and who it is for.
pub(crate) struct Scene {
    pub(crate) name: String,
    conversation: &'static Conversation,
    side: Side,
    /// Which of the flights for that side.
    index: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Scene {
    /// The flight as this crate's receiver gets it. Upstream's has the same records and messages of the
    /// same lengths, but for other hashes in them.
    pub(crate) fn flight(&self) -> &'static [u8] {
        self.conversation.ours[self.side as usize][self.index].as_slice()
    }

    fn upstream_flight(&self) -> &'static [u8] {
        self.conversation.theirs[self.side as usize][self.index].as_slice()
    }

    /// Compares what comes of the flight after `change`, which `what` describes.
    pub(crate) fn compare(&self, judge: &Judge, what: &str, change: impl Fn(&[u8]) -> Vec<u8>) {
        let (ours, theirs) = (change(self.flight()), change(self.upstream_flight()));
        // what happens to have that value anyway in one of the two is no change
        if (ours == self.flight()) != (theirs == self.upstream_flight()) {
            return;
        }
        let buffered = Outcome::new(&mut *self.receiver(Receiver::Buffered), &ours);
        let unbuffered = Outcome::new(&mut *self.receiver(Receiver::Unbuffered), &ours);
        let upstream = Outcome::new(&mut *self.receiver(Receiver::Upstream), &theirs);
        judge.apis(&self.name, what, &buffered, &unbuffered);
        judge.upstream(&self.name, what, &buffered, &upstream);
    }

    /// A connection that waits for the flight.
    pub(crate) fn receiver(&self, receiver: Receiver) -> Box<dyn Endpoint> {
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

/// Who the flight is for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Receiver {
    Buffered,
    Unbuffered,
    Upstream,
}

/// What a side receives in a conversation with a peer of upstream, by [`Side`].
struct Conversation {
    this: transparent::this::Configs,
    upstream: transparent::upstream::Configs,
    ours: [Vec<Vec<u8>>; 2],
    theirs: [Vec<Vec<u8>>; 2],
}

impl Conversation {
    fn new(setup: Setup) -> Self {
        let mut conversation = Self {
            this: transparent::this::Configs::new(setup),
            upstream: transparent::upstream::Configs::new(setup),
            ours: Default::default(),
            theirs: Default::default(),
        };
        let record =
            |receiver| [Side::Client, Side::Server].map(|side| conversation.record(side, receiver));
        let (ours, theirs) = (record(Receiver::Buffered), record(Receiver::Upstream));
        assert_eq!(lengths(&ours), lengths(&theirs));
        (conversation.ours, conversation.theirs) = (ours, theirs);
        conversation
    }

    /// All flights to one side: those of the handshake, and one with tickets, data, a KeyUpdate, more
    /// data and the end.
    fn record(&self, side: Side, receiver: Receiver) -> Vec<Vec<u8>> {
        let mut receiver = self.endpoint(side, receiver);
        let mut peer = match side {
            Side::Client => self.endpoint(Side::Server, Receiver::Upstream),
            Side::Server => self.endpoint(Side::Client, Receiver::Upstream),
        };
        let mut flights = Vec::new();
        while receiver.is_handshaking() {
            peer.receive(&receiver.take_output()).unwrap();
            let flight = peer.take_output();
            receiver.receive(&flight).unwrap();
            flights.push(flight);
        }
        peer.receive(&receiver.take_output()).unwrap();
        let mut traffic = Vec::new();
        peer.send(b"before");
        traffic.extend(peer.take_output());
        peer.refresh_traffic_keys();
        peer.send(b"after");
        peer.close();
        traffic.extend(peer.take_output());
        flights.push(traffic);
        flights
    }

    fn endpoint(&self, side: Side, receiver: Receiver) -> Box<dyn Endpoint> {
        let Self { this, upstream, .. } = self;
        match (receiver, side) {
            (Receiver::Buffered, Side::Client) => Box::new(ThisBuffered::new(this.client())),
            (Receiver::Buffered, Side::Server) => Box::new(ThisBuffered::new(this.server())),
            (Receiver::Unbuffered, Side::Client) => Box::new(ThisUnbuffered::new(
                UnbufferedClientConnection::new(this.client.clone(), server_name()).unwrap(),
            )),
            (Receiver::Unbuffered, Side::Server) => Box::new(ThisUnbuffered::new(
                UnbufferedServerConnection::new(this.server.clone()).unwrap(),
            )),
            (Receiver::Upstream, Side::Client) => {
                Box::new(UpstreamBuffered::new(upstream.client()))
            }
            (Receiver::Upstream, Side::Server) => {
                Box::new(UpstreamBuffered::new(upstream.server()))
            }
        }
    }
}

fn lengths(flights: &[Vec<Vec<u8>>; 2]) -> [Vec<usize>; 2] {
    flights
        .each_ref()
        .map(|flights| flights.iter().map(Vec::len).collect())
}

/// The conversations, by whether their transcripts are hashed, and the names of the flights in them.
fn conversations(
    hashes_transcript: bool,
) -> &'static [(&'static Conversation, [&'static [&'static str]; 2])] {
    type Conversations = Vec<(&'static Conversation, [&'static [&'static str]; 2])>;
    static MADE: [OnceLock<Conversations>; 2] = [const { OnceLock::new() }; 2];
    MADE[usize::from(hashes_transcript)].get_or_init(|| {
        let make = |auth, retry| -> &'static Conversation {
            Box::leak(Box::new(Conversation::new(Setup {
                retry,
                hashes_transcript,
                ..Setup::usual(auth)
            })))
        };
        vec![
            (
                make(ClientAuth::Required, false),
                [
                    &["server's flight", "server's traffic"],
                    &["ClientHello", "client's flight", "client's traffic"],
                ],
            ),
            (
                make(ClientAuth::None, true),
                [
                    &["HelloRetryRequest", "server's flight after retry", ""],
                    &["ClientHello before retry", "second ClientHello", "", ""],
                ],
            ),
            (
                make(ClientAuth::OptionalAbsent, false),
                [&["", ""], &["", "client's flight without certificate", ""]],
            ),
        ]
    })
}

/// All scenes, with transcripts that are hashed or not.
pub(crate) fn scenes(hashes_transcript: bool) -> Vec<Scene> {
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
