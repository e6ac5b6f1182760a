//! What tells a client's connection from a server's in types that serve both.

use core::fmt::Debug;

/// Data of a connection that only clients, or only servers, have.
///
/// There are two such types, [`ClientConnectionData`](crate::client::ClientConnectionData) and
/// [`ServerConnectionData`](crate::server::ServerConnectionData), and no connection is made over others.
pub trait SideData: Debug {}
