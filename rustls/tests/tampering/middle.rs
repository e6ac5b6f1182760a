//! A man in the middle of two ends: an attacker who takes the records that either sends and
//! forwards them, changed according to a plan.
//!
//! ```text
//!   client ──► its line ──► server    a line counts its sender's records and applies the plan;
//!   client ◄── its line ◄── server    held-back records wait for others, or until nothing moves
//! ```
//!
//! The attacker has no keys. The tests drive the ends and check their behaviour.

use std::collections::VecDeque;
use std::mem;

use harness::peers::roles::Role;
use harness::wire::client_hello::ClientHello;
use harness::wire::{Record, records};

use crate::tampering::kinds::Untouched;

/// The length of a record's header: type, version and length.
pub(crate) const HEADER_LEN: usize = 5;

/// A change to one record.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) sender: Role,
    /// The index of the record among those of its sender.
    pub(crate) record: usize,
    pub(crate) change: Change,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Drop,
    /// Sends it twice in a row.
    Duplicate,
    /// Repeats it after this many other records, or when nothing else moves.
    Replay(usize),
    /// Moves it after this many other records of its sender, or sends it when nothing else moves.
    Later(usize),
    /// Holds it until this many records have come from the other side, or nothing else moves.
    Delay(usize),
    /// Keeps only this many bytes; the next record follows at once.
    Cut(usize),
    /// Shortens the payload by this many bytes and corrects the header.
    Shorten(usize),
    /// Appends this many bytes of this value and corrects the header.
    Lengthen(usize, u8),
    /// Ends the stream after this many bytes of the record.
    End(usize),
    /// Merges it with the next one, under the header of the first.
    Merge,
    /// Splits it into two records, the first with this many bytes of the payload.
    Split(usize),
    /// Flips this bit (0 is the lowest) of a byte.
    Flip(At, u32),
    Type(u8),
    Version(u16),
    /// Changes only the length in the header.
    Length(u16),
    /// Inserts bytes before it.
    Insert(Vec<u8>),
    /// Replaces it with these bytes.
    Replace(Vec<u8>),
    /// Inserts another connection's record of the same number before it.
    InsertOther,
    /// Replaces it with another connection's record of the same number.
    Splice,
    /// Replaces it and all later records with those of another connection.
    SpliceRest,
    /// Sends it back to its sender instead.
    Reflect,
    /// Sends it back to its sender as well.
    ReflectToo,
    /// Applies this function to the record.
    Rewrite(fn(&Record) -> Record),
}

/// A position in a record. Extensions have their own positions, because the ends shuffle those of a
/// ClientHello.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum At {
    Byte(usize),
    /// This byte counted from the end; 1 is the last byte.
    Last(usize),
    /// This byte of the extension of this type, counted from the start of its type, in a
    /// ClientHello that fits into one record.
    Extension(u16, usize),
}

impl At {
    /// Returns the offset in a record, if it exists.
    pub(crate) fn find(self, record: &[u8]) -> Option<usize> {
        let at = match self {
            Self::Byte(at) => at,
            Self::Last(from_end) => record.len().checked_sub(from_end)?,
            Self::Extension(typ, byte) => {
                let (start, len) = extension(record, typ)?;
                (byte < len).then_some(start + byte)?
            }
        };
        (at < record.len()).then_some(at)
    }
}

/// Returns all positions of a record; those in the extensions of a ClientHello are relative to the
/// extension.
pub(crate) fn places(record: &[u8]) -> Vec<At> {
    let Some(hello) = client_hello(record) else {
        return (0..record.len()).map(At::Byte).collect();
    };
    let mut extensions = hello.extensions;
    // a stable order
    extensions.sort();
    let len: usize = extensions.iter().map(|(_, body)| 4 + body.len()).sum();
    let mut places: Vec<_> = (0..record.len() - len).map(At::Byte).collect();
    for (typ, body) in &extensions {
        places.extend((0..4 + body.len()).map(|byte| At::Extension(*typ, byte)));
    }
    places
}

fn client_hello(record: &[u8]) -> Option<ClientHello> {
    let (header, message) = record.split_at_checked(HEADER_LEN)?;
    match message {
        [1, 0, high, low, body @ ..]
            if header[0] == 22 && body.len() == usize::from(u16::from_be_bytes([*high, *low])) =>
        {
            Some(ClientHello::read(message))
        }
        _ => None,
    }
}

/// Returns the offset of an extension of a ClientHello, and its length with its header.
fn extension(record: &[u8], typ: u16) -> Option<(usize, usize)> {
    let extensions = client_hello(record)?.extensions;
    let mut at = record.len();
    for (other, body) in extensions.iter().rev() {
        at -= 4 + body.len();
        if *other == typ {
            return Some((at, 4 + body.len()));
        }
    }
    None
}

/// The man in the middle.
pub(crate) struct Middle<'a> {
    plan: &'a [Step],
    /// Another connection of the same ends.
    other: Option<&'a Untouched>,
    /// The records of the client, and of the server.
    lines: [Line; 2],
    applied: usize,
}

#[derive(Default)]
struct Line {
    /// An incomplete record.
    unparsed: Vec<u8>,
    /// Records as they were sent.
    sent: Vec<Vec<u8>>,
    held: Vec<HeldRecord>,
    merging: Option<Record>,
    ready: VecDeque<Vec<u8>>,
    delivered: Vec<u8>,
    has_ended: bool,
}

struct HeldRecord {
    bytes: Vec<u8>,
    /// The numbers of records from client and server after which it is released.
    until: [usize; 2],
}

impl<'a> Middle<'a> {
    pub(crate) fn new(plan: &'a [Step], other: Option<&'a Untouched>) -> Self {
        Self {
            plan,
            other,
            lines: Default::default(),
            applied: 0,
        }
    }

    /// Takes the output of an end.
    pub(crate) fn take(&mut self, sender: Role, bytes: &[u8]) {
        let line = &mut self.lines[sender as usize];
        line.unparsed.extend(bytes);
        let mut taken = 0;
        let found = records(&line.unparsed);
        for record in &found {
            taken += HEADER_LEN + record.payload.len();
        }
        line.unparsed.drain(..taken);
        for record in found {
            self.pass(sender, record);
        }
    }

    /// Returns the next piece for the receiver.
    pub(crate) fn next(&mut self, sender: Role) -> Option<Vec<u8>> {
        let line = &mut self.lines[sender as usize];
        let piece = line.ready.pop_front()?;
        line.delivered.extend(&piece);
        Some(piece)
    }

    /// Releases all held-back records, since nothing else moves; returns false if there are none.
    pub(crate) fn release(&mut self) -> bool {
        let mut any = false;
        for line in &mut self.lines {
            if let Some(record) = line.merging.take() {
                line.push(record.to_bytes());
                any = true;
            }
            for held in mem::take(&mut line.held) {
                line.push(held.bytes);
                any = true;
            }
        }
        any
    }

    /// Returns the number of applied steps.
    pub(crate) fn applied(&self) -> usize {
        self.applied
    }

    /// Returns the records as they were sent.
    pub(crate) fn sent(&self, sender: Role) -> &[Vec<u8>] {
        &self.lines[sender as usize].sent
    }

    /// Returns all bytes that went to the receiver.
    pub(crate) fn delivered(&self, sender: Role) -> &[u8] {
        &self.lines[sender as usize].delivered
    }

    fn pass(&mut self, sender: Role, record: Record) {
        let line = &mut self.lines[sender as usize];
        let number = line.sent.len();
        line.sent.push(record.to_bytes());
        let others = self.other.map_or(&[][..], |it| &it.sent[sender as usize]);
        let mut passing = Passing {
            bytes: record.to_bytes(),
            ..Passing::default()
        };
        let steps = self.plan.iter();
        for step in steps.filter(|step| step.changes(sender, number)) {
            let (lines, other) = (self.lines.each_ref(), others.get(number));
            self.applied += usize::from(passing.apply(&step.change, lines, sender, other));
        }
        let line = &mut self.lines[sender as usize];
        if let Some(first) = line.merging.take() {
            passing.merge_behind(first);
        }
        if passing.merges
            && let [record] = &records(&passing.bytes)[..]
        {
            line.merging = Some(record.clone());
            passing.bytes.clear();
        }
        for piece in [passing.before, passing.bytes, passing.behind] {
            line.push(piece);
        }
        line.held.extend(passing.held);
        line.has_ended |= passing.ends;
        self.lines[sender.other() as usize].push(passing.back);
        self.release_due();
    }

    /// Releases the records that have waited long enough.
    fn release_due(&mut self) {
        let seen = self.lines.each_ref().map(|line| line.sent.len());
        for line in &mut self.lines {
            for held in mem::take(&mut line.held) {
                if held
                    .until
                    .iter()
                    .zip(seen)
                    .all(|(until, seen)| *until <= seen)
                {
                    line.push(held.bytes);
                } else {
                    line.held.push(held);
                }
            }
        }
    }
}

impl Step {
    fn changes(&self, sender: Role, number: usize) -> bool {
        let is_later = matches!(self.change, Change::SpliceRest) && self.record < number;
        self.sender == sender && (self.record == number || is_later)
    }
}

impl Line {
    fn push(&mut self, bytes: Vec<u8>) {
        if !self.has_ended && !bytes.is_empty() {
            self.ready.push_back(bytes);
        }
    }
}

/// The results of a record's changes.
#[derive(Default)]
struct Passing {
    before: Vec<u8>,
    bytes: Vec<u8>,
    behind: Vec<u8>,
    back: Vec<u8>,
    held: Vec<HeldRecord>,
    merges: bool,
    ends: bool,
}

impl Passing {
    /// Applies a change; returns false if there is nothing to change.
    fn apply(
        &mut self,
        change: &Change,
        lines: [&Line; 2],
        sender: Role,
        other: Option<&Vec<u8>>,
    ) -> bool {
        let held = |bytes, own, others| {
            let mut until = lines.map(|line| line.sent.len());
            until[sender as usize] += own;
            until[sender.other() as usize] += others;
            HeldRecord { bytes, until }
        };
        let before = self.bytes.clone();
        let bytes = &mut self.bytes;
        match change {
            Change::Drop => bytes.clear(),
            Change::Duplicate => self.behind.extend(&*bytes),
            Change::Replay(after) => self.held.push(held(bytes.clone(), *after, 0)),
            Change::Later(after) => self.held.push(held(mem::take(bytes), *after, 0)),
            Change::Delay(answers) => self.held.push(held(mem::take(bytes), 0, *answers)),
            Change::Cut(at) => bytes.truncate(*at),
            Change::End(at) => {
                bytes.truncate(*at);
                self.ends = true;
                return true;
            }
            Change::Merge => self.merges = true,
            Change::Replace(with) => bytes.clone_from(with),
            Change::Insert(inserted) => self.before.extend(inserted),
            Change::InsertOther => match other {
                Some(other) => self.before.extend(other),
                None => return false,
            },
            Change::Splice | Change::SpliceRest => match other {
                Some(other) => bytes.clone_from(other),
                None => return false,
            },
            Change::Reflect => self.back = mem::take(bytes),
            Change::ReflectToo => self.back.clone_from(bytes),
            Change::Flip(at, bit) => match at.find(bytes) {
                Some(at) => bytes[at] ^= 1 << bit,
                None => return false,
            },
            Change::Shorten(_)
            | Change::Lengthen(..)
            | Change::Split(_)
            | Change::Type(_)
            | Change::Version(_)
            | Change::Length(_)
            | Change::Rewrite(_) => reshape(bytes, change),
        }
        let adds = matches!(
            change,
            Change::Duplicate
                | Change::Replay(_)
                | Change::Merge
                | Change::Insert(_)
                | Change::InsertOther
                | Change::ReflectToo
        );
        adds || before != self.bytes
    }

    /// Appends the payload to the first record, under its header.
    fn merge_behind(&mut self, mut first: Record) {
        match &records(&self.bytes)[..] {
            [record] if first.payload.len() + record.payload.len() < 1 << 16 => {
                first.payload.extend(&record.payload);
                self.bytes = first.to_bytes();
            }
            _ => self.bytes = [first.to_bytes(), mem::take(&mut self.bytes)].concat(),
        }
    }
}

/// Applies changes that need a complete record. Does nothing if there is none, for example after
/// other changes.
fn reshape(bytes: &mut Vec<u8>, change: &Change) {
    let [record] = &mut records(bytes)[..] else {
        return;
    };
    let payload = &mut record.payload;
    match change {
        Change::Shorten(by) => payload.truncate(payload.len().saturating_sub(*by)),
        Change::Lengthen(by, with) => payload.resize(payload.len() + by, *with),
        Change::Split(at) if *at < payload.len() => {
            let rest = Record {
                payload: payload.split_off(*at),
                ..*record
            };
            *bytes = [record.to_bytes(), rest.to_bytes()].concat();
            return;
        }
        Change::Type(typ) => record.typ = *typ,
        Change::Version(version) => record.legacy_version = *version,
        Change::Rewrite(rewrite) => *record = rewrite(record),
        Change::Length(len) => {
            *bytes = record.to_bytes();
            bytes[HEADER_LEN - 2..HEADER_LEN].copy_from_slice(&len.to_be_bytes());
            return;
        }
        _ => return,
    }
    *bytes = record.to_bytes();
}
