//! Tests of certificates, keys and revocation lists from files and from the system: their caches,
//! their changes while connections use them, and the verdicts of connections.

mod certificate_caches;
mod directory;
mod reload;
mod verdicts;
