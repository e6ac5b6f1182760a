//! What the tests, the bench and the fuzz targets of rustls-inplace build on.
//!
//! ```text
//!   endpoints ─── connections of this crate and of upstream, in each API, behind one trait
//!     ▲
//!     ├── scripted ── peers of an end that have the right keys and say whatever a test wants; in `ech` a server of
//!     │               Encrypted Client Hello that takes nothing but what its rules allow
//!     └── fuzzed ──── what the fuzz targets do with their input
//!
//!   quic ──────── the same for QUIC: CRYPTO bytes level by level, and packets under their keys
//!   pairs ─────── connected sides over their user's memory, for what is measured and counted
//!   configs ───── certificates and configurations, for both crates and both providers
//!   pki ───────── chains that are good, or bad in the way that a test says
//!   raw_keys ──── keys without certificates, and who trusts them
//!   hooked ────── verifiers that call a hook before they do what others do
//!   ffdhe ─────── finite-field groups, which no provider here has
//!   bare_records ─ records made of the bare AEAD, with keys that came from elsewhere
//!   ports ─────── for servers of other stacks
//!   servers ───── servers of both crates that scripted peers and clients talk to again and again
//!   refusing ──── a crypto provider that does not seal everything
//!   limited ───── a crypto provider whose keys are worn out soon
//!   recorded ──── what ends receive in genuine conversations, to be changed and replayed, and what comes of it
//!   deviations ── where an answer to wrong bytes is not upstream's, and why
//!   texts ─────── errors that have nothing but a text, compared with upstream's
//!   middle ────── a man in the middle of two ends, without keys
//!   transparent ─ a crypto provider that hides nothing and leaves nothing to chance
//!   wire, client_hello ── messages byte by byte
//! ```
//!
//! It uses the library through its public interface, as any program does. The parts of the protocol that the
//! scripted peers need, key schedule and record protection, are written here a second time, so that a mistake
//! of the library does not agree with itself.

// `pairs` is compiled twice on purpose, once for each implementation
#![allow(clippy::duplicate_mod)]
#![allow(
    missing_docs,
    reason = "only this workspace reads it; a name of the RFC needs no more words"
)]

pub mod bare_records;
pub mod client_hello;
pub mod configs;
pub mod deviations;
pub mod endpoints;
pub mod ffdhe;
pub mod fuzzed;
pub mod hooked;
pub mod limited;
pub mod middle;
mod noise;
pub mod pairs;
pub mod pki;
pub mod ports;
pub mod quic;
pub mod raw_keys;
pub mod recorded;
pub mod refusing;
pub mod scripted;
pub mod servers;
pub mod texts;
pub mod transparent;
pub mod wire;

pub use noise::Noise;
