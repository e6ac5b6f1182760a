//! Raw public keys (RFC 7250) for both crates: keys without certificates, and verifiers that trust
//! one of them.

pub use crate::this::raw_keys as this;
pub use crate::upstream::raw_keys as upstream;
