//! Certificate revocation lists: each is parsed once, and all verifiers share its index.
//!
//! `list` is a parsed list; `sharing` finds a list already parsed from the same bytes; `issue` has
//! the dates of lists.

mod issue;
mod list;
#[cfg(feature = "std")]
mod sharing;

pub use list::RevocationList;
