//! Connected sides of one implementation, over memory that their user provides and reuses: for measuring and
//! counting, which an [`Endpoint`](crate::endpoints::Endpoint) that allocates would disturb.
//!
//! Both implementations have the same API, so the code exists once and is compiled twice, with `tls` naming
//! the crate it is about.

pub mod this;
pub mod upstream;

/// Any error.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What may fail in any way.
pub type Result<T> = std::result::Result<T, Error>;

/// Fails when what was received is not what was sent.
pub fn check_received(received: usize, expected: usize) -> Result<()> {
    if received != expected {
        return Err(format!("{received} bytes arrived of {expected}").into());
    }
    Ok(())
}
