//! Arbitrary bytes, or genuine flights with changes, as input of clients and servers over records.

use std::sync::OnceLock;

use harness::comparison::Outcome;
use harness::peers::roles::Role;
use harness::scripted::recorded::{Receiver, Scene, scenes};

use super::INPUT_LIMIT;
use super::edits::{CHANGES, edited};

pub fn client(input: &[u8]) {
    both_ways(input, Role::Client);
}

pub fn server(input: &[u8]) {
    both_ways(input, Role::Server);
}

/// The scenes of one side, without those of QUIC. Transcripts are not hashed, so that a handshake
/// continues after a change.
pub fn scenes_of(side: Role) -> Vec<Scene> {
    let mut scenes = scenes(false);
    scenes.retain(|scene| scene.side() == side && !scene.is_quic());
    scenes
}

/// A flag in the second byte of an input: the rest is a program of changes to the genuine flight,
/// not bytes to receive.
pub const EDITS: u8 = 0x80;

/// The first byte chooses the scene. The second chooses the kind of the rest ([`EDITS`]), and a
/// second connection. This must behave like a buffered connection that receives everything at once.
/// There is none from 64 on; 0 means an unbuffered connection, other numbers a buffered one that
/// receives pieces of this length.
fn both_ways(input: &[u8], side: Role) {
    static SCENES: [OnceLock<Vec<Scene>>; 2] = [const { OnceLock::new() }; 2];
    let &[which, how, ref rest @ ..] = input else {
        return;
    };
    let scenes = SCENES[side as usize].get_or_init(|| scenes_of(side));
    let scene = &scenes[usize::from(which) % scenes.len()];
    let rest = &rest[..rest.len().min(INPUT_LIMIT)];
    let bytes = match how & EDITS {
        0 => rest.to_vec(),
        _ => edited(scene, &scene.rest(), rest, CHANGES),
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
