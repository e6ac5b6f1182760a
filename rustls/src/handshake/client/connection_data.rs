//! State that only client connections have.

use crate::config::ech::EchStatus;
use crate::handshake::Context;

/// The state that only client connections have: the type parameter of their `ConnectionCommon`.
#[derive(Debug)]
pub struct ClientConnectionData {
    /// The number of session tickets received from the server.
    pub(crate) tickets_received: u32,
    /// True if the server has accepted early data.
    pub(crate) early_data_accepted: bool,
    pub(crate) ech_status: EchStatus,
}

impl Default for ClientConnectionData {
    fn default() -> Self {
        Self {
            tickets_received: 0,
            early_data_accepted: false,
            ech_status: EchStatus::NotOffered,
        }
    }
}

/// The parts of a client's connection that its handlers may access.
pub(crate) type ClientContext<'a> = Context<'a, ClientConnectionData>;
