//! Revocation lists from files. [`RevocationList`](rustls::certificates::RevocationList) parses a
//! list and shares its index.
//!
//! `cache` caches the lists of a `source`; `read` reads them and decides which ones to replace, by
//! their `order`; `error` defines the problems.

mod cache;
mod error;
mod order;
mod read;
mod source;

pub use cache::{CrlCache, LoadedCrls};
pub use error::{CrlError, CrlProblem, CrlProblemReason};
pub(crate) use order::order;
pub(crate) use read::Lists;
pub use source::CrlSource;
