//! The code of the fuzz targets. A binary in `fuzz_targets/` calls one of these functions, and
//! `tests/corpora` replays the archives of inputs in `corpus/`.
//!
//! Connections use the transparent provider, which does not encrypt and has no randomness. So an
//! input reaches the code behind the encryption and always takes the same path. The exceptions
//! are `ech`, whose server has real keys, and `operations`.

#![allow(missing_docs, reason = "only this package and its tests read it")]

mod certificates;
pub mod connections;
mod differential;
mod ech;
mod edits;
mod input;
pub mod messages;
mod operations;
mod peer;
mod quic;
mod records;
mod sending;
pub mod sessions;
mod split;
mod streams;
mod unbuffered;

pub use certificates::certificates;
pub use connections::{client, server};
pub use differential::differential;
pub use ech::ech;
pub use messages::messages;
pub use operations::operations;
pub use quic::quic;
pub use records::records;
pub use sessions::sessions;
pub use split::split;
pub use unbuffered::unbuffered;

/// The name of a binary and of its corpus, and the function that runs an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. Each binary links only its own one, since a fuzzer inspects all linked code after
/// each input.
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
    ("operations", operations),
];

/// Runs the target called `name`.
pub fn run(name: &str, input: &[u8]) {
    let (_, target) = TARGETS.iter().find(|target| target.0 == name).unwrap();
    target(input);
}

/// The longest useful input; longer ones find nothing more.
const INPUT_LIMIT: usize = 8 * 1024;
