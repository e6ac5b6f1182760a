//! Verifiers and certificates that are replaced while configurations with them are in use.

mod kit;
mod snapshots;
