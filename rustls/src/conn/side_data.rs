//! What tells a client's connection from a server's in types that serve both.

use core::fmt::Debug;

/// Data of a connection that only clients, or only servers, have.
///
/// Implemented by the types of this crate alone.
#[expect(private_bounds, reason = "the private bound seals the trait")]
pub trait SideData: Debug + Sealed {}

pub(crate) trait Sealed {}
