//! What the fuzz targets do with their input. The targets are in `fuzz/`, which also has the corpora;
//! here the tests can replay them.
//!
//! Connections use the transparent provider, which encrypts nothing and has no randomness, so that an input
//! reaches the code behind the encryption and takes the same path every time; but for those of `ech`, whose server has
//! the keys that it takes.

mod certificates;
mod ech;
mod input;
pub mod messages;
mod records;
mod scenes;
mod sending;
pub mod sessions;
mod split;
mod streams;
mod trusting;
mod unbuffered;

use scenes::{CLIENT_SCENES, SERVER_SCENES, Scene, all_scenes};

use crate::endpoints::Endpoint;

/// The name of a binary and of the folder of its corpus, and what it does with its input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("records", records::records),
    ("client", client),
    ("server", server),
    ("flights", flights),
    ("unbuffered", unbuffered::unbuffered),
    ("messages", messages::messages),
    ("split", split::split_halves),
    ("sessions", sessions::sessions),
    ("ech", ech::ech),
    ("certificates", certificates::certificates),
];

/// Runs the target called `name`.
pub fn run(name: &str, input: &[u8]) {
    let (_, target) = TARGETS.iter().find(|target| target.0 == name).unwrap();
    target(input);
}

/// Longer inputs find nothing that shorter ones do not.
const INPUT_LIMIT: usize = 8 * 1024;

/// Feeds any bytes to a client. The first byte chooses how far its handshake is, the second how the bytes are
/// cut into pieces.
fn client(input: &[u8]) {
    raw_bytes(input, &CLIENT_SCENES);
}

/// Feeds any bytes to a server, as [`client`].
fn server(input: &[u8]) {
    raw_bytes(input, &SERVER_SCENES);
}

fn raw_bytes(input: &[u8], scenes: &[Scene]) {
    let &[scene, piece_len, ref bytes @ ..] = input else {
        return;
    };
    let scene = &scenes[usize::from(scene) % scenes.len()];
    check(scene, bytes, usize::from(piece_len));
}

/// Feeds a genuine flight with changes. The first two bytes are as for [`client`], over the scenes of both
/// sides; each change takes four more: where (two bytes), what, and a value.
fn flights(input: &[u8]) {
    let &[scene, piece_len, ref changes @ ..] = input else {
        return;
    };
    let scenes = all_scenes();
    let scene = &scenes[usize::from(scene) % scenes.len()];
    let (_, mut flight) = (scene.buffered)();
    for change in changes.chunks_exact(4) {
        let &[high, low, what, value] = change else {
            return;
        };
        let at = usize::from(u16::from_be_bytes([high, low])) % (flight.len() + 1);
        match what % 4 {
            0 => flight.insert(at, value),
            1 => flight.truncate(at),
            _ if at == flight.len() => {}
            2 => flight[at] ^= value,
            _ => {
                flight.remove(at);
            }
        }
    }
    check(scene, &flight, usize::from(piece_len));
}

/// What happened when an endpoint was given some bytes.
#[derive(Debug, PartialEq)]
struct Outcome {
    error: Option<String>,
    early_data: Vec<u8>,
    plaintext: Vec<u8>,
    is_handshaking: bool,
    peer_has_closed: bool,
}

/// Gives `bytes` to the endpoint of `scene` in one piece, in pieces, and through the other API: the outcome
/// must be the same.
fn check(scene: &Scene, bytes: &[u8], piece_len: usize) {
    let bytes = &bytes[..Ord::min(bytes.len(), INPUT_LIMIT)];
    let whole = outcome(&mut *(scene.buffered)().0, bytes, bytes.len());
    let pieces = outcome(&mut *(scene.buffered)().0, bytes, piece_len);
    assert_eq!(whole, pieces, "in pieces of {piece_len}");
    let unbuffered = outcome(&mut *(scene.unbuffered)().0, bytes, bytes.len());
    assert_eq!(whole, unbuffered, "unbuffered");
}

fn outcome(endpoint: &mut dyn Endpoint, bytes: &[u8], piece_len: usize) -> Outcome {
    let mut error = None;
    for piece in bytes.chunks(Ord::max(piece_len, 1)) {
        error = endpoint.receive(piece).err();
        if error.is_some() || endpoint.peer_has_closed() {
            break;
        }
    }
    let (mut early_data, mut plaintext) = (Vec::new(), Vec::new());
    if error.is_none() {
        endpoint.read_early_into(&mut early_data);
        endpoint.read_into(&mut plaintext);
    }
    let output = endpoint.take_output();
    if error.is_some() {
        // an alert, or nothing: either way whole records
        assert_eq!(records::total_len(&output), output.len());
    }
    Outcome {
        error,
        early_data,
        plaintext,
        is_handshaking: endpoint.is_handshaking(),
        peer_has_closed: endpoint.peer_has_closed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn genuine_flights_are_accepted() {
        let mut early_data = Vec::new();
        for (number, scene) in all_scenes().iter().enumerate() {
            for staged in [scene.buffered, scene.unbuffered] {
                let (mut endpoint, flight) = staged();
                assert!(!flight.is_empty(), "{number}");
                let end = outcome(&mut *endpoint, &flight, flight.len());
                assert_eq!(end.error, None, "{number}");
                early_data.extend(end.early_data);
            }
        }
        // of one scene, in both APIs
        assert_eq!(early_data, b"early dataand more".repeat(2));
    }
}
