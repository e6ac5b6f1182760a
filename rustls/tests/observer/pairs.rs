//! Observed pairs of a client and a server over any API, whose bytes are counted between them.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, this as configs};
use harness::peers::endpoints::{self, Endpoint, ThisUnbuffered, handshake, send_and_check};
pub(super) use harness::peers::events::lines;
use harness::peers::events::{Event, Events, Facts, Failed, What};
use harness::peers::roles::this::Config;
use harness::providers::transparent::TAG;
use harness::quic::{self, Framed, Version};
use harness::wire::{APPLICATION_DATA, HANDSHAKE, records};
use rustls::observer::{
    ClientCertificate, ConnectionClosed, EarlyData, End, PeerChainCheck, Traffic,
};
use rustls::{ClientConfig, ServerConfig};

use super::ends::{Accepting, Changing};

pub(super) const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// The API of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Api {
    Buffered,
    /// Buffered, with records opened into the application's memory.
    OpeningInto,
    Unbuffered,
    /// Unbuffered, and encrypted in place.
    InPlace,
    /// A server that an `Acceptor` accepts. Clients are buffered.
    Accepted,
    /// Buffered, and split after the handshake.
    Split,
    /// Unbuffered until the handshake is complete, and then without records.
    Kernel,
    Quic,
}

/// The APIs over records that stay with their connection.
pub(super) const RECORDS: [Api; 6] = [
    Api::Buffered,
    Api::OpeningInto,
    Api::Unbuffered,
    Api::InPlace,
    Api::Accepted,
    Api::Split,
];

impl Api {
    pub(super) fn end(self, config: &Config) -> Wire {
        let inner: Box<dyn Endpoint> = match (self, config) {
            (Self::Buffered, _) => Box::new(config.buffered()),
            (Self::OpeningInto, _) => Box::new(config.buffered().opening_into()),
            (Self::Unbuffered, _) => config.unbuffered(),
            (Self::InPlace, _) => config.in_place(),
            (Self::Accepted, Config::Client(_)) => Box::new(config.buffered()),
            (Self::Accepted, Config::Server(config)) => {
                Changing::boxed(Accepting::new(config.clone()))
            }
            (Self::Split, _) => Changing::boxed(config.buffered()),
            (Self::Kernel, _) => match config.clone().extractable() {
                Config::Client(config) => Changing::boxed(ThisUnbuffered::client(config)),
                Config::Server(config) => Changing::boxed(ThisUnbuffered::server(config)),
            },
            (Self::Quic, Config::Client(config)) => {
                Framed::boxed(quic::this::client(config, Version::V1, b"client").unwrap())
            }
            (Self::Quic, Config::Server(config)) => {
                Framed::boxed(quic::this::server(config, Version::V1, b"server").unwrap())
            }
        };
        Wire::new(inner, self == Self::Quic)
    }

    /// Returns how a connection ends that both sides have closed, as far as the API allows it.
    pub(super) fn usual_end(self) -> End {
        match self {
            Self::Kernel => End::Extracted,
            Self::Quic => End::Dropped,
            _ => End::Clean,
        }
    }
}

/// Records and bytes, as an observer counts them.
pub(super) type Amount = (u64, u64);

pub(super) fn amount(traffic: Traffic) -> Amount {
    (traffic.records, traffic.bytes)
}

pub(super) fn plus(a: Amount, b: Amount) -> Amount {
    (a.0 + b.0, a.1 + b.1)
}

/// Returns the amount of `bytes`, which are whole records.
pub(super) fn amount_of(bytes: &[u8]) -> Amount {
    (records(bytes).len() as u64, bytes.len() as u64)
}

/// Returns the amount of the CRYPTO bytes in the records of [`Framed`].
fn crypto_amount(bytes: &[u8]) -> Amount {
    let bytes = records(bytes).into_iter().map(|record| match record.typ {
        HANDSHAKE => record.payload.len(),
        APPLICATION_DATA => record.payload.len() - 1 - TAG.len(),
        _ => 0,
    });
    (0, bytes.sum::<usize>() as u64)
}

/// An endpoint whose bytes are counted.
pub(super) struct Wire {
    inner: Box<dyn Endpoint>,
    is_quic: bool,
    pub(super) sent: Amount,
    pub(super) received: Amount,
}

impl Wire {
    pub(super) fn new(inner: Box<dyn Endpoint>, is_quic: bool) -> Self {
        Self {
            inner,
            is_quic,
            sent: (0, 0),
            received: (0, 0),
        }
    }

    fn amount_of(&self, bytes: &[u8]) -> Amount {
        match self.is_quic {
            true => crypto_amount(bytes),
            false => amount_of(bytes),
        }
    }
}

impl endpoints::Wrapper for Wire {
    type Inner = dyn Endpoint;

    fn inner(&self) -> impl Deref<Target = Self::Inner> {
        &*self.inner
    }

    fn inner_mut(&mut self) -> impl DerefMut<Target = Self::Inner> {
        &mut *self.inner
    }

    fn take_output(&mut self) -> Vec<u8> {
        let output = self.inner.take_output();
        self.sent = plus(self.sent, self.amount_of(&output));
        output
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.received = plus(self.received, self.amount_of(bytes));
        self.inner.receive(bytes)
    }
}

/// The configurations of a client and a server with an observer each.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) client: Config,
    pub(super) server: Config,
    pub(super) of_client: Arc<Events>,
    pub(super) of_server: Arc<Events>,
}

impl Pair {
    pub(super) fn new(mut client: ClientConfig, mut server: ServerConfig) -> Self {
        let (of_client, of_server) = (Events::new(), Events::new());
        client.observer = Some(of_client.clone());
        server.observer = Some(of_server.clone());
        Self {
            client: Config::Client(client.into()),
            server: Config::Server(server.into()),
            of_client,
            of_server,
        }
    }

    pub(super) fn of(provider: Provider, versions: Versions) -> Self {
        Self::with(provider, versions, ClientAuth::None, |_, _| ())
    }

    pub(super) fn with(
        provider: Provider,
        versions: Versions,
        auth: ClientAuth,
        edit: impl FnOnce(&mut ClientConfig, &mut ServerConfig),
    ) -> Self {
        let crypto = || provider.this();
        let mut client = configs::client_of(versions, crypto(), KEY_TYPE, auth);
        let mut server = configs::server_of(versions, crypto(), KEY_TYPE, auth);
        edit(&mut client, &mut server);
        Self::new(client, server)
    }

    /// Returns the pair with changed configurations, and the same observers.
    pub(super) fn edit(
        &self,
        client: impl FnOnce(&mut ClientConfig),
        server: impl FnOnce(&mut ServerConfig),
    ) -> Self {
        Self {
            client: self.client.clone().edit(client, |_| ()),
            server: self.server.clone().edit(|_| (), server),
            ..self.clone()
        }
    }

    pub(super) fn ends(&self, [client, server]: [Api; 2]) -> [Wire; 2] {
        [client.end(&self.client), server.end(&self.server)]
    }

    /// Runs a connection with data in both directions. Compares what both observers and all
    /// accessors say. Returns the events of both sides.
    pub(super) fn connect(&self, apis: [Api; 2], early_data: Option<&[u8]>) -> [Vec<Event>; 2] {
        let [mut client, mut server] = self.ends(apis);
        if let Some(early_data) = early_data {
            client.send_early(early_data);
        }
        handshake(&mut client, &mut server);
        let negotiated = client.negotiated();
        let is_quic = apis[0] == Api::Quic;
        if !is_quic {
            server.read_early_into(&mut Vec::new());
            talk(&mut client, &mut server);
        }
        let amounts = [
            (client.sent, client.received),
            (server.sent, server.received),
        ];
        drop((client, server));
        let events = [self.of_client.take_one(), self.of_server.take_one()];
        for ((events, amounts), api) in events.iter().zip(amounts).zip(apis) {
            assert!(events.iter().all(|event| event.of.id == events[0].of.id));
            let facts = finished(events);
            assert_eq!(as_negotiated(facts), negotiated);
            let closed = closed(events);
            assert_eq!(closed.end, api.usual_end());
            let is_clean = closed.end == End::Clean;
            assert_eq!(closed.close_notify_sent, is_clean);
            assert_eq!(closed.close_notify_received, is_clean);
            // others seal the records after an extraction
            let (sent, received) = match api {
                Api::Kernel => (amount(facts.sent), amount(facts.received)),
                _ => amounts,
            };
            assert_eq!(amount(closed.sent), sent);
            assert_eq!(amount(closed.received), received);
        }
        check_agreement(finished(&events[0]), finished(&events[1]));
        events
    }
}

/// Sends data in both directions, and closes both.
fn talk(client: &mut Wire, server: &mut Wire) {
    send_and_check(client, server, &[1; 20_000]);
    send_and_check(server, client, &[2; 20_000]);
    client.close();
    server.receive(&client.take_output()).unwrap();
    server.close();
    client.receive(&server.take_output()).unwrap();
    assert!(client.peer_has_closed() && server.peer_has_closed());
}

/// Returns the facts in the format of [`Endpoint::negotiated`].
fn as_negotiated(facts: &Facts) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        facts.version, facts.cipher_suite, facts.group, facts.alpn_protocol, facts.kind
    )
}

/// Compares the facts that both sides know.
fn check_agreement(client: &Facts, server: &Facts) {
    assert_eq!(client.server_signature, server.server_signature);
    assert_eq!(client.client_signature, server.client_signature);
    assert_eq!(client.client_certificate, server.client_certificate);
    assert_eq!(client.early_data.label(), server.early_data.label());
    assert_eq!(client.resumed_from.is_some(), server.resumed_from.is_some());
}

pub(super) fn finished(events: &[Event]) -> &Facts {
    let finished = events.iter().find_map(|event| match &event.what {
        What::Finished(facts) => Some(facts),
        _ => None,
    });
    finished.unwrap_or_else(|| panic!("{events:#?}"))
}

pub(super) fn failed(events: &[Event]) -> Option<&Failed> {
    events.iter().find_map(|event| match &event.what {
        What::Failed(failed) => Some(failed),
        _ => None,
    })
}

pub(super) fn closed(events: &[Event]) -> ConnectionClosed {
    match events.last().map(|event| &event.what) {
        Some(What::Closed(closed)) => *closed,
        _ => panic!("{events:#?}"),
    }
}

/// Prints the facts that no accessor reports.
pub(super) fn summary(facts: &Facts) -> String {
    let mut parts = Vec::new();
    if let Some(source) = facts.resumed_from {
        parts.push(format!("from {}", source.label()));
    }
    if let Some(reason) = facts.not_resumed {
        parts.push(format!("not resumed: {}", reason.label()));
    }
    match facts.early_data {
        EarlyData::NotOffered => {}
        EarlyData::Rejected(reason) => parts.push(format!("early data: {}", reason.label())),
        other => parts.push(format!("early data {}", other.label())),
    }
    if facts.client_certificate != ClientCertificate::NotRequested {
        parts.push(format!("client {}", facts.client_certificate.label()));
    }
    if facts.peer_chain != PeerChainCheck::None {
        parts.push(format!("chain {}", facts.peer_chain.label()));
    }
    parts.join(", ")
}
