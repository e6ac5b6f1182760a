//! Extension blocks of every message: each extension left out, twice, moved, changed; and every known
//! type and unknown ones where they do not belong, with several bodies.

use std::ops::Range;

use crate::flights::{Framing, HANDSHAKE, encode, message};
use crate::judge::Judge;
use crate::scenes::{Scene, scenes};

/// Types that RFC 9846 or IANA know of, one of GREASE (RFC 8701), and one that nobody knows.
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
            if let Some(block) = block(scene.framing(), &record.content) {
                let extensions = parse(&record.content[block]);
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

type Extensions = Vec<(u16, Vec<u8>)>;

impl Block<'_> {
    fn compare(&self, judge: &Judge, count: usize) {
        self.inserted(judge);
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

    fn change(&self, judge: &Judge, what: &str, change: impl Fn(&mut Extensions)) {
        let what = format!("message {}: {what}", self.at);
        self.scene.compare(judge, &what, |flight| {
            let mut messages = self.scene.messages(flight);
            let content = &mut messages[self.at].content;
            let range = block(self.scene.framing(), content).unwrap();
            let mut extensions = parse(&content[range.clone()]);
            change(&mut extensions);
            let len_at = range.start - 2;
            let mut body = content[4..len_at].to_vec();
            push_block(&mut body, &extensions);
            // what contains the block of a certificate's entry has a length before it
            let tail = &content[range.end..];
            if content[0] == 11 {
                let entries = body.len() - 4;
                body[1..4].copy_from_slice(&u32::try_from(entries).unwrap().to_be_bytes()[1..]);
            }
            body.extend_from_slice(tail);
            *content = message(content[0], &body);
            encode(&messages)
        });
    }
}

/// Where in a message its extensions are, the length before them not included. Of a Certificate those of
/// the only entry.
fn block(framing: Framing, message: &[u8]) -> Option<Range<usize>> {
    let skip = |at: usize, size: usize| {
        let len = message[at..at + size]
            .iter()
            .fold(0, |len, byte| len << 8 | usize::from(*byte));
        at + size + len
    };
    let len_at = match message[0] {
        1 => skip(skip(skip(4 + 2 + 32, 1), 2), 1),
        2 => skip(4 + 2 + 32, 1) + 2 + 1,
        _ if framing == Framing::Tls12 => return None,
        4 => skip(skip(4 + 4 + 4, 1), 2),
        8 => 4,
        11 if message.len() > 8 => skip(skip(4, 1) + 3, 3),
        13 => skip(4, 1),
        _ => return None,
    };
    Some(len_at + 2..skip(len_at, 2))
}

fn parse(mut block: &[u8]) -> Extensions {
    let mut extensions = Vec::new();
    while let &[typ_high, typ_low, high, low, ref rest @ ..] = block {
        let (body, rest) = rest.split_at(usize::from(u16::from_be_bytes([high, low])));
        extensions.push((u16::from_be_bytes([typ_high, typ_low]), body.to_vec()));
        block = rest;
    }
    extensions
}

fn push_block(bytes: &mut Vec<u8>, extensions: &[(u16, Vec<u8>)]) {
    let mut block = Vec::new();
    for (typ, body) in extensions {
        block.extend(typ.to_be_bytes());
        block.extend((body.len() as u16).to_be_bytes());
        block.extend(body);
    }
    bytes.extend((block.len() as u16).to_be_bytes());
    bytes.extend(block);
}
