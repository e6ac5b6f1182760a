//! Plans of the man in the middle: every change to every record, every byte, and several changes at
//! a time.

use std::mem;

use harness::peers::roles::Role;
use harness::wire::client_hello::{PRE_SHARED_KEY, SESSION_TICKET};
use harness::wire::{Noise, message, record};

use crate::tampering::conversation::Pace;
use crate::tampering::kinds::{Kind, Pair, Untouched};
use crate::tampering::middle::{
    At, Change, DIRECTIONS, Direction, HEADER_LEN, Middle, Step, places,
};

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The plan's description, in the form of the cases of [`harness::comparison`].
    pub(crate) name: String,
    pub(crate) operations: Vec<Operation>,
    pub(crate) pace: Pace,
}

/// A change to one record.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    direction: Direction,
    record: usize,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Change(Change),
    /// Replaces it by another connection's record of the same number.
    Splice,
    /// Replaces all records from there on by another connection's.
    SpliceRest,
    /// Inserts another connection's record before it.
    InsertOther,
}

impl What {
    /// True if the change does not depend on positions inside the record.
    fn is_without_place(&self) -> bool {
        match self {
            Self::Change(Change::Rewrite(_)) => true,
            Self::Change(_) => moved().iter().any(|it| self.is_kind_of(it)),
            _ => true,
        }
    }

    fn is_kind_of(&self, other: &Change) -> bool {
        let kind = mem::discriminant(other);
        matches!(self, Self::Change(change) if mem::discriminant(change) == kind)
    }

    /// True if the changed part is found in any layout of the record.
    fn has_name(&self) -> bool {
        let at = match self {
            Self::Change(Change::Flip { at, .. }) => at,
            Self::Change(change) => {
                return matches!(change, Change::Insert(_) | Change::Replace(_));
            }
            _ => return true,
        };
        match at {
            // type and version; the length differs between crates
            At::Byte(at) => *at < HEADER_LEN - 2,
            At::Last(_) => false,
            // tickets occur in both and differ
            At::Extension { typ, .. } => ![SESSION_TICKET, PRE_SHARED_KEY].contains(typ),
        }
    }
}

impl Plan {
    /// A plan with a name and the given changes.
    pub(crate) fn new(name: String, changes: &[(Direction, usize, Change)]) -> Self {
        let operations = changes.iter().map(|(direction, record, change)| Operation {
            direction: *direction,
            record: *record,
            what: What::Change(change.clone()),
        });
        Self {
            name,
            operations: operations.collect(),
            pace: Pace::Pieces,
        }
    }

    /// A plan with a single change to a record in this direction.
    pub(crate) fn change(kind: &Kind, direction: Direction, number: usize, change: Change) -> Self {
        Self::one(kind, direction, number, What::Change(change))
    }

    fn one(kind: &Kind, direction: Direction, number: usize, what: What) -> Self {
        Self {
            name: format!(
                "{} {}: record {number} {what:?}",
                flight(kind, direction, number),
                kind.name()
            ),
            operations: vec![Operation {
                direction,
                record: number,
                what,
            }],
            pace: Pace::Pieces,
        }
    }

    /// True if one crate's end can be compared with the other's. `a` and `b` are the untampered
    /// conversations with either. Both ends must receive the same records up to the changed one.
    pub(crate) fn compares(&self, side: Role, a: &Untouched, b: &Untouched) -> bool {
        let [
            Operation {
                direction,
                record,
                what,
            },
        ] = &self.operations[..]
        else {
            return false;
        };
        let [a, b] = [a, b].map(|it| &it.sent[*direction as usize][..]);
        let (Some(in_a), Some(in_b)) = (a.get(*record), b.get(*record)) else {
            return false;
        };
        // records of the two crates may differ only in length, except alerts and KeyUpdates
        let kind = |it: &Vec<u8>| (it[0], if it.len() <= 31 { it.len() } else { 0 });
        let mut kinds = a.iter().map(kind).zip(b.iter().map(kind)).take(record + 1);
        let receives = (*direction == Direction::ToClient) == (side == Role::Client);
        // all bytes of an encrypted record are equivalent
        let has_place = in_a.len() == in_b.len() || in_a[0] == 23;
        // changes whose outcome depends on later records
        let depends = [Change::Delay { answers: 0 }, Change::Replay { after: 0 }];
        kinds.all(|(a, b)| a == b)
            && (what.is_without_place() || receives && (has_place || what.has_name()))
            && !depends.iter().any(|it| what.is_kind_of(it))
    }

    /// The man in the middle for connections of these ends.
    pub(crate) fn middle(&self, pair: &Pair) -> Middle {
        let mut steps = Vec::new();
        for Operation {
            direction,
            record,
            what,
        } in &self.operations
        {
            let mut step = |record, change| {
                steps.push(Step {
                    direction: *direction,
                    record,
                    change,
                });
            };
            let others = || {
                pair.untouched().sent[*direction as usize]
                    .iter()
                    .enumerate()
                    .skip(*record)
            };
            match what {
                What::Change(change) => step(*record, change.clone()),
                What::Splice => {
                    for (number, other) in others().take(1) {
                        step(number, Change::Replace(other.clone()));
                    }
                }
                What::InsertOther => {
                    for (number, other) in others().take(1) {
                        step(number, Change::Insert(other.clone()));
                    }
                }
                What::SpliceRest => {
                    for (number, other) in others() {
                        step(number, Change::Replace(other.clone()));
                    }
                }
            }
        }
        Middle::new(steps)
    }
}

/// The flight of a record, as [`harness::comparison`] names it.
fn flight(kind: &Kind, direction: Direction, number: usize) -> &'static str {
    match (direction, number) {
        (Direction::ToServer, 0) => "ClientHello",
        // change_cipher_spec and early data may stand between the two
        (Direction::ToServer, 1..=3) if kind.retry => "second ClientHello",
        (Direction::ToServer, _) => "client's flight",
        (Direction::ToClient, 0) if kind.retry => "HelloRetryRequest",
        (Direction::ToClient, _) => "server's flight",
    }
}

/// Every change to every record.
pub(crate) fn single(kind: &Kind, untouched: &Untouched) -> Vec<Plan> {
    let mut plans = Vec::new();
    for direction in DIRECTIONS {
        for (number, record) in untouched.sent[direction as usize].iter().enumerate() {
            let mut push = |what| plans.push(Plan::one(kind, direction, number, what));
            for what in [What::Splice, What::SpliceRest, What::InsertOther] {
                push(what);
            }
            let len = record.len();
            let all = [moved(), cut(len), headers(len), flips(record), inserted()];
            for change in all.into_iter().flatten() {
                push(What::Change(change));
            }
        }
    }
    plans
}

/// Changes that leave the record as it is but move it.
fn moved() -> Vec<Change> {
    vec![
        Change::Drop,
        Change::Duplicate,
        Change::Replay { after: 1 },
        Change::Replay { after: 3 },
        Change::Replay { after: 1000 },
        Change::Later { after: 1 },
        Change::Later { after: 2 },
        Change::Later { after: 1000 },
        Change::Delay { answers: 1 },
        Change::Delay { answers: 1000 },
        Change::Merge,
        Change::Reflect,
        Change::ReflectToo,
    ]
}

fn cut(len: usize) -> Vec<Change> {
    let mut changes = Vec::new();
    for at in [1, 4, HEADER_LEN, HEADER_LEN + 1, len / 2, len - 1] {
        changes.push(Change::Cut { at });
        changes.push(Change::End { at });
    }
    changes.extend([0, len].map(|at| Change::End { at }));
    let payload = len - HEADER_LEN;
    changes.extend([1, payload / 2, payload - 1].map(|at| Change::Split { at }));
    changes.extend([1, 16, 17, payload - 1, payload].map(|by| Change::Shorten { by }));
    for (by, with) in [
        (1, 0),
        (1, 0xff),
        (16, 0),
        (300, 0),
        (1 << 14, 0),
        (40_000, 7),
    ] {
        changes.push(Change::Lengthen { by, with });
    }
    changes
}

fn headers(len: usize) -> Vec<Change> {
    let mut changes = [0, 20, 21, 22, 23, 24, 255].map(Change::Type).to_vec();
    let versions = [
        0, 0x0002, 0x0300, 0x0301, 0x0302, 0x0304, 0x0403, 0xfefd, 0xffff,
    ];
    changes.extend(versions.map(Change::Version));
    let len = (len - HEADER_LEN) as u16;
    let lengths = [
        0,
        1,
        len / 2,
        len - 1,
        len + 1,
        len + 100,
        (1 << 14) + 1,
        (1 << 14) + 257,
        u16::MAX,
    ];
    changes.extend(lengths.map(Change::Length));
    changes
}

/// Flips bits of some bytes.
fn flips(record: &[u8]) -> Vec<Change> {
    let len = record.len();
    let mut changes = Vec::new();
    for at in 0..HEADER_LEN {
        changes.extend([0, 3, 7].map(|bit| Change::Flip {
            at: At::Byte(at),
            bit,
        }));
    }
    for from_end in [1, 2, 16, 17, 18] {
        changes.push(Change::Flip {
            at: At::Last(from_end),
            bit: 0,
        });
    }
    let body = places(record);
    let step = (body.len() / 12).max(1);
    for (number, at) in body.into_iter().skip(HEADER_LEN).step_by(step).enumerate() {
        changes.push(Change::Flip {
            at,
            bit: (number % 8) as u32,
        });
    }
    // discards offsets before the start of the record
    changes.retain(|change| !matches!(change, Change::Flip { at: At::Last(at), .. } if *at > len));
    changes
}

/// Records that anybody can insert.
fn inserted() -> Vec<Change> {
    let noise = |seed, len| {
        let mut noise = Noise::new(seed);
        (0..len).map(|_| noise.next() as u8).collect::<Vec<_>>()
    };
    let alerts = [[1, 0], [1, 90], [1, 100], [2, 0], [2, 40], [1, 255], [3, 3]];
    let mut records: Vec<_> = alerts.iter().map(|alert| record(21, alert)).collect();
    records.push(record(21, &[2]));
    records.push(record(21, &[1, 0, 1, 0]));
    records.extend([20, 21, 22, 23].map(|typ| record(typ, &[])));
    records.extend([&[1][..], &[0], &[1, 1]].map(|ccs| record(20, ccs)));
    for plain in [
        message(0, &[]),
        message(1, &[0; 40]),
        message(4, &[0; 20]),
        message(14, &[]),
        message(20, &[7; 12]),
        message(20, &[7; 32]),
        message(24, &[0]),
        message(24, &[1]),
        vec![20],
    ] {
        records.push(record(22, &plain));
    }
    records.push(record(23, b"in the clear"));
    records.push(record(23, &noise(1, 40)));
    records.push(record(23, &noise(2, 1 << 14)));
    records.push(record(24, &[1, 0, 0]));
    records.push(noise(3, 50));
    records.push(b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n".to_vec());
    // SSLv2's ClientHello
    records.push([&[0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10][..], &[0; 37]].concat());
    let mut changes: Vec<_> = records.iter().cloned().map(Change::Insert).collect();
    changes.extend(records.into_iter().step_by(3).map(Change::Replace));
    changes.push(Change::Insert([0x17, 3, 3, 0, 0].repeat(200)));
    changes.push(Change::Insert(record(21, &[1, 100]).repeat(10)));
    changes
}

/// Flips these bits of each byte in the clear, and of every fifth encrypted byte, because those are
/// equivalent.
pub(crate) fn bytes(kind: &Kind, untouched: &Untouched, bits: &[u32]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for direction in DIRECTIONS {
        for (number, record) in untouched.sent[direction as usize].iter().enumerate() {
            let is_encrypted = record[0] == 23;
            let body = places(record).split_off(HEADER_LEN);
            let body = body.into_iter().step_by(if is_encrypted { 5 } else { 1 });
            for at in (0..HEADER_LEN).map(At::Byte).chain(body) {
                for &bit in bits {
                    let flip = Change::Flip { at, bit };
                    plans.push(Plan::change(kind, direction, number, flip));
                }
            }
        }
    }
    plans
}

/// Changes to the CRYPTO bytes of QUIC, a record for each piece that a side sends at a time. It
/// flips these bits. QUIC itself handles lost, repeated and reordered packets, and protects them.
pub(crate) fn over_quic(kind: &Kind, untouched: &Untouched, bits: &[u32]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for direction in DIRECTIONS {
        for (number, piece) in untouched.sent[direction as usize].iter().enumerate() {
            let len = piece.len() - HEADER_LEN;
            let mut changes = vec![
                Change::Drop,
                Change::Duplicate,
                Change::Merge,
                Change::Later { after: 1 },
                Change::Reflect,
            ];
            changes.extend([1, 3, 4, len / 2, len - 1].map(|at| Change::Shorten { by: len - at }));
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
            let inserted = inserted.map(|(typ, len)| record(22, &message(typ, &vec![0; len])));
            changes.extend(inserted.map(Change::Insert));
            for at in places(piece).into_iter().skip(HEADER_LEN) {
                changes.extend(bits.iter().map(|&bit| Change::Flip { at, bit }));
            }
            let plan = |change| Plan::change(kind, direction, number, change);
            plans.extend(changes.into_iter().map(plan));
        }
    }
    plans
}

/// Two to four of `singles` at a time, at some pace.
pub(crate) fn several(singles: &[Plan], noise: &mut Noise) -> Plan {
    let parts: Vec<_> = (0..1 + noise.up_to(3))
        .map(|_| &singles[noise.up_to(singles.len()) - 1])
        .collect();
    let pace = match noise.up_to(4) {
        1 => Pace::Heaps,
        2 => Pace::Crumbs(noise.up_to(30)),
        _ => Pace::Pieces,
    };
    let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
    Plan {
        name: format!("{} at {pace:?}", names.join(" and ")),
        operations: parts
            .iter()
            .flat_map(|part| part.operations.clone())
            .collect(),
        pace,
    }
}
