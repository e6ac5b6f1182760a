//! How to use this library well: which features to turn on, which of its interfaces fits, how to get the most out
//! of a core and the least out of memory, and how to come here from rustls 0.23.
//!
//! | question | chapter |
//! |---|---|
//! | What do the crate's features give, and what do they cost? | [`features`] |
//! | Buffered, unbuffered, in place, split, QUIC: which one? | [`choosing_an_api`] |
//! | How is a record made around my plaintext, and read where it came in? | [`in_place`] |
//! | How do I bring a crypto library of my own? | [`writing_a_provider`] |
//! | How do I move as many bytes as possible? | [`throughput`] |
//! | How do I hold as many connections as possible? | [`idle_connections`] |
//! | What does a core, a machine, a fleet carry? | [`capacity`] |
//! | What do I have to know when my program was written for rustls 0.23? | [`moving_from_0_23`] |
//!
//! The chapters are prose with code that is compiled and run by the tests. Figures stand beside the command that
//! measures them; they are of one machine and compare only with each other.

pub mod capacity;
pub mod choosing_an_api;
pub mod features;
pub mod idle_connections;
pub mod in_place;
pub mod moving_from_0_23;
pub mod throughput;
pub mod writing_a_provider;
