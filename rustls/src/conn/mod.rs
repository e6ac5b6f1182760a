//! Connections: what the application holds, and what moves bytes between it, the record layer and the
//! handshake.
//!
//! ```text
//!   application ── connection (reader, writer, stream) ─┐           ┌─► handshake ──► transport ─┐
//!                                                       ├─► driver ─┤                            ▼
//!   application ── unbuffered ──────────────────────────┘           └─► common_state ──────► records
//! ```
//!
//! - `common_state`: `records` (the record layer and its buffers), `negotiated` (facts) and `established`
//!   (secrets, for rekeying and exporters), side by side; `sending`: application data on its way out;
//!   `early_data`: a client's before the handshake is complete; `received_early_data`: where it waits in a buffered
//!   server.
//! - `quic`: in the place of `records` where QUIC carries the handshake.
//! - `transport`, `carrier`: all that a handshake sees of these.
//! - `split`: the two halves of a connection, each with what it needs of these.
//! - `kernel`: what is left of a connection whose records are made by another.
//! - `unwinding`: what a panic of the application's code leaves of any of these.

pub(crate) mod carrier;
pub(crate) mod common_state;
#[cfg(feature = "std")]
pub(crate) mod connection;
pub(crate) mod driver;
mod early_data;
#[cfg(feature = "std")]
mod either;
pub(crate) mod established;
pub(crate) mod kernel;
pub(crate) mod negotiated;
pub(crate) mod quic;
#[cfg(feature = "std")]
mod reader;
#[cfg(feature = "std")]
mod received_early_data;
mod records;
mod sending;
pub(crate) mod side_data;
pub(crate) mod split;
#[cfg(feature = "std")]
mod stream;
pub(crate) mod tolerance;
pub(crate) mod transport;
pub(crate) mod unbuffered;
mod unsent_plaintext;
pub(crate) mod unwinding;
#[cfg(feature = "std")]
pub(crate) mod write_outgoing;
#[cfg(feature = "std")]
mod writer;

pub use common_state::CommonState;
#[cfg(feature = "std")]
pub use connection::{ConnectionCommon, IoState};
#[cfg(feature = "std")]
pub use either::Connection;
pub use negotiated::HandshakeKind;
#[cfg(feature = "std")]
pub use reader::Reader;
pub use side_data::SideData;
#[cfg(feature = "std")]
pub use stream::{Stream, StreamOwned};
#[cfg(feature = "std")]
pub use writer::Writer;
