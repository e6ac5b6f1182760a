//! Connections: what the application holds, and what moves bytes between it, the record layer and the
//! handshake.
//!
//! ```text
//!   application ── connection (reader, writer, stream) ─┐            ┌─ record layer (core)
//!                                                       ├─ core ─────┤
//!   application ── unbuffered ──────────────────────────┘            └─ machine (tls13)
//! ```

pub(crate) mod common_state;
#[cfg(feature = "std")]
pub(crate) mod connection;
pub(crate) mod core;
#[cfg(feature = "std")]
mod either;
pub(crate) mod machine;
#[cfg(feature = "std")]
mod reader;
pub(crate) mod side_data;
#[cfg(feature = "std")]
mod stream;
pub(crate) mod unbuffered;
#[cfg(feature = "std")]
mod writer;

pub use common_state::{CommonState, HandshakeKind};
#[cfg(feature = "std")]
pub use connection::{ConnectionCommon, IoState};
#[cfg(feature = "std")]
pub use either::Connection;
#[cfg(feature = "std")]
pub use reader::Reader;
pub use side_data::SideData;
#[cfg(feature = "std")]
pub use stream::{Stream, StreamOwned};
#[cfg(feature = "std")]
pub use writer::Writer;
