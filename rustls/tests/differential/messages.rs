//! Handshake messages that are omitted, repeated, reordered, misplaced, of wrong lengths, or split
//! across key changes.

use harness::comparison::Judge;
use harness::scripted::recorded::flights::{HANDSHAKE, Record, message};
use harness::scripted::recorded::{Scene, scenes};
use harness::wire::vector;

pub(crate) fn compare(judge: &Judge) {
    let scenes = scenes(false);
    let samples = samples(&scenes);
    for scene in &scenes {
        let count = scene.messages(scene.flight()).len();
        rearranged(scene, judge, count);
        for at in 0..=count {
            inserted(scene, judge, at, &samples);
        }
        for at in 0..count {
            resized(scene, judge, at);
            with_empty_certificate(scene, judge, at);
            spanning(scene, judge, at);
        }
    }
}

/// Returns one message of each type from some scene, and messages of other types with several
/// bodies.
fn samples(scenes: &[Scene]) -> Vec<Vec<u8>> {
    let mut samples: Vec<Vec<u8>> = Vec::new();
    for scene in scenes {
        for record in scene.messages(scene.flight()) {
            let is_new =
                |samples: &[Vec<u8>]| samples.iter().all(|sample| sample[0] != record.content[0]);
            if record.typ == HANDSHAKE && is_new(&samples) {
                samples.push(record.content);
            }
        }
    }
    for typ in (0..=26).chain([254, 255]) {
        for body in [&[][..], &[0], &[1], &[0, 0, 0, 0]] {
            samples.push(message(typ, body));
        }
    }
    samples
}

fn rearranged(scene: &Scene, judge: &Judge, count: usize) {
    judge.messages(scene, "a record for each message", |_| {});
    for at in 0..count {
        let change = |what: &str, change: &dyn Fn(&mut Vec<Record>)| {
            judge.messages(scene, &format!("message {at} {what}"), change);
        };
        change("missing", &|messages| drop(messages.remove(at)));
        change("twice", &|messages| {
            messages.insert(at, messages[at].clone())
        });
        for with in at + 1..count {
            let what = format!("swapped with {with}");
            change(&what, &|messages| messages.swap(at, with));
        }
        change("with its protection inverted", &|messages| {
            messages[at].protected ^= true
        });
    }
}

/// Inserts each sample before the message `at`, protected like that message or like the last one.
fn inserted(scene: &Scene, judge: &Judge, at: usize, samples: &[Vec<u8>]) {
    for sample in samples {
        let what = format!("{:02x?} inserted at {at}", &sample[..sample.len().min(8)]);
        judge.messages(scene, &what, |messages| {
            let neighbour = messages.get(at).or_else(|| messages.last()).unwrap();
            let record = Record {
                typ: HANDSHAKE,
                content: sample.clone(),
                ..*neighbour
            };
            messages.insert(at, record);
        });
    }
}

/// Changes the declared length of message `at`, with and without a matching change of its bytes.
fn resized(scene: &Scene, judge: &Judge, at: usize) {
    let change = |what: &str, change: &dyn Fn(&mut Vec<u8>)| {
        judge.messages(scene, &format!("message {at} {what}"), |messages| {
            if messages[at].typ == HANDSHAKE {
                change(&mut messages[at].content);
            }
        });
    };
    let original = &scene.messages(scene.flight())[at];
    if original.typ == HANDSHAKE {
        for len in 0..original.content.len() - 4 {
            let cut = |m: &mut Vec<u8>| *m = message(m[0], &m[4..4 + len]);
            change(&format!("cut to {len}"), &cut);
        }
    }
    let longer = |m: &mut Vec<u8>, by| *m = message(m[0], &[&m[4..], &vec![0; by]].concat());
    change("a byte longer", &|m| longer(m, 1));
    change("1000 bytes longer", &|m| longer(m, 1000));
    for claimed in [[0, 0xff, 0xff], [1, 0, 0], [0xff; 3]] {
        let what = format!("claiming the length {claimed:02x?}");
        change(&what, &|m| m[1..4].copy_from_slice(&claimed));
    }
}

/// Appends an empty certificate to those of message `at`, if it is a Certificate.
fn with_empty_certificate(scene: &Scene, judge: &Judge, at: usize) {
    let is_certificate =
        |record: &Record| record.typ == HANDSHAKE && record.content[0] == CERTIFICATE;
    if !is_certificate(&scene.messages(scene.flight())[at]) {
        return;
    }
    let what = format!("message {at} with an empty certificate");
    judge.messages(scene, &what, |messages| {
        let body = &messages[at].content[4..];
        // in TLS 1.3, a context precedes the list, and each entry has a block of extensions
        let (context, list, empty) = match scene.name.contains("1.2") {
            true => (&body[..0], &body[3..], &[0; 3][..]),
            false => {
                let (context, list) = body.split_at(1 + usize::from(body[0]));
                (context, &list[3..], &[0; 5][..])
            }
        };
        let list = vector(3, &[list, empty].concat());
        messages[at].content = message(CERTIFICATE, &[context, &list].concat());
    });
}

const CERTIFICATE: u8 = 11;

/// Moves bytes between the record of message `at` and the next record, across any change of keys.
fn spanning(scene: &Scene, judge: &Judge, at: usize) {
    let change = |what: &str, change: fn(&mut Vec<Record>, usize)| {
        let what = format!("{what} after message {at}");
        judge.messages(scene, &what, |messages| change(messages, at));
    };
    // the case of RUSTSEC-2026-0285
    change("a byte of another message", |messages, at| {
        messages[at].content.push(24)
    });
    change("a KeyUpdate", |messages, at| {
        messages[at].content.extend(message(24, &[0]));
    });
    change("a Finished", |messages, at| {
        messages[at].content.extend(message(20, &[0x42; 48]));
    });
    change("a byte of the next message", |messages, at| {
        if let [record, next, ..] = &mut messages[at..]
            && next.typ == HANDSHAKE
        {
            record.content.push(next.content.remove(0));
        }
    });
    change("the next message", |messages, at| {
        if let [record, next, ..] = &mut messages[at..]
            && next.typ == HANDSHAKE
        {
            record.content.append(&mut next.content);
            messages.remove(at + 1);
        }
    });
    change("an alert in the middle", |messages, at| {
        insert_inside(messages, at, 21)
    });
    change("an unknown type in the middle", |messages, at| {
        insert_inside(messages, at, 99)
    });
    change("change_cipher_spec in the middle", |messages, at| {
        insert_inside(messages, at, 20);
        messages[at + 1] = Record::plain(20, &[1]);
    });
}

/// Inserts a record of this type between the halves of a message, with the same protection.
fn insert_inside(messages: &mut Vec<Record>, at: usize, typ: u8) {
    let half = messages[at].content.len() / 2;
    let half = messages[at].content.split_off(half);
    let rest = Record {
        content: half,
        ..messages[at]
    };
    let inserted = Record {
        typ,
        content: vec![1, 90],
        ..rest
    };
    messages.splice(at + 1..at + 1, [inserted, rest]);
}
