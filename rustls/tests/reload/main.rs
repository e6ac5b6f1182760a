//! Verifiers and certificates that are replaced while configurations with them are in use.

mod keys;
mod kit;
mod snapshots;
mod trust;
mod wrappers;
