//! A genuine flight with changes: to its records, messages and extensions, whose lengths are then
//! corrected, or to its bytes.

use harness::scripted::recorded::flights::{
    ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, Framing, HANDSHAKE, Record, encode, message,
};
use harness::scripted::recorded::{Scene, extensions};

use super::input::Input;

/// The most changes, and the longest record, which is slightly beyond the limit.
pub(super) const CHANGES: usize = 64;
const LONGEST: usize = 17_000;

/// The messages of `flights` in `scene`, after the first `changes` changes of `program`.
pub(super) fn edited(scene: &Scene, flights: &[u8], program: &[u8], changes: usize) -> Vec<u8> {
    let (framing, mut records) = (scene.framing(), scene.messages(flights));
    let mut input = Input::new(program);
    while input.begins_step(changes) && !records.is_empty() {
        let (what, at) = (input.byte(), usize::from(input.byte()) % records.len());
        match what % 16 {
            0..8 => change_content(what, &mut records[at], &mut input),
            8..11 => change_extensions(framing, what, &mut records[at], &mut input),
            11..14 => change_order(what, &mut records, at, &mut input),
            _ => insert(what, &mut records, at, &mut input),
        }
    }
    encode(&records)
}

/// A flight after the first `changes` changes of `program`. Each replaces some bytes with others,
/// regardless of their meaning.
pub(super) fn spliced(flight: &[u8], program: &[u8], changes: usize) -> Vec<u8> {
    let mut flight = flight.to_vec();
    let mut input = Input::new(program);
    while input.begins_step(changes) {
        let at = input.position(flight.len() + 1);
        let end = flight.len().min(at + usize::from(input.byte()));
        let mut bytes = input.bytes();
        // the input gives the difference to the replaced byte, since upstream's MAC and this
        // crate's may differ there
        for (byte, replaced) in bytes.iter_mut().zip(&flight[at..end]) {
            *byte ^= replaced;
        }
        flight.splice(at..end, bytes);
    }
    flight
}

/// Changes bytes of a record. Then corrects the length of a handshake message, unless the highest
/// bit of `what` is set.
fn change_content(what: u8, record: &mut Record, input: &mut Input<'_>) {
    let content = &mut record.content;
    let at = input.position(content.len() + 1);
    match what % 8 {
        0 | 1 if at < content.len() => content[at] ^= input.byte(),
        // add instead of replacing, since upstream's MAC and this crate's may differ there
        2 if at < content.len() => content[at] = content[at].wrapping_add(input.byte()),
        3 | 4 => {
            let bytes = input.bytes();
            content.splice(at..at, bytes);
        }
        5 => {
            let end = content.len().min(at + usize::from(input.byte()));
            content.drain(at..end);
        }
        6 => content.truncate(at),
        7 => match input.byte() {
            0 => record.protected ^= true,
            typ => record.typ = typ,
        },
        _ => {}
    }
    if what & 0x80 == 0 && record.typ == HANDSHAKE && record.content.len() >= 4 {
        record.content = message(record.content[0], &record.content[4..]);
    }
}

fn change_extensions(framing: Framing, what: u8, record: &mut Record, input: &mut Input<'_>) {
    if record.typ != HANDSHAKE {
        return;
    }
    let changed = extensions::change(framing, &record.content, |all| {
        let at = usize::from(input.byte()) % (all.len() + 1);
        match what % 16 {
            8 => {
                let typ = u16::from_be_bytes([input.byte(), input.byte()]);
                all.insert(at, (typ, input.bytes()));
            }
            _ if at == all.len() => {}
            9 => all[at].1 = input.bytes(),
            _ => match input.byte() % 3 {
                0 => drop(all.remove(at)),
                1 => all.push(all[at].clone()),
                _ => {
                    let moved = all.remove(at);
                    all.push(moved);
                }
            },
        }
    });
    if let Some(changed) = changed {
        record.content = changed;
    }
}

/// Changes the order of the records and merges some.
fn change_order(what: u8, records: &mut Vec<Record>, at: usize, input: &mut Input<'_>) {
    let other = usize::from(input.byte());
    match what % 16 {
        11 => match other & 3 {
            0 => drop(records.remove(at)),
            1 => records.truncate(at),
            2 => records.insert(at, records[at].clone()),
            _ => {
                let with = (other >> 2) % records.len();
                records.swap(at, with);
            }
        },
        12 => {
            let len = records[at].content.len();
            let rest = records[at].content.split_off(other.min(len));
            let record = Record {
                content: rest,
                ..records[at]
            };
            records.insert(at + 1, record);
        }
        _ => {
            if let [first, second, ..] = &mut records[at..]
                && first.content.len() + second.content.len() < LONGEST
            {
                first.content.append(&mut second.content);
                records.remove(at + 1);
            }
        }
    }
}

/// Inserts a message or record, protected like the next one.
fn insert(what: u8, records: &mut Vec<Record>, at: usize, input: &mut Input<'_>) {
    let (typ, body) = (input.byte(), input.bytes());
    let (typ, content) = match (what % 16, typ) {
        (14, _) => (HANDSHAKE, message(typ, &body)),
        (_, 0) => (ALERT, body),
        (_, 1) => (CHANGE_CIPHER_SPEC, vec![1]),
        (_, 2) => (HANDSHAKE, body),
        (_, 3) => (APPLICATION_DATA, vec![3; input.len().min(LONGEST)]),
        _ => (typ, body),
    };
    let record = Record {
        typ,
        content,
        ..records[at]
    };
    records.insert(at, record);
}
