//! Tampering over QUIC: CRYPTO bytes that are changed, truncated, missing, repeated, or from
//! another level. QUIC itself handles lost, repeated and reordered packets.
//!
//! TLS receives these bytes unprotected, so it reads each change. Only the handshake itself can
//! detect it.

use std::mem;
use std::panic::{self, AssertUnwindSafe};

use harness::peers::configs::PROVIDERS;
use harness::peers::deviations::noted;
use harness::quic::{self, Crypto, Level, QuicEndpoint};
use harness::wire::{message, record};

use crate::tampering::judge::{Judge, TRIES};
use crate::tampering::kinds::{Api, EarlyData, KINDS, Kind, Pair};
use crate::tampering::middle::{At, DIRECTIONS, Direction, HEADER_LEN, places};
use crate::tampering::plans::flight;

/// The transport parameters of client and server.
const PARAMETERS: [&[u8]; 2] = [b"parameters of the client", b"parameters of the server"];

/// The change to one piece of CRYPTO bytes. A piece is everything that a side sends for one level
/// at a time.
#[derive(Clone, Debug)]
enum Change {
    Nothing,
    Drop,
    Duplicate,
    Flip {
        at: At,
        bit: u32,
    },
    Cut {
        at: usize,
    },
    /// Delivers the piece together with the next one, as if both had the same level.
    Merge,
    /// Delivers the piece after the next one, whose level it then seems to have.
    Swap,
    Insert(Vec<u8>),
    /// Returns the piece to its sender.
    Reflect,
}

#[derive(Clone, Debug)]
struct Plan {
    direction: Direction,
    /// The number of the piece in that direction.
    piece: usize,
    change: Change,
}

struct Side {
    end: Box<dyn QuicEndpoint>,
    is_ours: bool,
    /// All bytes sent by this side, and all received, without those after the handshake.
    sent: Vec<u8>,
    arrived: Vec<u8>,
    pieces: Vec<Crypto>,
    incoming: Vec<Vec<u8>>,
    error: Option<String>,
}

/// The outcome of both sides.
struct Report {
    /// Each side's `error / alert`, and whether its handshake is incomplete.
    outcomes: [(String, bool); 2],
    /// The properties of the received bytes that [`harness::peers::deviations`] needs.
    noted: [String; 2],
    pieces: [Vec<Crypto>; 2],
}

impl Side {
    fn new(end: Box<dyn QuicEndpoint>, api: Api) -> Self {
        Self {
            end,
            is_ours: api != Api::Upstream,
            sent: Vec::new(),
            arrived: Vec::new(),
            pieces: Vec::new(),
            incoming: Vec::new(),
            error: None,
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        if self.end.read_level() != Level::OneRtt {
            self.arrived.extend(bytes);
        }
        let Err(error) = self.end.receive(bytes) else {
            return;
        };
        if self.is_ours {
            let alert = self.end.alert();
            assert_eq!(self.end.receive(bytes).as_ref(), Err(&error));
            assert_eq!(self.end.alert(), alert);
            assert_eq!(self.end.take_crypto(), [], "sent after a failure");
            self.end.exported().unwrap_err();
        }
        self.error = Some(error);
    }

    fn outcome(&self) -> (String, bool) {
        let alert = match (&self.error, self.end.alert()) {
            (Some(_), Some(alert)) => alert.to_string(),
            _ => "none".into(),
        };
        let error = self.error.as_deref().unwrap_or("none");
        (format!("{error} / {alert}"), self.end.is_handshaking())
    }
}

/// Runs both sides until they are done or nothing moves.
fn converse(pair: &Pair, plan: Option<&Plan>) -> Report {
    let [client, server] = ends(pair);
    let mut sides = [
        Side::new(client, pair.apis[0]),
        Side::new(server, pair.apis[1]),
    ];
    let mut merging: Option<(usize, Vec<u8>)> = None;
    let mut swapping: Option<(usize, Vec<u8>)> = None;
    for round in 0.. {
        assert!(round < 100, "it never ends");
        let mut moved = false;
        for from in [0, 1] {
            for piece in sides[from].end.take_crypto() {
                moved = true;
                let number = sides[from].pieces.len();
                let mut bytes = piece.bytes.clone();
                if piece.level != Level::OneRtt {
                    sides[from].sent.extend(&bytes);
                }
                sides[from].pieces.push(piece);
                let is_it = |plan: &&Plan| plan.direction as usize == from && plan.piece == number;
                let change = plan.filter(is_it).map_or(&Change::Nothing, |it| &it.change);
                let mut to = 1 - from;
                let mut before = Vec::new();
                match change {
                    Change::Nothing => {}
                    Change::Drop => bytes.clear(),
                    Change::Duplicate => before.push(bytes.clone()),
                    Change::Flip { at, bit } => {
                        if let Some(at) = at.find(&record(22, &bytes)) {
                            bytes[at - HEADER_LEN] ^= 1 << bit;
                        }
                    }
                    Change::Cut { at } => bytes.truncate(*at),
                    Change::Merge => merging = Some((from, mem::take(&mut bytes))),
                    Change::Swap => swapping = Some((from, mem::take(&mut bytes))),
                    Change::Insert(other) => before.push(other.clone()),
                    Change::Reflect => to = from,
                }
                if bytes.is_empty() {
                    continue;
                }
                if let Some((_, first)) = merging.take_if(|(of, _)| *of == from) {
                    bytes = [first, bytes].concat();
                }
                sides[to].incoming.append(&mut before);
                sides[to].incoming.push(bytes);
                if let Some((_, late)) = swapping.take_if(|(of, _)| *of == from) {
                    sides[to].incoming.push(late);
                }
            }
        }
        for side in &mut sides {
            for bytes in mem::take(&mut side.incoming) {
                side.receive(&bytes);
            }
        }
        if !moved {
            break;
        }
    }
    check(&sides);
    Report {
        outcomes: sides.each_ref().map(Side::outcome),
        noted: sides.each_ref().map(|it| noted(&record(22, &it.arrived))),
        pieces: sides.map(|side| side.pieces),
    }
}

/// Once both ends are complete, they agree and no handshake byte was changed.
fn check([client, server]: &[Side; 2]) {
    let is_complete = |side: &Side| side.error.is_none() && !side.end.is_handshaking();
    if !is_complete(client) || !is_complete(server) {
        return;
    }
    assert_eq!(client.end.negotiated(), server.end.negotiated());
    assert_eq!(
        client.end.exported().unwrap(),
        server.end.exported().unwrap()
    );
    let parameters = [server, client].map(|it| it.end.peer_parameters().unwrap());
    assert_eq!(parameters, PARAMETERS);
    for (from, to) in [(client, server), (server, client)] {
        if to.is_ours {
            assert_eq!(
                from.sent, to.arrived,
                "complete, and what arrived was not sent"
            );
        }
    }
}

fn plans(pieces: &[Vec<Crypto>; 2], bits: &[u32]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for direction in DIRECTIONS {
        for (number, piece) in pieces[direction as usize].iter().enumerate() {
            let mut push = |change| {
                plans.push(Plan {
                    direction,
                    piece: number,
                    change,
                });
            };
            let len = piece.bytes.len();
            push(Change::Drop);
            push(Change::Duplicate);
            push(Change::Merge);
            push(Change::Swap);
            push(Change::Reflect);
            for at in [1, 3, 4, len / 2, len - 1] {
                push(Change::Cut { at });
            }
            let inserted = [
                (0, 0),
                (1, 40),
                (2, 40),
                (4, 20),
                (5, 0),
                (8, 2),
                (11, 4),
                (20, 32),
                (24, 1),
            ];
            for (typ, len) in inserted {
                push(Change::Insert(message(typ, &vec![0; len])));
            }
            for at in places(&record(22, &piece.bytes))
                .into_iter()
                .skip(HEADER_LEN)
            {
                for &bit in bits {
                    push(Change::Flip { at, bit });
                }
            }
        }
    }
    plans
}

/// Tries one in `one_of` plans on all ends.
pub(crate) fn judge(judge: &Judge, bits: &[u32], one_of: usize) {
    let is_usable = |kind: &&Kind| kind.is_tls13() && kind.early_data == EarlyData::None;
    for provider in PROVIDERS {
        for (number, kind) in KINDS.iter().filter(is_usable).enumerate() {
            use Api::{Buffered, Upstream};
            let pair = |client, server| Pair::new(*kind, provider, [client, server]);
            let [theirs, ours] = [pair(Upstream, Upstream), pair(Buffered, Buffered)];
            let ends = [pair(Buffered, Upstream), pair(Upstream, Buffered)];
            let pieces = converse(&theirs, None).pieces;
            let plans = plans(&pieces, bits);
            for plan in plans.iter().skip(number % one_of).step_by(one_of) {
                judge_one(judge, kind, plan, &theirs, &ours, &ends);
            }
        }
    }
}

fn judge_one(
    judge: &Judge,
    kind: &Kind,
    plan: &Plan,
    theirs_pair: &Pair,
    ours: &Pair,
    ends: &[Pair; 2],
) {
    let flight = flight(kind, plan.direction, plan.piece);
    let name = format!("{flight} {} over QUIC: {plan:?}", kind.name);
    let run = |pair: &Pair| {
        judge.count();
        let conversation = || converse(pair, Some(plan));
        panic::catch_unwind(AssertUnwindSafe(conversation))
            .map_err(|panic| judge.panicked(pair, &*panic, &name))
            .ok()
    };
    run(ours);
    let receiver = match plan.direction {
        Direction::ToClient => 0,
        Direction::ToServer => 1,
    };
    run(&ends[1 - receiver]);
    judge.compared();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // the effect of a wrong length depends on the order of extensions
    for _ in 0..TRIES {
        let (Some(our), Some(their)) = (run(&ends[receiver]), run(theirs_pair)) else {
            return;
        };
        // positions correspond only in pieces of equal length, and tickets vary
        let lens = [&our, &their].map(|report| {
            let piece = report.pieces[plan.direction as usize].get(plan.piece);
            piece.map(|it| it.bytes.len())
        });
        if lens[0] != lens[1] {
            return;
        }
        let case = format!("{name}{}", our.noted[receiver]);
        let [our, their] = [our, their].map(|it| it.outcomes[receiver].clone());
        ours.push(our);
        theirs.push(their);
        let is_explained = |ours: &(String, bool)| {
            let mut theirs = theirs.iter();
            theirs.any(|it| ours == it || judge.is_explained(&ours.0, &it.0, &case))
        };
        if ours.iter().any(is_explained) {
            return;
        }
    }
    let side = ["client", "server"][receiver];
    let what = format!("{side}\n  ours   {:?}\n  theirs {:?}", ours[0], theirs[0]);
    judge.differ(what, &name);
}

/// A client and a server over QUIC.
fn ends(pair: &Pair) -> [Box<dyn QuicEndpoint>; 2] {
    if pair.needs_session() {
        pair.making_session(|| {
            let [mut client, mut server] = pair.quic_ends(true, PARAMETERS);
            quic::handshake(&mut *client, &mut *server);
        });
    }
    pair.quic_ends(false, PARAMETERS)
}
