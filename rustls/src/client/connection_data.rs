//! State that only connections of clients have.

use crate::ech::EchStatus;

/// State of a client's connection.
#[derive(Debug)]
pub struct ClientConnectionData {
    /// How many session tickets the server has sent.
    pub(crate) tickets_received: u32,
    /// The server has accepted early data.
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
