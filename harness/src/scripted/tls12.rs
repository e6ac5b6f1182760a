//! TLS 1.2 peers that have the right keys, and send any message that a test chooses.

pub mod client;
pub(super) mod secrets;
pub mod server;

/// The data that either side needs to resume a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: Vec<u8>,
    /// Empty if there is no ticket.
    pub ticket: Vec<u8>,
    pub master_secret: [u8; 48],
}
