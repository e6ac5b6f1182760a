//! Certificate revocation lists: each is parsed once, and all verifiers share its index.
//!
//! `list` is a parsed list; `sharing` finds a list parsed before from the same bytes; `issue`
//! compares the dates of lists. `cache` caches the lists of a `source`; `read` reads them and
//! decides which ones to replace; `error` describes problems.

#[cfg(feature = "std")]
mod cache;
#[cfg(feature = "std")]
mod error;
mod issue;
mod list;
#[cfg(feature = "std")]
mod read;
#[cfg(feature = "std")]
mod sharing;
#[cfg(feature = "std")]
mod source;

#[cfg(feature = "std")]
pub use cache::{CrlCache, LoadedCrls};
#[cfg(feature = "std")]
pub use error::{CrlError, CrlProblem, CrlProblemReason};
pub use list::RevocationList;
#[cfg(feature = "std")]
pub(super) use read::Lists;
#[cfg(feature = "std")]
pub use source::CrlSource;
