//! The marker that distinguishes client and server connections in generic types.

use core::fmt::Debug;

/// Data that only client connections, or only server connections, have.
///
/// Connections use exactly two types: [`ClientConnectionData`](crate::client::ClientConnectionData)
/// and [`ServerConnectionData`](crate::server::ServerConnectionData).
pub trait SideData: Debug {}
