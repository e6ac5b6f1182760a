//! Rules specific to QUIC handshakes.

use harness::comparison::Judge;
use harness::scripted::recorded::flights::{Record, message};
use harness::scripted::recorded::{Scene, scenes};

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const NEW_SESSION_TICKET: u8 = 4;

/// The offset of the session ID's length in both hellos, after header, version and random.
const SESSION_ID_AT: usize = 4 + 2 + 32;

pub(crate) fn compare(judge: &Judge) {
    for scene in scenes(false).iter().filter(|scene| scene.is_quic()) {
        let messages = scene.messages(scene.flight());
        for (at, Record { content, .. }) in messages.iter().enumerate() {
            match content[0] {
                CLIENT_HELLO | SERVER_HELLO => session_ids(scene, judge, at),
                NEW_SESSION_TICKET => early_data_sizes(scene, judge, at),
                _ => {}
            }
        }
        joined(scene, judge);
    }
}

/// RFC 9001 §8.4: a client must not request middlebox compatibility.
fn session_ids(scene: &Scene, judge: &Judge, at: usize) {
    for len in [1, 31, 32, 33, 255] {
        change(scene, judge, at, &format!("session ID of {len}"), |body| {
            let mut id = vec![len];
            id.resize(1 + usize::from(len), 7);
            body.splice(SESSION_ID_AT - 4..SESSION_ID_AT - 3, id);
        });
    }
}

/// RFC 9001 §4.6.1: early data is unlimited or absent.
fn early_data_sizes(scene: &Scene, judge: &Judge, at: usize) {
    for size in [0, 1, 1000, 1 << 14, u32::MAX - 1, u32::MAX] {
        change(scene, judge, at, &format!("early data of {size}"), |body| {
            // the only extension, and the last field
            let size_at = body.len() - 4;
            assert_eq!(body[size_at..], [0xff; 4]);
            body[size_at..].copy_from_slice(&size.to_be_bytes());
        });
    }
}

/// Changes the body of the message `at`.
fn change(scene: &Scene, judge: &Judge, at: usize, what: &str, change: impl Fn(&mut Vec<u8>)) {
    judge.messages(scene, &format!("message {at}: {what}"), |messages| {
        let content = &mut messages[at].content;
        let mut body = content[4..].to_vec();
        change(&mut body);
        *content = message(content[0], &body);
    });
}

/// Sends the whole flight at once on a single level.
fn joined(scene: &Scene, judge: &Judge) {
    judge.messages(scene, "all messages at once", |messages| {
        let content = messages.iter().flat_map(|message| message.content.clone());
        let content = content.collect();
        messages.truncate(1);
        messages[0].content = content;
    });
}
