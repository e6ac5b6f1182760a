//! Certificate revocation lists: each parsed once, its index shared by all verifiers that use it.
//!
//! `list` is a parsed list; `sharing` finds the one that was made of the same bytes before; `issue` reads which
//! of two lists is the newer one.

mod issue;
mod list;
#[cfg(feature = "std")]
mod sharing;

pub use list::RevocationList;
