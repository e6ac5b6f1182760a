//! Handshake messages in records of other lengths: whole, in parts or several together, also across
//! changes of keys, and with other records between the parts.

use harness::comparison::Judge;
use harness::scripted::recorded::flights::{
    ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, Record,
};
use harness::scripted::recorded::{Scene, scenes};
use harness::wire::Noise;

pub(crate) fn compare(judge: &Judge) {
    for scene in scenes(false) {
        for len in [1, 2, 3, 4, 5, 100, 1 << 14] {
            let what = format!("handshake in pieces of {len}");
            judge.records(&scene, &what, |records| {
                *records = in_pieces(records, || len);
            });
        }
        for seed in 0..RANDOM {
            random(&scene, judge, seed);
        }
    }
}

/// The number of random changes for each scene.
const RANDOM: u64 = 40;

fn random(scene: &Scene, judge: &Judge, seed: u64) {
    let what = format!("handshake in random pieces, {seed}");
    judge.records(scene, &what, |records| {
        let noise = &mut Noise::new(2 * seed);
        let most = [3, 20, 200, 2000][noise.up_to(4) - 1];
        *records = in_pieces(records, || noise.up_to(most));
        for _ in 1..noise.up_to(3) {
            let at = noise.up_to(records.len() + 1) - 1;
            let inserted = strange(noise, &records[at.min(records.len() - 1)]);
            records.insert(at, inserted);
        }
    });
}

/// Joins neighbouring handshake records with the same protection, and cuts them into pieces of
/// these lengths.
fn in_pieces(records: &[Record], mut len: impl FnMut() -> usize) -> Vec<Record> {
    let mut joined: Vec<Record> = Vec::new();
    for record in records {
        match joined.last_mut() {
            Some(last)
                if (last.typ, record.typ) == (HANDSHAKE, HANDSHAKE)
                    && last.protected == record.protected =>
            {
                last.content.extend(&record.content);
            }
            _ => joined.push(record.clone()),
        }
    }
    let mut pieces = Vec::new();
    for mut record in joined {
        while record.typ == HANDSHAKE && !record.content.is_empty() {
            let len = len().min(record.content.len());
            let rest = record.content.split_off(len);
            pieces.push(record.clone());
            record.content = rest;
        }
        if record.typ != HANDSHAKE {
            pieces.push(record);
        }
    }
    pieces
}

/// Returns a record that may not be allowed next to `neighbour`, usually with the same protection.
fn strange(noise: &mut Noise, neighbour: &Record) -> Record {
    let (typ, content): (u8, &[u8]) = match noise.up_to(8) {
        1 => (ALERT, &[1, 90]),
        2 => (ALERT, &[1, 0]),
        3 => return Record::plain(CHANGE_CIPHER_SPEC, &[1]),
        4 => (APPLICATION_DATA, &[]),
        5 => (APPLICATION_DATA, b"data"),
        6 => (HANDSHAKE, &[0]),
        7 => (HANDSHAKE, &[0, 0, 0, 0]),
        _ => (HANDSHAKE, &[24, 0, 0, 1, 0]),
    };
    Record {
        typ,
        content: content.to_vec(),
        ..*neighbour
    }
}
