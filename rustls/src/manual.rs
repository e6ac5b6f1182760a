//! The manual: features, APIs, certificates, sessions, debugging, throughput and memory, chapter by
//! chapter.
//!
//! | question | chapter |
//! |---|---|
//! | Should I use this library at all? | [`when_not_to_use`] |
//! | I come from rustls 0.23. What do I check? | [`moving_from_0_23`] |
//! | Which features and which provider? | [`features`] |
//! | Buffered, unbuffered, in place, split, QUIC: which one? | [`choosing_an_api`] |
//! | How do I encrypt and decrypt in place? | [`in_place`] |
//! | How do I let the kernel encrypt and decrypt? | [`kernel_tls`] |
//! | How do I load, share and replace certificates and roots? | [`certificates`] |
//! | How do clients resume, on one machine and on many? | [`sessions`] |
//! | When is early data safe? | [`early_data`] |
//! | How do I hide the server's name? | [`encrypted_client_hello`] |
//! | How do I serve several names? | [`choosing_by_client_hello`] |
//! | What does this error mean? How do I look into the traffic? | [`debugging`] |
//! | How do I move as many bytes as possible? | [`throughput`] |
//! | How do I hold as many connections as possible? | [`idle_connections`] |
//! | How much can a core, a machine and a fleet carry? | [`capacity`] |
//! | How do I use another crypto library, or keys in hardware? | [`writing_a_provider`] |
//! | A key, a verifier or a storage takes milliseconds. How do I not block? | [`operations`] |
//!
//! The tests compile the code of these chapters. They run the code that uses connections with real
//! ones in every version, and forwarders in every pair of versions. Figures for speed and memory
//! come from `BENCHMARKS.md`, or stand beside their command. Compare figures within one table only.

pub mod capacity;
pub mod certificates;
pub mod choosing_an_api;
pub mod choosing_by_client_hello;
pub mod debugging;
pub mod early_data;
pub mod encrypted_client_hello;
pub mod features;
pub mod idle_connections;
pub mod in_place;
pub mod kernel_tls;
pub mod moving_from_0_23;
pub mod operations;
pub mod sessions;
pub mod throughput;
pub mod when_not_to_use;
pub mod writing_a_provider;
