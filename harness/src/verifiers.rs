//! Verifiers for tests: one that accepts, rejects or observes, [`hooked`] ones around others, and
//! [`raw_keys`].
//!
//! A [`Verifier`](this::Verifier) serves both sides. It accepts everything, or returns the results
//! of another verifier. A test replaces single results.

pub mod hooked;
pub mod raw_keys;

pub use crate::this::verifiers as this;
pub use crate::upstream::verifiers as upstream;
