//! Verifiers and certificates that are replaced while configurations with them are in use.

mod keys;
mod kit;
mod ocsp;
mod running;
mod snapshots;
mod trust;
mod wrappers;
