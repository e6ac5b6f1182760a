//! Handshake messages omitted, repeated, reordered, misplaced, of wrong lengths, and split across
//! key changes.

use harness::scripted::recorded::flights::{HANDSHAKE, Record, encode, message};
use harness::scripted::recorded::{Scene, scenes};

use crate::judge::Judge;

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

/// One message of each type in any scene, and messages of other types with several bodies.
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
    judge.compare(scene, "a record for each message", |flight| {
        encode(&scene.messages(flight))
    });
    for at in 0..count {
        judge.compare(scene, &format!("without message {at}"), |flight| {
            let mut messages = scene.messages(flight);
            messages.remove(at);
            encode(&messages)
        });
        judge.compare(scene, &format!("message {at} twice"), |flight| {
            let mut messages = scene.messages(flight);
            messages.insert(at, messages[at].clone());
            encode(&messages)
        });
        for with in at + 1..count {
            judge.compare(
                scene,
                &format!("messages {at} and {with} swapped"),
                |flight| {
                    let mut messages = scene.messages(flight);
                    messages.swap(at, with);
                    encode(&messages)
                },
            );
        }
        judge.compare(
            scene,
            &format!("protection of message {at} inverted"),
            |flight| {
                let mut messages = scene.messages(flight);
                messages[at].protected ^= true;
                encode(&messages)
            },
        );
    }
}

/// Inserts each sample before the message `at`, protected like that message or like the last one.
fn inserted(scene: &Scene, judge: &Judge, at: usize, samples: &[Vec<u8>]) {
    for sample in samples {
        let what = format!("{:02x?} inserted at {at}", &sample[..sample.len().min(8)]);
        judge.compare(scene, &what, |flight| {
            let mut messages = scene.messages(flight);
            let neighbour = messages.get(at).or_else(|| messages.last()).unwrap();
            let record = Record {
                typ: HANDSHAKE,
                content: sample.clone(),
                ..*neighbour
            };
            messages.insert(at, record);
            encode(&messages)
        });
    }
}

/// Gives message `at` other declared lengths, with and without matching bytes.
fn resized(scene: &Scene, judge: &Judge, at: usize) {
    let change = |what: &str, change: fn(&mut Vec<u8>)| {
        judge.compare(scene, &format!("message {at} {what}"), |flight| {
            let mut messages = scene.messages(flight);
            if messages[at].typ == HANDSHAKE {
                change(&mut messages[at].content);
            }
            encode(&messages)
        });
    };
    change("a byte shorter", |m| {
        // an empty message stays empty
        let end = m.len().saturating_sub(1).max(4);
        *m = message(m[0], &m[4..end]);
    });
    change("half as long", |m| {
        *m = message(m[0], &m[4..4 + (m.len() - 4) / 2])
    });
    change("empty", |m| *m = message(m[0], &[]));
    change("a byte longer", |m| {
        *m = message(m[0], &[&m[4..], &[0]].concat())
    });
    change("1000 bytes longer", |m| {
        *m = message(m[0], &[&m[4..], &[0; 1000]].concat())
    });
    change("claiming 2^16 - 1 bytes", |m| {
        m[1..4].copy_from_slice(&[0, 0xff, 0xff])
    });
    change("claiming 2^16 bytes", |m| {
        m[1..4].copy_from_slice(&[1, 0, 0])
    });
    change("claiming 2^24 - 1 bytes", |m| m[1..4].fill(0xff));
}

/// Appends an empty certificate to those of message `at`, if it is a Certificate.
fn with_empty_certificate(scene: &Scene, judge: &Judge, at: usize) {
    let is_certificate =
        |record: &Record| record.typ == HANDSHAKE && record.content[0] == CERTIFICATE;
    if !is_certificate(&scene.messages(scene.flight())[at]) {
        return;
    }
    judge.compare(
        scene,
        &format!("message {at} with an empty certificate"),
        |flight| {
            let mut messages = scene.messages(flight);
            let body = &messages[at].content[4..];
            // in TLS 1.3, a context precedes the list, and each entry has a block of extensions
            let (context, list, empty) = match scene.name.contains("1.2") {
                true => (&body[..0], &body[3..], &[0; 3][..]),
                false => {
                    let (context, list) = body.split_at(1 + usize::from(body[0]));
                    (context, &list[3..], &[0; 5][..])
                }
            };
            let list = [list, empty].concat();
            let prefix = (list.len() as u32).to_be_bytes();
            let body = [context, &prefix[1..], &list].concat();
            messages[at].content = message(CERTIFICATE, &body);
            encode(&messages)
        },
    );
}

const CERTIFICATE: u8 = 11;

/// Moves bytes between the record of message `at` and the next record, across any change of keys.
fn spanning(scene: &Scene, judge: &Judge, at: usize) {
    let change = |what: &str, change: fn(&mut Vec<Record>, usize)| {
        judge.compare(scene, &format!("{what} after message {at}"), |flight| {
            let mut messages = scene.messages(flight);
            change(&mut messages, at);
            encode(&messages)
        });
    };
    // the case of RUSTSEC-2026-0285
    change("a byte of another message", |messages, at| {
        messages[at].content.push(24);
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
        insert_inside(messages, at, 21);
    });
    change("an unknown type in the middle", |messages, at| {
        insert_inside(messages, at, 99);
    });
    change("change_cipher_spec in the middle", |messages, at| {
        let half = messages[at].content.len() / 2;
        let half = messages[at].content.split_off(half);
        let rest = Record {
            content: half,
            ..messages[at]
        };
        messages.splice(at + 1..at + 1, [Record::plain(20, &[1]), rest]);
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
