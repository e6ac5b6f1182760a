//! Any bytes, or genuine flights with changes, to clients and servers over records.

use std::sync::OnceLock;

use super::INPUT_LIMIT;
use super::edits::{CHANGES, edited};
use crate::recorded::flights::Record;
use crate::recorded::outcome::Outcome;
use crate::recorded::{Receiver, Scene, Side, scenes};

/// The scenes of one side, without those of QUIC. Their transcripts are not hashed, so that a handshake goes on after a
/// change.
pub fn client(input: &[u8]) {
    static SCENES: OnceLock<Vec<Edited>> = OnceLock::new();
    both_ways(input, SCENES.get_or_init(|| edited_scenes(Side::Client)));
}

pub fn server(input: &[u8]) {
    static SCENES: OnceLock<Vec<Edited>> = OnceLock::new();
    both_ways(input, SCENES.get_or_init(|| edited_scenes(Side::Server)));
}

/// Those that [`client`] or [`server`] choose from.
pub(super) fn scenes_of(side: Side) -> Vec<Scene> {
    let mut scenes = scenes(false);
    scenes.retain(|scene| scene.side() == side && !scene.is_quic());
    scenes
}

/// In the second byte of an input: the rest is not bytes to receive but changes of the genuine flight.
pub(super) const EDITS: u8 = 0x80;

/// A scene and the messages of its flight and those after it.
type Edited = (Scene, Vec<Record>);

fn edited_scenes(side: Side) -> Vec<Edited> {
    let scenes = scenes_of(side).into_iter();
    scenes
        .map(|scene| {
            let messages = scene.messages(&scene.rest());
            (scene, messages)
        })
        .collect()
}

/// The first byte chooses how far a connection is; the second what the rest is ([`EDITS`]), and what has to do the same
/// with the bytes as a buffered connection that gets them in one piece: nothing (64 and above), one that gets them in
/// pieces of so many, or, when that is 0, an unbuffered connection.
fn both_ways(input: &[u8], scenes: &[Edited]) {
    let &[which, how, ref rest @ ..] = input else {
        return;
    };
    let (scene, messages) = &scenes[usize::from(which) % scenes.len()];
    let rest = &rest[..rest.len().min(INPUT_LIMIT)];
    let bytes = match how & EDITS {
        0 => rest.to_vec(),
        _ => edited(scene.framing(), messages, rest, CHANGES),
    };
    let whole = Outcome::new(&mut *scene.receiver(Receiver::Buffered), &bytes);
    let other = match usize::from(how & !EDITS) {
        0 => Outcome::new(&mut *scene.receiver(Receiver::Unbuffered), &bytes),
        len @ 1..64 => {
            let mut receiver = scene.receiver(Receiver::Buffered);
            Outcome::of_pieces(&mut *receiver, &mut bytes.chunks(len))
        }
        _ => return,
    };
    assert_eq!(whole, other, "{}: {how}", scene.name);
}
