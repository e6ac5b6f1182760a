//! Peers of TLS 1.2 that have the right keys and say whatever a test wants, right or wrong.

pub mod client;
pub(super) mod secrets;
pub mod server;

/// What two ends need to resume a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub id: Vec<u8>,
    /// Empty when there is none.
    pub ticket: Vec<u8>,
    pub master_secret: [u8; 48],
}
