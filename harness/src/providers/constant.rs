//! Groups and signing keys with constant results, for both crates.

pub use crate::this::constant as this;
pub use crate::upstream::constant as upstream;
