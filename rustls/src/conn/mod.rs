//! Connections: what the application holds, and what moves bytes between it, the record layer and the
//! handshake.

pub(crate) mod common_state;

pub use common_state::{CommonState, HandshakeKind};
