//! Recorded conversations: a receiver that has come to some point, and the flight that it gets next.

use std::sync::OnceLock;

use harness::configs::{ClientAuth, Versions, server_name};
use harness::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered};
use harness::transparent::{self, Resumes, Setup};
use rustls::HandshakeType;
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;

use crate::flights::{self, Framing, HANDSHAKE, Record};
use crate::judge::Judge;
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

    /// Whether the connection is QUIC's, which has one API.
    pub(crate) fn is_quic(&self) -> bool {
        self.conversation.is_quic
    }

    pub(crate) fn framing(&self) -> Framing {
        self.conversation.framing
    }

    /// The records of a flight like this one.
    pub(crate) fn records(&self, flight: &[u8]) -> Vec<Record> {
        flights::records(self.framing(), flight)
    }

    /// The same with each handshake message in a record of its own.
    pub(crate) fn messages(&self, flight: &[u8]) -> Vec<Record> {
        flights::messages(self.framing(), flight)
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
        let upstream = Outcome::new(&mut *self.receiver(Receiver::Upstream), &theirs);
        if !self.is_quic() {
            let unbuffered = Outcome::new(&mut *self.receiver(Receiver::Unbuffered), &ours);
            judge.apis(&self.name, what, &buffered, &unbuffered);
        }
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
    framing: Framing,
    is_quic: bool,
    sends_early: bool,
    ours: Flights,
    theirs: Flights,
    /// What a client receives in the connection before, which makes the session that this one resumes: ours,
    /// and upstream's.
    before: Option<[Vec<Vec<u8>>; 2]>,
}

const EARLY: &[u8] = b"early data";

/// What client and server receive.
type Flights = [Vec<Vec<u8>>; 2];

impl Conversation {
    /// The first connection with these configurations, or a second one that resumes.
    fn new(setup: Setup, resumes: bool) -> Self {
        let this = transparent::this::Configs::new(setup);
        let upstream = transparent::upstream::Configs::new(setup);
        let framing = match setup.versions {
            [Versions::Tls12, _] | [_, Versions::Tls12] => Framing::Tls12,
            _ => Framing::Tls13,
        };
        // those whom ours talk to, so that sessions of the two do not meet
        let peers = transparent::upstream::Configs::new(setup);
        let record_ours = |kind| {
            let (mut client, mut peer) = (
                of_this(&this, Side::Client, setup.quic),
                of_upstream(&peers, Side::Server, setup.quic),
            );
            let [to_client, _] = record(kind, &mut *client, &mut *peer);
            let (mut peer, mut server) = (
                of_upstream(&peers, Side::Client, setup.quic),
                of_this(&this, Side::Server, setup.quic),
            );
            let [_, to_server] = record(kind, &mut *peer, &mut *server);
            [to_client, to_server]
        };
        let record_theirs = |kind| {
            let mut client = of_upstream(&upstream, Side::Client, setup.quic);
            let mut server = of_upstream(&upstream, Side::Server, setup.quic);
            record(kind, &mut *client, &mut *server)
        };
        let before = resumes.then(|| {
            let ([ours, _], [theirs, _]) = (record_ours("Full"), record_theirs("Full"));
            [ours, theirs]
        });
        let kind = if resumes { "Resumed" } else { "Full" };
        let (ours, theirs) = (record_ours(kind), record_theirs(kind));
        assert_eq!(lengths(&ours), lengths(&theirs));
        for flights in &ours {
            let mut messages = flights
                .iter()
                .flat_map(|flight| flights::messages(framing, flight));
            let is_compressed = messages.any(|message| {
                message.typ == HANDSHAKE
                    && message.content[0] == HandshakeType::CompressedCertificate.into()
            });
            assert_eq!(is_compressed, setup.compresses);
        }
        Self {
            this,
            upstream,
            framing,
            is_quic: setup.quic,
            sends_early: setup.early_data,
            ours,
            theirs,
            before,
        }
    }

    /// A new connection; of a client that resumes, after the one before, and of no other.
    fn endpoint(&self, side: Side, receiver: Receiver) -> Box<dyn Endpoint> {
        transparent::this::forget_sessions();
        transparent::upstream::forget_sessions();
        if side == Side::Client
            && let Some([ours, theirs]) = &self.before
        {
            let (flights, receiver) = match receiver {
                Receiver::Upstream => (theirs, Receiver::Upstream),
                _ => (ours, Receiver::Buffered),
            };
            let mut before = self.new_endpoint(side, receiver);
            for flight in flights {
                before.take_output();
                before.receive(flight).unwrap();
            }
        }
        let mut endpoint = self.new_endpoint(side, receiver);
        if self.sends_early && side == Side::Client {
            endpoint.send_early(EARLY);
        }
        endpoint
    }

    fn new_endpoint(&self, side: Side, receiver: Receiver) -> Box<dyn Endpoint> {
        let Self {
            this,
            upstream,
            is_quic,
            ..
        } = self;
        match (receiver, side) {
            (Receiver::Unbuffered, Side::Client) if !is_quic => Box::new(ThisUnbuffered::new(
                UnbufferedClientConnection::new(this.client.clone(), server_name()).unwrap(),
            )),
            (Receiver::Unbuffered, Side::Server) if !is_quic => Box::new(ThisUnbuffered::new(
                UnbufferedServerConnection::new(this.server.clone()).unwrap(),
            )),
            (Receiver::Upstream, _) => of_upstream(upstream, side, *is_quic),
            _ => of_this(this, side, *is_quic),
        }
    }
}

/// A connection of this crate, over records (buffered) or QUIC.
fn of_this(configs: &transparent::this::Configs, side: Side, is_quic: bool) -> Box<dyn Endpoint> {
    match (side, is_quic) {
        (Side::Client, false) => Box::new(ThisBuffered::new(configs.client())),
        (Side::Server, false) => Box::new(ThisBuffered::new(configs.server())),
        (Side::Client, true) => Box::new(configs.quic_client()),
        (Side::Server, true) => Box::new(configs.quic_server()),
    }
}

fn of_upstream(
    configs: &transparent::upstream::Configs,
    side: Side,
    is_quic: bool,
) -> Box<dyn Endpoint> {
    match (side, is_quic) {
        (Side::Client, false) => Box::new(UpstreamBuffered::new(configs.client())),
        (Side::Server, false) => Box::new(UpstreamBuffered::new(configs.server())),
        (Side::Client, true) => Box::new(configs.quic_client()),
        (Side::Server, true) => Box::new(configs.quic_server()),
    }
}

/// All flights to each side: those of the handshake, which is of this `kind`, and one with tickets, data, a
/// KeyUpdate, more data and the end.
fn record(kind: &str, client: &mut dyn Endpoint, server: &mut dyn Endpoint) -> Flights {
    let mut flights = Flights::default();
    let [to_client, to_server] = &mut flights;
    // which is accepted in the second connection only
    client.send_early(EARLY);
    while client.is_handshaking() || server.is_handshaking() {
        let flight = client.take_output();
        server.receive(&flight).unwrap();
        to_server.push(flight);
        if client.is_handshaking() {
            let flight = server.take_output();
            client.receive(&flight).unwrap();
            to_client.push(flight);
        }
    }
    assert!(
        client.negotiated().contains(kind),
        "{}",
        client.negotiated()
    );
    to_server.push(traffic(client));
    to_client.push(traffic(server));
    client.receive(&to_client[to_client.len() - 1]).unwrap();
    flights
}

fn traffic(from: &mut dyn Endpoint) -> Vec<u8> {
    from.send(b"before");
    let mut traffic = from.take_output();
    if from.negotiated().starts_with("Some(TLSv1_3)") {
        from.refresh_traffic_keys();
    }
    from.send(b"after");
    from.close();
    traffic.extend(from.take_output());
    traffic
}

fn lengths(flights: &Flights) -> [Vec<usize>; 2] {
    flights
        .each_ref()
        .map(|flights| flights.iter().map(Vec::len).collect())
}

/// A conversation, and the names of the flights to client and server in it. Those without a name are in
/// another one.
type Named = (&'static Conversation, [&'static [&'static str]; 2]);

/// The conversations, by whether their transcripts are hashed.
fn conversations(hashes_transcript: bool) -> &'static [Named] {
    static MADE: [OnceLock<Vec<Named>>; 2] = [const { OnceLock::new() }; 2];
    MADE[usize::from(hashes_transcript)].get_or_init(|| {
        let setup = |auth| Setup {
            hashes_transcript,
            ..Setup::usual(auth)
        };
        let mut named = tls13(setup);
        named.extend(tls12(setup));
        named.extend(quic(setup));
        named
    })
}

fn make(setup: Setup, resumes: bool) -> &'static Conversation {
    Box::leak(Box::new(Conversation::new(setup, resumes)))
}

fn tls13(setup: impl Fn(ClientAuth) -> Setup) -> Vec<Named> {
    let with_retry = Setup {
        retry: true,
        ..setup(ClientAuth::None)
    };
    let resuming = Setup {
        resumes: Some(Resumes::Stored),
        ..setup(ClientAuth::None)
    };
    let early_data = Setup {
        early_data: true,
        ..resuming
    };
    let early_data_with_retry = Setup {
        retry: true,
        ..early_data
    };
    let resuming_with_retry = Setup {
        retry: true,
        ..resuming
    };
    let compressing = Setup {
        compresses: true,
        ..setup(ClientAuth::Required)
    };
    vec![
        (
            make(compressing, false),
            [
                &["server's flight, compressed", ""],
                &["", "client's flight, compressed", ""],
            ],
        ),
        (
            make(setup(ClientAuth::Required), false),
            [
                &["server's flight", "server's traffic"],
                &["ClientHello", "client's flight", "client's traffic"],
            ],
        ),
        (
            make(with_retry, false),
            [
                &["HelloRetryRequest", "server's flight after retry", ""],
                &["ClientHello before retry", "second ClientHello", "", ""],
            ],
        ),
        (
            make(setup(ClientAuth::OptionalAbsent), false),
            [&["", ""], &["", "client's flight without certificate", ""]],
        ),
        (
            make(resuming, true),
            [
                &["server's flight, resumed", ""],
                &["ClientHello with a PSK", "client's flight, resumed", ""],
            ],
        ),
        (
            make(resuming_with_retry, true),
            [
                &["HelloRetryRequest for a PSK", "", ""],
                &["", "second ClientHello with a PSK", "", ""],
            ],
        ),
        (
            make(early_data, true),
            [
                &["server's flight for early data", ""],
                &[
                    "ClientHello and early data",
                    "client's flight after early data",
                    "",
                ],
            ],
        ),
        (
            make(early_data_with_retry, true),
            [
                &["", "", ""],
                &[
                    "ClientHello and early data before retry",
                    "second ClientHello after early data",
                    "",
                    "",
                ],
            ],
        ),
    ]
}

/// TLS 1.2, and connections for which both versions are enabled.
fn tls12(setup: impl Fn(ClientAuth) -> Setup) -> Vec<Named> {
    let tls12 = |auth| Setup {
        versions: [Versions::Tls12; 2],
        ..setup(auth)
    };
    let with = |versions| Setup {
        versions,
        ..setup(ClientAuth::None)
    };
    let resuming = |resumes| Setup {
        resumes: Some(resumes),
        ..tls12(ClientAuth::None)
    };
    vec![
        (
            make(tls12(ClientAuth::Required), false),
            [
                &[
                    "server's flight of 1.2",
                    "server's Finished of 1.2",
                    "server's traffic of 1.2",
                ],
                &[
                    "ClientHello of 1.2",
                    "client's flight of 1.2",
                    "client's traffic of 1.2",
                ],
            ],
        ),
        (
            make(tls12(ClientAuth::OptionalAbsent), false),
            [
                &["", "", ""],
                &["", "client's flight of 1.2 without certificate", ""],
            ],
        ),
        (
            make(resuming(Resumes::Tickets), false),
            [
                &["", "server's Finished of 1.2 with a ticket", ""],
                &["", "", ""],
            ],
        ),
        (
            make(resuming(Resumes::Stored), true),
            [
                &["server's flight of 1.2, by session ID", ""],
                &[
                    "ClientHello of 1.2, by session ID",
                    "client's flight of 1.2, by session ID",
                    "",
                ],
            ],
        ),
        (
            make(resuming(Resumes::Tickets), true),
            [
                &["server's flight of 1.2, by ticket", ""],
                &["ClientHello of 1.2, by ticket", "", ""],
            ],
        ),
        (
            make(with([Versions::Both, Versions::Tls12]), false),
            [
                &["server's flight of 1.2 to a client of both", "", ""],
                &["ClientHello of both to a server of 1.2", "", ""],
            ],
        ),
        (
            make(with([Versions::Tls12, Versions::Both]), false),
            [
                &["", "", ""],
                &["ClientHello of 1.2 to a server of both", "", ""],
            ],
        ),
        (
            make(with([Versions::Both; 2]), false),
            [
                &["server's flight to a client of both", ""],
                &["ClientHello of both", "", ""],
            ],
        ),
    ]
}

/// QUIC, whose flights are what would be in records otherwise.
fn quic(setup: impl Fn(ClientAuth) -> Setup) -> Vec<Named> {
    let quic = |auth| Setup {
        quic: true,
        ..setup(auth)
    };
    let with_retry = Setup {
        retry: true,
        ..quic(ClientAuth::None)
    };
    let early_data = Setup {
        resumes: Some(Resumes::Stored),
        early_data: true,
        ..quic(ClientAuth::None)
    };
    vec![
        (
            make(quic(ClientAuth::Required), false),
            [
                &["server's flight over QUIC", ""],
                &["ClientHello over QUIC", "client's flight over QUIC", ""],
            ],
        ),
        (
            make(with_retry, false),
            [
                &["HelloRetryRequest over QUIC", "", ""],
                &["", "second ClientHello over QUIC", "", ""],
            ],
        ),
        (
            make(early_data, true),
            [
                &[
                    "server's flight for early data over QUIC",
                    "ticket over QUIC",
                ],
                &[
                    "ClientHello for early data over QUIC",
                    "client's flight after early data over QUIC",
                    "",
                ],
            ],
        ),
    ]
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
