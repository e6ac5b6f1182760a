//! Recorded handshakes, message by message. They bring a new connection to any point.

use std::sync::{Arc, OnceLock};

use harness::peers::configs::{ClientAuth, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered};
use harness::providers::transparent::this::{Configs, forget_sessions};
use harness::providers::transparent::{Resumes, Setup, TAG};
use harness::scripted::recorded::Side;
use harness::wire::{Reader, record, records};

use crate::trusting::trusting;

pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;

/// A handshake with everything needed to repeat one side of it.
pub(super) struct Conversation {
    configs: Configs,
    sends_early: bool,
    /// The client's input in the connection whose session this one resumes.
    before: Option<Vec<u8>>,
    /// The units that the client receives, and the server.
    units: [Vec<Unit>; 2],
    /// The same on the wire, with the position of each unit.
    wires: [(Vec<u8>, Vec<usize>); 2],
    /// The authenticated certificates of the server and of the client.
    leaves: [Option<Vec<u8>>; 2],
}

/// A handshake message, or a record of another type.
#[derive(Clone)]
pub(super) struct Unit {
    pub(super) typ: u8,
    pub(super) protection: Protection,
    pub(super) content: Vec<u8>,
}

/// The record protection of the transparent provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Protection {
    None,
    Tls12,
    Tls13,
}

impl Unit {
    /// Appends the unit in wire format, split over several records if it is too long.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        const MOST: usize = 1 << 14;
        let pieces = self.content.chunks(MOST);
        // a message has a header; other records may be empty
        let empty = self.content.is_empty().then_some(&[][..]);
        for content in pieces.chain(empty) {
            bytes.extend_from_slice(&match self.protection {
                Protection::None => record(self.typ, content),
                Protection::Tls12 => record(self.typ, &[content, &TAG].concat()),
                Protection::Tls13 => {
                    record(APPLICATION_DATA, &[content, &[self.typ], &TAG].concat())
                }
            });
        }
    }
}

/// The index of the conversation with compressed certificates.
pub(super) const COMPRESSING: usize = 2;

/// All conversations. Corpora refer to them by number, so append new ones at the end.
pub(super) fn conversations() -> &'static [Conversation] {
    static MADE: OnceLock<Vec<Conversation>> = OnceLock::new();
    MADE.get_or_init(|| {
        let usual = |auth| Setup {
            // a change that was accepted must not fail the handshake later
            hashes_transcript: false,
            ..Setup::usual(auth)
        };
        let tls12 = |auth| Setup {
            versions: [Versions::Tls12; 2],
            ..usual(auth)
        };
        let none = usual(ClientAuth::None);
        let with = |versions| Setup { versions, ..none };
        let stored = Some(Resumes::Stored);
        let resuming = |setup, resumes| Setup { resumes, ..setup };
        let retrying = |setup| Setup {
            retry: true,
            ..setup
        };
        let early = Setup {
            early_data: true,
            ..resuming(none, stored)
        };
        let compressing = Setup {
            compresses: true,
            ..usual(ClientAuth::Required)
        };
        let tickets = Some(Resumes::Tickets);
        let tls12_auth = tls12(ClientAuth::Required);
        let absent = ClientAuth::OptionalAbsent;
        vec![
            Conversation::authenticated(usual(ClientAuth::Required)),
            Conversation::authenticated(tls12_auth),
            Conversation::full(compressing),
            Conversation::full(retrying(usual(absent))),
            Conversation::full(resuming(none, tickets)),
            Conversation::resumed(resuming(none, stored)),
            Conversation::resumed(early),
            Conversation::resumed(retrying(early)),
            Conversation::full(resuming(tls12_auth, tickets)),
            Conversation::resumed(resuming(tls12_auth, tickets)),
            Conversation::resumed(resuming(tls12(absent), stored)),
            Conversation::full(with([Versions::Both, Versions::Tls12])),
            Conversation::full(with([Versions::Both; 2])),
            Conversation::full(with([Versions::Tls12, Versions::Both])),
        ]
    })
}

impl Conversation {
    /// Creates a conversation whose ends authenticate.
    fn authenticated(setup: Setup) -> Self {
        let mut conversation = Self::new(setup, Configs::new(setup), None);
        for (side, leaf) in [Side::Client, Side::Server].into_iter().zip(0..) {
            let mut end = conversation.staged(side, usize::MAX, Api::Buffered);
            end.take_output();
            conversation.leaves[leaf] = end.peer_certificates().into_iter().next();
        }
        conversation
    }

    fn full(setup: Setup) -> Self {
        Self::new(setup, trusting(setup), None)
    }

    /// Creates a conversation that resumes the session of another.
    fn resumed(setup: Setup) -> Self {
        let configs = trusting(setup);
        forget_sessions();
        let [to_client, _] = converse(&configs, "Full");
        Self::new(setup, configs, Some(to_client))
    }

    fn new(setup: Setup, configs: Configs, before: Option<Vec<u8>>) -> Self {
        let kind = if before.is_some() { "Resumed" } else { "Full" };
        let flights = converse(&configs, kind);
        let is_tls12 = setup.versions.contains(&Versions::Tls12);
        let protection = if is_tls12 {
            Protection::Tls12
        } else {
            Protection::Tls13
        };
        let units = flights.map(|flight| units(&flight, protection));
        Self {
            configs,
            sends_early: setup.early_data,
            before,
            wires: units.each_ref().map(|units| wire(units)),
            units,
            leaves: [None, None],
        }
    }

    /// The units that this side receives.
    pub(super) fn units(&self, side: Side) -> &[Unit] {
        &self.units[side as usize]
    }

    /// The certificate that the peer of this side has proven to have, in a conversation with
    /// authentication.
    pub(super) fn leaf(&self, side: Side) -> Option<&[u8]> {
        self.leaves[side as usize].as_deref()
    }

    pub(super) fn server_config(&self) -> Arc<rustls::ServerConfig> {
        self.configs.server.clone()
    }

    /// The units from `unit` on, in wire format.
    pub(super) fn wire_from(&self, side: Side, unit: usize) -> &[u8] {
        let (bytes, starts) = &self.wires[side as usize];
        let start = starts.get(unit).copied().unwrap_or(bytes.len());
        &bytes[start..]
    }

    /// Creates a connection that has received the first `received` units.
    pub(super) fn staged(&self, side: Side, received: usize, api: Api) -> Box<dyn Endpoint> {
        let mut end = self.fresh(side, api);
        let bytes = self.wire_from(side, 0);
        let len = bytes.len() - self.wire_from(side, received).len();
        end.receive(&bytes[..len]).unwrap();
        end
    }

    fn fresh(&self, side: Side, api: Api) -> Box<dyn Endpoint> {
        let Configs { client, server } = &self.configs;
        if side == Side::Server {
            return match api {
                Api::Buffered => Box::new(ThisBuffered::new(self.configs.server())),
                Api::Unbuffered => Box::new(ThisUnbuffered::server(server.clone())),
            };
        }
        forget_sessions();
        if let Some(flight) = &self.before {
            let mut before = ThisBuffered::new(self.configs.client());
            before.receive(flight).unwrap();
        }
        let mut end: Box<dyn Endpoint> = match api {
            Api::Buffered => Box::new(ThisBuffered::new(self.configs.client())),
            Api::Unbuffered => Box::new(ThisUnbuffered::client(client.clone())),
        };
        if self.sends_early {
            end.send_early(EARLY);
        }
        end
    }
}

/// The API of the connection under test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Api {
    Buffered,
    Unbuffered,
}

const EARLY: &[u8] = b"early data";

/// The input of client and server in a handshake of this `kind` and shortly after.
fn converse(configs: &Configs, kind: &str) -> [Vec<u8>; 2] {
    let mut client = ThisBuffered::new(configs.client());
    let mut server = ThisBuffered::new(configs.server());
    let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
    // accepted in the second connection only
    client.send_early(EARLY);
    loop {
        let flight = client.take_output();
        server.receive(&flight).unwrap();
        to_server.extend(&flight);
        let answer = server.take_output();
        client.receive(&answer).unwrap();
        to_client.extend(&answer);
        if flight.is_empty() && answer.is_empty() {
            break;
        }
    }
    let negotiated = client.negotiated();
    assert!(negotiated.contains(kind), "{negotiated}");
    for (end, flight) in [(&mut client, &mut to_server), (&mut server, &mut to_client)] {
        end.send(b"before");
        flight.extend(end.take_output());
        if negotiated.starts_with("Some(TLSv1_3)") {
            end.refresh_traffic_keys();
        }
        end.send(b"after");
        end.close();
        flight.extend(end.take_output());
    }
    [to_client, to_server]
}

/// Encodes each unit in its own record; returns the bytes and the units' positions.
fn wire(units: &[Unit]) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut starts) = (Vec::new(), Vec::new());
    for unit in units {
        starts.push(bytes.len());
        unit.encode(&mut bytes);
    }
    (bytes, starts)
}

/// The messages in a flight. In TLS 1.3 the type application_data means that there is an inner
/// type; otherwise a record is protected if it ends in a tag.
fn units(flight: &[u8], protection: Protection) -> Vec<Unit> {
    let mut units = Vec::new();
    for record in records(flight) {
        let mut unit = Unit {
            typ: record.typ,
            protection: Protection::None,
            content: record.payload,
        };
        let inner = unit.content.strip_suffix(&TAG).map(<[u8]>::to_vec);
        match (inner, protection) {
            (Some(mut inner), Protection::Tls13) if unit.typ == APPLICATION_DATA => {
                unit.typ = inner.pop().unwrap();
                unit.content = inner;
                unit.protection = protection;
            }
            (Some(inner), Protection::Tls12) => {
                unit.content = inner;
                unit.protection = protection;
            }
            _ => {}
        }
        if unit.typ != HANDSHAKE {
            units.push(unit);
            continue;
        }
        let mut reader = Reader(&unit.content);
        while let [_, high, middle, low, ..] = *reader.0 {
            let len = u32::from_be_bytes([0, high, middle, low]);
            units.push(Unit {
                content: reader.bytes(4 + len as usize).to_vec(),
                ..unit
            });
        }
        assert!(reader.is_empty());
    }
    units
}
