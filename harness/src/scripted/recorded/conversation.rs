//! The input of each side in a conversation with an upstream peer, and connections that have
//! received part of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rustls::HandshakeType;
use rustls::observer::Observer;

use super::Receiver;
use super::flights::{self, Framing, HANDSHAKE, Record};
use crate::peers::configs::Versions;
use crate::peers::endpoints::{Endpoint, ThisUnbuffered};
use crate::peers::roles::{ROLES, Role};
use crate::providers::transparent::{self, Setup};

/// The input of each side in a conversation with an upstream peer, by [`Role`].
pub struct Conversation {
    pub this: transparent::this::Configs,
    upstream: transparent::upstream::Configs,
    pub setup: Setup,
    pub(super) framing: Framing,
    /// The messages of all flights that each side of this crate receives.
    messages: [Vec<Record>; 2],
    pub(super) ours: Flights,
    pub(super) theirs: Flights,
    /// The client's input in the previous connection, which makes the session that this one
    /// resumes: for this crate, and for upstream.
    before: Option<[Vec<Vec<u8>>; 2]>,
}

const EARLY: &[u8] = b"early data";

/// The flights that client and server receive.
pub(super) type Flights = [Vec<Vec<u8>>; 2];

impl Conversation {
    /// Records the first connection with these configurations, or a second one that resumes its
    /// session.
    pub fn new(setup: Setup, resumes: bool) -> Self {
        let this = transparent::this::Configs::new(setup);
        let upstream = transparent::upstream::Configs::new(setup);
        let framing = match setup.versions {
            [Versions::Tls12, _] | [_, Versions::Tls12] => Framing::Tls12,
            _ => Framing::Tls13,
        };
        // separate peers, so that the sessions of the two crates do not mix
        let peers = transparent::upstream::Configs::new(setup);
        let record_ours = |kind| {
            let [client, server] = ROLES.map(|side| this.endpoint(side, setup.quic));
            let [other_client, other_server] = ROLES.map(|side| peers.endpoint(side, setup.quic));
            let [to_client, _] = record(kind, client, other_server);
            let [_, to_server] = record(kind, other_client, server);
            [to_client, to_server]
        };
        let record_theirs = |kind| {
            let [client, server] = ROLES.map(|side| upstream.endpoint(side, setup.quic));
            record(kind, client, server)
        };
        let before = resumes.then(|| {
            let ([ours, _], [theirs, _]) = (record_ours("Full"), record_theirs("Full"));
            [ours, theirs]
        });
        let kind = if resumes { "Resumed" } else { "Full" };
        let (ours, theirs) = (record_ours(kind), record_theirs(kind));
        assert_eq!(lengths(&ours), lengths(&theirs));
        let messages = ours
            .each_ref()
            .map(|flights| flights::messages(framing, &flights.concat()));
        for messages in &messages {
            let is_compressed = messages.iter().any(|message| {
                message.typ == HANDSHAKE
                    && message.content[0] == HandshakeType::CompressedCertificate.into()
            });
            assert_eq!(is_compressed, setup.compresses);
        }
        Self {
            this,
            upstream,
            setup,
            framing,
            messages,
            ours,
            theirs,
            before,
        }
    }

    /// Returns the messages that this side of this crate receives, in all flights.
    pub fn messages(&self, side: Role) -> &[Record] {
        &self.messages[side as usize]
    }

    /// Creates a connection that has received the first `received` messages.
    pub fn staged(
        &'static self,
        side: Role,
        received: usize,
        receiver: Receiver,
    ) -> Box<dyn Endpoint> {
        let mut end = self.endpoint(side, receiver);
        end.receive(&flights::encode(&self.messages(side)[..received]))
            .unwrap();
        end
    }

    /// Creates a new connection. A resuming client has made only the previous connection.
    pub fn endpoint(&'static self, side: Role, receiver: Receiver) -> Box<dyn Endpoint> {
        self.prepare(side, receiver);
        self.with_early_data(side, self.new_endpoint(side, receiver))
    }

    /// Like [`Self::endpoint`], for a connection of this crate with an observer.
    pub fn observed(
        &'static self,
        side: Role,
        receiver: Receiver,
        observer: Arc<dyn Observer>,
    ) -> Box<dyn Endpoint> {
        self.observed_as(side, observer, |configs| {
            self.endpoint_with(configs, side, receiver)
        })
    }

    /// Like [`Self::observed`], for the connection that `make` creates.
    pub fn observed_as(
        &'static self,
        side: Role,
        observer: Arc<dyn Observer>,
        make: impl FnOnce(&transparent::this::Configs) -> Box<dyn Endpoint>,
    ) -> Box<dyn Endpoint> {
        self.prepare(side, Receiver::Buffered);
        let (mut client, mut server) = (self.this.client.clone(), self.this.server.clone());
        Arc::make_mut(&mut client).observer = Some(observer.clone());
        Arc::make_mut(&mut server).observer = Some(observer);
        let configs = transparent::this::Configs { client, server };
        self.with_early_data(side, make(&configs))
    }

    /// Gives a client the session that it resumes.
    fn prepare(&'static self, side: Role, receiver: Receiver) {
        transparent::this::forget_sessions();
        transparent::upstream::forget_sessions();
        if side == Role::Client
            && let Some([ours, theirs]) = &self.before
        {
            let (flights, receiver) = match receiver {
                Receiver::Upstream => (theirs, Receiver::Upstream),
                _ => (ours, Receiver::Buffered),
            };
            match self.framing {
                Framing::Tls13 => self.give_ticket(receiver, flights),
                Framing::Tls12 => drop(self.client_after(receiver, flights)),
            }
        }
    }

    fn with_early_data(&self, side: Role, mut endpoint: Box<dyn Endpoint>) -> Box<dyn Endpoint> {
        if self.setup.early_data && side == Role::Client {
            endpoint.send_early(EARLY);
        }
        endpoint
    }

    /// Creates a client that has received `flights`.
    fn client_after(&self, receiver: Receiver, flights: &[Vec<u8>]) -> Box<dyn Endpoint> {
        let mut client = self.new_endpoint(Role::Client, receiver);
        for flight in flights {
            client.take_output();
            client.receive(flight).unwrap();
        }
        client
    }

    /// Feeds the ticket to the client of the previous connection again; that client is kept for
    /// this. A TLS 1.3 session is used once and cannot be cloned.
    fn give_ticket(&'static self, receiver: Receiver, flights: &[Vec<u8>]) {
        thread_local! {
            static CLIENTS: RefCell<HashMap<(usize, Receiver), Box<dyn Endpoint>>> =
                RefCell::default();
        }
        let (last, first) = flights.split_last().unwrap();
        let is_ticket = |record: &Record| {
            record.typ == HANDSHAKE
                && record.content.first() == Some(&HandshakeType::NewSessionTicket.into())
        };
        let records = flights::records(self.framing, last);
        let ticket = records.iter().find(|record| is_ticket(record)).unwrap();
        // the address identifies a conversation, which is static
        let key = (std::ptr::from_ref(self).addr(), receiver);
        CLIENTS.with_borrow_mut(|clients| {
            let client = clients
                .entry(key)
                .or_insert_with(|| self.client_after(receiver, first));
            client.receive(&ticket.encode()).unwrap();
        });
    }

    fn new_endpoint(&self, side: Role, receiver: Receiver) -> Box<dyn Endpoint> {
        self.endpoint_with(&self.this, side, receiver)
    }

    /// Creates an endpoint. One of this crate has a configuration of `this`.
    fn endpoint_with(
        &self,
        this: &transparent::this::Configs,
        side: Role,
        receiver: Receiver,
    ) -> Box<dyn Endpoint> {
        let is_quic = self.setup.quic;
        match (receiver, side) {
            (Receiver::Upstream, _) => self.upstream.endpoint(side, is_quic),
            (Receiver::Buffered, _) => this.endpoint(side, is_quic),
            _ if is_quic => this.endpoint(side, is_quic),
            (_, Role::Client) => Box::new(ThisUnbuffered::client(this.client.clone())),
            (_, Role::Server) => Box::new(ThisUnbuffered::server(this.server.clone())),
        }
    }
}

/// Records all flights to each side: those of the handshake, which is of this `kind`, and one with
/// tickets, data, a KeyUpdate, more data and the end.
fn record(kind: &str, mut client: Box<dyn Endpoint>, mut server: Box<dyn Endpoint>) -> Flights {
    let mut flights = Flights::default();
    let [to_client, to_server] = &mut flights;
    // only the second connection accepts it
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
    to_server.push(traffic(&mut *client));
    to_client.push(traffic(&mut *server));
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
