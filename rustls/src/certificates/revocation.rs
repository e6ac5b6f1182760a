//! Certificate revocation lists. Verifiers with the same list can share one parsed object and its
//! index.
//!
//! `list` is a parsed list; `sharing` finds a list already parsed from the same bytes; `issue`
//! reads the dates and the number of a list.

mod issue;
mod list;
#[cfg(feature = "std")]
mod sharing;

pub use list::RevocationList;
