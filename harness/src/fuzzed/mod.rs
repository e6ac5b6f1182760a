//! What the fuzz targets do with their input. The targets are in `fuzz/`, which also has the corpora;
//! here the tests can replay them.
//!
//! Connections use the transparent provider, which encrypts nothing and has no randomness, so that an input
//! reaches the code behind the encryption and takes the same path every time; but for those of `ech`, whose server has
//! the keys that it takes.

mod certificates;
mod connections;
mod differential;
mod ech;
mod edits;
mod input;
pub mod messages;
mod quic;
mod records;
mod seeds;
mod sending;
pub mod sessions;
mod split;
mod streams;
mod trusting;
mod unbuffered;

pub use certificates::certificates;
pub use connections::{client, server};
pub use differential::differential;
pub use ech::ech;
pub use messages::messages;
pub use quic::quic;
pub use records::records;
pub use seeds::seeds;
pub use sessions::sessions;
pub use split::split;
pub use unbuffered::unbuffered;

/// The name of a binary and of the folder of its corpus, and what it does with its input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. Each binary links its own alone, since a fuzzer looks at all that is linked after each input.
pub const TARGETS: &[Target] = &[
    ("records", records),
    ("client", client),
    ("server", server),
    ("quic", quic),
    ("differential", differential),
    ("unbuffered", unbuffered),
    ("messages", messages),
    ("split", split),
    ("sessions", sessions),
    ("ech", ech),
    ("certificates", certificates),
];

/// Runs the target called `name`.
pub fn run(name: &str, input: &[u8]) {
    let (_, target) = TARGETS.iter().find(|target| target.0 == name).unwrap();
    target(input);
}

/// Longer inputs find nothing that shorter ones do not.
const INPUT_LIMIT: usize = 8 * 1024;
