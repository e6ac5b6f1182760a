//! Certificates, keys and revocation lists of files and of the system: their caches, their changes
//! while connections use them, and the verdicts of connections.

mod certificate_caches;
mod directory;
mod reload;
mod verdicts;
