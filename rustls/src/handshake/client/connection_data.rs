//! State that only client connections have.

use crate::handshake::Context;

/// The state that only client connections have: the type parameter of their `ConnectionCommon`.
#[derive(Debug, Default)]
pub struct ClientConnectionData {
    /// The number of TLS 1.3 tickets received from the server.
    pub(crate) tickets_received: u32,
}

/// The parts of a client's connection that its handlers may access.
pub(crate) type ClientContext<'a> = Context<'a, ClientConnectionData>;
