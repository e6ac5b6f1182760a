//! Extension blocks of every message. Each extension is omitted, repeated, moved and changed. Known
//! and unknown types are inserted with several bodies where they do not belong.

use harness::scripted::recorded::extensions::{self, Extensions};
use harness::scripted::recorded::flights::{HANDSHAKE, encode};
use harness::scripted::recorded::{Scene, scenes};

use crate::judge::Judge;

/// Types known to RFC 9846 or IANA, one of GREASE (RFC 8701), and an unassigned one.
const UNUSUAL_TYPES: [u16; 8] = [
    0x0a0a, 0x1234, 0x3374, 0xff01, 0xffa5, 0xfd00, 0xfe0d, 0xffff,
];

const BODIES: [&[u8]; 6] = [&[], &[0], &[0, 0], &[3, 4], &[0, 2, 3, 4], &[0xff; 5]];

pub(crate) fn compare(judge: &Judge) {
    for scene in scenes(false) {
        for (at, record) in scene.messages(scene.flight()).iter().enumerate() {
            if record.typ != HANDSHAKE {
                continue;
            }
            if let Some(extensions) = extensions::read(scene.framing(), &record.content) {
                Block { scene: &scene, at }.compare(judge, extensions.len());
            }
        }
    }
}

/// The extension block of one message of a scene.
struct Block<'a> {
    scene: &'a Scene,
    at: usize,
}

impl Block<'_> {
    fn compare(&self, judge: &Judge, count: usize) {
        self.inserted(judge);
        self.renegotiated(judge);
        self.change(judge, "none", Vec::clear);
        for i in 0..count {
            self.change(judge, &format!("without extension {i}"), |extensions| {
                extensions.remove(i);
            });
            self.change(judge, &format!("extension {i} twice"), |extensions| {
                extensions.insert(i, extensions[i].clone());
            });
            self.change(
                judge,
                &format!("extension {i} again at the end"),
                |extensions| {
                    extensions.push(extensions[i].clone());
                },
            );
            self.change(judge, &format!("extension {i} last"), |extensions| {
                let moved = extensions.remove(i);
                extensions.push(moved);
            });
            self.change(
                judge,
                &format!("extension {i} a byte longer"),
                |extensions| {
                    extensions[i].1.push(0);
                },
            );
            self.change(
                judge,
                &format!("extension {i} a byte shorter"),
                |extensions| {
                    extensions[i].1.pop();
                },
            );
            for body in BODIES {
                let what = format!("extension {i} is {body:02x?}");
                self.change(judge, &what, |extensions| extensions[i].1 = body.to_vec());
            }
        }
    }

    fn inserted(&self, judge: &Judge) {
        for typ in (0..=62).chain(UNUSUAL_TYPES) {
            for body in BODIES {
                let what = format!("{typ:#x} with {body:02x?} inserted");
                self.change(judge, &what, |extensions| {
                    if extensions.iter().all(|(present, _)| *present != typ) {
                        extensions.insert(0, (typ, body.to_vec()));
                    }
                });
            }
        }
    }

    /// RFC 5746 §3.4: the extension is empty in a first handshake.
    fn renegotiated(&self, judge: &Judge) {
        self.change(judge, "renegotiation_info is not empty", |extensions| {
            for (_, body) in extensions.iter_mut().filter(|(typ, _)| *typ == 0xff01) {
                *body = vec![1, 7];
            }
        });
    }

    fn change(&self, judge: &Judge, what: &str, change: impl Fn(&mut Extensions)) {
        let what = format!("message {}: {what}", self.at);
        judge.compare(self.scene, &what, |flight| {
            let mut messages = self.scene.messages(flight);
            let content = &mut messages[self.at].content;
            *content = extensions::change(self.scene.framing(), content, &change).unwrap();
            encode(&messages)
        });
    }
}
