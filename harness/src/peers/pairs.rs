//! Connected sides of one implementation, over memory that the caller provides and reuses. Used for
//! measuring and counting, which the allocations in an
//! [`Endpoint`](crate::peers::endpoints::Endpoint) would disturb.
//!
//! Both implementations have the same API, so the code is compiled twice, with `tls` naming the
//! crate.

pub use crate::this::pairs as this;
pub use crate::upstream::pairs as upstream;

/// Any error.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The result of an operation that may fail in any way.
pub type Result<T> = std::result::Result<T, Error>;

/// Fails if the received length differs from the expected one.
pub fn check_received(received: usize, expected: usize) -> Result<()> {
    if received != expected {
        return Err(format!("{received} bytes arrived of {expected}").into());
    }
    Ok(())
}
