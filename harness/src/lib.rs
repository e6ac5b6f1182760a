//! The basis of the tests, the bench and the fuzz targets of rustls-inplace.
//!
//! ```text
//!   endpoints ─── connections of this crate and of upstream, each API, behind one trait
//!     ▲
//!     └── scripted ── peers with the right keys that send whatever a test wants; in `ech` a server
//!                     of Encrypted Client Hello that only accepts what the rules allow
//!
//!   quic ──────── the same for QUIC: CRYPTO bytes level by level, and packets under their keys
//!   pairs ─────── connected sides over the caller's memory, for measuring and counting
//!   configs ───── certificates and configurations, for both crates and both providers
//!   pki ───────── valid chains, and chains that are invalid in a chosen way
//!   verifiers ─── one that accepts, rejects or observes; hooks around others; raw public keys
//!   ffdhe ─────── finite-field groups, which the providers lack
//!   bare_records ─ records made with the bare AEAD and extracted keys
//!   os ────────── loopback sockets, the limit on open files, CPU time of threads
//!   ports ─────── reserved ports for servers of other stacks
//!   servers ───── servers of both crates that answer one connection after the other
//!   providers ─── crypto providers whose keys wear out soon, or whose ciphers call a hook
//!   tickets ───── ticketers of functions
//!   recorded ──── recorded flights to change and replay, and the outcomes
//!   deviations ── intended differences to upstream's answers to wrong bytes
//!   texts ─────── errors that consist only of a text, compared with upstream's
//!   transparent ─ a crypto provider without encryption and randomness
//!   wire, client_hello ── messages byte by byte
//! ```
//!
//! It uses the library through its public interface, like any program. The scripted peers have
//! their own key schedule and record protection, so that a mistake in the library does not confirm
//! itself.

// `pairs` is compiled twice on purpose, once for each implementation
#![allow(clippy::duplicate_mod)]
#![allow(
    missing_docs,
    reason = "only this workspace reads it; the names are the RFC's"
)]

/// Formats the negotiated values of a connection of either crate.
macro_rules! negotiated {
    ($conn:expr) => {
        format!(
            "{:?} {:?} {:?} {:?} {:?}",
            $conn.protocol_version(),
            $conn.negotiated_cipher_suite(),
            $conn
                .negotiated_key_exchange_group()
                .map(|group| group.name()),
            $conn.alpn_protocol(),
            $conn.handshake_kind(),
        )
    };
}

pub mod bare_records;
pub mod client_hello;
pub mod configs;
pub mod deviations;
pub mod endpoints;
pub mod ffdhe;
mod noise;
pub mod os;
pub mod pairs;
pub mod pki;
pub mod ports;
pub mod providers;
pub mod quic;
pub mod recorded;
pub mod scripted;
pub mod servers;
pub mod texts;
pub mod tickets;
pub mod transparent;
pub mod verifiers;
pub mod wire;

pub use noise::Noise;
