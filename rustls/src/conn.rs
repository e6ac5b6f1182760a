//! Connections: the application's view, and the code that moves bytes between the application, the
//! record layer and the handshake.
//!
//! ```text
//!   application ── connection ─┐           ┌─► handshake ─► transport ─┐
//!     (reader, writer, stream) ├─► driver ─┤                           ▼
//!   application ── unbuffered ─┘           └─► common_state ────────► records
//! ```
//!
//! - `common_state`: `records` (the record layer and its buffers), `negotiated` (facts) and
//!   `established` (secrets for rekeying and exporters).
//! - `sending`: encrypts application data.
//! - `early_data`: a client's early data. `received_early_data`: its buffer in a buffered server.
//! - `quic`: replaces `records` if QUIC carries the handshake.
//! - `transport`, `carrier`: the interface that a handshake sees of these.
//! - `split`: the two halves of a connection, each with its part of these.
//! - `kernel`: a connection whose records are processed outside this library.
//! - `unwinding`: ends a connection if the application's code panics.

pub(crate) mod common_state;
#[cfg(feature = "std")]
pub(crate) mod connection;
pub(crate) mod driver;
mod early_data;
pub(crate) mod kernel;
pub(crate) mod quic;
#[cfg(feature = "std")]
pub(crate) mod read_early_data;
#[cfg(feature = "std")]
mod reader;
#[cfg(feature = "std")]
mod received_early_data;
pub(crate) mod records;
mod sending;
pub(crate) mod split;
#[cfg(feature = "std")]
mod stream;
pub(crate) mod unbuffered;
mod unsent_plaintext;
pub(crate) mod unwinding;
pub(crate) mod write_early_data;
#[cfg(feature = "std")]
pub(crate) mod write_outgoing;
#[cfg(feature = "std")]
mod writer;

pub use common_state::CommonState;
#[cfg(feature = "std")]
pub use connection::{ConnectionCommon, IoState};
#[cfg(feature = "std")]
pub use reader::Reader;
#[cfg(feature = "std")]
pub use stream::{Stream, StreamOwned};
#[cfg(feature = "std")]
pub use writer::Writer;
