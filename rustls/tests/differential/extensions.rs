//! Changes to the extension blocks of every message. Each extension is omitted, repeated, moved and
//! changed. Known and unknown types are inserted with several bodies where they are not allowed.

use harness::comparison::Judge;
use harness::scripted::recorded::extensions::{self, Extensions};
use harness::scripted::recorded::flights::{HANDSHAKE, message};
use harness::scripted::recorded::{Scene, scenes};

/// Types known to RFC 9846 or IANA, one of GREASE (RFC 8701), and an unassigned one.
const UNUSUAL_TYPES: [u16; 8] = [
    0x0a0a, 0x1234, 0x3374, 0xff01, 0xffa5, 0xfd00, 0xfe0d, 0xffff,
];

const BODIES: [&[u8]; 6] = [&[], &[0], &[0, 0], &[3, 4], &[0, 2, 3, 4], &[0xff; 5]];

/// Valid extensions that the recorded flights do not contain: cookie, supported_groups,
/// status_request.
const OTHERS: [(u16, &[u8]); 3] = [
    (44, &[0, 2, 9, 9]),
    (10, &[0, 4, 0, 29, 0, 23]),
    (5, &[1, 0, 0, 1, 1]),
];

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
        self.others_changed(judge);
        self.change(judge, "none", Vec::clear);
        type Change = fn(&mut Extensions, usize);
        let changes: [(&str, Change); 6] = [
            ("missing", |extensions, i| drop(extensions.remove(i))),
            ("twice", |extensions, i| {
                extensions.insert(i, extensions[i].clone())
            }),
            ("again at the end", |extensions, i| {
                extensions.push(extensions[i].clone())
            }),
            ("last", |extensions, i| extensions[i..].rotate_left(1)),
            ("a byte longer", |extensions, i| extensions[i].1.push(0)),
            ("a byte shorter", |extensions, i| {
                extensions[i].1.pop();
            }),
        ];
        for i in 0..count {
            for (what, change) in changes {
                let what = format!("extension {i} {what}");
                self.change(judge, &what, |extensions| change(extensions, i));
            }
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

    /// Inserts [`OTHERS`], with their bodies cut at each byte. Also changes each byte of the whole
    /// extension and of the length before it, and cuts the message there.
    fn others_changed(&self, judge: &Judge) {
        for (typ, body) in OTHERS {
            let insert = |len: usize| {
                move |extensions: &mut Extensions| {
                    extensions.retain(|(present, _)| *present != typ);
                    extensions.insert(0, (typ, body[..len].to_vec()));
                }
            };
            for len in 0..=body.len() {
                self.change(judge, &format!("{typ} cut to {len}"), insert(len));
            }
            for at in 0..2 + 4 + body.len() {
                for bits in [0x01, 0x02, 0x10, 0x80, 0xff] {
                    let what = format!("{typ} with byte {at} xor {bits:02x}");
                    self.edit(judge, &what, insert(body.len()), |content, block| {
                        content[block + at] ^= bits;
                    });
                }
                let what = format!("message cut at byte {at} of {typ}");
                self.edit(judge, &what, insert(body.len()), |content, block| {
                    *content = message(content[0], &content[4..block + at]);
                });
            }
        }
    }

    /// RFC 5746 §3.4: renegotiation_info is empty in a first handshake.
    fn renegotiated(&self, judge: &Judge) {
        self.change(judge, "renegotiation_info is not empty", |extensions| {
            for (_, body) in extensions.iter_mut().filter(|(typ, _)| *typ == 0xff01) {
                *body = vec![1, 7];
            }
        });
    }

    fn change(&self, judge: &Judge, what: &str, change: impl Fn(&mut Extensions)) {
        self.edit(judge, what, change, |_, _| {});
    }

    /// Changes the extensions, then the message that contains them. `edit` also receives the
    /// position of their length.
    fn edit(
        &self,
        judge: &Judge,
        what: &str,
        change: impl Fn(&mut Extensions),
        edit: impl Fn(&mut Vec<u8>, usize),
    ) {
        let what = format!("message {}: {what}", self.at);
        let framing = self.scene.framing();
        judge.messages(self.scene, &what, |messages| {
            let content = &mut messages[self.at].content;
            *content = extensions::change(framing, content, &change).unwrap();
            let block = extensions::block(framing, content).unwrap().start - 2;
            edit(content, block);
        });
    }
}
