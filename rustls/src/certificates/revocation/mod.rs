//! Certificate revocation lists: each parsed once, its index shared by all verifiers that use it.
//!
//! `list` is a parsed list; `sharing` finds the one that was made of the same bytes before; `issue` tells which of
//! two lists is the newer one. `cache` keeps those of a `source`; `read` reads one and decides what is replaced;
//! `error` names what could not be used.

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
