//! Connections: the application's view, and the code that moves bytes between the application, the
//! record layer and the handshake.
//!
//! ```text
//!   application ── connection ─┐           ┌─► handshake ─► transport ─┐
//!     (reader, writer, stream) ├─► driver ─┤                           ▼
//!   application ── unbuffered ─┘           └─► common_state ────────► records
//! ```
//!
//! - `common_state`: `records` (the record layer and its buffers), `negotiated` (what was
//!   negotiated) and `established` (secrets for rekeying and exporters).
//! - `sending`: encrypts application data. `unsent_plaintext`: data that was written before it
//!   could be sent. `write_outgoing`: writes queued records to a writer.
//! - `forward`: forwards data for proxies. `relaying`: seals received data for another connection.
//! - `in_place_error`: the errors of in-place encryption. `app_data_record`: the application data
//!   of one record.
//! - `to_vec`: output into a `Vec` that grows as needed.
//! - `early_data`, `write_early_data`: sending a client's early data. `received_early_data`,
//!   `read_early_data`: its buffer and its reader in a buffered server.
//! - `quic`: replaces `records` if QUIC carries the handshake.
//! - `split`: the two halves of a connection, each with its part of the state. `shared_session`:
//!   the session that either half may invalidate.
//! - `kernel`: a connection whose records are processed outside this library.
//! - `unwinding`: ends a connection if the application's code panics. `failure_line`: the log
//!   message for a failed connection. `observing`: the calls to the observer.
//! - `waiting`: the records that wait while the handshake is waiting. `unpolled`: warns if nobody
//!   polls the operation.
//! - `write_access`: ends the handshake if a write fails.
//! - `parking`: parks the thread while the handshake is waiting for an operation.
//!
//! No two of these modules import each other: the public types of an API import the modules that do
//! the work, and those import the records and buffers.

mod app_data_record;
pub(crate) mod common_state;
#[cfg(feature = "std")]
pub(crate) mod connection;
pub(crate) mod driver;
pub(crate) mod early_data;
mod failure_line;
#[cfg(feature = "std")]
pub(crate) mod forward;
pub(crate) mod in_place_error;
pub(crate) mod kernel;
mod observing;
#[cfg(feature = "std")]
mod parking;
pub(crate) mod quic;
#[cfg(feature = "std")]
pub(crate) mod read_early_data;
#[cfg(feature = "std")]
mod reader;
#[cfg(feature = "std")]
mod received_early_data;
pub(crate) mod records;
#[cfg(feature = "std")]
mod relaying;
mod sending;
#[cfg(feature = "tls12")]
mod shared_session;
pub(crate) mod split;
#[cfg(feature = "std")]
mod stream;
mod to_vec;
pub(crate) mod unbuffered;
pub(crate) mod unpolled;
mod unsent_plaintext;
pub(crate) mod unwinding;
mod waiting;
pub(crate) mod write_access;
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
