//! Plans of the man in the middle: every change to every record, every byte, and several changes at
//! a time.

use harness::peers::configs::product;
use harness::peers::roles::{ROLES, Role};
use harness::wire::client_hello::{PRE_SHARED_KEY, SESSION_TICKET};
use harness::wire::{Noise, message, record};

use crate::tampering::conversation::Pace;
use crate::tampering::kinds::{Kind, Pair, Untouched};
use crate::tampering::middle::{At, Change, HEADER_LEN, Middle, Step, places};

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The plan's description, in the form of the cases of [`harness::comparison`].
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) pace: Pace,
}

impl Change {
    /// True if it does not depend on positions inside the record.
    fn is_without_place(&self) -> bool {
        use Change::*;
        let moves = matches!(
            self,
            Drop | Duplicate | Later(_) | Merge | Reflect | ReflectToo
        );
        moves || matches!(self, Rewrite(_) | Splice | SpliceRest | InsertOther)
    }

    /// True if the changed part can be found in any layout of the record.
    fn has_name(&self) -> bool {
        match self {
            Self::Insert(_) | Self::Replace(_) => true,
            // type and version; the length differs between crates
            Self::Flip(At::Byte(at), _) => *at < HEADER_LEN - 2,
            // tickets occur in both and differ
            Self::Flip(At::Extension(typ, _), _) => ![SESSION_TICKET, PRE_SHARED_KEY].contains(typ),
            _ => false,
        }
    }
}

impl Plan {
    pub(crate) fn new(name: String, steps: Vec<Step>) -> Self {
        let pace = Pace::Pieces;
        Self { name, steps, pace }
    }

    /// Creates a plan with a single change.
    fn change(kind: &Kind, sender: Role, record: usize, change: Change) -> Self {
        let flight = flight(kind, sender, record);
        let name = format!("{flight} {}: record {record} {change:?}", kind.name());
        let step = Step {
            sender,
            record,
            change,
        };
        Self::new(name, vec![step])
    }

    /// True if one crate's end can be compared with the other's. `a` and `b` are the untouched
    /// connections with either end. Both ends must receive the same records up to the changed one.
    pub(crate) fn compares(&self, side: Role, a: &Untouched, b: &Untouched) -> bool {
        let [step] = &self.steps[..] else {
            return false;
        };
        let [a, b] = [a, b].map(|it| &it.sent[step.sender as usize][..]);
        let (Some(in_a), Some(in_b)) = (a.get(step.record), b.get(step.record)) else {
            return false;
        };
        // records of the two crates may differ only in length, except alerts and KeyUpdates
        let kind = |it: &Vec<u8>| (it[0], if it.len() <= 31 { it.len() } else { 0 });
        let kinds = a.iter().map(kind).zip(b.iter().map(kind));
        // all bytes of an encrypted record are equivalent
        let has_place = in_a.len() == in_b.len() || in_a[0] == 23;
        let receives = step.sender != side;
        let change = &step.change;
        // the outcome depends on later records
        let depends = matches!(change, Change::Delay(_) | Change::Replay(_));
        kinds.take(step.record + 1).all(|(a, b)| a == b)
            && (change.is_without_place() || receives && (has_place || change.has_name()))
            && !depends
    }

    /// Returns the man in the middle for connections of these ends.
    pub(crate) fn middle<'a>(&'a self, pair: &'a Pair) -> Middle<'a> {
        Middle::new(&self.steps, Some(pair.untouched()))
    }
}

/// Returns the flight of a record, as [`harness::comparison`] names it.
fn flight(kind: &Kind, sender: Role, number: usize) -> &'static str {
    match (sender, number) {
        (Role::Client, 0) => "ClientHello",
        // a change_cipher_spec and early data may come between the two
        (Role::Client, 1..=3) if kind.retry => "second ClientHello",
        (Role::Client, _) => "client's flight",
        (Role::Server, 0) if kind.retry => "HelloRetryRequest",
        (Role::Server, _) => "server's flight",
    }
}

/// Returns plans with one change to one record each, which `changes` lists for the record.
fn singly(kind: &Kind, untouched: &Untouched, changes: impl Fn(&[u8]) -> Vec<Change>) -> Vec<Plan> {
    let mut plans = Vec::new();
    for sender in ROLES {
        for (number, record) in untouched.sent[sender as usize].iter().enumerate() {
            let plan = |change| Plan::change(kind, sender, number, change);
            plans.extend(changes(record).into_iter().map(plan));
        }
    }
    plans
}

/// Returns a plan for every change to every record.
pub(crate) fn single(kind: &Kind, untouched: &Untouched) -> Vec<Plan> {
    singly(kind, untouched, |record| {
        let (len, mut changes) = (record.len(), moved());
        changes.extend(cut(len));
        changes.extend(headers(len));
        changes.extend(flips(record));
        changes.extend(inserted());
        changes
    })
}

/// Returns changes that insert other connections' records, or move a record without changing it.
fn moved() -> Vec<Change> {
    let mut changes = vec![Change::Splice, Change::SpliceRest, Change::InsertOther];
    changes.extend([Change::Drop, Change::Duplicate]);
    changes.extend([1, 3, 1000].map(Change::Replay));
    changes.extend([1, 2, 1000].map(Change::Later));
    changes.extend([1, 1000].map(Change::Delay));
    changes.extend([Change::Merge, Change::Reflect, Change::ReflectToo]);
    changes
}

fn cut(len: usize) -> Vec<Change> {
    let mut changes = Vec::new();
    for at in [1, 4, HEADER_LEN, HEADER_LEN + 1, len / 2, len - 1] {
        changes.extend([Change::Cut(at), Change::End(at)]);
    }
    changes.extend([0, len].map(Change::End));
    let payload = len - HEADER_LEN;
    changes.extend([1, payload / 2, payload - 1].map(Change::Split));
    changes.extend([1, 16, 17, payload - 1, payload].map(Change::Shorten));
    changes.extend([1, 16, 300, 1 << 14].map(|by| Change::Lengthen(by, 0)));
    changes.extend([Change::Lengthen(1, 0xff), Change::Lengthen(40_000, 7)]);
    changes
}

fn headers(len: usize) -> Vec<Change> {
    let mut changes = [0, 20, 21, 22, 23, 24, 255].map(Change::Type).to_vec();
    let versions = [
        0, 0x0002, 0x0300, 0x0301, 0x0302, 0x0304, 0x0403, 0xfefd, 0xffff,
    ];
    changes.extend(versions.map(Change::Version));
    let len = (len - HEADER_LEN) as u16;
    let lengths = [0, 1, len / 2, len - 1, len + 1, len + 100, u16::MAX];
    changes.extend(lengths.map(Change::Length));
    changes.extend([1, 257].map(|more| Change::Length((1 << 14) + more)));
    changes
}

/// Flips bits of some bytes.
fn flips(record: &[u8]) -> Vec<Change> {
    let mut changes = Vec::new();
    for at in 0..HEADER_LEN {
        changes.extend([0, 3, 7].map(|bit| Change::Flip(At::Byte(at), bit)));
    }
    // without offsets before the start of the record
    let last = [1, 2, 16, 17, 18]
        .into_iter()
        .filter(|at| *at <= record.len());
    changes.extend(last.map(|at| Change::Flip(At::Last(at), 0)));
    let body = places(record);
    let step = (body.len() / 12).max(1);
    let body = body.into_iter().skip(HEADER_LEN).step_by(step);
    changes.extend(
        (0..)
            .zip(body)
            .map(|(number, at)| Change::Flip(at, number % 8)),
    );
    changes
}

/// Returns changes that insert records that anybody can create.
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

/// Flips these bits of each unencrypted byte, and of every fifth encrypted byte, because those are
/// equivalent.
pub(crate) fn bytes(kind: &Kind, untouched: &Untouched, bits: &[u32]) -> Vec<Plan> {
    singly(kind, untouched, |record| {
        let step = if record[0] == 23 { 5 } else { 1 };
        let body = places(record)
            .split_off(HEADER_LEN)
            .into_iter()
            .step_by(step);
        let all = (0..HEADER_LEN).map(At::Byte).chain(body);
        product(all, bits)
            .map(|(at, bit)| Change::Flip(at, *bit))
            .collect()
    })
}

/// Returns changes to the CRYPTO bytes of QUIC, including flips of these bits. Each piece that a
/// side sends counts as a record. QUIC itself protects packets, and handles lost, repeated and
/// reordered ones.
pub(crate) fn over_quic(kind: &Kind, untouched: &Untouched, bits: &[u32]) -> Vec<Plan> {
    singly(kind, untouched, |piece| {
        let len = piece.len() - HEADER_LEN;
        let mut changes = vec![Change::Drop, Change::Duplicate, Change::Merge];
        changes.extend([Change::Later(1), Change::Reflect]);
        changes.extend([1, 3, 4, len / 2, len - 1].map(|at| Change::Shorten(len - at)));
        let lengths = [0, 40, 40, 20, 0, 2, 4, 32, 1];
        for (typ, len) in [0, 1, 2, 4, 5, 8, 11, 20, 24].into_iter().zip(lengths) {
            let message = message(typ, &vec![0; len]);
            changes.push(Change::Insert(record(22, &message)));
        }
        let body = places(piece).split_off(HEADER_LEN);
        changes.extend(product(body, bits).map(|(at, bit)| Change::Flip(at, *bit)));
        changes
    })
}

/// Combines two to four of `singles`, at some pace.
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
        steps: parts.iter().flat_map(|part| part.steps.clone()).collect(),
        pace,
    }
}
