//! What is kept of a session, and how it is found again.
//!
//! - [`client`]: what a client remembers of servers, and where.
//! - [`server`]: where a server keeps sessions.
//! - [`value`]: what a server must know of a session, as bytes.

#[cfg(feature = "std")]
mod bounded_map;
pub(crate) mod client;
pub(crate) mod server;
pub(crate) mod value;
