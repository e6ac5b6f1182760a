//! Verifiers for tests: one that accepts, rejects or observes, [`hooked`] ones that wrap other
//! verifiers, and [`raw_keys`].
//!
//! A [`Verifier`](this::Verifier) works for both sides. It accepts everything, or returns an inner
//! verifier's results. A test can replace individual results.

pub mod hooked;
pub mod raw_keys;

pub use crate::this::verifiers as this;
pub use crate::upstream::verifiers as upstream;
