//! Tests of reloading verifiers and certificates while configurations use them.

mod keys;
pub(crate) mod kit;
mod ocsp;
mod running;
mod snapshots;
mod trust;
mod wrappers;
