//! Cipher suites with changed parts, for both crates.

pub use crate::this::suites as this;
pub use crate::upstream::suites as upstream;
