//! Ticketers and storages made from functions, for both crates.

pub use crate::this::tickets as this;
pub use crate::upstream::tickets as upstream;
